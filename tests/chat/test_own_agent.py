"""A session's tools in your own Pydantic AI agent: late results, deferred calls, limits, streams (C1, M4, M5, M7, X12).

The agents talk to the strict doubles of the providers, through the real SDKs.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic_ai import (
    Agent,
    DeferredToolRequests,
    DeferredToolResults,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    RunContext,
    ToolApproved,
    ToolDenied,
    UsageLimits,
)
from pydantic_ai.exceptions import UsageLimitExceeded
from pydantic_ai.messages import (
    ModelMessagesTypeAdapter,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

import callboard
from callboard import CallboardError, RetryPolicy, Runtime, Session, ToolError, tool
from callboard.chat.late_results import delivered_executions, room_for, with_late_results
from callboard.chat.toolset import SessionToolset
from callboard.chat.transcript import LateResult
from callboard.testing.providers import (
    AnthropicDouble,
    Call,
    Double,
    GeminiDouble,
    OpenAIChatDouble,
    OpenAIResponsesDouble,
    Text,
    Thinking,
    Turn,
)

from .pairing import problems
from .scripted import add, build, gate, until

pytestmark = pytest.mark.anyio

DOUBLES = [AnthropicDouble, OpenAIChatDouble, OpenAIResponsesDouble, GeminiDouble]
SETTINGS: dict[type[Double], Any] = {
    AnthropicDouble: {"anthropic_thinking": {"type": "enabled", "budget_tokens": 1024}, "max_tokens": 4000}
}
"""With manual thinking, Anthropic refuses more histories than without."""

paid: list[int] = []
tries: list[str] = []


@tool(mode="human")
async def pay(amount: Annotated[int, "How much"]) -> str:
    """Pay."""
    paid.append(amount)
    return f"paid {amount}"


@tool(answer=str)
async def ask_name(question: Annotated[str, "What to ask"]) -> str:
    """Ask the user's name."""
    raise NotImplementedError


@tool(idempotent=True, retry=RetryPolicy(max_attempts=3, base_delay=0.0, max_delay=0.0))
async def unsteady() -> str:
    """Fail each time."""
    tries.append("unsteady")
    raise ToolError("The service is down.", category="transient")


@tool(idempotent=True, retry=RetryPolicy(max_attempts=3, base_delay=0.0, max_delay=0.0))
async def picky(word: Annotated[str, "A word"]) -> str:
    """Accept one word only."""
    tries.append(word)
    if word != "please":
        raise ToolError("Say please.", category="validation")
    return "thank you"


@tool(mode="background", wake="wait")
async def tidy() -> str:
    """Tidy up."""
    return "tidy"


TOOLS = [add, build, pay, ask_name, unsteady, picky, tidy]


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    paid.clear()
    tries.clear()


@pytest.fixture(params=DOUBLES, ids=lambda kind: kind.__name__)
async def double(request: pytest.FixtureRequest) -> AsyncIterator[Double]:
    async with request.param() as made:
        yield made


def agent_for(double: Double, tools: SessionToolset, **options: Any) -> Agent[Any, Any]:
    settings = SETTINGS.get(type(double))
    return Agent(double.model(), toolsets=[tools], model_settings=settings, **options)


def stored(history: list[ModelMessage]) -> list[ModelMessage]:
    """A history that was written to a database and read again."""
    return ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json(history))


def returns(history: list[ModelMessage]) -> list[ToolReturnPart]:
    return [part for message in history for part in message.parts if isinstance(part, ToolReturnPart)]


async def finish(session: Session, *names: str) -> None:
    """Let background calls end."""
    for name in names:
        gate(name).set()
    for record in await session.history(unfinished=True):
        await session.result(record.id, timeout=90)


# Late results


async def test_m4_a_late_result_wakes_the_loop_and_reaches_the_model(double: Double) -> None:
    double.add(Turn(Thinking("A plan."), Call("build", {"what": "a"})), Turn(Thinking("Fine."), "It runs."), "Built.")
    async with Runtime(TOOLS) as runtime:
        session = await runtime.open("s", "u")
        tools = callboard.toolset(session)
        agent = agent_for(double, tools)
        history = stored((await agent.run("Build.")).all_messages())
        waking = asyncio.ensure_future(tools.until_results())
        gate("a").set()
        assert await asyncio.wait_for(waking, 90)
        async with tools.late_results(history) as messages:
            result = await agent.run(message_history=messages)
        assert result.output == "Built."
        assert double.refusals == []
        assert "built a" in str(double.bodies[-1])
        assert await session.take_results() == []
        assert not await tools.until_results(), "no work is left"


async def test_m5_several_late_results_and_a_prompt_make_one_request(double: Double) -> None:
    calls = [Call("build", {"what": "a"}), Call("build", {"what": "b"})]
    double.add(Turn(Thinking("A plan."), *calls), Turn(Thinking("Fine."), "They run."), "Both built.", "Yes.")
    async with Runtime(TOOLS) as runtime:
        session = await runtime.open("s", "u")
        tools = callboard.toolset(session)
        agent = agent_for(double, tools)
        history = (await agent.run("Build.")).all_messages()
        await finish(session, "a", "b")
        async with tools.late_results(history) as messages:
            history = (await agent.run("And?", message_history=messages)).all_messages()
        assert all(each in str(double.bodies[2]) for each in ("built a", "built b", "And?"))
        assert (await agent.run("Sure?", message_history=history)).output == "Yes."
        assert (double.refusals, len(double.requests)) == ([], 4)


async def test_m7_a_late_result_joins_a_history_whose_last_request_has_no_response(double: Double) -> None:
    """Such as after a run that failed."""
    double.add(Turn(Thinking("A plan."), Call("build", {"what": "a"})), Turn(Thinking("Fine."), "It runs."), "Built.")
    async with Runtime(TOOLS) as runtime:
        session = await runtime.open("s", "u")
        tools = callboard.toolset(session)
        agent = agent_for(double, tools)
        history = (await agent.run("Build.")).all_messages()
        history.append(ModelRequest(parts=[UserPromptPart("Are you there?")]))
        await finish(session, "a")
        async with tools.late_results(history) as messages:
            assert (await agent.run(message_history=messages)).output == "Built."
        assert double.refusals == []


@pytest.mark.parametrize("store", ["memory://", "sqlite"])
async def test_m4_a_result_stays_until_the_block_ends(store: str, tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path / 'own.db'}" if store == "sqlite" else store
    history: list[ModelMessage] = [ModelRequest.user_text_prompt("Build."), ModelResponse(parts=[TextPart("It runs.")])]
    async with Runtime(TOOLS, store=address) as runtime:
        session = await runtime.open("s", "u")
        tools = callboard.toolset(session)
        await session.call("build", {"what": "a"})
        await finish(session, "a")
        messages: list[ModelMessage] = []
        with pytest.raises(RuntimeError, match="The provider is away"):
            async with tools.late_results(history) as messages:
                raise RuntimeError("The provider is away.")
        async with tools.late_results(history) as again:
            assert delivered_executions(again) == delivered_executions(messages) != set()
            kept = stored(again)
            await session.call("build", {"what": "b"})
            await finish(session, "b")
        async with tools.late_results(kept) as more:  # the first is known, the second is new
            assert len(delivered_executions(more)) == 2
            assert [part.content for part in returns(more)] == ["built a", "built b"]
        assert await session.take_results() == []


async def test_m4_a_result_survives_the_death_of_the_loop(tmp_path: Path) -> None:
    history: list[ModelMessage] = [ModelRequest.user_text_prompt("Build."), ModelResponse(parts=[TextPart("It runs.")])]
    store = f"sqlite:///{tmp_path / 'own.db'}"
    async with Runtime(TOOLS, store=store) as runtime:
        session = await runtime.open("s", "u")
        await session.call("build", {"what": "a"})
        await finish(session, "a")
        block = callboard.toolset(session).late_results(history)
        saved = stored(await block.__aenter__())  # the process ends after the history was saved
    async with Runtime(TOOLS, store=store) as runtime:
        tools = callboard.toolset(await runtime.open("s", "u"))
        assert await tools.until_results()
        async with tools.late_results(saved) as messages:
            assert messages == saved
        assert not await tools.until_results()


async def test_m4_only_results_that_wake_are_waited_for() -> None:
    async with Runtime(TOOLS) as runtime:
        session = await runtime.open("s", "u")
        tools = callboard.toolset(session)
        await session.call("tidy")
        await finish(session)
        assert not await tools.until_results()
        async with tools.late_results([ModelRequest.user_text_prompt("Hi")]) as messages:
            assert [part.content for part in returns(messages)] == ["tidy"]


async def test_m4_calls_whose_results_wake_nothing_are_not_waited_for() -> None:
    @tool(mode="background", wake="wait")
    async def watch() -> None:
        """Watch for ever."""
        await gate("never").wait()

    async with Runtime([*TOOLS, watch]) as runtime:
        session = await runtime.open("s", "u")
        tools = callboard.toolset(session)
        await session.call("watch")
        async with asyncio.timeout(90):
            assert not await tools.until_results()
        await session.call("build", {"what": "a"})
        gate("a").set()
        assert await tools.until_results()


async def test_m4_a_result_that_the_model_fetched_is_not_a_late_result(double: Double) -> None:
    double.add(Turn(Thinking("A plan."), Call("build", {"what": "a"})), Turn(Thinking("Fine."), "It runs."))
    async with Runtime(TOOLS) as runtime:
        session = await runtime.open("s", "u")
        tools = callboard.toolset(session)
        agent = agent_for(double, tools)
        first = (await agent.run("Build.")).all_messages()
        [record] = await session.history()
        poll = Turn(Thinking("Look."), Call("task_result", {"execution_id": record.id}))
        for output in ("It still runs.", "It is built."):
            double.add(poll, Turn(Thinking("Fine."), output))
        early = stored((await agent.run("Is it built?", message_history=first)).all_messages())
        assert delivered_executions(early) == set(), "it was the status of the call"
        gate("a").set()
        assert (await session.result(record.id)).value == "built a"
        polled = stored((await agent.run("And now?", message_history=early)).all_messages())
        async with tools.late_results(polled) as messages:
            assert messages == polled
        assert await session.take_results() == []
        assert str(double.bodies[-1]).count("built a") == 1
        assert double.refusals == []


async def test_m4_a_failed_call_is_a_failed_late_result(double: Double) -> None:
    double.add(Turn(Thinking("A plan."), Call("build", {"what": "a"})), Turn(Thinking("Fine."), "It runs."), "Stopped.")
    async with Runtime(TOOLS) as runtime:
        session = await runtime.open("s", "u")
        tools = callboard.toolset(session)
        agent = agent_for(double, tools)
        history = (await agent.run("Build.")).all_messages()
        await session.cancel_all()
        assert await tools.until_results()
        async with tools.late_results(history) as messages:
            assert returns(messages)[-1].outcome == "failed"
            await agent.run(message_history=messages)
        assert double.refusals == []


def late(*ids: str) -> list[LateResult]:
    return [LateResult(each, f"result {each}") for each in ids]


def test_m5_late_results_are_valid_after_any_history() -> None:
    prompt = ModelRequest.user_text_prompt("Hi")
    call = ModelResponse(parts=[ToolCallPart("add", {"a": 1, "b": 1}, "c1")])
    answer = ModelRequest(parts=[ToolReturnPart("add", 2, "c1"), UserPromptPart("And?")])
    said = ModelResponse(parts=[TextPart("Two.")])
    for history in ([], [prompt], [prompt, said], [prompt, call, answer], [prompt, call, answer, said]):
        before = stored(list(history))
        made = with_late_results(history, late("x1", "x2"))
        assert problems(made) == []
        assert delivered_executions(made) == {"x1", "x2"}
        assert stored(list(history)) == before, "the history of the caller is not changed"


def test_m5_more_late_results_than_a_message_can_have_wait_for_the_next_time() -> None:
    prompt, said = ModelRequest.user_text_prompt("Hi"), ModelResponse(parts=[TextPart("Hello.")])
    assert room_for([prompt, said]) == 128
    full = with_late_results([prompt, said], late(*(f"x{number}" for number in range(128))))
    more = with_late_results(full, late("y1"))
    assert problems(more) == []
    assert [len(each.tool_calls) for each in more if isinstance(each, ModelResponse)] == [128, 1]


def test_m5_an_id_that_the_model_chose_is_not_used_again() -> None:
    history = [ModelRequest.user_text_prompt("Hi"), ModelResponse(parts=[ToolCallPart("add", {}, "late_x1")])]
    history.append(ModelRequest(parts=[ToolReturnPart("add", 2, "late_x1")]))
    assert problems(with_late_results(history, late("x1"))) == []


# Deferred calls

BOTH: Any = [str, DeferredToolRequests]


async def test_m7_an_approval_of_the_agent_runs_the_call_once(double: Double) -> None:
    double.add(Turn(Thinking("Money."), Call("pay", {"amount": 5}), Call("add", {"a": 1, "b": 2})), "Paid.")
    async with Runtime(TOOLS) as runtime:
        session = await runtime.open("s", "u")
        agent = agent_for(double, callboard.toolset(session, defer=True), output_type=BOTH)
        paused = await agent.run("Pay.")
        assert isinstance(paused.output, DeferredToolRequests)
        [call] = paused.output.approvals
        [request] = await session.requests()
        assert paused.output.metadata[call.tool_call_id]["request_id"] == request.id
        assert paid == []
        results = paused.output.build_results(approve_all=True)
        done = await agent.run(message_history=stored(paused.all_messages()), deferred_tool_results=results)
        assert (done.output, paid, await session.requests()) == ("Paid.", [5], [])
        assert "paid 5" in str(double.bodies[-1])
        assert (double.refusals, await session.take_results()) == ([], [])


async def test_m7_a_refusal_of_the_agent_closes_the_request(double: Double) -> None:
    double.add(Turn(Thinking("Money."), Call("pay", {"amount": 5})), "Not paid.")
    async with Runtime(TOOLS) as runtime:
        session = await runtime.open("s", "u")
        agent = agent_for(double, callboard.toolset(session, defer=True), output_type=BOTH)
        paused = await agent.run("Pay.")
        [call] = paused.output.approvals
        results = DeferredToolResults(approvals={call.tool_call_id: ToolDenied("Too much.")})
        done = await agent.run(message_history=stored(paused.all_messages()), deferred_tool_results=results)
        assert (done.output, paid, await session.requests()) == ("Not paid.", [], [])
        [answer] = await until(session, "human_answer")
        assert answer.data["answer"] == {"approved": False, "reason": "Too much."}
        assert await session.take_results() == []


async def test_m7_edited_arguments_are_those_that_run() -> None:
    async with Runtime(TOOLS) as runtime, OpenAIChatDouble() as double:
        double.add(Turn(Call("pay", {"amount": 5})), Turn(Call("pay", {"amount": 6})), "Done.")
        session = await runtime.open("s", "u")
        agent = agent_for(double, callboard.toolset(session, defer=True), output_type=BOTH)
        paused = await agent.run("Pay.")
        [call] = paused.output.approvals
        wrong = DeferredToolResults(approvals={call.tool_call_id: ToolApproved(override_args={"amount": "all"})})
        paused = await agent.run(message_history=paused.all_messages(), deferred_tool_results=wrong)
        assert (paid, [each.payload for each in await session.requests()]) == ([], [{"amount": 6}])
        [call] = paused.output.approvals
        right = DeferredToolResults(approvals={call.tool_call_id: ToolApproved(override_args={"amount": 3})})
        assert (await agent.run(message_history=paused.all_messages(), deferred_tool_results=right)).output == "Done."
        assert (paid, await session.take_results()) == ([3], [])


async def test_m7_an_answer_in_the_session_resumes_the_run_of_the_agent(double: Double) -> None:
    calls = [Call("pay", {"amount": 5}), Call("pay", {"amount": 900}), Call("ask_name", {"question": "Who?"})]
    double.add(Turn(Thinking("Money."), *calls), "Done.")
    async with Runtime(TOOLS) as runtime:
        session = await runtime.open("s", "u")
        tools = callboard.toolset(session, defer=True)
        agent = agent_for(double, tools, output_type=BOTH)
        paused = await agent.run("Pay.")
        assert (len(paused.output.approvals), len(paused.output.calls)) == (2, 1)
        for request in await session.requests():
            answer = "Ada" if request.tool == "ask_name" else {"approved": request.payload["amount"] < 100}
            await session.answer(request.id, answer)
        results = await tools.deferred_results(paused.output)
        done = await agent.run(message_history=stored(paused.all_messages()), deferred_tool_results=results)
        assert (done.output, paid, double.refusals) == ("Done.", [5], [])
        found = {part.outcome: str(part.content) for part in returns(done.all_messages()) if part.tool_name == "pay"}
        assert (found["success"], "A person refused this call" in found["denied"]) == ("paid 5", True)
        assert [part.content for part in returns(done.all_messages()) if part.tool_name == "ask_name"] == ["Ada"]
        assert await session.take_results() == []


@pytest.mark.parametrize(("channel", "start"), [("text", "A" * 10), ("voice", "They said ")])
async def test_x12_an_answer_in_the_session_is_rendered_and_cut_for_the_agent(channel: str, start: str) -> None:
    asks = ask_name.with_(result_limit=15, renderers={"voice": lambda name: f"They said {name}."})
    async with Runtime([asks]) as runtime, OpenAIChatDouble() as double:
        double.add(Turn(Call("ask_name", {"question": "Who?"})))
        session = await runtime.open("s", "u", channel=channel)
        tools = callboard.toolset(session, defer=True)
        paused = await agent_for(double, tools, output_type=BOTH).run("Hi.")
        [request] = await session.requests()
        await session.answer(request.id, "A" * 100)
        results = await tools.deferred_results(paused.output)
        text = session.result_text(request.execution_id)
        assert list(results.calls.values()) == [text]
        assert text.startswith(start)
        assert "Read on with task_result" in text


async def test_m7_the_agents_answer_to_a_question_closes_its_request() -> None:
    async with Runtime(TOOLS) as runtime, AnthropicDouble() as double:
        double.add(Turn(Thinking("Hm."), Call("ask_name", {"question": "Who?"})), "Hello Ada.")
        session = await runtime.open("s", "u")
        agent = agent_for(double, callboard.toolset(session, defer=True), output_type=BOTH)
        paused = await agent.run("Hi.")
        [call] = paused.output.calls
        results = DeferredToolResults(calls={call.tool_call_id: "Ada"})
        await agent.run(message_history=paused.all_messages(), deferred_tool_results=results)
        [answer] = await until(session, "human_answer")
        assert (answer.data["answer"], await session.requests(), await session.take_results()) == ("Ada", [], [])


async def test_m7_a_call_is_approved_after_a_restart_and_runs_once(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'own.db'}"
    async with OpenAIResponsesDouble() as double:
        double.add(Turn(Call("pay", {"amount": 5})), "Paid.", "Paid.")
        async with Runtime(TOOLS, store=store) as runtime:
            tools = callboard.toolset(await runtime.open("s", "u"), defer=True)
            paused = await agent_for(double, tools, output_type=BOTH).run("Pay.")
        history, results = stored(paused.all_messages()), paused.output.build_results(approve_all=True)
        for _ in range(2):  # the second time as if the first run had been lost before its history was stored
            async with Runtime(TOOLS, store=store) as runtime:
                session = await runtime.open("s", "u")
                agent = agent_for(double, callboard.toolset(session, defer=True), output_type=BOTH)
                done = await agent.run(message_history=history, deferred_tool_results=results)
                assert [part.content for part in returns(done.all_messages())] == ["paid 5"]
                assert (await session.requests(), await session.take_results()) == ([], [])
        assert (paid, double.refusals) == ([5], [])


async def test_m7_metadata_that_are_passed_on_find_a_call_whose_message_was_changed() -> None:
    async with Runtime(TOOLS) as runtime, OpenAIChatDouble() as double:
        double.add(Turn(Call("pay", {"amount": 5})), "Done.")
        session = await runtime.open("s", "u")
        agent = agent_for(double, callboard.toolset(session, defer=True), output_type=BOTH)
        paused = await agent.run("Pay.")
        history = [replace(each, timestamp=datetime.now(UTC)) for each in paused.all_messages()]
        results = paused.output.build_results(approve_all=True, metadata=paused.output.metadata)
        await agent.run(message_history=history, deferred_tool_results=results)
        assert (paid, await session.requests(), len(await session.history())) == ([5], [], 1)


async def test_m7_an_approval_of_the_agents_own_wrapper_counts() -> None:
    async with Runtime(TOOLS) as runtime, OpenAIChatDouble() as double:
        double.add(Turn(Call("pay", {"amount": 5}), Call("add", {"a": 1, "b": 2})), "Done.")
        session = await runtime.open("s", "u")
        tools = callboard.toolset(session, defer=True).approval_required()
        agent = Agent(double.model(), toolsets=[tools], output_type=BOTH)
        paused = await agent.run("Pay.")
        assert (len(paused.output.approvals), await session.requests()) == (2, [])
        results = paused.output.build_results(approve_all=True)
        await agent.run(message_history=paused.all_messages(), deferred_tool_results=results)
        assert (paid, await session.requests()) == ([5], [])


async def test_m7_late_results_wait_for_the_results_of_deferred_calls() -> None:
    async with Runtime(TOOLS) as runtime, AnthropicDouble() as double:
        double.add(Turn(Thinking("Hm."), Call("pay", {"amount": 5}), Call("build", {"what": "a"})))
        session = await runtime.open("s", "u")
        tools = callboard.toolset(session, defer=True)
        paused = await agent_for(double, tools, output_type=BOTH).run("Go.")
        with pytest.raises(CallboardError, match="calls that have no results: pay"):
            async with tools.late_results(paused.all_messages()):
                pass


async def test_m7_without_defer_a_request_is_acknowledged_and_its_result_comes_late(double: Double) -> None:
    double.add(Turn(Thinking("Money."), Call("pay", {"amount": 5})), Turn(Thinking("Fine."), "I asked."), "Paid.")
    async with Runtime(TOOLS) as runtime:
        session = await runtime.open("s", "u")
        tools = callboard.toolset(session)
        agent = agent_for(double, tools)
        history = (await agent.run("Pay.")).all_messages()
        [request] = await session.requests()
        await session.answer(request.id, {"approved": True})
        assert await tools.until_results()
        async with tools.late_results(history) as messages:
            assert (await agent.run(message_history=messages)).output == "Paid."
        assert double.refusals == []


# Retries, limits, streams


@pytest.fixture
async def chat_double() -> AsyncIterator[Double]:
    async with OpenAIChatDouble() as double:
        yield double


async def test_x4_retries_of_the_runtime_and_of_the_agent_do_not_multiply(chat_double: Double) -> None:
    chat_double.add(Turn(Call("unsteady", {})), "It is down.")
    async with Runtime(TOOLS) as runtime:
        session = await runtime.open("s", "u")
        agent = agent_for(chat_double, callboard.toolset(session), retries=3)
        result = await agent.run("Go.")
        assert tries == ["unsteady"] * 3, "the runtime's attempts alone"
        assert [part.outcome for part in returns(result.all_messages())] == ["failed"]


async def test_x4_a_validation_error_goes_to_the_model_without_attempts_of_the_runtime(chat_double: Double) -> None:
    chat_double.add(Turn(Call("picky", {"word": "now"})), Turn(Call("picky", {"word": "please"})), "Done.")
    async with Runtime(TOOLS) as runtime:
        session = await runtime.open("s", "u")
        await agent_for(chat_double, callboard.toolset(session), retries=1).run("Go.")
        assert tries == ["now", "please"]


async def test_c1_usage_limits_end_a_run_and_its_background_work_goes_on(chat_double: Double) -> None:
    chat_double.add(Turn(Call("build", {"what": "a"})), Turn(Call("add", {"a": 1, "b": 2})), "Built.")
    async with Runtime(TOOLS) as runtime:
        session = await runtime.open("s", "u")
        tools = callboard.toolset(session)
        agent = agent_for(chat_double, tools)
        with pytest.raises(UsageLimitExceeded):
            await agent.run("Go.", usage_limits=UsageLimits(tool_calls_limit=1))
        gate("a").set()
        assert await tools.until_results()
        async with tools.late_results([ModelRequest.user_text_prompt("Go.")]) as messages:
            assert (await agent.run(message_history=messages)).output == "Built."
        assert chat_double.refusals == []


async def test_c1_streams_deliver_late_results_too(double: Double) -> None:
    double.add(Turn(Thinking("A plan."), Call("build", {"what": "a"})), Turn(Thinking("Fine."), Text("It ", "runs.")))
    double.add(Turn(Text("It is ", "built.")))
    async with Runtime(TOOLS) as runtime:
        session = await runtime.open("s", "u")
        tools = callboard.toolset(session)
        agent = agent_for(double, tools)
        async with agent.run_stream("Build.") as stream:
            assert [text async for text in stream.stream_text(debounce_by=None)][-1] == "It runs."
        await finish(session, "a")
        async with (
            tools.late_results(stream.all_messages()) as messages,
            agent.run_stream(message_history=messages) as stream,
        ):
            assert [text async for text in stream.stream_text(debounce_by=None)][-1] == "It is built."
        assert double.refusals == []


async def test_c1_iter_visits_the_nodes_of_a_run_with_late_results(double: Double) -> None:
    double.add(Turn(Thinking("A plan."), Call("build", {"what": "a"})), Turn(Thinking("Fine."), "It runs."), "Built.")
    async with Runtime(TOOLS) as runtime:
        session = await runtime.open("s", "u")
        tools = callboard.toolset(session)
        agent = agent_for(double, tools)
        async with agent.iter("Build.") as run:
            async for _ in run:
                pass
        await finish(session, "a")
        async with tools.late_results(run.all_messages()) as messages, agent.iter(message_history=messages) as run:
            nodes = [type(node).__name__ async for node in run]
        assert run.result is not None
        assert (run.result.output, nodes[-1], double.refusals) == ("Built.", "End", [])


async def test_c1_a_late_result_can_be_put_into_a_running_turn(double: Double) -> None:
    """With `RunContext.enqueue`, in the form that `late_results` gives it."""
    double.add(Turn(Thinking("A plan."), Call("build", {"what": "a"}), Call("catch_up", {})), "Built.")
    async with Runtime(TOOLS) as runtime:
        session = await runtime.open("s", "u")
        tools = callboard.toolset(session)
        agent = agent_for(double, tools)

        @agent.tool
        async def catch_up(ctx: RunContext[None]) -> str:  # pyright: ignore[reportUnusedFunction]
            await until(session, "tool_started")
            await finish(session, "a")
            async with tools.late_results([ModelRequest.user_text_prompt("Hi")]) as messages:
                ctx.enqueue(*messages[1:])
            return "caught up"

        assert (await agent.run("Build.")).output == "Built."
        assert "built a" in str(double.bodies[-1])
        assert double.refusals == []
