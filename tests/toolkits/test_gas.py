"""The worker for gas prices, against a real server on loopback (B5)."""

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

import anyio
import anyio.abc
import pytest

from callboard import Registry, Runtime, Session, Settings, ToolError
from callboard.errors import SettingsError
from callboard.testing import ManualClock
from callboard.toolkits.gas import gas_price, gas_worker, workers
from callboard.toolkits.http import Limits
from tests.toolkits.test_http_fetch import Answer, Server, redirect, reply, serving

pytestmark = pytest.mark.anyio

PATH = "/v3/s3cret-key"
SOON = 90.0


@pytest.fixture
async def node(monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Server, None]:
    """A node, with its address in the environment and a key in the address."""
    async with serving() as server:
        monkeypatch.setenv("CALLBOARD_GAS_PRICE_URL", server.url(PATH))
        yield server


def answered(result: Any = None, **fields: Any) -> bytes:
    return reply(json.dumps({"jsonrpc": "2.0", "id": 1, "result": result, **fields}), content_type="application/json")


async def response(session: Session) -> dict[str, Any]:
    """Return the response to a request for the gas price."""
    number = await session.post({"kind": "user_request", "request_kind": "gas_price"})
    async with asyncio.timeout(SOON):
        async for event in session.events(number):
            if event.kind == "user_response":
                return event.data
    raise AssertionError("the board ended")


async def refused() -> ToolError:
    with pytest.raises(ToolError) as caught:
        await Registry([gas_price]).call("gas_price", {})
    error = caught.value
    assert "s3cret" not in f"{error.to_model()} {error.report}", "the address is secret"
    return error


async def test_b5_gas_price_answers_a_request_without_the_model(node: Server) -> None:
    node.answers[PATH] = answered("0x1a13b8600")
    async with Runtime(workers=workers) as runtime:
        session = await runtime.open("s", "ann")
        data = await response(session)
        assert data["error"] is None
        assert data["payload"] == {"wei": "7000000000", "gwei": 7.0}
        assert await session.take_results() == [], "the model gets nothing"
    (request,) = node.requests
    head, _, body = request.partition(b"\r\n\r\n")
    assert head.startswith(b"POST /v3/s3cret-key ")
    assert node.header("content-type") == "application/json"
    assert json.loads(body) == {"jsonrpc": "2.0", "id": 1, "method": "eth_gasPrice", "params": []}


@pytest.mark.parametrize(
    ("quantity", "wei"),
    [("0x0", "0"), ("0xFF", "255"), ("0x" + "f" * 64, str(2**256 - 1)), ("0x3b9aca01", "1000000001")],
)
async def test_b5_gas_price_of_any_size_keeps_its_digits(node: Server, quantity: str, wei: str) -> None:
    node.answers[PATH] = answered(quantity)
    price = await Registry([gas_price]).call("gas_price", {})
    assert price["wei"] == wei
    assert price["gwei"] == int(wei) / 10**9


@pytest.mark.parametrize("value", [None, "", " "])
async def test_b5_gas_price_without_a_source_says_what_to_set(
    monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    monkeypatch.delenv("CALLBOARD_GAS_PRICE_URL", raising=False)
    if value is not None:
        monkeypatch.setenv("CALLBOARD_GAS_PRICE_URL", value)
    async with Runtime(workers=workers) as runtime:
        data = await response(await runtime.open("s", "ann"))
        assert data["payload"] is None
        assert data["error"]["category"] == "configuration"
        assert "Set CALLBOARD_GAS_PRICE_URL" in data["error"]["message"]


@pytest.mark.parametrize(
    ("answer", "category"),
    [
        (reply(status="500 Internal Server Error"), "transient"),
        (reply(status="503 Service Unavailable"), "transient"),
        (reply(status="401 Unauthorized"), "configuration"),
        (reply(status="403 Forbidden"), "configuration"),
        (reply(status="404 Not Found"), "configuration"),
        (reply(status="204 No Content"), "permanent"),
        (redirect("http://169.254.169.254/"), "configuration"),
        (reply("not json"), "permanent"),
        (reply("[" * 100_000), "permanent"),
        (reply("[]"), "permanent"),
        (reply('"0x1"'), "permanent"),
        (answered(None), "permanent"),
        (answered(7), "permanent"),
        (answered("7"), "permanent"),
        (answered("0x"), "permanent"),
        (answered("0xzz"), "permanent"),
        (answered("0x" + "f" * 65), "permanent"),
        (answered(error={"code": -32601, "message": "no s3cret-key"}), "permanent"),
        (answered(error={"code": -32005, "message": "too much"}), "rate_limited"),
        (b"nonsense\r\n\r\n", "configuration"),
        (b"", "transient"),
    ],
)
async def test_b5_gas_price_of_a_faulty_node_is_an_error(node: Server, answer: Answer, category: str) -> None:
    node.answers[PATH] = answer
    assert (await refused()).category == category
    assert len(node.requests) == 1


@pytest.mark.parametrize(("header", "after"), [("7", 7.0), ("soon", None), ("9" * 30, None), ("-1", None)])
async def test_b5_gas_price_honours_retry_after(node: Server, header: str, after: float | None) -> None:
    node.answers[PATH] = reply(status="429 Too Many Requests", retry_after=header)
    error = await refused()
    assert (error.category, error.retry_after) == ("rate_limited", after)


async def test_b5_gas_price_is_retried_when_the_node_recovers(node: Server) -> None:
    answers = [reply(status="503 Service Unavailable"), b"", answered("0x1")]

    async def recover(stream: anyio.abc.SocketStream) -> None:
        await stream.send(answers.pop(0))

    node.answers[PATH] = recover
    clock = ManualClock()
    async with Runtime([gas_price], clock=clock) as runtime:  # as a tool, so that its attempts are on the board
        session = await runtime.open("s", "ann")
        call = asyncio.ensure_future(session.call("gas_price"))
        async with asyncio.timeout(SOON):
            async for event in session.events():
                if event.kind == "tool_retrying":
                    assert event.data["error"]["category"] == "transient"
                    await clock.advance(5.0)
                elif event.kind == "tool_result":
                    break
        assert (await call).value == {"wei": "1", "gwei": 1e-9}
    assert len(node.requests) == 3


async def test_b5_gas_price_of_a_node_that_hangs_or_is_down() -> None:
    async def hang(stream: anyio.abc.SocketStream) -> None:
        await anyio.sleep_forever()

    async with serving() as server:
        server.answers["/"] = hang
        slow = gas_worker(server.url(), limits=Limits(total_seconds=0.05, max_redirects=0))
        with pytest.raises(ToolError) as caught:
            await Registry([slow]).call("gas_price", {})
        assert caught.value.category == "timeout"
    with pytest.raises(ToolError) as caught:  # the server is closed
        await Registry([gas_worker(server.url())]).call("gas_price", {})
    assert caught.value.category == "transient"


@pytest.mark.parametrize("url", ["http://", "http://user:pw@127.0.0.1/", "http://a b/", "https://127.0.0.1:99999/"])
async def test_b5_gas_price_with_an_invalid_address(url: str) -> None:
    with pytest.raises(ToolError) as caught:
        await Registry([gas_worker(url)]).call("gas_price", {})
    assert caught.value.category == "configuration"
    assert "pw" not in f"{caught.value.to_model()}"


def test_the_setting_is_read_validated_and_not_printed() -> None:
    settings = Settings.from_environment({"CALLBOARD_GAS_PRICE_URL": " https://node.example/key "})
    assert settings.gas_price_url == "https://node.example/key"
    assert "key" not in repr(settings)
    assert Settings().gas_price_url is None
    for bad in ("node.example/s3cret", "ftp://node.example/s3cret", "file:///s3cret"):
        with pytest.raises(SettingsError, match="begins with https:// or http://") as caught:
            Settings.from_environment({"CALLBOARD_GAS_PRICE_URL": bad})
        assert "s3cret" not in str(caught.value)


async def test_b5_gas_price_with_invalid_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = Registry([gas_price])
    monkeypatch.setenv("CALLBOARD_GAS_PRICE_URL", "node.example/s3cret")
    with pytest.raises(ToolError) as caught:
        await registry.call("gas_price", {})
    assert (caught.value.category, caught.value.message) == ("configuration", "The settings cannot be read.")
    with pytest.raises(SettingsError):
        Registry([gas_price])  # settings are validated when a registry is made
