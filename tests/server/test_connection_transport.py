"""The transport of a connection: a response's head leaves with its body, and never stays behind."""

import asyncio
import http.client
from collections.abc import Iterable

import pytest

from callboard.server.connection_transport import ConnectionTransport
from tests.server.conftest import DEADLINE, Served

pytestmark = pytest.mark.anyio

HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n"


class FakeTransport(asyncio.Transport):
    """Keeps what is sent, by calls of the system."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[bytes] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent.append(bytes(data))

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        self.sent.append(b"".join(list_of_data))

    def get_write_buffer_size(self) -> int:
        return 0

    def close(self) -> None:
        self.sent.append(b"closed")

    def is_closing(self) -> bool:
        return False


@pytest.fixture
async def socket() -> FakeTransport:
    return FakeTransport()


@pytest.fixture
async def transport(socket: FakeTransport) -> ConnectionTransport:
    return ConnectionTransport(socket, asyncio.get_running_loop(), socket.close, socket.is_closing)


async def test_h1_head_and_body_are_sent_at_once(transport: ConnectionTransport, socket: FakeTransport) -> None:
    transport.write(HEAD)
    transport.write(b"body")
    transport.write(b"more")
    assert socket.sent == [HEAD + b"body", b"more"]
    await asyncio.sleep(0)
    assert socket.sent == [HEAD + b"body", b"more"]


async def test_h2_head_of_a_stream_does_not_wait_for_its_first_event(
    transport: ConnectionTransport, socket: FakeTransport
) -> None:
    transport.write(HEAD)
    assert socket.sent == []
    await asyncio.sleep(0)
    assert socket.sent == [HEAD]
    transport.write(b"event")
    assert socket.sent == [HEAD, b"event"]


async def test_h5_ended_connection_sends_nothing(transport: ConnectionTransport, socket: FakeTransport) -> None:
    transport.write(HEAD)
    transport.forget_connection()
    await asyncio.sleep(0)
    assert socket.sent == []


@pytest.mark.parametrize("method", ["HEAD", "GET"])
async def test_h1_response_without_a_body_arrives_before_its_connection_is_closed(plain: Served, method: str) -> None:
    def ask() -> tuple[int, bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", plain.port, timeout=DEADLINE)
        try:
            connection.request(method, "/healthz", headers={"connection": "close"})
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    status, body = await asyncio.to_thread(ask)
    assert status == 200
    assert bool(body) is (method == "GET")


async def test_h2_head_of_an_idle_stream_arrives(plain: Served) -> None:
    await plain.session("s")
    reader, writer = await asyncio.open_connection("127.0.0.1", plain.port)
    try:
        writer.write(b"GET /api/chat/stream?session_id=s HTTP/1.1\r\nhost: localhost\r\n\r\n")
        async with asyncio.timeout(DEADLINE):
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
    finally:
        writer.close()
