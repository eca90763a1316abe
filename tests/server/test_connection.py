"""Connections that misbehave: they leave nothing behind, and are not logged as failures."""

import asyncio
import gc
import logging
import re
import socket
import weakref
from typing import Any

import pytest

from callboard.server import lingering
from tests.server.conftest import DEADLINE, Served, until
from tests.server.test_problems import raw_response

pytestmark = pytest.mark.anyio

STREAM = b"GET /api/chat/stream?session_id=s HTTP/1.1\r\nhost: localhost\r\n\r\n"
HEALTH = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"
CHAT = b"POST /api/chat HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"


@pytest.mark.parametrize("requests", [STREAM + HEALTH, HEALTH + STREAM + HEALTH, HEALTH + HEALTH + STREAM])
async def test_h2_pipelined_stream_ends_when_its_client_disconnects(plain: Served, requests: bytes) -> None:
    plain.services.streams.heartbeat = 0.1  # a lost connection is noticed at the next write
    await plain.session("s")
    _, writer = await asyncio.open_connection("127.0.0.1", plain.port)
    writer.write(requests)
    await until(lambda: len(plain.services.streams) == 1)
    writer.transport.abort()
    await until(lambda: len(plain.services.streams) == 0)


async def test_h5_ended_connections_are_freed_without_a_collection_of_garbage(plain: Served) -> None:
    plain.services.streams.heartbeat = 0.1  # a lost connection is noticed at the next write
    await plain.session("s")
    state = plain.server.server_state
    gc.disable()  # a collection would free reference cycles too
    try:
        for request in (HEALTH, STREAM):
            before = set(state.connections)
            _, writer = await asyncio.open_connection("127.0.0.1", plain.port)
            writer.write(request)
            await until(lambda before=before: state.connections - before)
            ended = [weakref.ref(each) for each in state.connections - before]
            await until(lambda request=request: request == HEALTH or len(plain.services.streams) == 1)
            writer.transport.abort()
            await until(lambda ended=ended: [each() for each in ended] == [None])
    finally:
        gc.enable()


async def test_h1_pipelined_requests_are_answered_in_order(plain: Served) -> None:
    body = b'{"session_id": "s"}'
    create = b"POST /api/sessions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    create += b"content-length: %d\r\n\r\n%b" % (len(body), body)
    last = b"GET /api/sessions/s HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
    said = await raw_response(plain.port, HEALTH + create + HEALTH, create[:-5], create[-5:] + last)
    assert re.findall(rb"HTTP/1\.1 (\d+)", said) == [b"200", b"201", b"200", b"201", b"200"]


async def test_h5_connection_of_a_refused_client_is_closed_after_a_while(
    plain: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lingering, "IDLE", 0.1)
    before = len(plain.server.server_state.connections)
    reader, writer = await asyncio.open_connection("127.0.0.1", plain.port)
    try:
        writer.write(b"GET /healthz HTTP/1.1\r\n" + b"x: y\r\n" * 200 + b"\r\n" + HEALTH)
        async with asyncio.timeout(DEADLINE):
            said = await reader.read(-1)
        assert re.findall(rb"HTTP/1\.1 (\d+)", said) == [b"431"]
        await until(lambda: len(plain.server.server_state.connections) == before)
    finally:
        writer.close()


@pytest.mark.parametrize(
    "said",
    [
        CHAT + b"content-length: 50\r\n\r\n{",
        CHAT + b"transfer-encoding: chunked\r\n\r\n5\r\n{",
        b"POST /ag-ui HTTP/1.1\r\nhost: localhost\r\ncontent-length: 50\r\n\r\n{",
        HEALTH + b"".join(b"x-%d: y\r\n" % number for number in range(200)) + b"\r\n",
        b"GET /healthz HTTP/1.1\r\n" + b"x: y\r\n" * 200 + b"\r\n" + HEALTH,
    ],
)
async def test_h6_a_disconnected_or_refused_request_is_not_logged_as_a_failure(
    plain: Served, caplog: pytest.LogCaptureFixture, said: bytes
) -> None:
    _, writer = await asyncio.open_connection("127.0.0.1", plain.port)
    writer.write(said)
    state = plain.server.server_state
    await until(lambda: state.connections)
    writer.close()
    await until(lambda: len(state.connections) <= 1 and not state.tasks)  # the client of `plain` has one
    assert [each.getMessage() for each in caplog.records if each.levelno > logging.WARNING] == []


async def test_h6_invalid_http_is_answered_with_a_problem(plain: Served) -> None:
    async with asyncio.timeout(DEADLINE):
        said = await raw_response(plain.port, b"get / HTTP/1.1\r\n\r\n")
    head, _, body = said.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert b"application/problem+json" in head
    assert b'"code":"http_invalid"' in body


async def test_h3_run_may_have_a_larger_body_than_other_requests(plain: Served) -> None:
    def run(size: int) -> dict[str, Any]:
        return {"threadId": "t", "runId": "r", "messages": [], "state": "x" * size}

    assert (await plain.post("/ag-ui", run(2_000_000))).status_code == 200
    assert (await plain.post("/ag-ui", run(9_000_000))).json()["code"] == "body_too_large"
    assert (await plain.post("/api/chat", run(2_000_000))).json()["code"] == "body_too_large"


async def test_h1_small_responses_are_sent_without_delay(plain: Served) -> None:
    accepted = [server.sockets[0] for server in plain.server.servers]
    assert accepted
    assert all(each.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) for each in accepted), (
        "connections inherit the option"
    )
