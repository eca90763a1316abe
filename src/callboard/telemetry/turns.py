"""The turns of a runtime that run now, how long each has run, and how it ended."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Any, Protocol

from ..runtime import Runtime
from ..turns import TurnStatus

log = logging.getLogger("callboard.telemetry")

LOST = "lost"
"""The status of a turn that another process has taken over."""
STATUSES = (*(status.value for status in TurnStatus), LOST)
"""How a turn, or its part up to a pause, can end."""


_USED = ("requests", "input_tokens", "output_tokens", "cost")


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """How a turn, or its part until it waits for a person, came to its end."""

    status: str
    """One of `STATUSES`."""
    seconds: float
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    """All this is what the parts of the turn have used together, up to now."""


class TurnObserver(Protocol):
    """Told of turns, in the task that runs them. A paused turn begins again, under the same id."""

    def turn_began(self, session_id: str, turn_id: str) -> None: ...

    def turn_ended(self, session_id: str, turn_id: str, end: TurnEnd) -> None: ...


class TurnWatch:
    """Tells an observer of the turns of a runtime, until it is closed. One that fails harms no turn."""

    def __init__(self, runtime: Runtime, observer: TurnObserver) -> None:
        self._observer = observer
        self._began: dict[str, float] = {}
        self.close = runtime.sessions.watch(self)

    @property
    def running(self) -> int:
        """How many turns run now."""
        return len(self._began)

    def turn_began(self, session_id: str, turn_id: str) -> None:
        self._began[turn_id] = monotonic()
        _carefully(self._observer.turn_began, session_id, turn_id)

    def turn_ended(self, session_id: str, turn_id: str, status: str, usage: Any) -> None:
        if (began := self._began.pop(turn_id, None)) is not None:
            end = TurnEnd(
                status if status in STATUSES else TurnStatus.FAILED,
                monotonic() - began,
                **{name: getattr(usage, name, None) or 0 for name in _USED},
            )
            _carefully(self._observer.turn_ended, session_id, turn_id, end)


def _carefully(tell: Callable[..., None], *args: Any) -> None:
    try:
        tell(*args)
    except Exception:
        log.exception("a turn could not be observed")
