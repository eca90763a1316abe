"""Observation of a runtime's turns: their duration, status and usage."""

import logging
from collections.abc import Callable
from time import monotonic
from typing import Any, NamedTuple, Protocol

from ..runtime import Runtime
from ..turns import TurnStatus, Usage

log = logging.getLogger("callboard.telemetry")

LOST = "lost"
"""The status of a turn that continues in another process."""
STATUSES = (*(status.value for status in TurnStatus), LOST)
"""The ends of a turn, or of its part until it pauses."""


class TurnEnd(NamedTuple):
    """The end of a turn, or of its part until it pauses."""

    status: str
    """One of `STATUSES`."""
    seconds: float
    usage: Usage
    """The usage of all parts of the turn so far."""


class TurnObserver(Protocol):
    """Receives the start and end of turns, in their task. A paused turn starts again under the same id."""

    def turn_began(self, session_id: str, turn_id: str) -> None: ...

    def turn_ended(self, session_id: str, turn_id: str, end: TurnEnd) -> None: ...


class TurnWatch:
    """Notifies an observer of a runtime's turns until it is closed. Errors of the observer are logged."""

    def __init__(self, runtime: Runtime, observer: TurnObserver) -> None:
        self._observer = observer
        self._began: dict[str, float] = {}
        self.close = runtime.sessions.watch(self)

    @property
    def running(self) -> int:
        """The number of running turns."""
        return len(self._began)

    def turn_began(self, session_id: str, turn_id: str) -> None:
        self._began[turn_id] = monotonic()
        _notify(self._observer.turn_began, session_id, turn_id)

    def turn_ended(self, session_id: str, turn_id: str, status: str, usage: Usage | None) -> None:
        if (began := self._began.pop(turn_id, None)) is not None:
            known = status if status in STATUSES else TurnStatus.FAILED
            end = TurnEnd(known, monotonic() - began, usage or Usage())
            _notify(self._observer.turn_ended, session_id, turn_id, end)


def _notify(observer: Callable[..., None], *args: Any) -> None:
    try:
        observer(*args)
    except Exception:
        log.exception("a turn could not be observed")
