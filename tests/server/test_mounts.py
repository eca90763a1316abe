"""Mounted protocols: each brings its path, methods, body limits and drain, and the server names none."""

import ast
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import callboard.server
from callboard import Runtime
from callboard.protocols.mount import ProtocolHost
from callboard.server.bounded_send import BoundedSend
from callboard.server.byte_budget import MIB
from tests.server.conftest import TOOLS, serve

pytestmark = pytest.mark.anyio


class EchoMount:
    """A protocol that opens the session `echo` and returns the body."""

    path = "/echo"
    methods: Sequence[str] = ("POST",)
    max_body_bytes = 2_000_000
    max_body_values = 100
    request_headers = ("x-notes-session",)
    response_headers = ("x-notes-number",)

    def __init__(self) -> None:
        self.drained = False
        self.ran: list[str] = []

    def application(self, host: ProtocolHost) -> ASGIApp:
        async def application(scope: Scope, receive: Receive, send: Send) -> None:
            request = Request(scope, receive)
            async with host.read_body(request) as body:
                session = await host.open_session(request, "echo")
                assert (host.user_id(request), session in host.registry) == (session.user_id, False)
                await PlainTextResponse(f"{session.user_id} {len(body)}")(scope, receive, send)

        return application

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        self.ran.append("begun")
        yield
        self.ran.append("ended")

    def drain(self) -> None:
        self.drained = True


async def test_h3_mounted_protocol_gets_its_route_its_limits_and_its_drain() -> None:
    mount = EchoMount()
    async with serve(Runtime(TOOLS), mounts=[mount]) as served:
        response = await served.client.post("/echo", content=b'"' + b"x" * 1_500_000 + b'"', headers={"x-user": "ann"})
        assert response.text == "ann 1500002"
        assert mount.ran == ["begun"]
        assert response.headers["cache-control"] == "no-store"
        assert (await served.get("/echo")).json()["code"] == "method_not_allowed"
        assert (await served.client.post("/echo", content=b"x" * 2_000_001)).json()["code"] == "body_too_large"
        values = b"[" + b"1," * 5_000 + b"1]"
        assert (await served.client.post("/echo", content=values)).json()["code"] == "too_many_values"
        stranger = await served.client.post("/echo", content=b"{}", headers={"x-user": "bob"})
        assert stranger.json()["code"] == "session_not_found"
        assert (await served.post("/ag-ui", {})).status_code == 404
        served.services.draining = True
        assert (await served.client.post("/echo", content=b"{}")).json()["code"] == "draining"
        assert not mount.drained
    assert mount.drained
    assert mount.ran == ["begun", "ended"]


class LargeMount(EchoMount):
    """A protocol with a large response, of known length or as a stream."""

    def application(self, host: ProtocolHost) -> ASGIApp:
        async def application(scope: Scope, receive: Receive, send: Send) -> None:
            async with host.read_body(Request(scope, receive)) as body:
                response = PlainTextResponse("x" * 900_000)
                await (response if body == b'"whole"' else _stream)(scope, receive, send)

        return application


async def _stream(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for number in range(3):
        await send({"type": "http.response.body", "body": b"x" * 300_000, "more_body": number < 2})


async def test_h6_unsent_responses_of_a_mounted_protocol_count_in_the_budget_of_the_user() -> None:
    async with serve(Runtime(TOOLS), mounts=[LargeMount()]) as served:
        unsent = served.services.unsent_frames
        for kind in (b'"whole"', b'"stream"'):
            assert (await served.client.post("/echo", content=kind)).text == "x" * 900_000
            assert unsent.held == 0
        with unsent.holding("local", 63 * MIB + 900_000):
            refused = await served.client.post("/echo", content=b'"whole"')
            assert (refused.status_code, refused.json()["code"]) == (429, "too_many_unread_answers")
            with pytest.raises(httpx2.RemoteProtocolError):  # it has started, so that only an abort tells the client
                await served.client.post("/echo", content=b'"stream"')
            theirs = await served.client.post("/echo", content=b'"whole"', headers={"x-user": "ann"})
            assert theirs.text == "x" * 900_000


async def test_h6_response_that_cannot_be_aborted_ends_as_if_its_client_had_disconnected() -> None:
    async def send(message: Message) -> None: ...

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async with serve(Runtime(TOOLS)) as served:
        bounded = BoundedSend(served.services, "local", {"type": "http"}, receive, send)
        with served.services.unsent_frames.holding("local", 64 * MIB), pytest.raises(ClientDisconnect):
            await bounded({"type": "http.response.body", "body": b"x" * 100_000, "more_body": True})


@pytest.mark.parametrize("path", sorted(Path(callboard.server.__path__[0]).rglob("*.py")), ids=lambda path: path.name)
def test_h3_the_server_names_no_protocol(path: Path) -> None:
    source = path.read_text().lower()
    assert "agui" not in source
    assert "ag-ui" not in source
    modules = [node.module or "" for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)]
    assert {name for name in modules if name.startswith("protocols.")} <= {
        "protocols.mount",
        "protocols.problem",
        "protocols.standard",
    }
