"""The error of an invalid run."""

from ...errors import CallboardError


class RunRefused(CallboardError, ValueError):
    """The input of a run is invalid. Nothing was done."""

    code = "run_refused"
