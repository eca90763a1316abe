"""The port of stored executions."""

from collections.abc import Collection
from typing import Protocol

from .brief import Brief
from .rows import ExecutionRow


class ExecutionRecords(Protocol):
    """Reads executions. `Change.executions` writes them."""

    async def execution(self, session_id: str, execution_id: str) -> ExecutionRow | None:
        """Return an execution; None if it does not exist."""
        ...

    async def execution_of_call(self, session_id: str, call_id: str) -> ExecutionRow | None:
        """Return the execution of a call id; None if there is none."""
        ...

    async def executions(
        self, session_id: str, *, ids: Collection[str] | None = None, unfinished: bool = False, limit: int = 1000
    ) -> list[ExecutionRow]:
        """Return the newest `limit` matching executions of a session, in the order in which they were queued."""
        ...

    async def executions_by_key(self, keys: Collection[tuple[str, str]]) -> list[ExecutionRow]:
        """Return executions of any sessions by session and id, in the order of the keys, without unknown ones."""
        ...

    async def brief_executions(
        self,
        session_id: str,
        *,
        before: str | None = None,
        unfinished: bool = False,
        limit: int,
        longest: int,
    ) -> list[Brief[ExecutionRow]]:
        """Return the newest `limit` calls of a session, or those before an execution, in the order of their queueing.

        `shown` and `value` are left out if they are longer than `longest` bytes; `document` always is. The result is
        empty if `before` does not exist.
        """
        ...
