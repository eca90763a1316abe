"""The guard before a real server, over real sockets (H5)."""

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

PATIENCE = 20.0


class House(NamedTuple):
    """A server that runs, and the clock of its guard."""

    runtime: Runtime
    clock: ManualClock
    client: httpx2.AsyncClient

    async def key(self, user_id: str) -> tuple[str, dict[str, str]]:
        """The id of a new key, and the header that it makes."""
        row, text = new_key(user_id, self.clock.time())
        await self.runtime.store.add_key(row)
        await self.clock.advance(LIFETIME)  # the caches have seen the keys
        return row.id, {"authorization": f"Bearer {text}"}


@asynccontextmanager
async def opened(store: str) -> AsyncGenerator[House]:
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
                yield House(runtime, clock, client)
        finally:
            server.should_exit = True
            await running
            made.close()


@pytest.fixture(params=["memory", "sqlite"])
async def house(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[House]:
    async with opened("memory://" if request.param == "memory" else f"sqlite:///{tmp_path}/board.db") as house:
        yield house


async def test_h5_a_session_of_another_user_is_not_found(house: House) -> None:
    (_, ann), (_, bob) = await house.key("ann"), await house.key("bob")
    made = await house.client.post("/api/sessions", json={"session_id": "s1"}, headers=ann)
    assert made.status_code == 201
    for path in ("/api/state?session_id=s1", "/api/chat/stream?session_id=s1"):
        assert (await house.client.get(path, headers=bob)).status_code == 404
        assert (await house.client.get(path)).status_code == 401
    said = await house.client.post("/api/chat", json={"session_id": "s1", "message": "hello"}, headers=bob)
    assert said.status_code == 404
    assert (await house.client.get("/api/state?session_id=s1", headers=ann)).status_code == 200


async def test_h5_a_real_stream_ends_when_its_key_is_revoked(house: House) -> None:
    key_id, ann = await house.key("ann")
    await house.client.post("/api/sessions", json={"session_id": "s1"}, headers=ann)
    session = await house.runtime.open("s1", user_id="ann")
    async with (
        asyncio.timeout(PATIENCE),
        house.client.stream("GET", "/api/chat/stream", params={"session_id": "s1"}, headers=ann) as stream,
    ):
        pieces = stream.aiter_text()
        assert "snapshot" in await anext(pieces)
        await session.notice("one")
        assert "one" in await anext(pieces)
        await house.runtime.store.revoke_key(key_id, house.clock.time())
        await house.clock.advance(LIFETIME)
        await session.notice("two")
        assert [piece async for piece in pieces] == [], "it ends, and nothing more is told"
    assert (await house.client.get("/api/state?session_id=s1", headers=ann)).status_code == 401


async def test_h5_dns_rebinding_is_refused(house: House) -> None:
    rebound = {"host": "evil.example", "origin": "http://evil.example"}
    refused = await house.client.get("/api/tools", headers=rebound)
    assert (refused.status_code, refused.json()["code"]) == (421, "host_not_allowed")
    assert refused.headers["x-content-type-options"] == "nosniff"
    foreign = await house.client.post("/api/sessions", json={}, headers={"origin": "http://evil.example"})
    assert (foreign.status_code, foreign.json()["code"]) == (403, "origin_not_allowed")
    assert (await house.client.get("/api/tools")).status_code == 200, "without keys, it is one person's own"


async def test_h5_public_paths(house: House) -> None:
    await house.key("ann")
    for path in ("/healthz", "/openapi.json"):
        assert (await house.client.get(path)).status_code == 200
    refused = await house.client.get("/api/tools")
    assert (refused.status_code, refused.headers["www-authenticate"]) == (401, 'Bearer realm="callboard"')
