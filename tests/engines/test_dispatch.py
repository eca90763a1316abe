"""Calls that workers carry out (D3): everything that works in one process works across them."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from pydantic_ai.messages import ModelMessage, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

from callboard import Registry, Runtime, Session, Tool, ToolContext, ToolError, telemetry, tool
from callboard.adapters.engines import open_engine
from callboard.adapters.engines.nats.address import NatsAddress
from callboard.adapters.stores.staging import StagedGroup
from callboard.execution.engine import EngineError
from callboard.execution.limits import Limits
from callboard.sessions import dispatcher, queue_worker, waiting_calls
from callboard.sessions.session import live_session
from callboard.storage.change import Change
from callboard.storage.errors import Conflict, StoreUnavailable
from callboard.storage.owners import QueuedCall
from callboard.storage.rows import ExecutionRow
from callboard.testing.clock import ManualClock
from callboard.testing.engine_contract import until, until_waiting
from callboard.types import Placement
from tests.engines.conftest import OpenDeployment

pytestmark = pytest.mark.anyio
Number = Annotated[int, "A number."]


class Log:
    """What handlers did, and where."""

    def __init__(self) -> None:
        self.runs: list[str] = []
        self.began = asyncio.Event()
        self.may_end = asyncio.Event()
        self.cancelled = asyncio.Event()


def tools(log: Log, name: str) -> Registry:
    """Return the tools of a process, which note the name of the process in the log."""

    @tool(mode="background")
    async def double(ctx: ToolContext, n: Number) -> dict[str, Any]:
        """Double a number."""
        log.runs.append(name)
        await ctx.progress("doubling", 0.5, "half")
        await ctx.partial({"n": n})
        return {"value": 2 * n, "by": name, "attempt": ctx.attempt}

    @tool(placement="worker")
    async def inline(n: Number) -> str:
        """Return where it ran."""
        log.runs.append(name)
        return f"{name} {n}"

    @tool(placement="worker", inline_budget=0.2)
    async def slow_inline(n: Number) -> str:
        """Take longer than the budget."""
        log.began.set()
        await log.may_end.wait()
        return f"{name} {n}"

    @tool(placement="worker", inline_budget=600)
    async def patient_inline(n: Number) -> str:
        """Wait until the test allows the end, within the budget."""
        log.began.set()
        await log.may_end.wait()
        return f"{name} {n}"

    @tool(mode="background", idempotent=True)
    async def waits(n: Number) -> str:
        """Wait until the test allows the end."""
        log.runs.append(name)
        log.began.set()
        try:
            await log.may_end.wait()
        except asyncio.CancelledError:
            log.cancelled.set()
            raise
        return f"{name} {n}"

    @tool(mode="human", placement="worker")
    async def pay(amount: Number) -> str:
        """Pay an amount."""
        return f"{name} paid {amount}"

    @tool(mode="background")
    async def outer(ctx: ToolContext, n: Number) -> Any:
        """Call a tool of another queue and one that runs here."""
        return {"far": await ctx.call("far", {"n": n}), "near": await ctx.call("near", {"n": n})}

    @tool(queue="gpu", inline_budget=0.2)
    async def far(n: Number) -> str:
        """Run elsewhere."""
        return f"{name} {n}"

    @tool
    async def near(n: Number) -> str:
        """Run here."""
        return f"{name} {n}"

    @tool(mode="background")
    async def fails(n: Number) -> str:
        """Fail."""
        raise ToolError(f"no {n}")

    return Registry([double, inline, slow_inline, patient_inline, waits, pay, outer, far, near, fails])


async def ended(session: Session, execution_id: str | None) -> Any:
    assert execution_id is not None
    outcome = await session.result(execution_id, timeout=90)
    assert outcome.status == "succeeded", outcome
    return outcome.value


async def test_d3_background_calls_run_on_a_worker(deployment: OpenDeployment) -> None:
    log = Log()
    async with deployment() as made:
        gateway = await made.gateway(tools(log, "gateway"))
        await made.worker(tools(log, "worker"))
        session = await gateway.open("s", "ann")
        outcome = await session.call("double", {"n": 21}, call_id="c1")
        assert outcome.status == "started"
        assert await ended(session, outcome.execution_id) == {"value": 42, "by": "worker", "attempt": 1}
        assert log.runs == ["worker"]
        again = await session.call("double", {"n": 21}, call_id="c1")
        assert again.value == {"value": 42, "by": "worker", "attempt": 1}
        kinds: list[str] = []
        async for event in session.events():
            kinds.append(event.kind)
            if event.kind == "tool_result":
                break
        assert kinds == [
            *("tool_started", "tool_validating", "tool_executing", "tool_progress", "tool_partial", "tool_result"),
        ]
        (late,) = await session.take_results()
        assert late.execution_id == outcome.execution_id
        record = (await session.history())[0]
        assert record.started_at is not None
        assert record.queued_for is not None


async def test_d3_inline_calls_on_a_worker_return_their_results(deployment: OpenDeployment) -> None:
    log = Log()
    async with deployment() as made:
        gateway = await made.gateway(tools(log, "gateway"))
        await made.worker(tools(log, "worker"))
        session = await gateway.open("s", "ann")
        outcome = await session.call("inline", {"n": 1})
        assert (outcome.status, outcome.value) == ("succeeded", "worker 1")
        assert await session.take_results() == [], "it was delivered to its caller"
        late = await session.call("slow_inline", {"n": 2})
        assert late.status == "started", "the inline budget is used up"
        log.may_end.set()
        assert await ended(session, late.execution_id) == "worker 2"
        assert [each.value for each in await session.take_results()] == ["worker 2"]


async def test_m7_an_inline_call_on_a_worker_is_promoted(deployment: OpenDeployment) -> None:
    log = Log()
    async with deployment() as made:
        gateway = await made.gateway(tools(log, "gateway"))
        await made.worker(tools(log, "worker"))
        session = await gateway.open("s", "ann")
        calling = asyncio.ensure_future(session.call("patient_inline", {"n": 1}, call_id="c"))
        await log.began.wait()
        live_session(session).calls.promote(["c"])
        outcome = await asyncio.wait_for(calling, 60)
        assert outcome.status == "started"
        log.may_end.set()
        assert await ended(session, outcome.execution_id) == "worker 1"
        assert [each.value for each in await session.take_results()] == ["worker 1"]


async def test_d3_result_of_a_worker_waits_if_its_caller_leaves_while_it_is_taken(
    deployment: OpenDeployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = Log()
    async with deployment() as made:
        gateway = await made.gateway(tools(log, "gateway"))
        await made.worker(tools(log, "worker"))
        session = await gateway.open("s", "ann")
        commit = gateway.store.commit

        async def leave(changes: Sequence[Change]) -> list[int | Conflict]:
            if any(change.received for change in changes):
                calling.cancel()
            return await commit(changes)

        monkeypatch.setattr(gateway.store, "commit", leave)
        calling = asyncio.ensure_future(session.call("inline", {"n": 1}))
        await asyncio.wait([calling])
        assert calling.cancelled()
        assert [each.value for each in await session.take_results()] == ["worker 1"]
        assert await session.take_results() == []


@pytest.mark.parametrize("name", ["inline", "double"])
async def test_d3_result_of_a_worker_that_cannot_be_stored_is_a_failure(
    deployment: OpenDeployment, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    stage = StagedGroup.stage

    def fail(group: StagedGroup, change: Change) -> int | Conflict:
        if any(write.row.value for write in change.executions):
            raise TypeError("a bug")
        return stage(group, change)

    monkeypatch.setattr(StagedGroup, "stage", fail)
    log = Log()
    async with deployment() as made:
        gateway = await made.gateway(tools(log, "gateway"))
        await made.worker(tools(log, "worker"))
        session = await gateway.open("s", "ann")
        outcome = await session.call(name, {"n": 1})
        assert outcome.execution_id is not None
        result = await session.result(outcome.execution_id, timeout=90)
        assert result.error is not None
        assert "its result cannot be stored" in result.error.message
        late = [each.execution_id for each in await session.take_results()]
        assert late == ([outcome.execution_id] if name == "double" else [])
        assert log.runs == ["worker"]


async def test_d3_invalid_arguments_never_reach_a_worker(deployment: OpenDeployment) -> None:
    log = Log()
    async with deployment() as made:
        gateway = await made.gateway(tools(log, "gateway"))
        session = await gateway.open("s", "ann")
        outcome = await session.call("double", {"n": "x"})
        assert outcome.status == "failed"
        assert outcome.error is not None
        assert outcome.error.category == "validation"


async def test_d3_cancellation_reaches_a_handler_on_a_worker(deployment: OpenDeployment) -> None:
    log = Log()
    async with deployment() as made:
        gateway = await made.gateway(tools(log, "gateway"))
        await made.worker(tools(log, "worker"))
        session = await gateway.open("s", "ann")
        outcome = await session.call("waits", {"n": 1}, call_id="c")
        async with asyncio.timeout(90):
            await log.began.wait()
            assert await session.cancel_call("c") is True
            await log.cancelled.wait()
        assert outcome.execution_id is not None
        assert (await session.result(outcome.execution_id, timeout=90)).status == "cancelled"


async def test_d3_a_waiting_call_can_be_cancelled_without_a_worker(deployment: OpenDeployment) -> None:
    log = Log()
    async with deployment() as made:
        gateway = await made.gateway(tools(log, "gateway"))
        session = await gateway.open("s", "ann")
        outcome = await session.call("waits", {"n": 1})
        assert outcome.execution_id is not None
        assert await session.cancel(outcome.execution_id) is True
        assert (await session.result(outcome.execution_id, timeout=90)).status == "cancelled"
        await made.worker(tools(log, "worker"))
        assert log.runs == []


async def test_d3_people_are_asked_before_a_call_is_sent(deployment: OpenDeployment) -> None:
    log = Log()
    async with deployment() as made:
        gateway = await made.gateway(tools(log, "gateway"))
        await made.worker(tools(log, "worker"))
        session = await gateway.open("s", "ann")
        outcome = await session.call("pay", {"amount": 5})
        assert outcome.status == "waiting"
        (request,) = await session.requests()
        await session.answer(request.id, {"approved": True, "arguments": {"amount": 7}})
        assert await ended(session, outcome.execution_id) == "worker paid 7"


async def test_d3_nested_calls_run_on_other_workers_and_here(deployment: OpenDeployment) -> None:
    log = Log()
    async with deployment() as made:
        gateway = await made.gateway(tools(log, "gateway"))
        await made.worker(tools(log, "first"))
        await made.worker(tools(log, "second"), "gpu")
        session = await gateway.open("s", "ann")
        outcome = await session.call("outer", {"n": 3})
        assert await ended(session, outcome.execution_id) == {"far": "second 3", "near": "first 3"}


async def test_d3_nested_call_on_another_worker_waits_for_a_store_that_does_not_answer(
    deployment: OpenDeployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = Log()
    async with deployment() as made:
        gateway = await made.gateway(tools(log, "gateway"))
        first = await made.worker(tools(log, "first"))
        await made.worker(tools(log, "second"), "gpu")
        read, failures = first.store.execution, iter(range(3))

        async def fail(session_id: str, execution_id: str) -> ExecutionRow | None:
            if next(failures, None) is not None:
                raise StoreUnavailable("The server restarts.")
            return await read(session_id, execution_id)

        monkeypatch.setattr(first.store, "execution", fail)
        session = await gateway.open("s", "ann")
        outcome = await session.call("outer", {"n": 3})
        assert await ended(session, outcome.execution_id) == {"far": "second 3", "near": "first 3"}
        assert next(failures, None) is None


async def test_d3_failures_of_workers_are_outcomes(deployment: OpenDeployment) -> None:
    log = Log()
    async with deployment() as made:
        gateway = await made.gateway(tools(log, "gateway"))
        await made.worker(tools(log, "worker"))
        session = await gateway.open("s", "ann")
        outcome = await session.call("fails", {"n": 3})
        assert outcome.execution_id is not None
        end = await session.result(outcome.execution_id, timeout=90)
        assert end.error is not None
        assert str(end.error) == "no 3"


async def test_d3_a_worker_without_the_tool_leaves_it_to_others(
    deployment: OpenDeployment, caplog: pytest.LogCaptureFixture
) -> None:
    log = Log()
    async with deployment() as made:
        gateway = await made.gateway(tools(log, "gateway"))
        poor = await made.worker(Registry([]))
        session = await gateway.open("s", "ann")
        outcome = await session.call("double", {"n": 3})
        assert poor.worker is not None
        unknown = poor.worker.unknown
        await until(lambda: bool(unknown))
        await made.worker(tools(log, "worker"))
        assert (await ended(session, outcome.execution_id))["by"] == "worker"
    assert "does not have the tool double" in caplog.text


async def test_d3_messages_of_ended_calls_of_a_removed_tool_do_not_hide_missing_ones(
    deployment: OpenDeployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatcher, "SWEEP", 3600.0)
    monkeypatch.setattr(queue_worker, "UNKNOWN_TOOL_DELAY", 0.01)
    log, clock = Log(), ManualClock()
    async with deployment() as made:
        gateway = await made.gateway(tools(log, "gateway"))
        engine, sweeps = gateway.engine, gateway.dispatcher
        assert engine is not None
        assert sweeps is not None
        await until(lambda: engine.connected)
        session = await gateway.open("s", "ann")
        calls = [await session.call("double", {"n": n}) for n in range(3)]
        worker = (
            await made.worker(Registry([each for each in tools(log, "worker") if each.name == "fails"]), clock=clock)
        ).worker
        assert worker is not None
        for call in calls[1:]:
            await session.cancel_call(call.call_id)
            assert call.execution_id is not None
            assert (await session.result(call.execution_id, timeout=90)).status == "cancelled"
        await until(lambda: worker.unknown.get("double", 0) > 10)
        await clock.advance(60.0)
        await until_waiting(engine, 1)
        with monkeypatch.context() as losing:
            losing.setattr(engine, "submit", lambda call: None)
            lost = await session.call("fails", {"n": 1})
        for _ in range(2):
            await sweeps.sweep(age=0.0)
        assert lost.execution_id is not None
        assert (await session.result(lost.execution_id, timeout=90)).status == "failed"


async def test_d3_workers_say_what_they_run(deployment: OpenDeployment) -> None:
    log = Log()
    async with deployment() as made:
        gateway = await made.gateway(tools(log, "gateway"))
        await made.worker(tools(log, "worker"), "default", "gpu", concurrency=3)
        session = await gateway.open("s", "ann")
        outcome = await session.call("waits", {"n": 1})
        async with asyncio.timeout(90):
            await log.began.wait()
        assert gateway.engine is not None
        found = [each for each in await gateway.engine.workers() if "gpu" in each.queues]
        assert [(list(each.queues), each.concurrency, each.done) for each in found] == [(["default", "gpu"], 3, 0)]
        assert [each["execution_id"] for each in found[0].running] == [outcome.execution_id]
        log.may_end.set()


async def test_d3_worker_of_several_queues_keeps_its_concurrency(deployment: OpenDeployment) -> None:
    running, most, room = 0, 0, asyncio.Semaphore(0)

    def on(queue: str) -> Tool:
        @tool(name=f"on_{queue}", mode="background", idempotent=True, placement="worker", queue=queue)
        async def work(n: Number) -> int:
            """Work."""
            nonlocal running, most
            running += 1
            most = max(most, running)
            await room.acquire()
            running -= 1
            return n

        return work

    def all_tools() -> Registry:
        return Registry([on(queue) for queue in queues])

    queues = "a", "b", "c"
    async with deployment() as made:
        session = await (await made.gateway(all_tools())).open("s", "ann")
        ids = [(await session.call(f"on_{queue}", {"n": n})).execution_id for n in range(4) for queue in queues]
        worker = (await made.worker(all_tools(), *queues, concurrency=2)).worker
        assert worker is not None
        for done in range(0, len(ids), 2):
            await until(lambda: running == 2 and worker.done == done)  # noqa: B023
            room.release()
            room.release()
        assert [(await ended(session, each)) for each in ids] == [n for n in range(4) for _ in queues]
    assert most == 2


def test_d3_placements_are_checked() -> None:
    async def work(n: Number) -> str:
        """Work."""
        return str(n)

    assert tool(placement="any")(work).placement is Placement.ANY
    with pytest.raises(Exception, match="placement='cloud'"):
        tool(placement="cloud")(work)
    with pytest.raises(Exception, match="queue='My Queue'"):
        tool(queue="My Queue")(work)
    with pytest.raises(Exception, match="remove one of the two"):
        tool(queue="gpu", placement="gateway")(work)


@pytest.mark.parametrize("is_sent_again", [False, True])
async def test_o1_spans_of_a_gateway_and_a_worker_join(
    deployment: OpenDeployment, monkeypatch: pytest.MonkeyPatch, is_sent_again: bool
) -> None:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    log = Log()
    async with deployment() as made:
        gateway = await made.gateway(tools(log, "gateway"))
        worker = await made.worker(tools(log, "worker"))
        with telemetry.trace(gateway, provider), telemetry.trace(worker, provider):
            assert gateway.engine is not None
            assert gateway.dispatcher is not None
            session = await gateway.open("s", "ann")
            if is_sent_again:
                monkeypatch.setattr(gateway.engine, "submit", lambda call: None)
            outcome = await session.call("double", {"n": 1})
            if is_sent_again:
                monkeypatch.undo()
                engine = gateway.engine
                await until(lambda: engine.connected)
                await gateway.dispatcher.sweep(age=0.0)
            await ended(session, outcome.execution_id)
    spans = {span.name: span for span in exporter.get_finished_spans()}
    first, second = [span for span in exporter.get_finished_spans() if span.name == "execute_tool double"]
    attempt = spans["attempt double"]
    contexts = [span.get_span_context() for span in (first, second, attempt)]
    assert second.parent is not None
    assert contexts[0] is not None
    assert second.parent.span_id == contexts[0].span_id
    assert len({context and context.trace_id for context in contexts}) == 1


async def test_d3_missing_messages_are_sent_again(deployment: OpenDeployment, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log()
    async with deployment() as made:
        gateway = await made.gateway(tools(log, "gateway"))
        assert gateway.engine is not None
        assert gateway.dispatcher is not None
        session = await gateway.open("s", "ann")
        monkeypatch.setattr(gateway.engine, "submit", lambda call: None)
        outcome = await session.call("double", {"n": 1})
        monkeypatch.undo()
        await made.worker(tools(log, "worker"))
        engine = gateway.engine
        await until(lambda: engine.connected)
        await gateway.dispatcher.sweep()
        assert gateway.dispatcher.submitted_again == 0, "it may be on its way"
        await gateway.dispatcher.sweep(age=0.0)
        assert (await ended(session, outcome.execution_id))["by"] == "worker"
        assert gateway.dispatcher.submitted_again == 1
        await gateway.dispatcher.sweep()
        assert gateway.dispatcher.submitted_again == 1


async def test_d3_a_missing_message_is_sent_again_although_newer_ones_wait(
    deployment: OpenDeployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatcher, "SWEEP", 3600.0)  # sweeps are made by the test alone
    log, clock = Log(), ManualClock()
    async with deployment() as made:
        gateway = await made.gateway(tools(log, "gateway"), clock=clock)
        engine, sweeps = gateway.engine, gateway.dispatcher
        assert engine is not None
        assert sweeps is not None
        await until(lambda: engine.connected)
        session = await gateway.open("s", "ann")
        with monkeypatch.context() as losing:
            losing.setattr(engine, "submit", lambda call: None)
            lost = await session.call("double", {"n": 1})
        await clock.advance(10.0)
        calls = [await session.call("double", {"n": n}) for n in range(3)]
        await until_waiting(engine, 3)
        await sweeps.sweep()
        assert sweeps.submitted_again == 0, "the messages of new calls may be on their way"
        await sweeps.sweep()
        assert sweeps.submitted_again == 1, "only the call that has waited for long"
        await until_waiting(engine, 4)
        for _ in range(3):
            await sweeps.sweep()
        assert sweeps.submitted_again == 1, "every call has a message"
        await made.worker(tools(log, "worker"))
        for call in (lost, *calls):
            await ended(session, call.execution_id)


async def test_d3_all_missing_messages_are_sent_again_by_one_sweep(
    deployment: OpenDeployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatcher, "SWEEP", 3600.0)
    monkeypatch.setattr(dispatcher, "PAGE", 3)
    log, clock = Log(), ManualClock()
    async with deployment() as made:
        gateway = await made.gateway(tools(log, "gateway"), clock=clock)
        engine, sweeps = gateway.engine, gateway.dispatcher
        assert engine is not None
        assert sweeps is not None
        await until(lambda: engine.connected)
        session = await gateway.open("s", "ann")
        with monkeypatch.context() as losing:
            losing.setattr(engine, "submit", lambda call: None)
            for n in range(8):
                await session.call("double", {"n": n})
        await clock.advance(10.0)
        await sweeps.sweep()
        assert sweeps.submitted_again == 8
        await until_waiting(engine, 8)


async def test_d3_messages_on_their_way_are_not_sent_again(
    deployment: OpenDeployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatcher, "SWEEP", 3600.0)
    log, clock = Log(), ManualClock()
    async with deployment() as made:
        gateway = await made.gateway(tools(log, "gateway"), clock=clock)
        engine, sweeps = gateway.engine, gateway.dispatcher
        assert engine is not None
        assert sweeps is not None
        await until(lambda: engine.connected)
        session = await gateway.open("s", "ann")
        await session.call("double", {"n": 0})
        await clock.advance(10.0)
        await until_waiting(engine, 1)
        for number in range(1, 4):
            on_the_way: list[QueuedCall] = []
            with monkeypatch.context() as slow:
                slow.setattr(engine, "submit", on_the_way.append)
                await session.call("double", {"n": number})
                await sweeps.sweep()
            engine.submit(*on_the_way)
            await until_waiting(engine, number + 1)
            await sweeps.sweep()
        assert sweeps.submitted_again == 0


async def test_d3_sessions_are_told_once_that_no_worker_serves_a_queue(deployment: OpenDeployment) -> None:
    log = Log()
    async with deployment() as made:
        gateway = await made.gateway(tools(log, "gateway"))
        other = await made.gateway(tools(log, "other"))
        session = await gateway.open("s", "ann")
        outcome = await session.call("far", {"n": 1}, call_id="c")
        assert outcome.status == "started"
        for runtime in (gateway, gateway, other):
            assert runtime.dispatcher is not None
            await runtime.dispatcher.sweep(patience=0.0)
        page = await gateway.store.events("s", 0, 100)
        notices = [line for line in page.lines if b'"system_notice"' in line]
        assert len(notices) == 1
        assert b"no worker serves the queue gpu" in notices[0]
        assert gateway.dispatcher is not None
        assert gateway.dispatcher.unserved_queues == {"gpu"}
        assert gateway.gateways == 2, "they share rate limits"
        with telemetry.measure(gateway) as metrics:
            assert b'callboard_queue_unserved{queue="gpu"} 1.0' in metrics.render()
        await made.worker(tools(log, "worker"), "gpu")
        assert await ended(session, outcome.execution_id) == "worker 1"
        await gateway.dispatcher.sweep()
        assert gateway.dispatcher.unserved_queues == set()


async def test_d3_each_session_is_told_once_however_many_calls_wait(
    deployment: OpenDeployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each notice takes one of the idempotency keys of a session, which its clients need."""
    monkeypatch.setattr(dispatcher, "SWEEP", 3600.0)
    monkeypatch.setattr(dispatcher, "PAGE", 2)
    log = Log()
    async with deployment() as made:
        gateway = await made.gateway(tools(log, "gateway"))
        engine = gateway.engine
        await until(lambda: engine is not None and engine.connected)
        for session_id in ("ann", "ben"):
            session = await gateway.open(session_id, session_id)
            for n in range(5):
                assert (await session.call("far", {"n": n}, call_id=f"c{n}")).status == "started"
        for _ in range(2):
            assert gateway.dispatcher is not None
            await gateway.dispatcher.sweep(patience=0.0)
        for session_id in ("ann", "ben"):
            page = await gateway.store.events(session_id, 0, 100)
            assert sum(b'"system_notice"' in line for line in page.lines) == 1


async def test_d3_a_call_that_waits_longer_than_its_total_timeout_ends(deployment: OpenDeployment) -> None:
    async with deployment() as made:

        @tool(mode="background", queue="gpu", total_timeout=0.05)
        async def short_lived(n: Number) -> int:
            """Return the number."""
            return n

        gateway = await made.gateway(Registry([short_lived]))
        session = await gateway.open("s", "ann")
        outcome = await session.call("short_lived", {"n": 1})
        assert gateway.dispatcher is not None
        assert outcome.execution_id is not None
        while (result := await session.result(outcome.execution_id, timeout=0)).status == "started":
            await gateway.dispatcher.sweep()
        assert result.error is not None
        assert result.error.category == "timeout"


async def test_d3_a_call_whose_time_is_over_ends_although_older_calls_wait(
    deployment: OpenDeployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatcher, "SWEEP", 3600.0)
    monkeypatch.setattr(waiting_calls, "PAGE", 2)
    clock = ManualClock()

    @tool(mode="background")
    async def patient(n: Number) -> int:
        """Wait as long as it takes."""
        return n

    @tool(mode="background", total_timeout=5.0)
    async def short_lived(n: Number) -> int:
        """Return the number."""
        return n

    async with deployment() as made:
        gateway = await made.gateway(Registry([patient, short_lived]), clock=clock)
        session = await gateway.open("s", "ann")
        for n in range(3):
            await session.call("patient", {"n": n})
        outcome = await session.call("short_lived", {"n": 1})
        await clock.advance(10.0)
        assert gateway.dispatcher is not None
        await gateway.dispatcher.sweep()
        async with asyncio.timeout(90):
            result = await session.result(outcome.execution_id)
        assert result.error is not None
        assert result.error.category == "timeout"


async def test_d3_limits_of_a_tool_hold_over_all_workers(deployment: OpenDeployment) -> None:
    running, most, both = 0, 0, asyncio.Event()

    def limited() -> Registry:
        @tool(mode="background", concurrency=2, idempotent=True)
        async def scarce(n: Number) -> int:
            """Use something scarce."""
            nonlocal running, most
            running += 1
            most = max(most, running)
            if running == 2:
                both.set()
            async with asyncio.timeout(90):
                await both.wait()  # the first two calls run at once
            await asyncio.sleep(0.05)
            running -= 1
            return n

        return Registry([scarce])

    async with deployment() as made:
        gateway = await made.gateway(limited())
        for _ in range(2):
            await made.worker(limited())
        session = await gateway.open("s", "ann")
        calls = [await session.call("scarce", {"n": n}) for n in range(8)]
        assert [await ended(session, call.execution_id) for call in calls] == list(range(8))
    assert most == 2


async def test_d3_late_results_of_workers_wake_the_gateways_model(deployment: OpenDeployment) -> None:
    """The worker has no model; the session is not in the gateway's memory."""
    log = Log()

    async def answer(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        last = messages[-1].parts[-1]
        if isinstance(last, UserPromptPart):
            yield {0: DeltaToolCall("waits", '{"n": 7}', tool_call_id="m1")}
        elif isinstance(last, ToolReturnPart) and "worker 7" in str(last.content):
            yield "It is done."
        else:
            yield "It runs."

    async with deployment() as made:
        gateway = await made.gateway(tools(log, "gateway"), model=FunctionModel(stream_function=answer))
        await made.worker(tools(log, "worker"))
        session = await gateway.open("s", "ann")
        await session.say("Wait for it.")
        async with asyncio.timeout(90):
            await log.began.wait()
        log.may_end.set()
        async with asyncio.timeout(90):
            async for event in session.events():
                if event.kind == "text" and event.data["text"] == "It is done.":
                    break


async def test_d3_turn_of_a_gateway_that_ends_waits_for_the_next_gateway(deployment: OpenDeployment) -> None:
    """The worker, which has no model, takes over the work of the gateway."""
    log, reached = Log(), asyncio.Event()

    async def hang(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        reached.set()
        await asyncio.Event().wait()
        yield ""

    async def answer(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        yield "Done."

    async with deployment() as made:
        worker = await made.worker(tools(log, "worker"))
        first = made.runtime(tools(log, "gateway"), model=FunctionModel(stream_function=hang))
        async with first:
            session = await first.open("s", "ann")
            await session.post({"kind": "user_input", "text": "Go."})
            await reached.wait()
        await worker.sessions._heartbeat.poll()
        second = await made.gateway(tools(log, "gateway"), model=FunctionModel(stream_function=answer))
        session = await second.open("s", "ann")
        kinds: list[str] = []
        async with asyncio.timeout(90):
            async for event in session.events():
                kinds.append(event.kind)
                if event.kind == "turn_finished":
                    break
        assert "turn_interrupted" not in kinds


async def test_d3_a_full_queue_refuses_new_calls(deployment: OpenDeployment) -> None:
    log = Log()
    async with deployment() as made:
        gateway = await made.gateway(tools(log, "gateway"), limits=Limits(queue=2))
        assert gateway.dispatcher is not None
        users = [await gateway.open(user_id, user_id) for user_id in ("ann", "ben")]
        calls = [(user, await user.call("double", {"n": 1})) for user in users]
        await gateway.dispatcher.sweep()
        session = await gateway.open("s", "cleo")
        refused = await session.call("double", {"n": 3})
        assert refused.error is not None
        assert (refused.error.category, refused.error.retryable) == ("resource", True)
        assert "The queue default is full: 2 calls wait" in str(refused.error)
        await made.worker(tools(log, "worker"))
        for user, call in calls:
            await ended(user, call.execution_id)
        await gateway.dispatcher.sweep()
        assert (await session.call("double", {"n": 3})).status == "started"


@pytest.mark.parametrize("store", ["memory://", "sqlite:///callboard.db"])
def test_d3_an_engine_needs_a_store_that_others_reach(store: str) -> None:
    with pytest.raises(EngineError, match="store that other machines can reach"):
        Runtime(store=store, engine="nats://127.0.0.1:4222")


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("redis://localhost", "There is no engine for 'redis' addresses"),
        ("nats://", "names no host"),
        ("nats://h:port", "cannot be read. Its port must be a number"),
        ("nats://h/a.b", "letters, digits"),
        ("nats://h?creds=/none", "The file of the option creds"),
        ("nats://h?secret=1", "has the option 'secret'"),
        ("nats://h?replicas=x", "must be a number"),
    ],
)
def test_d3_wrong_addresses_are_explained(address: str, why: str) -> None:
    with pytest.raises(EngineError, match=why):
        open_engine(address)


@pytest.mark.parametrize(
    "address", ["nats://ann:s3cret/x@h:1", "nats://ann:x/s3cret@h:1", "nats://ann:1/s3cret@h", "nats://ann:s3cret[@h:1"]
)
def test_d3_a_password_in_a_wrong_address_is_not_repeated(address: str) -> None:
    with pytest.raises(EngineError) as caught:
        open_engine(address)
    assert "s3cret" not in str(caught.value)


def test_d3_addresses_name_servers_and_a_deployment() -> None:
    address = NatsAddress.parse("nats://ann:word@a,tls://b:5222/staging?replicas=3")
    assert address.servers == ("nats://ann:word@a:4222", "tls://b:5222")
    assert (address.name, address.replicas, address.shown) == ("staging", 3, "a:4222, b:5222")
    assert NatsAddress.parse("nats://[::1]:4222").servers == ("nats://[::1]:4222",)
