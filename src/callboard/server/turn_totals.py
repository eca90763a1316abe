"""Totals of the turns of this process since the app was created, for operators."""

from collections import Counter

from ..turns import TurnStatus, Usage


class TurnTotals:
    """Counts turns and their usage. A `TurnListener`."""

    def __init__(self) -> None:
        self.ended: Counter[str] = Counter()
        """Turns that ended or paused, by status."""
        self.usage = Usage()
        """The usage of the turns that ended."""
        self._running: set[str] = set()

    @property
    def running(self) -> int:
        """The number of running turns."""
        return len(self._running)

    def turn_began(self, session_id: str, turn_id: str) -> None:
        self._running.add(turn_id)

    def turn_ended(self, session_id: str, turn_id: str, status: str, usage: Usage | None) -> None:
        self._running.discard(turn_id)
        self.ended[status] += 1
        if usage is not None and status != TurnStatus.PAUSED:  # else it is counted at the end of the whole turn
            self.usage.add(usage)
