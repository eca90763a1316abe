"""The cost of a recovery: nothing per open approval, and a start does not wait for it (E5)."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from callboard import Runtime, tool
from callboard.adapters.stores import open_store
from callboard.sessions.heartbeat import CLAIM_BATCH
from callboard.sessions.session import live_session
from callboard.storage.change import Change, ExecutionWrite, RequestWrite
from callboard.storage.owners import Recovered
from callboard.storage.rows import ExecutionRow, OwnerRow, RequestRow, SessionRow
from callboard.storage.store import Store

from .conftest import ended

pytestmark = pytest.mark.anyio

NOW = 1_800_000_000.0
DEAD = OwnerRow(id="dead", host="another machine", pid=1, started="1", beat=-1)


@tool(mode="human")
async def approve() -> str:
    """Run after an approval."""
    return "done"


@tool(idempotent=True, mode="background")
async def again() -> str:
    """Run idempotently."""
    return "done again"


class Counted:
    """A store that counts its queries."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.asked = Counter[str]()

    def __getattr__(self, name: str) -> Any:
        found: Callable[..., Any] = getattr(self._store, name)
        self.asked[name] += 1
        return found

    def recover(self, owner_id: str | None, *args: Any, **options: Any) -> Awaitable[Recovered]:
        if owner_id is not None:  # work without a process is looked for at each beat, so it goes by time
            self.asked["recover"] += 1
        return self._store.recover(owner_id, *args, **options)


def execution(execution_id: str, session_id: str, name: str, **fields: Any) -> ExecutionRow:
    filled: dict[str, Any] = {"status": "executing", "attempt": 1, **fields}
    return ExecutionRow(
        id=execution_id,
        session_id=session_id,
        user_id=f"user of {session_id}",
        call_id=execution_id,
        tool=name,
        kind="tool",
        document=b"{}",
        fingerprint="f",
        display_arguments=b"{}",
        priority=0,
        max_attempts=3,
        errors=b"[]",
        value=None,
        error=None,
        late=True,
        parent_id=None,
        queued_at=NOW,
        started_at=NOW,
        completed_at=None,
        owner="dead",
        **filled,
    )


def request(execution_id: str, session_id: str) -> RequestRow:
    return RequestRow(
        id=f"r-{execution_id}",
        session_id=session_id,
        user_id=f"user of {session_id}",
        execution_id=execution_id,
        kind="human_request",
        purpose="approval",
        tool="approve",
        payload=b"{}",
        schema=b"{}",
        fingerprint="f",
        status="open",
        answer=None,
        created_at=NOW,
        expires_at=None,
        answered_at=None,
    )


async def left_behind(url: str, approvals: int) -> None:
    """Store open approvals of a dead process for one user, and an idempotent call for another."""
    store = open_store(url)
    await store.open(lambda *_: None)
    for session_id in ("s", "other"):
        row = SessionRow(
            id=session_id,
            user_id=f"user of {session_id}",
            namespaces=None,
            channel=None,
            allow=None,
            tools=(),
            open=True,
            created_at=NOW,
            updated_at=NOW,
        )
        await store.commit([Change(session_id, session=row)])
    ids = [f"x{number}" for number in range(approvals)]
    waiting = [execution(each, "s", "approve", status="waiting", attempt=0) for each in ids]
    asked = [RequestWrite(request(each, "s")) for each in ids]
    await store.commit([Change("s", executions=[ExecutionWrite(row, new=True) for row in waiting], requests=asked)])
    await store.commit([Change("other", executions=[ExecutionWrite(execution("y", "other", "again"), new=True)])])
    await store.join(DEAD)
    await store.close()


async def cost(url: str, approvals: int) -> Counter[str]:
    """Return the queries of a recovery until the other user's work is done."""
    await left_behind(url, approvals)
    runtime = Runtime([approve, again], store=url)
    counted = Counted(runtime.store)
    runtime.sessions._recovery._store = runtime.sessions._heartbeat._store = counted  # type: ignore[assignment]
    async with runtime:
        other = await runtime.open("other", "user of other")
        assert (await ended(other, "y")).value == "done again"
        session = await runtime.open("s", "user of s")
        assert live_session(session).calls.unfinished == [], "an execution that waits for a person is not in memory"
        assert (await session.result("x0", timeout=0)).status == "waiting"
        last = await session.result(f"x{approvals - 1}", timeout=0)
        assert last.status == "waiting"
        assert last.value["request_id"] == f"r-x{approvals - 1}"
    for beat in ("owners", "beat", "living"):
        del counted.asked[beat]  # they go by time
    return counted.asked


async def test_e5_recovery_does_not_cost_more_with_more_open_approvals(sqlite_url: str, tmp_path: Path) -> None:
    little = await cost(sqlite_url, 20)
    much = await cost(f"sqlite:///{tmp_path / 'many.db'}", 2_200)
    assert much["recover"] <= little["recover"] + 2_200 // CLAIM_BATCH
    for name in ("requests", "executions_by_key", "session", "executions"):
        assert much[name] <= little[name] + 2, (name, little, much)
    assert sum(little.values()) < 40


async def test_e5_a_start_does_not_wait_for_recovery(sqlite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    await left_behind(sqlite_url, 3)
    runtime = Runtime([approve, again], store=sqlite_url)
    gate, take_over = asyncio.Event(), runtime.sessions._recovery.take_over

    async def later(claims: Any) -> None:
        await gate.wait()
        await take_over(claims)

    monkeypatch.setattr(runtime.sessions._recovery, "take_over", later)
    async with runtime:
        session = await runtime.open("other", "user of other")
        while (row := await runtime.store.execution("other", "y")) is None or row.owner == "dead":
            pass
        assert (await session.result("y", timeout=0)).status == "started"
        assert await session.cancel("y")
        gate.set()
        assert (await ended(session, "y")).status == "cancelled"
