"""Requests without a response, and errors of servers that look like them."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from callboard import Runtime, Session, mcp_toolset
from callboard.toolkits.mcp import McpToolset
from tests.toolkits.mcp.raw_http import EVENTS, JSON, Response, error, raw_http, result
from tests.toolkits.mcp.stage import DEADLINE, hostile, no_sleep

pytestmark = pytest.mark.anyio
NOT_LOSSES = [
    (-32600, "No open checkout session for this customer"),
    (-32600, "Session terminated"),
    (-32000, "There is no such customer."),
    (-32000, "Connection closed by the database"),
    (-32000, "Connection closed"),
]
"""Codes and texts of errors that are responses, whatever they say."""


@pytest.mark.parametrize(("code", "text"), [*NOT_LOSSES, (-32000, "SSE stream ended without a response")])
async def test_h4_an_error_of_a_server_is_not_the_loss_of_its_process(code: int, text: str, tmp_path: Path) -> None:
    (tmp_path / "error").write_text(json.dumps({"code": code, "message": text}))
    async with hostile("error", tmp_path) as made:
        for _ in range(2):
            outcome = await made.call("make_payment")
            assert outcome.error.category == "execution"
            assert text in outcome.error.message
        assert made.toolset.problem is None
    calls = (tmp_path / "calls").read_text().split()
    assert len(calls) == 2  # neither was repeated
    assert len(set(calls)) == 1  # and the process is the same


@asynccontextmanager
async def connected(url: str) -> AsyncGenerator[tuple[McpToolset, Session]]:
    toolset = mcp_toolset(url, namespace="sample", mode="legacy", sleep=no_sleep)
    async with asyncio.timeout(DEADLINE), Runtime([toolset]) as runtime:
        yield toolset, await runtime.open("desk", "ann")


async def call(session: Session) -> Any:
    return await session.result((await session.call("sample_add", {})).execution_id)


@pytest.mark.parametrize(("code", "text"), NOT_LOSSES)
async def test_h4_an_error_of_a_server_is_not_the_loss_of_its_session(code: int, text: str) -> None:
    calls = 0

    def respond(request: dict[str, Any]) -> Response:
        nonlocal calls
        calls += 1
        return "200 OK", JSON, error(request, code, text)

    async with raw_http(respond) as url, connected(url) as (toolset, session):
        outcome = await call(session)
        assert outcome.error.category == "execution"
        assert text in outcome.error.message
        assert toolset.problem is None
        assert calls == 1


FORGOTTEN = [b"", b"no such session", b'{"error": "no session"}', error({"id": None}, -32001, "Session not found")]


@pytest.mark.parametrize("body", FORGOTTEN)
async def test_h4_a_call_of_a_forgotten_session_is_repeated(body: bytes) -> None:
    calls = 0

    def respond(request: dict[str, Any]) -> Response:
        nonlocal calls
        calls += 1
        return ("404 Not Found", JSON, body) if calls == 1 else ("200 OK", JSON, result(request))

    async with raw_http(respond) as url, connected(url) as (_, session):
        assert (await call(session)).value == "done"
        assert calls == 2


async def test_h4_a_stream_that_ends_without_a_response_is_a_loss() -> None:
    calls = 0

    def respond(request: dict[str, Any]) -> Response:
        nonlocal calls
        calls += 1
        return ("200 OK", EVENTS, b": nothing\n\n") if calls == 1 else ("200 OK", JSON, result(request))

    async with raw_http(respond) as url, connected(url) as (_, session):
        outcome = await call(session)
        assert outcome.error.category == "transient"
        assert "not known whether the call took effect" in outcome.error.message
        assert calls == 1
        assert (await call(session)).value == "done"
