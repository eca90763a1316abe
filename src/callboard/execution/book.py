"""The executions of one session: by id, by the caller's id, and which of the finished ones are still kept."""

from collections import deque
from collections.abc import Iterator

from .execution import Execution


class Book:
    """Finds executions. Living ones are always kept, of the finished ones the newest `retain`."""

    __slots__ = ("_by_call", "_by_id", "_finished", "_retain")

    def __init__(self, retain: int) -> None:
        self._retain = retain
        self._by_id: dict[str, Execution] = {}
        self._by_call: dict[str, Execution] = {}
        self._finished: deque[Execution] = deque()

    def add(self, execution: Execution) -> None:
        """Enter a new execution."""
        self._by_id[execution.id] = execution
        self._by_call[execution.call_id] = execution

    def get(self, execution_id: str) -> Execution | None:
        return self._by_id.get(execution_id)

    def by_call(self, call_id: str) -> Execution | None:
        """The execution of the caller's id, which is never carried out twice while it is kept."""
        return self._by_call.get(call_id)

    def finished(self, execution: Execution) -> None:
        """Count an execution among the finished, and let the oldest of those go."""
        self._finished.append(execution)
        if len(self._finished) > self._retain:
            oldest = self._finished.popleft()
            del self._by_id[oldest.id]
            del self._by_call[oldest.call_id]

    def __iter__(self) -> Iterator[Execution]:
        return iter(tuple(self._by_id.values()))

    def __len__(self) -> int:
        return len(self._by_id)
