"""A server whose store is unavailable or full: it reports that in time, and never writes refused changes (B6)."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from callboard.adapters.stores import migrate_store as migrate
from callboard.adapters.stores import open_store
from tests.crash.test_disk_full import fill, small_disk
from tests.servers import OwnPostgres

from .harness import DEADLINE, Node, make_users

pytestmark = pytest.mark.anyio

IN_TIME = 5.0
"""Seconds within which a client gets a response, and a server reports that it is not ready."""

WRITES: list[tuple[str, dict[str, Any]]] = [
    ("/api/chat", {"message": "work {}"}),
    ("/api/chat", {"message": "work {}"}),
    ("/api/chat", {"message": "work {}"}),
    ("/api/executions", {"tool": "work", "arguments": {}}),
    ("/api/executions", {"tool": "pay", "arguments": {"amount": 5}}),
    ("/api/system/event", {"event": {"kind": "user_input", "text": "hello"}}),
]


@asynccontextmanager
async def serving(folder: Path, store: str) -> AsyncGenerator[tuple[Node, httpx2.AsyncClient]]:
    """Start a server with a session in which a call runs."""
    (user,) = await make_users(store, "alice")
    node = Node(folder, store, "--model", "offline", CALLBOARD_RATE_LIMIT="0")
    try:
        await asyncio.to_thread(node.start)
        async with user.client(node, timeout=DEADLINE) as client:
            assert (await client.post("/api/sessions", json={"session_id": "s"})).status_code == 201
            started = await client.post("/api/executions", json={"session_id": "s", "tool": "work", "arguments": {}})
            assert started.json()["status"] == "started"
            yield node, client
    finally:
        await asyncio.to_thread(node.stop)


async def readiness(client: httpx2.AsyncClient, wanted: int) -> float:
    """Wait until `/readyz` responds with a status. Returns the seconds that it took."""
    began = time.perf_counter()
    async with asyncio.timeout(DEADLINE):
        while (await client.get("/readyz")).status_code != wanted:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    return time.perf_counter() - began


async def check_refusals(client: httpx2.AsyncClient) -> None:
    """Check that every write is refused in time while the store is unavailable."""

    async def timed(path: str, body: dict[str, Any]) -> tuple[float, httpx2.Response]:
        began = time.perf_counter()
        answer = await client.post(path, json={"session_id": "s", **body})
        return time.perf_counter() - began, answer

    answers = await asyncio.gather(*(timed(*each) for each in WRITES))
    for seconds, answer in answers:
        assert answer.status_code == 503, answer.text
        assert answer.json()["code"] == "store_unavailable"
        assert int(answer.headers["retry-after"]) > 0
        assert seconds <= IN_TIME
    shown = await timed("/api/interrupt", {})
    assert shown[0] <= IN_TIME


async def check_unchanged(client: httpx2.AsyncClient, store: str) -> None:
    """Check that no refused change was written, and that the running call continues."""
    (running,) = (await client.get("/api/executions", params={"session_id": "s"})).json()["executions"]
    assert (running["tool"], running["status"]) == ("work", "executing")
    opened = open_store(store)
    await opened.open(lambda *_: None)
    try:
        lines = (await opened.events("s", 0, 1000)).lines
    finally:
        await opened.close()
    assert not [line for line in lines if b"user_input" in line or b"human_request" in line]
    cancelled = await client.post(f"/api/executions/{running['execution_id']}/cancel", json={"session_id": "s"})
    assert cancelled.status_code == 202
    async with asyncio.timeout(DEADLINE):
        while running["status"] != "cancelled":
            (running,) = (await client.get("/api/executions", params={"session_id": "s"})).json()["executions"]
            await asyncio.sleep(0.01)


@contextmanager
def stopped(server: OwnPostgres) -> Generator[None]:
    """Stop the database server, which closes its connections."""
    server.stop(immediate=True)
    try:
        yield
    finally:
        server.start()


@contextmanager
def frozen(server: OwnPostgres) -> Generator[None]:
    """Freeze the database server, which keeps its connections open."""
    children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text()
    pids = [server.pid, *map(int, children.split())]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize("unavailable", [stopped, frozen])
async def test_b6_server_without_its_database_refuses_writes_for_good(
    unavailable: Any, own_postgres: OwnPostgres, tmp_path: Path
) -> None:
    with own_postgres.database() as url:
        await asyncio.to_thread(migrate, url)
        async with serving(tmp_path / "node", url) as (_, client):
            assert await readiness(client, 200) <= IN_TIME
            with unavailable(own_postgres):
                assert await readiness(client, 503) <= IN_TIME, "although no request writes"
                await check_refusals(client)
            await readiness(client, 200)
            await check_unchanged(client, url)


async def test_b6_server_with_a_full_disk_refuses_writes_for_good(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk") as disk:
        url = f"sqlite:///{disk / 'callboard.db'}"
        async with serving(tmp_path / "node", url) as (_, client):
            large = {"session_id": "s", "event": {"kind": "user_input", "text": "x" * 60_000}}
            filler = await asyncio.to_thread(fill, disk)
            assert await readiness(client, 503) <= IN_TIME, "although no request writes"
            async with asyncio.timeout(DEADLINE):  # until the log file that SQLite has allocated is full
                while (await client.post("/api/system/event", json=large)).status_code != 503:
                    pass
            filler.unlink()
            await readiness(client, 200)
            opened = open_store(url)
            await opened.open(lambda *_: None)
            before = len((await opened.events("s", 0, 1000)).lines)
            filler = await asyncio.to_thread(fill, disk)
            answers = [await client.post("/api/system/event", json=large) for _ in range(2)]
            taken = sum(answer.status_code == 202 for answer in answers)
            filler.unlink()
            await readiness(client, 200)
            assert len((await opened.events("s", 0, 1000)).lines) == before + taken
            await opened.close()
