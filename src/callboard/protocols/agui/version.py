"""The AG-UI version of a run: the one that its client names, or the form before 1.0 without one.

Clients before 1.0 reject unknown outcomes, and outcomes with unknown fields.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ag_ui.core import PROTOCOL_VERSION

from . import frames

_VERSION = re.compile(r"(\d{1,4})\.\d{1,4}")


class Version:
    """The first and the last frame of a run, in the client's version."""

    def __init__(self, named: str | None) -> None:
        found = None if named is None else _VERSION.fullmatch(named)
        self._old = named is None or (found is not None and int(found[1]) < 1)
        """Whether the client is older than 1.0. A newer or unreadable version gets the server's own."""

    def started(self, thread_id: str, run_id: str) -> bytes:
        """Return the first frame."""
        return frames.run_started(thread_id, run_id, None if self._old else PROTOCOL_VERSION)

    def finished(
        self, thread_id: str, run_id: str, outcome: Mapping[str, Any], usage: Sequence[Mapping[str, Any]]
    ) -> bytes:
        """Return the last frame of a run that did not fail."""
        if not self._old:
            return frames.run_finished(thread_id, run_id, {"outcome": outcome}, usage)
        match outcome["type"]:
            case "success":  # the client finds pending calls by their missing results
                ended: dict[str, Any] = {"outcome": {"type": "success"}}
            case "cancelled":  # an outcome since 1.0, and not an error
                ended = {"result": {"status": "cancelled"}}
            case _:
                ended = {"outcome": outcome}
        return frames.run_finished(thread_id, run_id, ended, usage)
