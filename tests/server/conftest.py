"""A real server on a free loopback port, on the event loop of the test, with tools of every mode."""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import httpx2
import pytest
from pydantic_core import from_json
from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

from callboard import Runtime, ToolContext, tool
from callboard.server.app import create_app
from callboard.server.app_services import AppServices
from callboard.server.uvicorn_server import Server, create_server, listen

DEADLINE = 90.0
"""Seconds after which a wait of a test fails."""


@tool
async def add(a: Annotated[int, "The first number"], b: Annotated[int, "The second number"]) -> int:
    """Add two numbers."""
    return a + b


@tool(mode="background")
async def wait_for_ever(ctx: ToolContext) -> str:
    """Wait until it is cancelled."""
    await ctx.progress("waiting", 0.5)
    await asyncio.Event().wait()
    return "never"


@tool(mode="human")
async def pay(amount: Annotated[int, "The amount"]) -> str:
    """Pay an amount."""
    return f"paid {amount}"


@tool
async def shout(text: Annotated[str, "The text"]) -> str:
    """Convert a text to upper case."""
    return text.upper()


@tool(namespace="workers")
async def echo(payload: Annotated[str, "Anything"]) -> str:
    """Return the payload."""
    return payload


TOOLS = [add, wait_for_ever, pay, shout]
WORKERS = [echo]


def as_user(app: ASGIApp) -> ASGIApp:
    """Guard an app with the header `x-user`, which it trusts."""

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            user = dict(scope["headers"]).get(b"x-user", b"local").decode()
            scope.setdefault("state", {})["user_id"] = user
        await app(scope, receive, send)

    return guarded


@dataclass
class Served:
    """A running server."""

    url: str
    port: int
    app: Starlette
    runtime: Runtime
    server: Server
    client: httpx2.AsyncClient

    @property
    def services(self) -> AppServices:
        return self.app.state.services

    async def post(self, path: str, body: Any = None, **headers: str) -> httpx2.Response:
        return await self.client.post(
            path, json=body, headers={name.replace("_", "-"): headers[name] for name in headers}
        )

    async def get(self, path: str, params: dict[str, Any] | None = None, **headers: str) -> httpx2.Response:
        given = {name.replace("_", "-"): headers[name] for name in headers}
        return await self.client.get(path, params=params, headers=given)

    async def session(self, session_id: str, **headers: str) -> None:
        assert (await self.post("/api/sessions", {"session_id": session_id}, **headers)).status_code == 201

    @asynccontextmanager
    async def stream(self, session_id: str, **params: Any) -> AsyncGenerator["AsyncIterator[Sent]"]:
        """Open a stream, and yield its frames. `last_event_id` is sent as the header."""
        last = params.pop("last_event_id", None)
        headers = {} if last is None else {"last-event-id": str(last)}
        query = {"session_id": session_id, **params}
        async with (
            asyncio.timeout(DEADLINE),
            self.client.stream("GET", "/api/chat/stream", params=query, headers=headers) as response,
        ):
            assert response.status_code == 200, await response.aread()
            yield frames(response.aiter_lines())


class Sent(NamedTuple):
    """A frame of a stream, parsed."""

    id: int | None
    event: str
    data: Any


async def frames(lines: AsyncIterator[str]) -> AsyncIterator[Sent]:
    """Parse a stream as a browser does: a frame without data is no event."""
    number, name, data = None, "message", ""
    async for line in lines:
        if not line:
            if data:
                yield Sent(number, name, from_json(data))
            number, name, data = None, "message", ""
        elif found := re.fullmatch(r"(id|event|data|retry): (.*)", line, re.DOTALL):
            field, value = found.groups()
            if field == "id":
                number = int(value)
            elif field == "event":
                name = value
            elif field == "data":
                data += value
        else:
            assert line.startswith(":"), line


async def take(stream: "AsyncIterator[Sent]", wanted: Callable[[Sent], bool]) -> list[Sent]:
    """Return the frames up to the first wanted one."""
    found: list[Sent] = []
    async for sent in stream:
        found.append(sent)
        if wanted(sent):
            return found
    raise AssertionError(f"the stream ended: {found[-3:]}")


async def until(condition: Callable[[], object]) -> None:
    """Wait until a condition holds, which another task or process brings about."""
    async with asyncio.timeout(DEADLINE):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


class Hurried:
    """`asyncio` with short sleeps."""

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio, name)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(min(seconds, 0.002))


@pytest.fixture(scope="session", autouse=True)
def hurry() -> Generator[None]:
    """Let servers of this process check more often whether to stop, which is most of a short test's time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("uvicorn.server.asyncio", Hurried())
        patch.setattr("callboard.server.uvicorn_server.TICK", 0.002)
        yield


@pytest.fixture(scope="session", autouse=True)
def patient() -> Generator[None]:
    """Let requests wait longer for the store than those of people do: a busy machine is no outage."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("callboard.server.store_timeout.PATIENCE", 60.0)
        yield


@asynccontextmanager
async def serve(
    runtime: Runtime, *, grace: float = 5.0, guard: Callable[[ASGIApp], ASGIApp] = as_user, **options: Any
) -> AsyncGenerator[Served]:
    """Start a runtime, and serve it."""
    async with runtime:
        app = create_app(runtime, guard=guard, **options)
        server = create_server(app, grace=grace)
        made = listen("127.0.0.1", 0)
        port: int = made.getsockname()[1]
        url = f"http://127.0.0.1:{port}"
        running = asyncio.create_task(server.serve(sockets=[made]))
        try:
            async with httpx2.AsyncClient(base_url=url, timeout=DEADLINE, verify=False) as client:
                assert (
                    await client.get("/healthz")
                ).status_code == 200  # waits for the server, whose socket listens already
                yield Served(url, port, app, runtime, server, client)
        finally:
            server.should_exit = True
            await running
            made.close()


@pytest.fixture
async def served(store_url: str) -> AsyncGenerator[Served]:
    """Start a server with the offline model, on each store."""
    async with serve(Runtime(TOOLS, workers=WORKERS, model="offline", store=store_url)) as running:
        yield running


@pytest.fixture
async def plain() -> AsyncGenerator[Served]:
    """Start a server with a store in memory, for tests that do not depend on the store."""
    async with serve(Runtime(TOOLS, workers=WORKERS, model="offline")) as running:
        yield running
