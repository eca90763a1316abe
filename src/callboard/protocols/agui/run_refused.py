"""What is said where a run cannot be made of what a client sent."""

from ...errors import CallboardError


class RunRefused(CallboardError, ValueError):
    """A run cannot be made of what the client sent. Nothing was done."""

    code = "run_refused"
