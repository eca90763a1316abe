"""Commits to SQLite by the tool of a server that has no store: two for each call, before and after its work.

`BareRows` is the least that is durable. `Records` writes what our own server writes, with our store. A server that
waits longer for its commits is slower outside of them too, because caches and cores cool down meanwhile. So its time
outside of commits can only be compared with that of a server whose commits are the same.
"""

import asyncio
import sqlite3
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:  # the environment of a peer does not have Callboard
    from callboard.storage.change import ExecutionWrite
    from callboard.storage.rows import ExecutionRow

SESSION, OWNER = "bench", "bench-process"


class Commits(Protocol):
    """Commits of calls, and the seconds that each took."""

    seconds: list[float]

    async def open(self) -> None: ...

    async def begin(self, number: int) -> None:
        """Commit the beginning of a call."""
        ...

    async def end(self, number: int) -> None:
        """Commit the end of a call."""
        ...


def around(commits: Commits, function: Callable[[int, int], Awaitable[int]]) -> Callable[..., Any]:
    """Return a tool that commits before and after another one."""
    number = 0

    async def measured(commit: Callable[[int], Awaitable[None]], of: int) -> None:
        started = time.perf_counter()
        await commit(of)
        commits.seconds.append(time.perf_counter() - started)

    @wraps(function)
    async def stored(a: int, b: int) -> int:
        nonlocal number
        number += 1
        mine = number
        await measured(commits.begin, mine)
        value = await function(a, b)
        await measured(commits.end, mine)
        return value

    return stored


class BareRows:
    """Commits of one small row each, as durable as those of our store, in a thread."""

    def __init__(self, url: str) -> None:
        self.seconds: list[float] = []
        self._thread = ThreadPoolExecutor(1)
        self._database = sqlite3.connect(url.removeprefix("sqlite:///"), check_same_thread=False)

    async def open(self) -> None:
        self._database.execute("PRAGMA journal_mode=WAL")
        self._database.execute("PRAGMA synchronous=FULL")
        self._database.execute("CREATE TABLE calls (at REAL)")

    async def begin(self, number: int) -> None:
        await asyncio.get_running_loop().run_in_executor(self._thread, self._commit)

    end = begin

    def _commit(self) -> None:
        with self._database:
            self._database.execute("INSERT INTO calls VALUES (?)", (time.time(),))


class Records:
    """Commits of the execution and the events of a call, by our store."""

    def __init__(self, url: str) -> None:
        from callboard.adapters.stores import open_store

        self.seconds: list[float] = []
        self._store = open_store(url)
        self._rows: dict[int, ExecutionRow] = {}

    async def open(self) -> None:
        from callboard.storage.change import Change
        from callboard.testing.store_rows import session_row

        await self._store.open(_ignore)
        await self._store.commit([Change(SESSION, session=session_row(SESSION, created_at=time.time()))])

    async def begin(self, number: int) -> None:
        from callboard.storage.change import ExecutionWrite
        from callboard.testing.store_rows import execution_row

        now = time.time()
        row = self._rows[number] = execution_row(
            _id(number),
            SESSION,
            call_id=_id(number),
            tool="add_later",
            fingerprint="f" * 64,
            queued_at=now,
            started_at=now,
            owner=OWNER,
        )
        events = [
            _event("tool_started", number, ',"arguments":{"a":2,"b":3}'),
            _event("tool_validating", number),
            _event("tool_executing", number, ',"attempt":1,"maximum":3'),
        ]
        await self._write(ExecutionWrite(row, OWNER, new=True), events)

    async def end(self, number: int) -> None:
        from callboard.storage.change import ExecutionWrite

        row = replace(self._rows.pop(number), status="succeeded", value=b"5", completed_at=time.time(), owner=None)
        events = [_event("tool_result", number, ',"status":"succeeded","value":5')]
        await self._write(ExecutionWrite(row, OWNER, new=False), events)

    async def _write(self, execution: "ExecutionWrite", events: list[bytes]) -> None:
        from callboard.storage.change import Change

        [result] = await self._store.commit([Change(SESSION, executions=[execution], events=events)])
        assert isinstance(result, int), result


def _ignore(*woken: object) -> None:
    """Ignore the changes of other processes: there are none."""


def _id(number: int) -> str:
    return f"x0123456789ab-{number}"


def _event(kind: str, number: int, more: str = "") -> bytes:
    data = f'"execution_id":"{_id(number)}","call_id":"{_id(number)}","tool":"add_later"{more}'
    return f'{{"kind":"{kind}","at":"2026-11-18T08:47:12.422Z","data":{{{data}}}}}'.encode()
