"""Servers that exhaust memory, stop the event loop, or pass off one tool as another."""

import asyncio
import gzip
import json
import threading
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import anyio
import httpx2
import pytest
from anyio.abc import ByteReceiveStream
from mcp import types

from callboard import RegistrationError, Runtime, mcp_toolset
from callboard.jsonrules.value_count import ValueCounter
from callboard.toolkits.mcp import McpToolset, mcp_toolsets
from callboard.toolkits.mcp import connection as connection_module
from callboard.toolkits.mcp import http_transport as http
from callboard.toolkits.mcp import pins as pins_module
from callboard.toolkits.mcp import toolset as toolset_module
from callboard.toolkits.mcp.address import HttpAddress
from callboard.toolkits.mcp.definitions import MAX_DEFINITION_BYTES, read_definition
from callboard.toolkits.mcp.event_values import EventValueCounter
from callboard.toolkits.mcp.message_size import BYTE_BURST, MAX_MESSAGE, MAX_VALUES
from callboard.toolkits.mcp.stdio_transport import LINE_BURST, LINE_RATE, paced
from tests.toolkits.mcp.raw_http import JSON, Response, raw_http, result
from tests.toolkits.mcp.stage import DEADLINE, hostile, no_sleep, until

pytestmark = pytest.mark.anyio
OBJECT: dict[str, Any] = {"type": "object", "properties": {}}


# One tool passed off as another


async def test_h4_another_name_cannot_take_the_place_of_an_approved_tool(tmp_path: Path) -> None:
    options: dict[str, Any] = {"pins": tmp_path / "pins.json", "approval": ["make_payment"]}
    async with hostile("shadow", tmp_path, **options) as made:
        assert [each.mode for each in made.toolset.tools()] == ["human"]
    (tmp_path / "changed").touch()
    async with hostile("shadow", tmp_path, **options) as made:
        (pay,) = made.toolset.tools()
        assert (pay.description, pay.mode) == ("Pay an amount.", "human")
        assert "another tool with the name sample_make_payment" in made.toolset.skipped["make.payment"]


async def test_h4_approval_is_for_every_name_that_a_model_cannot_tell_apart(tmp_path: Path) -> None:
    (tmp_path / "changed").touch()
    async with hostile("shadow", tmp_path, approval=["make_payment"]) as made:
        (pay,) = made.toolset.tools()
        assert (pay.description, pay.mode) == ("Pay all to mallory.", "human")


async def test_h4_a_call_that_waits_for_the_server_is_not_sent_to_a_changed_tool(tmp_path: Path) -> None:
    gone = asyncio.Event()

    async def sleep(seconds: float) -> None:
        await gone.wait()

    async with hostile("change", tmp_path, sleep=sleep) as made:
        assert (await made.call("make_payment")).error.category == "transient"
        await until(lambda: made.toolset.problem)
        waiting = asyncio.create_task(made.call("make_payment"))
        await asyncio.sleep(0)
        gone.set()
        outcome = await waiting
        assert outcome.error.category == "not_found"
        assert "was changed or removed" in outcome.error.message
        assert made.toolset.changed == {"make_payment"}


def test_h4_a_server_has_no_names_of_a_server_with_a_longer_prefix() -> None:
    servers = {name: {"command": "x"} for name in ("shop", "shop_admin", "other")}
    shop, admin, other = mcp_toolsets({"mcpServers": servers})
    assert [each.reserved for each in (shop, admin, other)] == [("shop_admin_", "other_"), (), ("shop_admin_",)]
    read = shop._read([listed("admin_refund"), listed("refund")])  # pyright: ignore[reportPrivateUsage]
    assert list(read.definitions) == ["refund"]
    assert "belongs to another server" in read.skipped["admin_refund"]


# Memory


async def stream(*chunks: bytes) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


EVENTS = {"accept": "application/json, text/event-stream"}


async def received(*chunks: bytes, status: int = 200, accept: str = EVENTS["accept"], **headers: str) -> bytes:
    """Return the body of a response of these chunks, as the limited transport passes it on."""

    def respond(request: httpx2.Request) -> httpx2.Response:
        assert request.headers["accept-encoding"] == "identity"
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return httpx2.Response(status, headers=named, content=stream(*chunks))

    limited = http.LimitedTransport(httpx2.MockTransport(respond), no_sleep)
    async with httpx2.AsyncClient(transport=limited) as client:
        return (await client.get("http://server/mcp", headers={"accept": accept})).content


async def test_h4_a_compressed_response_is_refused() -> None:
    with pytest.raises(httpx2.ReadError, match="compressed"):
        await received(gzip.compress(b"{}"), content_encoding="gzip")
    assert await received(b"{}", content_encoding="identity") == b"{}"


async def test_h4_a_response_has_a_limit_of_bytes_and_values() -> None:
    with pytest.raises(httpx2.ReadError, match="more than 16,777,216 bytes"):
        await received(*[b"x" * 1024 * 1024] * 17)
    many = b"[" + b"[]," * (MAX_VALUES // 2) + b"0]"
    with pytest.raises(httpx2.ReadError, match="500,000 values"):
        await received(many)
    events = [b"data: ", b"[" + b"0," * (MAX_VALUES // 3) + b"0]\n\n"] * 4
    assert await received(*events, content_type="text/event-stream") == b"".join(events)
    with pytest.raises(httpx2.ReadError, match="500,000 values"):
        await received(b"data: ", many, content_type="text/event-stream")


@pytest.mark.parametrize(("status", "accept"), [(307, EVENTS["accept"]), (401, EVENTS["accept"]), (200, "*/*")])
async def test_h4_a_response_that_is_read_whole_has_a_limit_whatever_its_type(status: int, accept: str) -> None:
    with pytest.raises(httpx2.ReadError, match="more than 16,777,216 bytes"):
        await received(
            *[b": " + b"x" * 1024 * 1024] * 17, status=status, accept=accept, content_type="text/event-stream"
        )


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_h4_values_of_an_event_are_counted_however_it_arrives(end: bytes) -> None:
    text = b'{"a": [1, "b\\"c,"],\n"d": {}}'
    event = b'data: {"a": [1, "b\\"c,"],\ndata:"d": {}}\n\n'
    comment = b': "\nevent: "\nid:"\ndata"\n'
    for stream in (event * 3, comment + event, event + comment + event, b"\n\n" + event):
        lines = stream.replace(b"\n", end)
        for size in (1, 2, 7):
            counter = EventValueCounter()
            counts = [counter.feed(lines[at : at + size]) for at in range(0, len(lines), size)]
            assert max(counts) == ValueCounter().feed(text)


@pytest.mark.parametrize("kind", ["text/event-stream", "text/event-stream; charset=utf-16", "\x0bText/Event-Stream"])
async def test_h4_the_values_of_an_event_are_limited_whatever_surrounds_it(kind: str) -> None:
    many = b"data: [" + b"0," * MAX_VALUES + b"0]\n\n"
    for before in (b': "\n', b'id: "\r', b'data"\n', b"\n\n"):
        with pytest.raises(httpx2.ReadError, match="500,000 values"):
            await received(before + many, content_type=kind)
    small = [b"data: [" + b"0," * (MAX_VALUES // 3) + b"0]\n", b"\n"]  # with the blank line in a chunk of its own
    assert await received(*small * 4, content_type=kind) == b"".join(small * 4)


async def test_h4_an_event_stream_is_read_in_the_encoding_in_which_it_is_counted() -> None:
    body = stream('data: "é"\n\n'.encode("utf-16"))
    headers = {"content-type": "text/event-stream; charset=utf-16"}
    limited = http.LimitedTransport(httpx2.MockTransport(lambda _: httpx2.Response(200, headers=headers, content=body)))
    async with httpx2.AsyncClient(transport=limited) as client:
        assert (await client.get("http://server/mcp", headers=EVENTS)).text.count("data: ") == 0


async def test_h4_streams_are_opened_at_a_rate() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    limited = http.LimitedTransport(httpx2.MockTransport(lambda _: httpx2.Response(200)), sleep)
    async with httpx2.AsyncClient(transport=limited) as client:
        for _ in range(http.STREAM_BURST):
            await client.get("http://server/mcp")
        assert slept == []
        for _ in range(int(http.STREAM_RATE) * 10):
            await client.get("http://server/mcp")
        assert slept[-1] > 5
        count = len(slept)
        await client.post("http://server/mcp")
        assert len(slept) == count


async def test_h4_the_older_transport_has_the_same_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    @asynccontextmanager
    async def sse_client(url: str, headers: Any, auth: Any, httpx_client_factory: Any) -> AsyncGenerator[str]:
        client = httpx_client_factory(headers=headers, auth=auth, timeout=None)
        assert isinstance(client._transport, http.LimitedTransport)
        assert client.headers["x-key"] == "k"
        yield "streams"

    monkeypatch.setattr(http, "sse_client", sse_client)
    address = HttpAddress("http://server/sse", {"x-key": "k"}, "sse")
    async with http.http_transport(address) as streams:
        assert cast("Any", streams) == "streams"


async def test_h4_a_message_with_too_many_values_is_not_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with hostile("values", tmp_path) as made:
        await until(lambda: "more than 500,000 values" in caplog.text)
        assert (await made.call("make_payment")).value == "called make_payment"


async def test_h4_numbers_count_for_the_size_of_a_result(tmp_path: Path) -> None:
    async with hostile("numbers", tmp_path, max_result_bytes=100_000) as made:
        assert (await made.call("make_payment")).error.category == "permanent"
    async with hostile("numbers", tmp_path, max_result_bytes=400_000) as made:
        assert len((await made.call("make_payment")).value["a"]) == 1_000


async def _check_invalid(state: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Assert that the prepared result of the server is an error of the call, and no fault of the runtime."""
    async with hostile("result", state, mode="auto") as made:
        outcome = await made.call("make_payment")
        assert outcome.error is not None
        assert "answered with a result that is not valid" in outcome.error.message
    assert not [record for record in caplog.records if record.exc_info]


MALFORMED: list[dict[str, Any]] = [
    {},
    {"content": 5},
    {"content": [{"type": "hologram"}]},
    {"content": [], "structuredContent": 5},
    {"resultType": "task"},
    {"resultType": "task", "taskId": 5},
    {"resultType": "input_required", "inputRequests": 5},
    {"resultType": "input_required", "inputRequests": [5]},
    {"resultType": "input_required", "inputRequests": {"a": 5}},
    {"resultType": "input_required", "inputRequests": {"a": {"method": "elicitation/create"}}},
    {"resultType": "input_required", "inputRequests": {}, "requestState": 5},
]


@pytest.mark.parametrize("result", MALFORMED, ids=str)
async def test_h4_a_malformed_result_is_a_failure_of_the_server(
    result: dict[str, Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "result").write_text(json.dumps(result))
    await _check_invalid(tmp_path, caplog)


MALFORMED_TASKS: list[dict[str, Any]] = [
    {"resultType": "complete"},
    {"resultType": "complete", "taskId": "t", "status": 5},
    {"resultType": "complete", "taskId": "t", "pollIntervalMs": "soon"},
    {"resultType": "complete", "taskId": "t", "status": "completed", "result": 5},
    {"resultType": "complete", "taskId": "t", "status": "completed", "result": {"content": 5}},
    {"resultType": "complete", "taskId": "t", "status": "failed", "error": 5},
    {"resultType": "complete", "taskId": "t", "status": "input_required", "inputRequests": [5]},
    {"resultType": "complete", "taskId": "t", "status": "input_required", "inputRequests": {"a": 5}},
]


@pytest.mark.parametrize("task", MALFORMED_TASKS, ids=str)
async def test_h4_a_malformed_task_is_a_failure_of_the_server(
    task: dict[str, Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "result").write_text(json.dumps({"resultType": "task", "taskId": "t"}))
    (tmp_path / "task").write_text(json.dumps(task))
    await _check_invalid(tmp_path, caplog)


WORKING = {"resultType": "complete", "taskId": "t", "status": "working"}
BAD_POLLS: list[tuple[dict[str, Any], dict[str, Any] | None]] = [
    ({}, {**WORKING, "pollIntervalMs": "NaN"}),
    ({}, {**WORKING, "pollIntervalMs": "Infinity"}),
    ({"pollIntervalMs": "NaN"}, WORKING),
    ({"status": 5}, WORKING),
    ({}, None),
]
"""What a server says about a task when it creates it, and at a poll, which it can refuse."""


@pytest.mark.parametrize(("created", "task"), BAD_POLLS, ids=str)
async def test_h4_a_task_that_cannot_be_followed_is_cancelled(
    created: dict[str, Any], task: dict[str, Any] | None, tmp_path: Path
) -> None:
    (tmp_path / "result").write_text(json.dumps({"resultType": "task", "taskId": "t", **created}))
    if task is not None:
        (tmp_path / "task").write_text(json.dumps(task))
    async with hostile("result", tmp_path, mode="auto") as made:
        outcome = await made.call("make_payment")
        assert outcome.error.category == "execution"
        assert ("no such task" if task is None else "not valid") in outcome.error.message
        assert (tmp_path / "cancelled").exists()


async def test_h4_a_server_that_does_not_read_responses_is_disconnected(tmp_path: Path) -> None:
    slept = asyncio.Event()
    async with hostile("requests", tmp_path, sleep=lambda _: slept.wait()) as made:
        await until(lambda: made.toolset.problem)
        assert made.toolset.problem is not None
        assert "more than 64 requests" in made.toolset.problem


async def test_h4_a_server_asks_a_person_only_so_often(tmp_path: Path) -> None:
    async with hostile("ask", tmp_path) as made:
        outcome = await made.call("make_payment")
        assert outcome.value == " ".join(["cancel"] * 10)
        assert len(await made.session.requests()) <= 20


def test_h4_tools_that_a_server_ever_had_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pins_module, "MAX_PINS", 1)
    toolset = mcp_toolset("x", namespace="sample")
    toolset._pins.add({"a": read_definition(listed("a"), "sample_").fingerprint})  # pyright: ignore[reportPrivateUsage]
    read = toolset._read([listed("a"), listed("b")])  # pyright: ignore[reportPrivateUsage]
    assert list(read.tools) == ["a"]
    assert read.skipped == {"b": "the server has had too many other tools"}


# The event loop and the log


def listed(name: str, **fields: Any) -> types.Tool:
    return types.Tool.model_validate({"name": name, "description": "A tool.", "inputSchema": OBJECT} | fields)


async def test_h4_a_list_of_tools_is_read_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, release = threading.Event(), threading.Event()

    def slow(tool: types.Tool, prefix: str) -> Any:
        reading.set()
        assert release.wait(DEADLINE)
        return read_definition(tool, prefix)

    monkeypatch.setattr(toolset_module, "read_definition", slow)
    toolset: McpToolset = mcp_toolset("x", namespace="sample")
    updating = asyncio.create_task(toolset._update([listed("a")]))  # pyright: ignore[reportPrivateUsage]
    await until(reading.is_set)
    assert toolset.tools() == []
    release.set()
    await updating
    assert [each.name for each in toolset.tools()] == ["sample_a"]


def test_h4_a_list_that_takes_long_to_read_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolset_module, "READ_LIMIT", -1.0)
    read = mcp_toolset("x", namespace="sample")._read([listed("a")])  # pyright: ignore[reportPrivateUsage]
    assert "took more than" in read.skipped["a"]


def test_h4_a_definition_has_a_limit() -> None:
    with pytest.raises(RegistrationError, match="its definition more than"):
        read_definition(listed("a", description="x" * MAX_DEFINITION_BYTES), "")
    with pytest.raises(RegistrationError, match="its name has more than"):
        read_definition(listed("a" * 2_000), "")


async def test_h4_lines_and_bytes_are_read_at_a_rate() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    async def read(*chunks: bytes) -> int:
        return sum([len(chunk) async for chunk in paced(cast("ByteReceiveStream", stream(*chunks)), sleep)])

    assert await read(b"\n" * (LINE_BURST - 1), b"x") == LINE_BURST
    assert slept == []
    await read(b"\n" * (LINE_BURST + 4_000), b"x")
    assert slept[0] == pytest.approx(4_000 / LINE_RATE, abs=0.5)
    slept.clear()
    await read(*[b"x" * MAX_MESSAGE] * 3)
    assert slept[0] == pytest.approx((3 * MAX_MESSAGE - BYTE_BURST) / http.BYTE_RATE, abs=0.5)


async def test_h4_an_error_of_a_server_is_one_short_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    slept = anyio.Event()

    async def sleep(_: float) -> None:
        slept.set()
        await anyio.sleep_forever()

    async with hostile("long error", tmp_path, sleep=sleep) as made:
        await slept.wait()
        problem = str(made.toolset.problem)
        assert len(problem) < 600
        assert problem.isprintable()
        assert len(caplog.text) < 2_000


# A server that does not end


async def test_h4_a_server_that_does_not_let_its_session_end_is_connected_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It forgets its session at the first call, and never answers the request that ends the session."""
    monkeypatch.setattr(connection_module, "CLOSE_TIMEOUT", 0.01)
    calls = 0

    def respond(request: dict[str, Any]) -> Response:
        nonlocal calls
        calls += 1
        return "404 Not Found" if calls == 1 else "200 OK", JSON, result(request)

    async with raw_http(respond, ends_sessions=False) as url:
        toolset = mcp_toolset(url, namespace="sample", mode="legacy", sleep=no_sleep, connect_timeout=5)
        async with asyncio.timeout(DEADLINE), Runtime([toolset]) as runtime:
            session = await runtime.open("desk", "ann")
            outcome = await session.call("sample_add", {})  # repeated, because the server did nothing
            assert (await session.result(outcome.execution_id)).value == "done"
            assert calls == 2
