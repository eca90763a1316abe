"""Traces: spans of turns, calls and attempts, by OpenTelemetry's conventions for generative AI (O1)."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.semconv.attributes import error_attributes
from opentelemetry.trace import StatusCode
from pydantic import SecretStr
from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

from callboard import RetryPolicy, Runtime, ToolContext, ToolError, telemetry, tool
from callboard.sessions.conversation_scope import ConversationScope
from callboard.sessions.live_session import LiveSession
from callboard.sessions.session import live_session
from callboard.telemetry import conventions as names
from callboard.telemetry.traced_model import traced_model
from callboard.telemetry.tracing import Tracing
from callboard.testing import settle
from callboard.turns import Usage

pytestmark = pytest.mark.anyio


@tool
async def add(a: Annotated[int, "One"], b: Annotated[int, "Other"]) -> int:
    """Add."""
    return a + b


@tool
async def twice(ctx: ToolContext, a: Annotated[int, "A number"]) -> int:
    """Add a number to itself, by a call."""
    return await ctx.call("add", {"a": a, "b": a})


@tool
async def fail() -> None:
    """Fail."""
    raise ToolError("the word is xyzzy")


@tool
async def log_in(name: Annotated[str, "Who"], password: Annotated[SecretStr, "The word"]) -> str:
    """Log in."""
    return f"welcome {name}, Bearer abcdefgh12345678"


@tool(mode="background")
async def build() -> str:
    """Build."""
    return "built"


@tool(mode="background")
async def hang() -> str:
    """Wait until it is stopped."""
    await asyncio.Event().wait()
    return ""


TOOLS = [add, twice, fail, log_in, build, hang]


@pytest.fixture
def exporter() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def provider(exporter: InMemorySpanExporter) -> Iterator[TracerProvider]:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    yield provider
    provider.shutdown()


@pytest.fixture
async def runtime() -> AsyncIterator[Runtime]:
    async with Runtime(TOOLS) as runtime:
        yield runtime


@pytest.fixture
def tracing(runtime: Runtime, provider: TracerProvider) -> Iterator[Tracing]:
    with telemetry.trace(runtime, provider) as tracing:
        yield tracing


def named(exporter: InMemorySpanExporter, name: str) -> ReadableSpan:
    (found,) = [span for span in exporter.get_finished_spans() if span.name == name]
    return found


def is_below(child: ReadableSpan, parent: ReadableSpan) -> bool:
    return child.parent is not None and child.parent.span_id == _id(parent)


def _id(span: ReadableSpan) -> int:
    assert span.context is not None
    return span.context.span_id


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def test_o1_names_are_those_of_the_conventions() -> None:
    conventions = gen_ai_attributes
    assert names.OPERATION == conventions.GEN_AI_OPERATION_NAME
    assert names.CONVERSATION == conventions.GEN_AI_CONVERSATION_ID
    assert names.TOOL == conventions.GEN_AI_TOOL_NAME
    assert names.TOOL_TYPE == conventions.GEN_AI_TOOL_TYPE
    assert names.CALL_ID == conventions.GEN_AI_TOOL_CALL_ID
    assert names.ARGUMENTS == conventions.GEN_AI_TOOL_CALL_ARGUMENTS
    assert names.RESULT == conventions.GEN_AI_TOOL_CALL_RESULT
    assert names.INPUT_TOKENS == conventions.GEN_AI_USAGE_INPUT_TOKENS
    assert names.OUTPUT_TOKENS == conventions.GEN_AI_USAGE_OUTPUT_TOKENS
    assert names.ERROR == error_attributes.ERROR_TYPE


async def test_o1_a_call_is_a_root_with_an_attempt(
    runtime: Runtime, tracing: Tracing, exporter: InMemorySpanExporter
) -> None:
    session = await runtime.open("s", user_id="u")
    outcome = await session.call("add", {"a": 1, "b": 2}, call_id="c1")
    call, attempt = named(exporter, "execute_tool add"), named(exporter, "attempt add")
    assert call.parent is None
    assert is_below(attempt, call)
    assert attributes(call) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "add",
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": "c1",
        "gen_ai.conversation.id": "s",
        "callboard.execution.id": outcome.execution_id,
        "callboard.tool.mode": "inline",
        "callboard.attempts": 1,
        "callboard.status": "succeeded",
    }
    assert attributes(attempt)["callboard.attempt"] == 1
    assert call.status.status_code is StatusCode.UNSET


async def test_o1_a_call_is_a_child_of_the_callers_span_and_nested_calls_of_the_attempt(
    runtime: Runtime, tracing: Tracing, exporter: InMemorySpanExporter, provider: TracerProvider
) -> None:
    session = await runtime.open("s", user_id="u")
    with provider.get_tracer("caller").start_as_current_span("outside"):
        await session.call("twice", {"a": 2})
    outside, outer, inner = (named(exporter, name) for name in ("outside", "execute_tool twice", "execute_tool add"))
    assert is_below(outer, outside)
    assert is_below(inner, named(exporter, "attempt twice"))
    assert is_below(named(exporter, "attempt add"), inner)


async def test_o1_a_call_leaves_the_callers_current_span_unchanged(runtime: Runtime, tracing: Tracing) -> None:
    from opentelemetry import trace

    session = await runtime.open("s", user_id="u")
    await session.call("add", {"a": 1, "b": 2})
    assert not trace.get_current_span().get_span_context().is_valid


async def test_o1_every_attempt_has_a_span_and_errors_have_their_category(
    exporter: InMemorySpanExporter, provider: TracerProvider
) -> None:
    tries = 0

    @tool(idempotent=True)
    async def shaky() -> str:
        """Fail once."""
        nonlocal tries
        tries += 1
        if tries == 1:
            raise ToolError("again", category="transient")
        return "ok"

    async with Runtime([shaky, fail], retry=RetryPolicy(base_delay=0.0)) as runtime:
        with telemetry.trace(runtime, provider):
            session = await runtime.open("s", user_id="u")
            await session.call("shaky")
            await session.call("fail")
    first, second = [span for span in exporter.get_finished_spans() if span.name == "attempt shaky"]
    assert attributes(first)["error.type"] == "transient"
    assert first.status.status_code is StatusCode.ERROR
    assert "error.type" not in attributes(second)
    assert attributes(named(exporter, "execute_tool shaky"))["callboard.attempts"] == 2
    failed = named(exporter, "execute_tool fail")
    assert attributes(failed)["error.type"] == "execution"
    assert failed.status.status_code is StatusCode.ERROR
    assert attributes(named(exporter, "attempt fail"))["error.type"] == "execution"


async def test_o1_refused_calls_have_spans_without_invented_names(
    runtime: Runtime, tracing: Tracing, exporter: InMemorySpanExporter
) -> None:
    session = await runtime.open("s", user_id="u")
    await session.call("made_up")
    await session.call("add", {"a": "x"})
    assert attributes(named(exporter, "execute_tool"))["error.type"] == "not_found"
    assert attributes(named(exporter, "execute_tool add"))["error.type"] == "validation"


async def test_o1_a_cancelled_call_ends_its_spans_without_an_error_status(
    runtime: Runtime, tracing: Tracing, exporter: InMemorySpanExporter
) -> None:
    session = await runtime.open("s", user_id="u")
    outcome = await session.call("hang")
    await settle()
    await session.cancel(outcome.execution_id)
    await session.result(outcome.execution_id)
    call = named(exporter, "execute_tool hang")
    assert attributes(call)["callboard.status"] == "cancelled"
    assert attributes(call)["error.type"] == "cancelled"
    assert call.status.status_code is StatusCode.UNSET
    assert named(exporter, "attempt hang").end_time is not None


async def test_o1_spans_have_no_content_by_default(
    runtime: Runtime, tracing: Tracing, exporter: InMemorySpanExporter
) -> None:
    session = await runtime.open("s", user_id="u")
    await session.call("log_in", {"name": "frobnitz", "password": "hunter2"})
    await session.call("fail")
    for span in exporter.get_finished_spans():
        written = span.to_json()
        for word in ("frobnitz", "hunter2", "welcome", "xyzzy"):
            assert word not in written


async def test_o1_content_has_no_secrets(
    runtime: Runtime, exporter: InMemorySpanExporter, provider: TracerProvider
) -> None:
    session = await runtime.open("s", user_id="u")
    with telemetry.trace(runtime, provider, content=True):
        await session.call("log_in", {"name": "frobnitz", "password": "hunter2"})
    call = attributes(named(exporter, "execute_tool log_in"))
    assert "frobnitz" in call["gen_ai.tool.call.arguments"]
    assert "welcome frobnitz" in call["gen_ai.tool.call.result"]
    assert not any("hunter2" in str(value) or "12345678" in str(value) for value in call.values())


async def test_o1_calls_of_a_turn_are_below_it_and_background_calls_linked_to_it(
    runtime: Runtime, tracing: Tracing, exporter: InMemorySpanExporter
) -> None:
    session = await runtime.open("s", user_id="u")
    scope = ConversationScope(live_session(session))

    async def turn() -> str:
        scope.turn_began("t1")
        await asyncio.gather(*(asyncio.ensure_future(session.call("add", {"a": 1, "b": b})) for b in (1, 2)))
        started = await session.call("build")
        scope.turn_ended("t1", "finished", Usage(input_tokens=7, output_tokens=2))
        await session.call("fail")
        return started.execution_id

    await session.result(await asyncio.create_task(turn()))
    span = named(exporter, "invoke_agent")
    assert span.parent is None
    assert attributes(span) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.conversation.id": "s",
        "callboard.turn.id": "t1",
        "callboard.status": "finished",
        "gen_ai.usage.input_tokens": 7,
        "gen_ai.usage.output_tokens": 2,
    }
    calls = [each for each in exporter.get_finished_spans() if each.name == "execute_tool add"]
    assert [is_below(each, span) for each in calls] == [True, True]
    background = named(exporter, "execute_tool build")
    assert background.parent is None
    assert [link.context.span_id for link in background.links] == [_id(span)]
    assert named(exporter, "execute_tool fail").parent is None, "the call was made after the turn"


async def test_o1_a_turn_that_waited_for_a_person_continues_in_a_new_span(
    runtime: Runtime, tracing: Tracing, exporter: InMemorySpanExporter
) -> None:
    session = await runtime.open("s", user_id="u")
    scope = ConversationScope(live_session(session))
    for status in ("paused", "failed"):
        scope.turn_began("t1")
        scope.turn_ended("t1", status)
    first, second = exporter.get_finished_spans()
    assert [attributes(span)["callboard.status"] for span in (first, second)] == ["paused", "failed"]
    assert second.status.status_code is StatusCode.ERROR


async def test_o1_closing_ends_open_spans_and_stops_tracing(
    runtime: Runtime, tracing: Tracing, exporter: InMemorySpanExporter
) -> None:
    session = await runtime.open("s", user_id="u")
    await session.call("hang")
    await settle()
    tracing.close()
    assert {span.name for span in exporter.get_finished_spans()} == {"execute_tool hang", "attempt hang"}
    exporter.clear()
    await session.cancel_all()
    await session.call("add", {"a": 1, "b": 2})
    assert exporter.get_finished_spans() == ()


async def test_o1_a_turn_that_a_late_result_wakes_is_linked_to_the_call(
    runtime: Runtime, tracing: Tracing, exporter: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await runtime.open("s", user_id="u")
    scope = ConversationScope(live_session(session))
    woken: list[asyncio.Task[None]] = []

    async def turn() -> None:
        scope.turn_began("t2")
        scope.turn_ended("t2", "finished")

    monkeypatch.setattr(LiveSession, "add_late_result", lambda *_: woken.append(asyncio.create_task(turn())))
    outcome = await session.call("build")
    await session.result(outcome.execution_id)
    await asyncio.gather(*woken)
    span = named(exporter, "invoke_agent")
    assert span.parent is None
    assert [link.context.span_id for link in span.links] == [_id(named(exporter, "attempt build"))]


async def test_o1_a_failing_observer_does_not_affect_a_turn(
    runtime: Runtime, tracing: Tracing, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    session = await runtime.open("s", user_id="u")
    scope = ConversationScope(live_session(session))
    monkeypatch.setattr(tracing, "turn_began", lambda *_: 1 / 0)
    scope.turn_began("t1")
    scope.turn_ended("t1", "finished")
    assert "a turn could not be observed" in caplog.text


async def test_o1_a_failing_processor_does_not_affect_a_call(
    runtime: Runtime, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(SpanProcessor):
        def on_start(self, span: Any, parent_context: Any = None) -> None:
            raise ValueError("broken")

    provider = TracerProvider()
    provider.add_span_processor(Broken())
    session = await runtime.open("s", user_id="u")
    with telemetry.trace(runtime, provider):
        assert (await session.call("add", {"a": 1, "b": 2})).value == 3
    assert "a span could not be written" in caplog.text


async def speaker(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
    """Call `add` once, then answer `done`."""
    last = messages[-1]
    if isinstance(last, ModelRequest) and any(isinstance(part, ToolReturnPart) for part in last.parts):
        yield "done"
    else:
        yield {0: DeltaToolCall(name="add", json_args='{"a": 1, "b": 2}', tool_call_id="c1")}


async def test_o1_a_whole_turn_from_the_model_to_the_attempt(
    exporter: InMemorySpanExporter, provider: TracerProvider
) -> None:
    model = traced_model(FunctionModel(stream_function=speaker), provider)
    async with Runtime(TOOLS, model=model) as runtime:
        with telemetry.trace(runtime, provider), telemetry.measure(runtime) as metrics:
            session = await runtime.open("s", user_id="u")
            assert (await session.say("add one and two")).text == "done"
            assert b'callboard_turn_duration_seconds_count{status="finished"} 1.0' in metrics.render()
    turn = named(exporter, "invoke_agent")
    assert is_below(named(exporter, "execute_tool add"), turn)
    assert is_below(named(exporter, "attempt add"), named(exporter, "execute_tool add"))
    chats = [span for span in exporter.get_finished_spans() if span.name.startswith("chat ")]
    assert [is_below(span, turn) for span in chats] == [True, True]
    assert attributes(turn)["gen_ai.usage.output_tokens"] > 0
    assert not any("one and two" in span.to_json() for span in exporter.get_finished_spans())
