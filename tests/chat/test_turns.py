"""Turns: errors of the model, limits, and the tools that the model sees (C2, C4, C7, X12, G4, M5)."""

import ast
import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.exceptions import (
    FallbackExceptionGroup,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelHTTPError,
    ModelNotFoundError,
    ModelOverloadedError,
    ModelRateLimitError,
    ModelTimeoutError,
)
from pydantic_ai.messages import ModelMessage, ModelResponse, ThinkingPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

from callboard import Registry, Runtime, ToolContext, tool
from callboard.chat import completion
from callboard.sessions.session import live_session
from callboard.testing import ManualClock
from callboard.testing.providers import AnthropicDouble, Text, Turn, Usage
from callboard.turns import TurnLimits

from .scripted import TOOLS, Script, check, conversation_of, flattened, gate, last_contents, until

pytestmark = pytest.mark.anyio


def test_c1_completion_is_short_and_knows_neither_sessions_nor_stores_nor_the_engine() -> None:
    source = Path(completion.__file__).read_text()
    assert len(source.splitlines()) < 200
    imported = [node.module for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom) and node.level]
    assert imported == ["turns"]  # values, and nothing else of ours


# What a model may do wrong


async def test_c2_two_hundred_calls_at_once_run_and_are_answered_in_order(store_url: str) -> None:
    script = Script([("add", f'{{"a":{number},"b":1}}') for number in range(200)])
    async with Runtime(TOOLS, model=script.model(), store=store_url) as runtime:
        session = await runtime.open("s", "u")
        turn = await session.say("Go.")
        assert (turn.status, turn.usage.tool_calls) == ("finished", 200)
        answers = [part[2] for part in flattened(script.requests[1]) if part[1] == "tool-return"]
        assert answers == [str(number + 1) for number in range(200)]  # in messages of at most 128 calls
        await check(session)


async def test_c7_calls_beyond_the_limit_are_not_made_and_fail_the_turn(store_url: str) -> None:
    made: list[int] = []

    @tool
    async def count() -> int:
        """Count."""
        made.append(1)
        return len(made)

    script = Script([("count", "{}")] * 2, [("count", "{}")] * 9)
    limits = TurnLimits(tool_calls=10)
    async with Runtime([count], model=script.model(), store=store_url, turn_limits=limits) as runtime:
        session = await runtime.open("s", "u")
        turn = await session.say("Go.")
        assert turn.status == "failed"
        assert turn.error == "The model made 11 calls in one turn; the limit is 10."
        assert len(made) == 2
        [failed] = await until(session, "turn_failed")
        assert failed.data["error"] == {"category": "resource", "message": turn.error}
        await check(session)
        assert (await session.say("And now?")).status == "finished"
        answers = [message for message in await session.messages() if message["role"] == "tool" and message["failed"]]
        assert len(answers) == 9
        assert "the limit is 10" in answers[0]["content"]["message"]
        await check(session)


async def test_c7_a_model_that_never_stops_calling_is_stopped() -> None:
    async def calls(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[DeltaToolCalls]:
        yield {0: DeltaToolCall("add", '{"a":1,"b":1}', tool_call_id="same")}

    async with Runtime(TOOLS, model=FunctionModel(stream_function=calls)) as runtime:
        session = await runtime.open("s", "u")
        turn = await session.say("Go.")
        assert turn.status == "failed"
        assert turn.error == "The turn sent 50 requests to the model, which is the limit."
        assert len({call["call_id"] for message in await session.messages() for call in message.get("calls", ())}) == 50
        await check(session)


@pytest.mark.parametrize("bad", ["", "x" * 300, "a\nb", "\x1fturn 1"])
async def test_x10_ids_of_calls_that_cannot_be_used_are_replaced(bad: str) -> None:
    script = Script()

    async def calls(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        if len(messages) == 1:
            yield {
                0: DeltaToolCall("add", '{"a":1,"b":1}', tool_call_id=bad),
                1: DeltaToolCall("add", '{"a":1,"b":2}', tool_call_id=bad),
            }
        else:
            script.requests.append(messages)
            yield "done"

    async with Runtime(TOOLS, model=FunctionModel(stream_function=calls)) as runtime:
        session = await runtime.open("s", "u")
        assert (await session.say("Go.")).status == "finished"
        assert last_contents(script.requests[0]) == ["2", "3"]
        await check(session)


async def test_c5_a_model_that_dies_in_the_middle_of_a_call_leaves_a_valid_transcript(store_url: str) -> None:
    script = Script(["Let me see. ", ("add", '{"a":'), ConnectionResetError("gone")])
    async with Runtime(TOOLS, model=script.model(), store=store_url) as runtime:
        session = await runtime.open("s", "u")
        turn = await session.say("Go.")
        assert (turn.status, turn.text) == ("failed", "Let me see. ")
        assert turn.error == "The request to the model failed (ConnectionResetError)."
        assert await session.history() == []  # half a call is no call
        await check(session)
        assert (await session.say("Again?")).status == "finished"
        await check(session)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (
            ModelHTTPError.for_category(ModelAuthenticationError, status_code=401, model_name="m", body="sk-1"),
            "the key",
        ),
        (ModelHTTPError.for_category(ModelNotFoundError, status_code=404, model_name="m"), "no model of this name"),
        (ModelHTTPError.for_category(ModelRateLimitError, status_code=429, model_name="m"), "limits the rate"),
        (ModelHTTPError.for_category(ModelOverloadedError, status_code=529, model_name="m"), "overloaded"),
        (ModelConnectionError("m", "refused"), "cannot be reached"),
        (ModelTimeoutError("m", "slow"), "in time"),
        (ModelHTTPError(418, "m"), "(ModelHTTPError)"),
        (
            FallbackExceptionGroup(
                "All failed", [ModelTimeoutError("m", "slow"), ModelConnectionError("m", "refused")]
            ),
            "be reached",
        ),
    ],
)
async def test_c2_the_reason_of_a_failed_model_request_is_reported(
    error: Exception, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with Runtime(TOOLS, model=Script([error]).model()) as runtime:
        turn = await (await runtime.open("s", "u")).say("Go.")
    assert turn.status == "failed"
    assert turn.error is not None
    assert reason in turn.error
    assert "sk-1" not in turn.error
    assert "Traceback" not in caplog.text, "a traceback does not help with an error of the provider"
    for each in error.exceptions if isinstance(error, FallbackExceptionGroup) else [error]:
        assert type(each).__name__ in caplog.text


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        (ModelResponse(parts=[], finish_reason="content_filter"), "the provider's filter"),
        (ModelResponse(parts=[ThinkingPart("Hm.")], finish_reason="length"), "the limit of output tokens"),
        (ModelResponse(parts=[], finish_reason="error"), "ended the response with an error"),
        (ModelResponse(parts=[], state="suspended"), "in the background"),
    ],
)
async def test_c2_a_response_without_text_that_its_provider_ended_fails_the_turn(
    response: ModelResponse, reason: str, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stream:
        async def __aiter__(self) -> AsyncIterator[Any]:
            for event in ():
                yield event

        def get(self) -> ModelResponse:
            return response

    @asynccontextmanager
    async def request(*_: Any, **__: Any) -> AsyncGenerator[Stream]:
        yield Stream()

    async with Runtime(TOOLS, model=Script(["Hello."]).model(), store=store_url) as runtime:
        session = await runtime.open("s", "u")
        with monkeypatch.context() as patched:
            patched.setattr(completion, "model_request_stream", request)
            turn = await session.say("Go.")
        assert (turn.status, turn.usage.requests) == ("failed", 1)
        assert reason in (turn.error or "")
        assert await conversation_of(session).retry()
        assert (await until(session, "text"))[0].data["text"] == "Hello."
        await check(session)


async def test_x4_the_text_of_a_model_error_is_not_reported(caplog: pytest.LogCaptureFixture) -> None:
    script = Script([RuntimeError("the key sk-secret at /home/alice is wrong")])
    async with Runtime(TOOLS, model=script.model()) as runtime:
        session = await runtime.open("s", "u")
        turn = await session.say("Go.")
        assert "secret" not in f"{turn.error} {[event.data for event in session.board.read(0)]}"
        assert "the key" in caplog.text  # the log has the details


# What it may use


async def test_c7_a_session_has_limits_too_and_they_hold_after_a_restart(shared_url: str) -> None:
    limits = TurnLimits(session_turns=2)
    async with Runtime(TOOLS, model=Script().model(), store=shared_url, turn_limits=limits) as runtime:
        session = await runtime.open("s", "u")
        assert (await session.say("One.")).status == "finished"
        assert (await session.say("Two.")).status == "finished"
    async with Runtime(TOOLS, model=Script().model(), store=shared_url, turn_limits=limits) as runtime:
        session = await runtime.open("s", "u")
        turn = await session.say("Three.")
        assert (turn.status, turn.error) == ("failed", "The session had 2 turns, which is the limit.")
        assert not session.is_processing
        await check(session)


@pytest.mark.parametrize(
    ("limits", "error"),
    [
        (TurnLimits(session_tokens=1_500), "The session used 2000 tokens; the limit is 1500."),
        (TurnLimits(session_cost=0.001), "The session cost 0.0"),
    ],
)
async def test_c7_tokens_and_their_cost_are_counted_and_limited(limits: TurnLimits, error: str) -> None:
    script = [Turn(Text("One."), usage=Usage(900, 100)), Turn(Text("Two."), usage=Usage(900, 100))]
    async with (
        AnthropicDouble(script) as provider,
        Runtime(TOOLS, model=provider.model(), turn_limits=limits) as runtime,
    ):
        session = await runtime.open("s", "u")
        turn = await session.say("Go.")
        assert (turn.usage.input_tokens, turn.usage.output_tokens) == (900, 100)
        assert turn.usage.cost == pytest.approx(900 * 1e-6 + 100 * 5e-6)
        [finished] = await until(session, "turn_finished")
        assert finished.data["usage"]["cost"] == turn.usage.cost
        if limits.session_cost is None:
            await session.say("Go on.")
        turn = await session.say("And on.")
        assert turn.status == "failed"
        assert (turn.error or "").startswith(error)


# What it is shown


async def test_x12_a_long_result_is_cut_and_the_model_can_read_on(store_url: str) -> None:
    script = Script([("long_text", "{}")])
    async with Runtime(TOOLS, model=script.model(), store=store_url) as runtime:
        session = await runtime.open("s", "u")
        await session.say("Go.")
        [shown] = last_contents(script.requests[1])
        assert len(shown) < 400
        assert "0000." in shown
        assert "0199." in shown
        [record] = await session.history()
        assert record.id in shown  # by which it asks for the rest
        script.turns.append([("task_result", f'{{"execution_id":"{record.id}","offset":50}}')])
        await session.say("Read on.")
        [rest] = last_contents(script.requests[3])
        whole = '"' + "".join(f"{number:04}." for number in range(200)) + '"'
        assert rest.strip('"').replace('\\"', '"') in whole
        assert len(rest) >= 100
        await check(session)


async def test_g4_calls_run_the_tools_that_the_model_saw() -> None:
    reached, registry = asyncio.Event(), Registry()

    def version(number: int) -> Any:
        @tool(name="work")
        async def work() -> str:
            """Work."""
            return f"version {number}"

        return work

    registry.register(version(1))
    script = Script([reached.set, gate("speak"), ("work", "{}")], [("work", "{}")])
    async with Runtime(registry, model=script.model()) as runtime:
        session = await runtime.open("s", "u")
        turn = asyncio.ensure_future(session.say("Go."))
        await reached.wait()
        registry.register(version(2), replace=True)
        gate("speak").set()
        await turn
        assert last_contents(script.requests[1]) == ["version 1"]
        assert last_contents(script.requests[2]) == ["version 2"]


async def test_b3_a_system_error_for_the_model_is_delivered_with_the_next_input() -> None:
    script = Script()
    async with Runtime(TOOLS, model=script.model()) as runtime:
        session = await runtime.open("s", "u")
        await session.post({"kind": "system_error", "message": "The chain is down.", "for_model": True}, side="workers")
        await session.post({"kind": "system_error", "message": "The disk is full."}, side="workers")
        await session.say("Go.")
        assert last_contents(script.requests[0]) == ["The chain is down.", "Go."]
        await check(session)


# Late results


async def test_c4_inputs_that_arrive_during_a_turn_keep_their_order(store_url: str) -> None:
    reached = asyncio.Event()
    script = Script([reached.set, gate("speak"), "One."])
    async with Runtime(TOOLS, model=script.model(), store=store_url) as runtime:
        session = await runtime.open("s", "u")
        turns = [asyncio.ensure_future(session.say("0"))]
        await reached.wait()
        turns += [asyncio.ensure_future(session.say(str(number))) for number in range(1, 6)]
        await until(session, "user_input", 6)
        gate("speak").set()
        texts = {(await turn).text for turn in turns}
        assert texts == {"One.\n\ntold 5"}  # all of them joined the turn that ran
        assert last_contents(script.requests[1]) == ["1", "2", "3", "4", "5"]
        await check(session)


async def test_b8_an_input_is_kept_until_it_is_delivered(store_url: str) -> None:
    reached, clock = asyncio.Event(), ManualClock()
    script = Script([reached.set, gate("speak"), "One."])
    async with Runtime(TOOLS, model=script.model(), store=store_url, clock=clock, keep_events=4) as runtime:
        session = await runtime.open("s", "u")
        turn = asyncio.ensure_future(session.say("Go."))
        await reached.wait()
        for number in range(20):
            await session.post({"kind": "user_input", "text": str(number)})
        await clock.advance(60.0)
        while tasks := runtime.sessions.background._tasks:
            await asyncio.wait(tasks)
        gate("speak").set()
        await turn
        assert last_contents(script.requests[1]) == [str(number) for number in range(20)]
        assert await runtime.store.executions("s", unfinished=True) == []
        await check(session)


@pytest.mark.parametrize("wake", ["wake", "wait", "ui_only"])
async def test_m5_a_tool_decides_whether_its_late_result_wakes_the_session(wake: str, store_url: str) -> None:
    @tool(mode="background", idempotent=True, wake=wake)
    async def work(ctx: ToolContext) -> str:
        """Work."""
        await gate("work").wait()
        return "done"

    script = Script([("work", "{}")])
    async with Runtime([work], model=script.model(), store=store_url) as runtime:
        session = await runtime.open("s", "u")
        await session.say("Go.")
        [record] = await session.history()
        gate("work").set()
        await session.result(record.id)
        if wake == "wake":
            await until(session, "turn_finished", 2)
            assert last_contents(script.requests[2]) == ["done"]
        turn = await session.say("Well?")
        assert turn.status == "finished"
        assert (
            last_contents(script.requests[-1])
            == {"wake": ["Well?"], "wait": ["done", "Well?"], "ui_only": ["Well?"]}[wake]
        )
        assert len(script.requests) == (4 if wake == "wake" else 3)
        assert not session.has_pending_work
        await check(session)


async def test_m5_a_session_may_be_quieter_than_its_tools_also_after_a_restart(shared_url: str) -> None:
    async with Runtime(
        TOOLS, model=(first := Script([("build", '{"what":"a"}')])).model(), store=shared_url
    ) as runtime:
        session = await runtime.open("s", "u", wake="wait")
        await session.say("Go.")
    async with Runtime(TOOLS, model=(script := Script()).model(), store=shared_url) as runtime:
        gate("a").set()
        session = await runtime.open("s", "u")
        assert live_session(session).wake == "wait"
        [record] = await session.history()
        await session.result(record.id)
        assert (len(first.requests), len(script.requests)) == (2, 0)
        await session.say("Well?")
        assert last_contents(script.requests[0]) == ["built a", "Well?"]
        with pytest.raises(ValueError, match="loud"):
            await runtime.open("s", "u", wake="loud")


async def test_m4_results_of_calls_from_code_are_delivered_with_the_first_input(store_url: str) -> None:
    script = Script()
    async with Runtime(TOOLS, model=script.model(), store=store_url) as runtime:
        session = await runtime.open("s", "u")
        late = await session.call("build", {"what": "a"})
        gate("a").set()
        await session.result(late.execution_id)
        assert script.requests == []  # the conversation has not begun, so no turn starts
        await session.say("Hello.")
        assert [len(message.parts) for message in script.requests[0]] == [1, 1, 1]
        assert last_contents(script.requests[0]) == ["built a"]
        await check(session)


async def test_m5_a_late_result_joins_the_turn_that_runs(store_url: str) -> None:
    reached = asyncio.Event()
    script = Script([("build", '{"what":"a"}')], [reached.set, gate("speak"), "It runs. "])
    async with Runtime(TOOLS, model=script.model(), store=store_url) as runtime:
        session = await runtime.open("s", "u")
        turn = asyncio.ensure_future(session.say("Go."))
        await reached.wait()
        [record] = await session.history()
        gate("a").set()
        await session.result(record.id)
        gate("speak").set()
        assert (await turn).text == "It runs. \n\ntold 1"
        assert len(script.requests) == 3
        await check(session)


async def test_m5_a_result_after_a_pause_waits_for_the_person(store_url: str) -> None:
    """The open call has no answer yet, and no model accepts another message before it."""
    script = Script([("build", '{"what":"a"}'), ("pay", '{"amount":1}')])
    async with Runtime(TOOLS, model=script.model(), store=store_url) as runtime:
        session = await runtime.open("s", "u")
        first = await session.say("Go.")
        assert first.status == "paused"
        gate("a").set()
        await until(session, "tool_result")
        assert len(script.requests) == 1
        [request] = await session.requests()
        await session.answer(request.id, {"approved": True})
        [finished] = await until(session, "turn_finished")
        assert finished.data["turn_id"] == first.id  # the same turn continues
        assert finished.data["usage"]["requests"] == 2
        assert last_contents(script.requests[1])[1:] == ["paid 1", "built a"]
        assert conversation_of(session)._history.turn_count(first.id) == 1
        await check(session)
