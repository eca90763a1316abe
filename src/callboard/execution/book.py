"""The executions of one session: by id, by the caller's id, and which of the finished ones are still kept."""

from collections.abc import Container

from .execution import Execution

_SLACK = 512
"""How many more may gather before the oldest are let go, together."""


class Book:
    """Executions by their ids. Living ones are always kept, and those whose results wait to be taken; of the finished
    ones at least the newest `retain`.

    Whoever enters one calls `forget` when there are more than `limit`, which happens seldom: so entering stays cheap.
    """

    __slots__ = ("_slack", "by_id", "calls", "limit", "retain", "waiting")

    def __init__(self, retain: int) -> None:
        self.retain = retain
        self.by_id: dict[str, Execution] = {}
        self.waiting: Container[str] = ()
        """Those whose results came late and were not taken yet, where nobody else keeps them."""
        self._slack = min(retain, _SLACK)
        self.limit = retain + self._slack
        self.calls: dict[str, Execution] = {}
        """Those whose callers gave an id of their own, by that id."""

    def clear(self) -> None:
        """Forget all of them."""
        self.by_id.clear()
        self.calls.clear()

    def by_call(self, call_id: str) -> Execution | None:
        """The execution of the caller's id, which is never carried out twice while it is kept.

        Not one that is another process's by now: what that one was called with, and what came of it, the store knows.
        """
        known = self.calls.get(call_id) or self.by_id.get(call_id)
        return None if known is None or known.lost else known

    def holds(self, execution_id: str) -> bool:
        """Whether this process carries it out, or did, as far as that is kept."""
        known = self.by_id.get(execution_id)
        return known is not None and not known.lost

    def forget(self) -> None:
        """Let the oldest finished ones go."""
        finished = [execution for execution in self.by_id.values() if execution.ended is not None]
        old = finished[: max(0, len(finished) - self.retain)]
        for execution in old:
            if execution.seldom is not None and execution.late and execution.id in self.waiting:
                continue
            del self.by_id[execution.id]
            if self.calls.get(execution.call_id) is execution:
                del self.calls[execution.call_id]
        self.limit = len(self.by_id) + self._slack
