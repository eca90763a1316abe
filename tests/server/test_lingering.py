"""Responses before the end of a body: every client can read them, and discarding the rest is bounded."""

import asyncio
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import cast

import httpx2
import pytest

from callboard.server import lingering
from callboard.server.lingering import Linger, LingeringConnections
from callboard.server.request_bodies import RequestBodies
from callboard.testing import ManualClock
from tests.server.conftest import DEADLINE, Served, until

pytestmark = pytest.mark.anyio

LARGE = 8_000_000
"""Bytes: more than the kernel buffers for a client that does not read."""
PIECE = b" " * 65_536


def head(length: int, *fields: str, path: str = "/api/chat") -> bytes:
    lines = [f"POST {path} HTTP/1.1", "host: localhost", "content-type: application/json", f"content-length: {length}"]
    return "\r\n".join([*lines, *fields, "", ""]).encode()


@asynccontextmanager
async def connected(served: Served) -> AsyncGenerator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
    try:
        async with asyncio.timeout(DEADLINE):
            yield reader, writer
    finally:
        writer.transport.abort()


async def send_endlessly(writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(PIECE)
        await writer.drain()


@pytest.mark.parametrize("fields", [[], ["connection: close"]])
@pytest.mark.parametrize("path", ["/api/chat", "/ag-ui", "/none"])
async def test_h5_client_that_reads_after_sending_the_whole_body_gets_the_refusal(
    plain: Served, path: str, fields: list[str]
) -> None:
    length = 2 * LARGE
    for _ in range(3):
        async with connected(plain) as (reader, writer):
            transport = cast("asyncio.Transport", writer.transport)
            transport.pause_reading()  # the client does not read meanwhile
            writer.write(head(length, *fields, path=path) + b" " * length)
            await until(lambda transport=transport: transport.get_write_buffer_size() == 0)
            transport.resume_reading()
            response = await reader.read(-1)
        assert re.findall(rb"HTTP/1\.1 (\d+)", response) == [b"404" if path == "/none" else b"413"]


async def test_h5_response_before_the_end_of_the_body_closes_the_connection(plain: Served) -> None:
    async with connected(plain) as (reader, writer):
        writer.write(head(2_000_000))  # refused by its length
        early = await reader.readuntil(b"\r\n\r\n")
    async with connected(plain) as (reader, writer):
        writer.write(head(2) + b"{}")
        whole = await reader.readuntil(b"\r\n\r\n")
    assert early.startswith(b"HTTP/1.1 413 ")
    assert b"connection: close\r\n" in early, "or the client would send its next request on a closed connection"
    assert whole.startswith(b"HTTP/1.1 422 ")
    assert b"connection: close\r\n" not in whole


async def test_h5_many_refused_bodies_at_once_are_all_answered(plain: Served) -> None:
    plain.services.bodies = RequestBodies(per_user=1)
    body = b'{"threadId":"t","runId":"r","messages":[],"x":"' + b" " * 7_000_000 + b'"}'
    async with httpx2.AsyncClient(base_url=plain.url, timeout=DEADLINE, verify=False) as client:
        answers = await asyncio.gather(
            *(client.post("/ag-ui", content=body, headers={"content-type": "application/json"}) for _ in range(20))
        )
    assert {each.status_code for each in answers} <= {200, 413, 422, 429}
    assert any(each.status_code == 429 for each in answers)


async def test_h5_lingering_lasts_while_a_slow_client_sends_up_to_a_limit() -> None:
    clock, closed = ManualClock(), list[float]()

    class Loop:
        time = staticmethod(clock.monotonic)
        call_later = staticmethod(clock.call_later)

        def call_at(self, when: float, callback: Callable[[], None]) -> object:
            return clock.call_later(when - clock.monotonic(), callback)

    loop = cast("asyncio.AbstractEventLoop", Loop())
    linger = Linger("a", lambda: closed.append(clock.monotonic()), LingeringConnections(), loop)
    while clock.monotonic() < 3 * lingering.LONGEST:
        linger.discard(1)
        await clock.advance(lingering.IDLE / 2)
    assert closed == [lingering.LONGEST], "neither earlier nor later"


@pytest.mark.parametrize(("name", "value"), [("LONGEST", 0.2), ("MOST", 500_000)])
async def test_h5_discarding_a_body_is_bounded(
    plain: Served, monkeypatch: pytest.MonkeyPatch, name: str, value: float
) -> None:
    monkeypatch.setattr(lingering, name, value)
    async with connected(plain) as (_, writer):
        writer.write(head(10**12))
        await until(lambda: len(plain.services.lingering) == 1)
        with pytest.raises(ConnectionError):
            await send_endlessly(writer)
    assert len(plain.services.lingering) == 0


async def test_h5_lingering_connections_of_one_user_do_not_close_those_of_others() -> None:
    closed: list[str] = []
    connections = LingeringConnections(per_owner=3, total=5)
    loop = asyncio.get_running_loop()

    def linger(owner: str, number: int) -> Linger:
        return Linger(owner, lambda: closed.append(f"{owner}{number}"), connections, loop)

    lingers = [linger("a", 1), linger("m", 1), linger("m", 2), linger("m", 3), linger("m", 4)]
    assert closed == ["m1"], "at most three per user"
    lingers += [linger("b", 1), linger("c", 1)]
    assert closed == ["m1", "m2"], "at most five in total; the user with the most loses one"
    assert (len(connections), connections.held_by("m"), connections.held_by("a")) == (5, 2, 1)
    for each in lingers:
        each.end()
    assert len(connections) == 0
    assert closed == ["m1", "m2"]
