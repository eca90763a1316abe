"""Bodies that are expensive to parse: refused before they are parsed, on every route."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any

import pytest
from pydantic import ValidationError

from callboard import Registry, Runtime, ToolError, tool
from callboard.jsonrules.value_count import MAX_VALUES, ValueCounter, exceeds_values
from callboard.pacer import Pacer
from callboard.protocols.agui.input_parsing import read_input
from callboard.protocols.agui.new_messages import MAX_NEW
from callboard.protocols.problem import Problem, invalid
from callboard.server.endpoint import MANY_ERRORS
from callboard.server.request_bodies import RequestBodies
from callboard.settings import Settings
from tests.server.conftest import Served, until

pytestmark = pytest.mark.anyio

JSON = {"content-type": "application/json"}
EMPTY = b"[" + b",".join([b"{}"] * 300_000) + b"]"


def keys(count: int) -> dict[str, int]:
    return {f"k{n}": 1 for n in range(count)}


def run(**fields: Any) -> bytes:
    return json.dumps({"threadId": "t", "runId": "r", "messages": [], **fields}).encode()


# Counting


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (b"1", 1),
        (b"[1, 2, 3]", 4),
        (b'{"a": {"b": [1]}}', 6),
        (b'"[,:{"', 1),
        (rb'"\"[,:{\\"', 1),
        (rb'["\\", "\\\",[", 1]', 4),
        (b'{"a,b": "[{"}', 3),
    ],
)
def test_h5_values_are_counted_in_pieces_of_any_size(text: bytes, values: int) -> None:
    for size in range(1, len(text) + 1):
        census = ValueCounter()
        for start in range(0, len(text), size):
            census.feed(text[start : start + size])
        assert census.values == values, size


def test_h5_text_with_too_many_values_is_detected_before_parsing() -> None:
    assert exceeds_values(EMPTY, 20_000)
    assert not exceeds_values(json.dumps("[{,:" * 100_000).encode(), 20_000)
    assert not exceeds_values(b"[1,1,1]", 10)


# Routes


@pytest.mark.parametrize(
    "path", ["/api/chat", "/api/executions", "/api/system/event", "/api/requests/r1/answer", "/ag-ui", "/api/sessions"]
)
async def test_h5_body_with_too_many_values_is_refused_before_parsing(plain: Served, path: str) -> None:
    for body in (EMPTY, b'{"session_id":"s","x":' + EMPTY + b"}", json.dumps(keys(80_000)).encode()):
        answer = await plain.client.post(path, content=body, headers=JSON)
        assert (answer.status_code, answer.json()["code"]) in [
            (413, "too_many_values"),
            (413, "body_too_large"),
        ]


async def test_h5_a_body_without_a_length_is_counted_too(plain: Served) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(2_000):
            yield b"{}," * 1_000
            await asyncio.sleep(0)

    answer = await plain.client.post("/ag-ui", content=pieces(), headers=JSON)
    assert (answer.status_code, answer.json()["code"]) == (413, "too_many_values")


async def test_h5_a_route_with_a_few_fields_takes_a_small_body(plain: Served) -> None:
    answer = await plain.post("/api/sessions", {"session_id": "x" * 20_000})
    assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")


@pytest.mark.parametrize("count", [30, 3_000])
async def test_h5_of_many_unknown_fields_the_first_are_reported(plain: Served, count: int) -> None:
    body = {"session_id": "s", "message": 5, **keys(count)}
    document = (await plain.post("/api/chat", body)).json()
    assert (document["status"], document["code"]) == (422, "invalid")
    assert len(document["errors"]) == 20
    assert {"path": "message", "message": "Input should be a valid string."} in document["errors"]
    assert {"path": "k0", "message": "Extra inputs are not permitted."} in document["errors"]


async def test_h5_only_so_many_errors_of_a_body_are_processed(plain: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    processed: list[int] = []

    def counted(error: ValidationError, where: str) -> Problem:
        processed.append(error.error_count())
        return invalid(error, where)

    monkeypatch.setattr("callboard.server.endpoint.invalid", counted)
    for body in ({"session_id": "s", "message": "x", **keys(4_000)}, {"session_id": "s", "message": "x", **keys(30)}):
        assert (await plain.post("/api/chat", body)).status_code == 422
    assert len(processed) == 2
    assert max(processed) <= MANY_ERRORS


async def test_h5_of_many_unknown_arguments_the_first_are_reported(plain: Served) -> None:
    await plain.session("s")
    body = {"session_id": "s", "tool": "add", "arguments": {**keys(3_000), "a": "x", "b": 2}}
    outcome = (await plain.post("/api/executions", body)).json()
    assert (outcome["status"], outcome["error"]["category"]) == ("failed", "validation")
    assert "k0: There is no such property" in outcome["error"]["message"]
    assert "and 2,981 more" in outcome["error"]["message"]
    assert len(json.dumps(outcome)) < 10_000


# AG-UI


@pytest.mark.parametrize("name", ["tools", "context", "resume", "messages"])
async def test_h3_lists_of_a_run_are_bounded_before_they_are_validated(plain: Served, name: str) -> None:
    answer = await plain.client.post("/ag-ui", content=run(**{name: [{}] * 20_000}), headers=JSON)
    assert (answer.status_code, answer.json()["code"]) == (422, "run_refused")
    assert f"The list {name} of a run may have at most" in answer.json()["detail"]


async def test_h3_of_many_invalid_messages_the_first_are_reported(plain: Served) -> None:
    good = [{"id": f"m{n}", "role": "assistant", "content": "x"} for n in range(250)]
    answer = await plain.client.post("/ag-ui", content=run(messages=[*good, *[{}] * 5_000]), headers=JSON)
    assert (answer.status_code, answer.json()["code"]) == (422, "run_refused")
    assert len(answer.json()["errors"]) <= 20


async def test_h3_a_run_with_many_new_messages_is_refused_and_none_is_stored(plain: Served) -> None:
    messages = [{"id": f"m{n}", "role": "user", "content": "x"} for n in range(MAX_NEW + 1)]
    answer = await plain.client.post("/ag-ui", content=run(messages=messages), headers=JSON)
    assert '"code":"run_refused"' in answer.text
    state = (await plain.get("/api/state", {"session_id": "t"})).json()
    assert (state["messages"], state["last_seq"]) == ([], 0)


async def test_h3_all_messages_of_a_long_run_are_read() -> None:
    messages = [{"id": f"m{n}", "role": "assistant", "content": str(n)} for n in range(550)]
    read = await read_input(run(messages=messages))
    assert [each.content for each in read.messages] == [str(n) for n in range(550)]


async def test_h3_other_tasks_run_while_the_messages_of_a_long_run_are_validated() -> None:
    messages = [{"id": f"m{n}", "role": "assistant", "content": str(n)} for n in range(5_000)]
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    beside = asyncio.ensure_future(others())
    await read_input(run(messages=messages))
    beside.cancel()
    assert turns >= 30


# Many at once


async def test_h5_large_body_waits_for_its_turn_and_small_ones_do_not(
    plain: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, entered = asyncio.Event(), list[tuple[str, bool]]()

    async def wait(pacer: Pacer, user_id: str, seconds: float) -> None:
        entered.append((user_id, seconds > 0.01))
        await go.wait()

    monkeypatch.setattr(Pacer, "enter", wait)
    numbers = {"session_id": "s", "tool": "total", "arguments": {"items": [1] * 9_000}}
    large = asyncio.create_task(plain.post("/api/executions", numbers, x_user="mallory"))
    await until(lambda: entered)
    assert (await plain.post("/api/chat", {"session_id": "s", "message": "x"})).status_code == 404
    assert (entered, large.done()) == ([("mallory", True)], False)
    go.set()
    assert (await large).status_code == 404


async def test_h5_large_bodies_of_one_user_are_bounded_and_released(plain: Served) -> None:
    plain.services.bodies = RequestBodies(per_user=150_000)
    stalled: list[asyncio.StreamWriter] = []
    head = b"POST /api/chat HTTP/1.1\r\nhost: localhost\r\nx-user: mallory\r\ncontent-type: application/json\r\n"
    try:
        for _ in range(2):
            _, writer = await asyncio.open_connection("127.0.0.1", plain.port)
            writer.write(head + b"content-length: 70000\r\n\r\n{")
            stalled.append(writer)
        await until(lambda: plain.services.bodies.budget.held_by("mallory") == 140_000)
        body = {"session_id": "s", "message": "x" * 60_000}
        refused = await plain.post("/api/chat", body, x_user="mallory")
        assert (refused.status_code, refused.json()["code"]) == (429, "too_many_large_requests")
        assert (await plain.post("/api/chat", {"session_id": "s", "message": "x"}, x_user="mallory")).status_code == 404
        assert (await plain.post("/api/chat", body, x_user="alice")).status_code == 404
    finally:
        for writer in stalled:
            writer.close()
    await until(lambda: plain.services.bodies.budget.held == 0)


async def test_h5_users_take_turns_with_large_bodies() -> None:
    pacer, order = Pacer(), list[str]()

    async def enter(user: str) -> None:
        await pacer.enter(user, 0)
        order.append(user)

    tasks = [asyncio.create_task(enter(user)) for user in ("m", "m", "m", "m", "a", "m", "b")]
    await asyncio.gather(*tasks)
    assert order == ["m", "m", "a", "b", "m", "m", "m"]
    assert len(pacer) == 0


async def test_h5_cancelled_request_passes_its_turn_on() -> None:
    pacer = Pacer()
    await pacer.enter("m", 0.05)
    gone = [asyncio.create_task(pacer.enter("m", 60)) for _ in range(3)]
    last = asyncio.create_task(pacer.enter("a", 0))
    await asyncio.sleep(0)
    for task in gone:
        task.cancel()
    async with asyncio.timeout(90):
        await last


# Arguments


@tool
async def total(items: Annotated[list[int], "Numbers"]) -> int:
    """Add numbers."""
    return sum(items)


def test_t5_number_of_values_in_arguments_is_limited() -> None:
    assert Settings().max_argument_values == 25_000
    assert Settings().max_argument_values > MAX_VALUES


@pytest.mark.parametrize("items", [["x"] * 1_500, [{"a": 1}] * 1_500])
async def test_t5_of_many_violations_the_first_are_reported(items: Sequence[Any]) -> None:
    with pytest.raises(ToolError, match=r"items\[0\]: Input should be a valid integer") as caught:
        await Registry([total]).call("total", {"items": items})
    assert "and 1,480 more" in caught.value.message
    assert len(caught.value.details) == 20


async def test_t5_arguments_with_too_many_values_are_refused() -> None:
    registry = Registry([total], settings=Settings(max_argument_values=1_000))
    assert await registry.call("total", {"items": [1] * 900}) == 900
    with pytest.raises(ToolError, match="too many values: the limit is 1,000"):
        await registry.call("total", {"items": [1] * 2_000})
    async with Runtime(registry) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("total", {"items": [1] * 2_000})
        assert outcome.error is not None
        assert "too many values" in outcome.error.message
        assert "too many to be shown" in str(session.execution(outcome.execution_id).arguments)
