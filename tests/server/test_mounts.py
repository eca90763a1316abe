"""Mounted protocols: each brings its path, methods, body limits and drain, and the server names none."""

import ast
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

import callboard.server
from callboard import Runtime
from callboard.protocols.mount import ProtocolHost
from tests.server.conftest import TOOLS, serve

pytestmark = pytest.mark.anyio


class EchoMount:
    """A protocol that opens the session `echo` and returns the body."""

    path = "/echo"
    methods: Sequence[str] = ("POST",)
    max_body_bytes = 2_000_000
    max_body_values = 100

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
