"""Workers answer requests of people to the system, on the path of every call and without the model (B5)."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from callboard import Event, Limits, RegistrationError, RetryPolicy, Runtime, Session, ToolContext, ToolError, tool
from callboard.events.posting import PostingRefused
from callboard.events.problems import EventInvalid
from callboard.sessions.session import live_session
from callboard.storage.change import Change, ExecutionWrite
from callboard.storage.rows import ExecutionRow
from callboard.testing import ManualClock, settle

from .conftest import SOON, Make, board_of, dead, seen, stored

pytestmark = pytest.mark.anyio

runs: list[Any] = []


@pytest.fixture(autouse=True)
def fresh() -> None:
    runs.clear()


@tool
async def gas_price(ctx: ToolContext, chain: Annotated[int, "The chain"] = 1) -> dict[str, int]:
    """Return the price of gas."""
    runs.append((ctx.session_id, ctx.user_id, chain))
    return {"wei": 7 * chain}


@tool
async def fails() -> None:
    """Fail."""
    raise ToolError("The node is down.", category="permanent")


@tool
async def breaks() -> None:
    """Break, with a secret in the message."""
    raise RuntimeError("password=hunter2")


def request(kind: str, payload: Any = None, **fields: Any) -> Mapping[str, Any]:
    return {"kind": "user_request", "request_kind": kind, "payload": payload, **fields}


async def answer_to(session: Session, request_id: str) -> Event:
    return await seen(session, "user_response", request_id=request_id)


async def test_b5_request_is_answered_without_the_model(make: Make) -> None:
    async with make(workers=[gas_price]) as runtime:
        session = await runtime.open("s", "ann")
        number = await session.post(request("gas_price", {"chain": 3}, request_id="q"))
        response = await answer_to(session, "q")
        assert response.data == {
            "request_id": "q",
            "request_kind": "gas_price",
            "payload": {"wei": 21},
            "error": None,
        }
        asked, answered = await board_of(session)
        assert (asked.seq, asked.kind, answered.kind) == (number, "user_request", "user_response")
        assert asked.data == {
            "request_id": "q",
            "request_kind": "gas_price",
            "payload": {"chain": 3},
            "priority": "normal",
        }
        assert runs == [("s", "ann", 3)]
        assert await session.take_results() == []
        assert not session.has_pending_work
        assert (await session.call("gas_price")).error is not None, "it is not a tool"
        assert list(session.tools()) == []


async def test_b5_request_without_an_id_or_a_payload(make: Make) -> None:
    async with make(workers=[gas_price]) as runtime:
        session = await runtime.open("s", "ann")
        number = await session.post({"kind": "user_request", "request_kind": "gas_price"})
        asked = (await board_of(session))[number - 1]
        assert asked.data["request_id"]
        assert (await answer_to(session, asked.data["request_id"])).data["payload"] == {"wei": 7}
        await session.post({"kind": "user_request", "request_kind": "gas_price"})
        await seen(session, "user_response", after=(await seen(session, "user_response")).seq)
        assert len(runs) == 2, "each is a request of its own"


async def test_b5_unknown_kinds_bad_payloads_and_failures_are_answered_with_errors(make: Make) -> None:
    cases: list[tuple[str, Any, str]] = [
        ("nothing", None, "not_found"),
        ("x" * 200, {"a": 1}, "not_found"),
        ("gas_price", {"chain": "many"}, "validation"),
        ("gas_price", {"chian": 1}, "validation"),
        ("gas_price", [1], "validation"),
        ("gas_price", "text", "validation"),
        ("fails", None, "permanent"),
        ("breaks", None, "execution"),
    ]
    async with make(workers=[gas_price, fails, breaks]) as runtime:
        session = await runtime.open("s", "ann")
        for number, (kind, payload, category) in enumerate(cases):
            await session.post(request(kind, payload, request_id=str(number)))
            data = (await answer_to(session, str(number))).data
            assert (data["request_kind"], data["payload"], data["error"]["category"]) == (kind, None, category)
            assert "hunter2" not in str(data)
        assert runs == []
        assert not session.has_pending_work


async def test_b5_only_people_can_post_a_valid_request(make: Make) -> None:
    async with make(workers=[gas_price]) as runtime:
        session = await runtime.open("s", "ann")
        with pytest.raises(PostingRefused):
            await session.post(request("gas_price"), side="workers")
        for bad in ({"kind": "user_request"}, request("gas_price", extra=1), request("gas_price", priority="now")):
            with pytest.raises(EventInvalid):
                await session.post(bad)
        assert (await board_of(session), runs) == ([], [])


async def test_b5_same_request_id_is_carried_out_once(make: Make) -> None:
    async with make(workers=[gas_price]) as runtime:
        session = await runtime.open("s", "ann")
        await asyncio.gather(*(session.post(request("gas_price", {"chain": 2}, request_id="q")) for _ in range(5)))
        await answer_to(session, "q")
        await session.post(request("gas_price", {"chain": 2}, request_id="q", priority="urgent"))
        assert [event.kind for event in await board_of(session)] == ["user_request", "user_response"]
        assert runs == [("s", "ann", 2)]
        other = await runtime.open("t", "bob")
        await other.post(request("gas_price", {"chain": 2}, request_id="q"))
        await answer_to(other, "q")
        assert len(runs) == 2, "ids belong to their session"


async def test_b5_same_request_id_for_another_request_is_refused(make: Make) -> None:
    async with make(fails, workers=[gas_price, fails]) as runtime:
        session = await runtime.open("s", "ann")
        await session.post(request("gas_price", {"chain": 2}, request_id="q"))
        await session.call("fails", call_id="c")
        for again in (
            request("gas_price", {"chain": 3}, request_id="q"),
            request("fails", {"chain": 2}, request_id="q"),
            request("fails", request_id="c"),
        ):
            with pytest.raises(EventInvalid, match="It was used before, for another request"):
                await session.post(again)
        outcome = await session.call("fails", call_id="q")
        assert outcome.error is not None
        assert "was used before" in outcome.error.message, "and a call does not take a request's either"


async def test_b5_request_ids_hold_across_runtimes_and_restarts(shared_url: str) -> None:
    async with (
        Runtime(store=shared_url, workers=[gas_price]) as one,
        Runtime(store=shared_url, workers=[gas_price]) as two,
    ):
        first, second = await one.open("s", "ann"), await two.open("s", "ann")
        await asyncio.gather(
            *(each.post(request("gas_price", {"chain": 2}, request_id="q")) for each in (first, second))
        )
        await answer_to(second, "q")
        assert len(runs) == 1
    async with Runtime(store=shared_url, workers=[gas_price]) as runtime:
        session = await runtime.open("s", "ann")
        await session.post(request("gas_price", {"chain": 2}, request_id="q"))
        with pytest.raises(EventInvalid, match="It was used before"):
            await session.post(request("gas_price", {"chain": 3}, request_id="q"))
        assert [event.kind for event in await board_of(session)] == ["user_request", "user_response"]
        assert len(runs) == 1
        assert not session.has_pending_work


async def test_b5_request_runs_after_its_poster_was_cancelled(make: Make) -> None:
    """A request on the board is answered, whether its poster waits or not."""
    async with make(workers=[gas_price]) as runtime:
        session = await runtime.open("s", "ann")
        for turns in range(8):
            posting = asyncio.ensure_future(session.post(request("gas_price", request_id=str(turns))))
            for _ in range(turns):
                await asyncio.sleep(0)
            posting.cancel()
            await asyncio.wait([posting])
        await session.post(request("gas_price", request_id="last"))
        await answer_to(session, "last")
        events = await board_of(session)
        asked = {event.data["request_id"] for event in events if event.kind == "user_request"}
        for request_id in asked:
            await answer_to(session, request_id)
        assert len(asked) > 1
        assert len(runs) == len(asked)
        assert not session.has_pending_work


# Limits of a worker, as of every tool


async def test_b5_concurrency_and_priority(make: Make) -> None:
    go, entered = asyncio.Event(), asyncio.Event()

    @tool(concurrency=1)
    async def slow(name: Annotated[str, "Which"]) -> str:
        """Run one call at a time."""
        runs.append(name)
        entered.set()
        await go.wait()
        return name

    async with make(workers=[slow], limits=Limits(per_session=10)) as runtime:
        session, other = await runtime.open("s", "ann"), await runtime.open("t", "bob")
        await session.post(request("slow", {"name": "first"}, request_id="1"))
        await entered.wait()
        for name, priority in (("low", "low"), ("normal", "normal"), ("urgent", "urgent")):
            await session.post(request("slow", {"name": name}, request_id=name, priority=priority))
        await other.post(request("slow", {"name": "other's"}, request_id="1"))
        await settle()
        assert runs == ["first"]
        go.set()
        await answer_to(session, "low")
        await answer_to(other, "1")
        assert runs[:2] == ["first", "urgent"]
        assert set(runs[2:4]) == {"normal", "other's"}, "fair between sessions"
        assert runs[4] == "low"


async def test_b5_full_queue_is_answered_with_an_error(make: Make) -> None:
    go, entered = asyncio.Event(), asyncio.Event()

    @tool(concurrency=1)
    async def slow() -> str:
        """Run one call at a time."""
        entered.set()
        await go.wait()
        return "done"

    async with make(workers=[slow], limits=Limits(queue=1)) as runtime:
        session = await runtime.open("s", "ann")
        await session.post(request("slow", request_id="1"))
        await entered.wait()
        await session.post(request("slow", request_id="2"))
        await session.post(request("slow", request_id="3"))
        assert (await answer_to(session, "3")).data["error"]["category"] == "resource"
        go.set()
        for request_id in ("1", "2"):
            assert (await answer_to(session, request_id)).data["payload"] == "done"


async def test_b5_timeout_is_answered_with_an_error(make: Make) -> None:
    entered = asyncio.Event()

    @tool(timeout=5.0, retry=RetryPolicy(max_attempts=1))
    async def hang() -> None:
        """Hang."""
        entered.set()
        await asyncio.Event().wait()

    clock = ManualClock()
    async with make(workers=[hang], clock=clock) as runtime:
        session = await runtime.open("s", "ann")
        await session.post(request("hang", request_id="q"))
        await entered.wait()
        await clock.advance(5.0)
        assert (await answer_to(session, "q")).data["error"]["category"] == "timeout"


async def test_b5_retries_are_not_reported_and_the_last_attempt_is_the_answer(make: Make) -> None:
    tried = asyncio.Event()

    @tool(idempotent=True, retry=RetryPolicy(max_attempts=3, base_delay=1.0))
    async def flaky(ctx: ToolContext) -> int:
        """Fail twice."""
        await ctx.progress("trying", 0.1)
        tried.set()
        if ctx.attempt < 3:
            raise ToolError("not yet", category="transient")
        return ctx.attempt

    clock = ManualClock()
    async with make(workers=[flaky], clock=clock) as runtime:
        session = await runtime.open("s", "ann")
        await session.post(request("flaky", request_id="q"))
        for _ in range(2):
            await tried.wait()
            tried.clear()
            await settle()
            await clock.advance(30)
        assert (await answer_to(session, "q")).data["payload"] == 3
        events = await board_of(session)
        assert [each.kind for each in events] == ["user_request", *(3 * ["system_notice"]), "user_response"]
        details = {"request_id": "q", "request_kind": "flaky", "stage": "trying", "fraction": 0.1}
        assert events[1].data == {"message": "trying", "details": details}, "progress names its request"


async def test_b5_cancelled_request_is_answered(make: Make) -> None:
    entered = asyncio.Event()

    @tool
    async def hang() -> None:
        """Hang."""
        entered.set()
        await asyncio.Event().wait()

    async with make(workers=[hang]) as runtime:
        session = await runtime.open("s", "ann")
        await session.post(request("hang", request_id="q"))
        assert session.has_pending_work
        await entered.wait()
        assert await session.cancel_call("q") is True
        assert (await answer_to(session, "q")).data["error"]["category"] == "cancelled"
        assert await session.cancel_call("q") is False
        assert not session.has_pending_work


async def test_b5_request_is_cancelled_from_another_runtime(shared_url: str) -> None:
    entered = asyncio.Event()

    @tool
    async def hang() -> None:
        """Hang."""
        entered.set()
        await asyncio.Event().wait()

    async with Runtime(store=shared_url, workers=[hang]) as one, Runtime(store=shared_url) as two:
        await (await one.open("s", "ann")).post(request("hang", request_id="q"))
        await entered.wait()
        other = await two.open("s", "ann")
        assert await other.cancel_call("q") is True
        assert (await answer_to(other, "q")).data["error"]["category"] == "cancelled"


async def test_b5_result_that_a_cancelled_caller_waited_for_does_not_reach_the_model(make: Make) -> None:
    go, entered = asyncio.Event(), asyncio.Event()

    @tool
    async def slow() -> str:
        """Take a while."""
        entered.set()
        await go.wait()
        return "done"

    async with make(workers=[slow]) as runtime:
        session = await runtime.open("s", "ann")
        await session.post(request("slow", request_id="q"))
        await entered.wait()
        (running,) = live_session(session).calls.unfinished
        waiting = asyncio.ensure_future(session.result(running.id))
        await settle()
        waiting.cancel()
        await asyncio.wait([waiting])
        go.set()
        await answer_to(session, "q")
        assert await session.take_results() == []


# Which workers there may be


def test_b5_two_workers_for_one_kind_and_workers_that_ask_people_are_refused() -> None:
    @tool(mode="human")
    async def ask() -> int:
        """Ask."""
        return 1

    with pytest.raises(RegistrationError, match="asks a person, so it cannot be a worker"):
        Runtime(workers=[ask])
    with pytest.raises(RegistrationError, match="two workers for 'gas_price' requests"):
        Runtime(workers=[gas_price, gas_price])


async def test_b5_worker_with_a_model_as_its_payload(make: Make) -> None:
    class Range(BaseModel):
        first: int = Field(description="From")
        last: int = Field(description="To")

    @tool
    async def count(given: Annotated[Range, "What to count"]) -> int:
        """Count."""
        return given.last - given.first

    async with make(workers=[count]) as runtime:
        session = await runtime.open("s", "ann")
        await session.post(request("count", {"first": 2, "last": 5}, request_id="q"))
        assert (await answer_to(session, "q")).data["payload"] == 3


# After a crash


@pytest.mark.parametrize(("status", "idempotent", "answer"), [
    ("pending", False, {"wei": 7}),
    ("executing", True, {"wei": 7}),
    ("executing", False, None),
])  # fmt: skip
async def test_b5_request_of_a_dead_process_is_answered_without_the_model(
    shared_url: str, status: str, idempotent: bool, answer: Any
) -> None:
    worker = gas_price.with_(idempotent=idempotent)
    async with Runtime(store=shared_url) as runtime:
        await runtime.open("s", "ann")
    async with stored(shared_url) as store:
        await store.join(dead())
        left = replace(_row("q"), status=status, attempt=int(status == "executing"))
        assert await store.commit([Change("s", executions=[ExecutionWrite(left, new=True)])]) == [0]
    async with Runtime(store=shared_url, workers=[worker]) as runtime:
        session = await runtime.open("s", "ann")
        async with asyncio.timeout(SOON):
            data = (await answer_to(session, "q")).data
        assert data["payload"] == answer
        assert answer is not None or data["error"]["category"] == "interrupted"
        assert await session.take_results() == []
        assert not session.has_pending_work
        assert len(runs) == (answer is not None)


def _row(request_id: str) -> ExecutionRow:
    return ExecutionRow(
        id="x1",
        session_id="s",
        user_id="ann",
        call_id=request_id,
        tool="gas_price",
        kind="worker",
        document=b"{}",
        fingerprint="f",
        display_arguments=b"{}",
        status="pending",
        priority=1,
        attempt=0,
        max_attempts=3,
        errors=b"[]",
        value=None,
        error=None,
        late=False,
        parent_id=None,
        queued_at=1_800_000_000.0,
        started_at=None,
        completed_at=None,
        owner="dead",
    )
