"""The executions of one session: by id, by the caller's id, and which of the finished ones are still kept."""

from collections.abc import Iterator

from .execution import Execution


class Book:
    """Finds executions. Living ones are always kept, of the finished ones at least the newest `retain`."""

    __slots__ = ("_by_call", "_by_id", "_limit", "_retain")

    def __init__(self, retain: int) -> None:
        self._retain = retain
        self._limit = 2 * retain
        self._by_id: dict[str, Execution] = {}
        self._by_call: dict[str, Execution] = {}

    def add(self, execution: Execution) -> None:
        """Enter a new execution."""
        self._by_id[execution.id] = execution
        if execution.call_id is not execution.id:
            self._by_call[execution.call_id] = execution
        if len(self._by_id) > self._limit:
            self._forget()

    def get(self, execution_id: str) -> Execution | None:
        return self._by_id.get(execution_id)

    def by_call(self, call_id: str) -> Execution | None:
        """The execution of the caller's id, which is never carried out twice while it is kept."""
        return self._by_call.get(call_id) or self._by_id.get(call_id)

    def _forget(self) -> None:
        """Let the oldest finished ones go. It happens seldom, so that entering one stays cheap."""
        finished = [execution for execution in self._by_id.values() if execution.terminal]
        for execution in finished[: max(0, len(finished) - self._retain)]:
            del self._by_id[execution.id]
            self._by_call.pop(execution.call_id, None)
        self._limit = len(self._by_id) + self._retain

    def __iter__(self) -> Iterator[Execution]:
        return iter(tuple(self._by_id.values()))

    def __len__(self) -> int:
        return len(self._by_id)
