"""The version of AG-UI that a run speaks: the one that its client names, or the form from before 1.0 if it names none.

Clients before 1.0 refuse an outcome that they do not know, and an outcome with fields that they do not know.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ag_ui.core import PROTOCOL_VERSION

from . import frames

_VERSION = re.compile(r"(\d{1,4})\.\d{1,4}")


class Version:
    """How one run begins and ends on the wire."""

    def __init__(self, named: str | None) -> None:
        found = None if named is None else _VERSION.fullmatch(named)
        self._old = named is None or (found is not None and int(found[1]) < 1)
        """Whether the client is from before 1.0. A version that is newer, or cannot be read, is answered with ours."""

    def started(self, thread_id: str, run_id: str) -> bytes:
        """The first frame."""
        return frames.run_started(thread_id, run_id, None if self._old else PROTOCOL_VERSION)

    def finished(
        self, thread_id: str, run_id: str, outcome: Mapping[str, Any], usage: Sequence[Mapping[str, Any]]
    ) -> bytes:
        """The last frame of a run that did not fail."""
        if not self._old:
            return frames.run_finished(thread_id, run_id, {"outcome": outcome}, usage)
        match outcome["type"]:
            case "success":  # calls of the page's tools that wait are those that have no result
                ended: dict[str, Any] = {"outcome": {"type": "success"}}
            case "cancelled":  # there was no such outcome, and an error it is not
                ended = {"result": {"status": "cancelled"}}
            case _:
                ended = {"outcome": outcome}
        return frames.run_finished(thread_id, run_id, ended, usage)
