"""The guard in a real server, over real sockets (H5)."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import httpx2
import pytest
from starlette.types import ASGIApp

from callboard import Runtime
from callboard.server.app import create_app
from callboard.server.identity import IdentityConfig, guard
from callboard.server.identity.key_cache import LIFETIME
from callboard.server.uvicorn_server import create_server, listen
from callboard.storage.api_keys import new_key
from callboard.testing import ManualClock

pytestmark = pytest.mark.anyio

PATIENCE = 90.0


class GuardedServer(NamedTuple):
    """A running server, and the clock of its guard."""

    runtime: Runtime
    clock: ManualClock
    client: httpx2.AsyncClient

    async def key(self, user_id: str) -> tuple[str, dict[str, str]]:
        """Create a key. Returns its id and its header."""
        row, text = new_key(user_id, self.clock.time())
        await self.runtime.store.add_key(row)
        await self.clock.advance(LIFETIME)  # cached entries have expired
        return row.id, {"authorization": f"Bearer {text}"}


@asynccontextmanager
async def opened(store: str) -> AsyncGenerator[GuardedServer]:
    clock = ManualClock()
    async with Runtime(model="offline", store=store) as runtime:

        def guarded(app: ASGIApp) -> ASGIApp:
            return guard(app, IdentityConfig(), runtime.store, clock=clock)

        server = create_server(create_app(runtime, guard=guarded), grace=1.0)
        made = listen("127.0.0.1", 0)
        running = asyncio.create_task(server.serve(sockets=[made]))
        try:
            url = f"http://127.0.0.1:{made.getsockname()[1]}"
            async with httpx2.AsyncClient(base_url=url, timeout=PATIENCE, verify=False) as client:
                yield GuardedServer(runtime, clock, client)
        finally:
            server.should_exit = True
            await running
            made.close()


@pytest.fixture(params=["memory", "sqlite"])
async def guarded(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[GuardedServer]:
    async with opened("memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/board.db") as guarded:
        yield guarded


async def test_h5_a_session_of_another_user_is_not_found(guarded: GuardedServer) -> None:
    (_, ann), (_, bob) = await guarded.key("ann"), await guarded.key("bob")
    made = await guarded.client.post("/api/sessions", json={"session_id": "s1"}, headers=ann)
    assert made.status_code == 201
    for path in ("/api/state?session_id=s1", "/api/chat/stream?session_id=s1"):
        assert (await guarded.client.get(path, headers=bob)).status_code == 404
        assert (await guarded.client.get(path)).status_code == 401
    said = await guarded.client.post("/api/chat", json={"session_id": "s1", "message": "hello"}, headers=bob)
    assert said.status_code == 404
    assert (await guarded.client.get("/api/state?session_id=s1", headers=ann)).status_code == 200


async def test_h5_a_real_stream_ends_when_its_key_is_revoked(guarded: GuardedServer) -> None:
    key_id, ann = await guarded.key("ann")
    await guarded.client.post("/api/sessions", json={"session_id": "s1"}, headers=ann)
    session = await guarded.runtime.open("s1", user_id="ann")
    async with (
        asyncio.timeout(PATIENCE),
        guarded.client.stream("GET", "/api/chat/stream", params={"session_id": "s1"}, headers=ann) as stream,
    ):
        pieces = stream.aiter_text()
        assert "snapshot" in await anext(pieces)
        await session.notice("one")
        assert "one" in await anext(pieces)
        await guarded.runtime.store.revoke_key(key_id, guarded.clock.time())
        await guarded.clock.advance(LIFETIME)
        await session.notice("two")
        assert [piece async for piece in pieces] == [], "the stream ends without further events"
    assert (await guarded.client.get("/api/state?session_id=s1", headers=ann)).status_code == 401


async def test_h5_dns_rebinding_is_refused(guarded: GuardedServer) -> None:
    rebound = {"host": "evil.example", "origin": "http://evil.example"}
    refused = await guarded.client.get("/api/tools", headers=rebound)
    assert (refused.status_code, refused.json()["code"]) == (421, "host_not_allowed")
    assert refused.headers["x-content-type-options"] == "nosniff"
    foreign = await guarded.client.post("/api/sessions", json={}, headers={"origin": "http://evil.example"})
    assert (foreign.status_code, foreign.json()["code"]) == (403, "origin_not_allowed")
    assert (await guarded.client.get("/api/tools")).status_code == 200, (
        "without keys, local requests need no credentials"
    )


async def test_h5_public_paths(guarded: GuardedServer) -> None:
    await guarded.key("ann")
    for path in ("/healthz", "/openapi.json"):
        assert (await guarded.client.get(path)).status_code == 200
    refused = await guarded.client.get("/api/tools")
    assert (refused.status_code, refused.headers["www-authenticate"]) == (401, 'Bearer realm="callboard"')
