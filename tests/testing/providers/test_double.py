"""The base of all doubles: server, script, gates, breaks, and recorded requests (C5)."""

import asyncio
import json
import logging
import urllib.request
from typing import Any

import anyio
import httpx2
import pytest

from callboard.testing.providers import (
    AnthropicDouble,
    Break,
    Call,
    Double,
    Failure,
    Gate,
    GeminiDouble,
    OpenAIChatDouble,
    OpenAIResponsesDouble,
    Request,
    Text,
    Turn,
    Usage,
)
from callboard.testing.providers.client import ChatMissing, import_optional
from tests.testing.providers.asking import HEADERS, Body, ask

pytestmark = pytest.mark.anyio

ALL: list[type[Double]] = [AnthropicDouble, OpenAIChatDouble, OpenAIResponsesDouble, GeminiDouble]
BODIES: dict[type[Double], Body] = {
    AnthropicDouble: {"model": "claude-opus-5", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]},
    OpenAIChatDouble: {"model": "gpt-4.1", "messages": [{"role": "user", "content": "Hi"}]},
    OpenAIResponsesDouble: {"model": "gpt-5", "input": "Hi"},
    GeminiDouble: {"contents": [{"parts": [{"text": "Hi"}]}]},
}
EVERY_HEADER = {name: value for headers in HEADERS.values() for name, value in headers.items()}
every = pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)


def where(kind: type[Double], *, stream: bool = False) -> str:
    method = "streamGenerateContent?alt=sse" if stream else "generateContent"
    return f"/v1beta/models/gemini-3-pro-preview:{method}" if kind is GeminiDouble else kind.path


def body(kind: type[Double], *, stream: bool = False) -> Body:
    more = {"stream_options": {"include_usage": True}} if kind is OpenAIChatDouble else {}
    return {**BODIES[kind], "stream": True, **more} if stream and kind is not GeminiDouble else BODIES[kind]


async def post(double: Double, **options: Any) -> httpx2.Response:
    return await ask(double, where(type(double), **options), body(type(double), **options), EVERY_HEADER)


@every
async def test_c5_double_records_its_requests(kind: type[Double]) -> None:
    double = kind(["Yes.", "Yes."])
    await post(double)
    await post(double, stream=True)
    assert double.bodies == [body(kind), body(kind, stream=True)]
    assert [request.stream for request in double.requests] == [False, True]
    assert all(
        request.model in ("claude-opus-5", "gpt-4.1", "gpt-5", "gemini-3-pro-preview") for request in double.requests
    )
    assert [exchange.complete for exchange in double.exchanges] == [True, True]
    assert double.left == 0


@every
async def test_c5_function_of_the_request_is_a_script_too(kind: type[Double]) -> None:
    def answer(request: Request) -> Turn | Failure | str:
        return "Yes." if "Hi" in str(request.body) else Failure(500)

    assert "Yes." in (await post(kind(answer))).text


@every
async def test_c5_request_beyond_the_script_is_an_error(kind: type[Double]) -> None:
    double = kind(["Yes."])
    assert (await post(double)).status_code == 200
    response = await post(double)
    assert response.status_code == 500
    assert "has no answer left" in response.text
    double.add("More.")
    assert "More." in (await post(double)).text


@every
async def test_c5_failure_has_the_providers_shape(kind: type[Double]) -> None:
    double = kind([Failure(429, "Slower.", headers={"retry-after": "7"}), Failure(418, kind="teapot")])
    response = await post(double)
    assert (response.status_code, response.headers["retry-after"]) == (429, "7")
    error = response.json()["error"]
    assert error["message"] == "Slower."
    assert (error.get("status") or error["type"]) in ("rate_limit_error", "RESOURCE_EXHAUSTED")
    error = (await post(double)).json()["error"]
    assert (error.get("status") or error["type"]) == "teapot"


@every
async def test_c5_body_that_is_no_json_is_refused(kind: type[Double]) -> None:
    for text in ("{", "[]"):
        response = await ask(kind(["Yes."]), where(kind), text, EVERY_HEADER)
        assert (response.status_code, "not valid JSON" in response.text) == (400, True)


@every
async def test_c5_rule_can_be_left_out(kind: type[Double]) -> None:
    rule = kind.rules[0].__name__
    assert (await ask(kind(["Yes."]), where(kind), body(kind), {})).status_code in (401, 403)
    headers = {"anthropic-version": "2023-06-01"}
    assert (await ask(kind(["Yes."], without=[rule]), where(kind), body(kind), headers)).status_code == 200
    with pytest.raises(ValueError, match=r"has no rule rule_of_thumb\.$"):
        kind(without=["rule_of_thumb"])


@every
async def test_c5_malformed_parts_are_refused_and_break_nothing(kind: type[Double]) -> None:
    for name in ("messages", "input", "contents", "tools", "thinking", "system", "toolConfig"):
        for value in (None, 7, "x", [7], [[]], [{}], {"a": 7}):
            response = await ask(kind(lambda _: "Yes."), where(kind), {**BODIES[kind], name: value}, EVERY_HEADER)
            assert response.status_code in (200, 400), (name, value)


@every
async def test_c5_stream_has_the_content_of_a_message(kind: type[Double]) -> None:
    turn = Turn(Text("Hel", "lo"), Call("add", {"a": 1}, id="c1"), usage=Usage(70, 80))
    double = kind([turn, turn])
    whole, stream = (await post(double)).text, (await post(double, stream=True)).text
    for text in (whole, stream):
        assert all(part in text for part in ("add", "c1", "70", "80"))
    assert "Hello" in whole
    chunks = [line.removeprefix("data: ") for line in stream.splitlines() if line.startswith("data: ")]
    if kind is OpenAIChatDouble:
        assert chunks.pop() == "[DONE]"
    assert all(json.loads(chunk) for chunk in chunks)
    assert any('"Hel"' in chunk for chunk in chunks)


@every
@pytest.mark.parametrize("stream", [False, True])
async def test_c5_call_with_any_id_is_sent(kind: type[Double], stream: bool) -> None:
    double = kind([Turn(Call("add", {}, id="call \ud800"))])
    assert "\\ud800" in (await post(double, stream=stream)).text


@every
async def test_c5_turn_at_the_token_limit_is_marked(kind: type[Double]) -> None:
    ends = {"max_tokens", "length", "max_output_tokens", "MAX_TOKENS"}
    for stream in (False, True):
        text = (await post(kind([Turn("To be cont", cut_off=True)]), stream=stream)).text
        assert any(f'"{end}"' in text for end in ends)


# Over the network


@every
async def test_c5_double_waits_at_a_gate(kind: type[Double]) -> None:
    gate = Gate()
    async with kind([Turn(Text("Hel", gate, "lo"))]) as double, httpx2.AsyncClient(timeout=90, verify=False) as client:
        url, sent = double.url + where(kind, stream=True), body(kind, stream=True)
        got = ""
        async with client.stream("POST", url, json=sent, headers=EVERY_HEADER) as response:
            async for text in response.aiter_text():
                got += text
                if '"Hel"' in got and '"lo"' not in got:
                    await gate.reached.wait()
                    assert not double.exchanges[0].complete
                    gate.open()
        assert '"lo"' in got
        assert double.exchanges[0].complete


@every
async def test_c5_double_notices_that_a_client_leaves(kind: type[Double]) -> None:
    gate = Gate()
    async with kind([Turn(Text("Hel", gate, "lo"))]) as double, httpx2.AsyncClient(timeout=90, verify=False) as client:
        async with client.stream(
            "POST", double.url + where(kind, stream=True), json=body(kind, stream=True), headers=EVERY_HEADER
        ):
            await gate.reached.wait()
        with anyio.fail_after(90):
            await double.exchanges[0].ended.wait()
        assert (double.exchanges[0].left, double.exchanges[0].complete) == (True, False)


@pytest.mark.parametrize("stream", [False, True])
@every
async def test_c5_broken_connection_is_an_error_and_is_not_logged(
    kind: type[Double], stream: bool, caplog: pytest.LogCaptureFixture
) -> None:
    async with (
        kind([Turn(Text("Hel", Break(), "lo")), "Yes."]) as double,
        httpx2.AsyncClient(timeout=90, verify=False) as client,
    ):
        url = double.url + where(kind, stream=stream)
        with pytest.raises(httpx2.RemoteProtocolError):
            await client.post(url, json=body(kind, stream=stream), headers=EVERY_HEADER)
        assert not double.exchanges[0].complete
        assert (await client.post(url, json=body(kind), headers=EVERY_HEADER)).status_code == 200
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_c5_double_stops_while_a_gate_is_closed() -> None:
    gate = Gate()
    async with AnthropicDouble([Turn(gate)]) as double, httpx2.AsyncClient(timeout=90, verify=False) as client:
        url = double.url + "/v1/messages"
        task = asyncio.create_task(client.post(url, json=BODIES[AnthropicDouble], headers=EVERY_HEADER))
        await gate.reached.wait()
        async with asyncio.timeout(90):
            await double.__aexit__()
        with pytest.raises(httpx2.RemoteProtocolError):
            await task


def test_c5_double_runs_in_a_thread_for_blocking_clients() -> None:
    with AnthropicDouble(["Yes."]) as double:
        assert double.url.startswith("http://127.0.0.1:")
        data = json.dumps(BODIES[AnthropicDouble]).encode()
        request = urllib.request.Request(f"{double.url}/v1/messages", data, EVERY_HEADER)
        with urllib.request.urlopen(request) as response:
            assert json.load(response)["content"] == [{"type": "text", "text": "Yes."}]
    assert len(double.requests) == 1


async def test_c5_gate_is_opened_from_another_thread() -> None:
    gate = Gate()

    async def wait() -> None:
        await gate.wait()

    task = asyncio.create_task(wait())
    await gate.reached.wait()
    await asyncio.to_thread(gate.open)
    async with asyncio.timeout(90):
        await task


def test_c5_missing_extra_is_named() -> None:
    with pytest.raises(ChatMissing, match=r"needs no_such_module: install callboard\[chat\]\.$") as caught:
        import_optional("no_such_module")
    assert caught.value.code == "chat_missing"
