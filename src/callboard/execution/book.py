"""The executions of one session: by id, by the caller's id, and which of the finished ones are still kept."""

from .execution import Execution


class Book(dict[str, Execution]):
    """Executions by their ids. Living ones are always kept, of the finished ones at least the newest `retain`.

    Whoever enters one calls `forget` when there are more than `limit`, which happens seldom: so entering stays cheap.
    """

    __slots__ = ("_retain", "calls", "limit")

    def __init__(self, retain: int) -> None:
        super().__init__()
        self._retain = retain
        self.limit = 2 * retain
        self.calls: dict[str, Execution] = {}
        """Those whose callers gave an id of their own, by that id."""

    def by_call(self, call_id: str) -> Execution | None:
        """The execution of the caller's id, which is never carried out twice while it is kept.

        Not one that is another process's by now: what that one was called with, and what came of it, the store knows.
        """
        known = self.calls.get(call_id) or self.get(call_id)
        return None if known is None or known.lost else known

    def holds(self, execution_id: str) -> bool:
        """Whether this process carries it out, or did, as far as that is kept."""
        known = self.get(execution_id)
        return known is not None and not known.lost

    def forget(self) -> None:
        """Let the oldest finished ones go."""
        finished = [execution for execution in self.values() if execution.ended is not None]
        for execution in finished[: max(0, len(finished) - self._retain)]:
            del self[execution.id]
            if execution.call_id is not execution.id:
                self.calls.pop(execution.call_id, None)
        self.limit = len(self) + self._retain
