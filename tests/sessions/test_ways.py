"""The four directions of the board, end to end, between the model, the system and people (B4)."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

import callboard
from callboard import Event, Runtime, Session, ToolContext, tool
from callboard.events.routing import Side, enters_transcript, seen_by
from callboard.sessions.session import live_session
from callboard.sessions.store_ledger import StoreLedger

from .conftest import SOON, Make, board_of, ended, seen

pytestmark = pytest.mark.anyio


@tool(mode="background")
async def index(ctx: ToolContext) -> str:
    """Index everything."""
    await ctx.progress("reading", 0.5, "half of it")
    return "indexed"


@tool(mode="human")
async def pay(amount: Annotated[int, "How much"]) -> str:
    """Pay."""
    return f"paid {amount}"


class Sent(BaseModel):
    status: Literal["confirmed", "rejected", "failed"] = Field(description="Outcome of the transaction")
    transaction_hash: str | None = Field(default=None, description="Its hash")
    detail: str | None = Field(default=None, description="More")


@tool(mode="human", asks="wallet_tx_request", answer=Sent)
async def sign(
    to: Annotated[str, "Address"],
    value: Annotated[str, "Wei"],
    data: Annotated[str, "Call data"],
    description: Annotated[str, "What it does"],
) -> Sent:  # pyright: ignore[reportReturnType]
    """Let a wallet sign."""


@tool
async def refresh(part: Annotated[str, "Of what"]) -> dict[str, str]:
    """Refresh a part of the page."""
    return {part: "fresh"}


TOOLS = (index, pay, sign)


def for_the_model(events: list[Event]) -> list[str]:
    """Return the kinds of the events that a model sees."""
    return [event.kind for event in events if seen_by(event.kind, Side.MODEL, event.data)]


def for_people(events: list[Event]) -> list[str]:
    return [event.kind for event in events if seen_by(event.kind, Side.PEOPLE, event.data)]


async def late(session: Session) -> list[object]:
    return [outcome.value for outcome in await session.take_results()]


async def test_b4_model_to_system_to_model(make: Make) -> None:
    async with make(*TOOLS) as runtime:
        session = await runtime.open("s", "ann")
        outcome = await session.call("index", call_id="c")
        assert outcome.value["status"] == "started", "the model has an answer at once"
        await ended(session, outcome.execution_id)
        events = await board_of(session)
        assert for_the_model(events) == ["tool_result"], "and the result once, later"
        assert "tool_progress" in for_people(events)
        assert await late(session) == ["indexed"]
        assert await late(session) == []


async def test_b4_model_to_system_to_people_and_back_to_the_model(make: Make) -> None:
    transaction = {"to": "0xb0b", "value": "1", "data": "0x", "description": "Pay Bob"}
    async with make(*TOOLS) as runtime:
        session = await runtime.open("s", "ann")

        async def page() -> None:
            """Act as the people's side, which only reads the board and posts to it."""
            answered = 0
            async for event in session.events():
                if event.kind == "human_request":
                    assert event.data["payload"] == {"amount": 5}
                    answer = {"request_id": event.data["request_id"], "answer": {"approved": True}}
                    await session.post({"kind": "human_answer", **answer})
                    answered += 1
                elif event.kind == "wallet_tx_request":
                    assert {name: event.data[name] for name in transaction} == transaction
                    answer = {"request_id": event.data["request_id"], "status": "confirmed", "transaction_hash": "0x1"}
                    await session.post({"kind": "wallet_tx_response", **answer})
                    answered += 1
                if answered == 2:
                    return

        people = asyncio.ensure_future(page())
        approval = await session.call("pay", {"amount": 5})
        signing = await session.call("sign", transaction)
        assert (approval.status, signing.status) == ("waiting", "waiting")
        assert (await ended(session, approval.execution_id)).value == "paid 5"
        assert (await ended(session, signing.execution_id)).value["transaction_hash"] == "0x1"
        await people
        events = await board_of(session)
        assert not [event for event in events if event.kind.endswith("request") and enters_transcript(event.kind)]
        assert sorted(for_the_model(events)) == ["human_answer", "tool_result", "tool_result", "wallet_tx_response"]
        assert len(await late(session)) == 2


async def test_b4_people_to_system_to_people_past_the_model(make: Make) -> None:
    async with make(*TOOLS, workers=[refresh]) as runtime:
        session = await runtime.open("s", "ann")
        await session.post({"kind": "user_request", "request_kind": "refresh", "payload": {"part": "balance"}})
        response = await seen(session, "user_response")
        assert response.data["payload"] == {"balance": "fresh"}
        asked = {"request_id": response.data["request_id"], "request_kind": "refresh", "payload": {"more": 1}}
        await session.post({"kind": "user_response", **asked})
        await session.post({"kind": "system_notice", "message": "done"}, side="workers")
        events = await board_of(session)
        assert for_people(events) == ["user_request", "user_response", "user_response", "system_notice"]
        assert for_the_model(events) == []
        assert not [event for event in events if enters_transcript(event.kind, event.data)]
        assert await late(session) == []
        assert not session.has_pending_work


async def test_b4_all_four_directions_work_at_once(make: Make) -> None:
    async with make(*TOOLS, workers=[refresh]) as runtime:
        session = await runtime.open("s", "ann")

        async def people() -> None:
            for number in range(5):
                wanted = {"request_kind": "refresh", "payload": {"part": str(number)}, "request_id": f"q{number}"}
                await session.post({"kind": "user_request", **wanted})
                await session.post({"kind": "user_input", "text": f"hello {number}"})

        async def model() -> list[str]:
            started = [await session.call("index", call_id=f"i{number}") for number in range(5)]
            asked = [await session.call("pay", {"amount": number}, call_id=f"p{number}") for number in range(5)]
            return [outcome.execution_id for outcome in (*started, *asked)]

        _, ids = await asyncio.gather(people(), model())
        for request in await session.requests():
            await session.answer(request.id, {"approved": True})
        for execution_id in ids:
            await ended(session, execution_id)
        for number in range(5):
            assert (await seen(session, "user_response", request_id=f"q{number}")).data["error"] is None
        events = await board_of(session)
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        visible = [event.kind for event in events if seen_by(event.kind, Side.MODEL, event.data)]
        assert {kind: visible.count(kind) for kind in set(visible)} == {
            "user_input": 5,
            "tool_result": 10,
            "human_answer": 5,
        }
        assert sorted(map(str, await late(session))) == ["indexed"] * 5 + [f"paid {number}" for number in range(5)]


async def test_b3_reader_can_select_a_family(store_url: str) -> None:
    @tool
    async def now() -> str:
        """Answer at once."""
        return "now"

    @tool(mode="background", idempotent=True)
    async def later() -> str:
        """Answer later."""
        return "later"

    async with Runtime([now, later], store=store_url) as runtime:
        session = await runtime.open("s", "u")
        await session.call("now")
        late = await session.call("later")
        await session.result(late.execution_id)
        await session.notice("The end.")
        found = [event async for event in _until_the_end(session.events(family="system"))]
        assert {event.data.get("tool") for event in found} == {"later", None}
        await session.post({"kind": "user_input", "text": "The end."})
        found = [event async for event in _until_the_end(session.events(family="chat"))]
        assert {event.data.get("tool") for event in found} == {"now", None}
        with pytest.raises(ValueError, match="nonsense"):
            await anext(session.events(family="nonsense"))


async def _until_the_end(events: AsyncGenerator[Event]) -> AsyncGenerator[Event]:
    async with aclosing(events):
        async for event in events:
            yield event
            if "The end." in (event.data.get("message"), event.data.get("text")):
                return


async def test_g6_own_tools_of_a_session_are_not_seen_by_others() -> None:
    @tool
    async def paint(color: Annotated[str, "Which"]) -> str:
        """Paint the page."""
        return color

    async with Runtime([index]) as runtime:
        session, other = await runtime.open("s", "u"), await runtime.open("o", "u")
        live_session(session).toolbox.replace_own_tools([paint])
        assert [each.name for each in session.tools()] == ["index", "paint"]
        assert (await session.call("paint", {"color": "red"})).value == "red"
        assert (await other.call("paint", {"color": "red"})).error.category == "not_found"  # pyright: ignore[reportOptionalMemberAccess]
        live_session(session).toolbox.replace_own_tools([])
        assert (await session.call("paint", {"color": "red"})).status == "failed"
        with pytest.raises(callboard.RegistrationError, match="index"):
            live_session(session).toolbox.replace_own_tools([index])


async def test_d2_result_is_not_delivered_before_it_is_stored_during_a_commit(
    shared_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    started, go = asyncio.Event(), asyncio.Event()

    @tool(mode="background")
    async def slow() -> str:
        """Wait."""
        started.set()
        await go.wait()
        return "there"

    async with Runtime([slow], store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        execution_id = (await session.call("slow")).execution_id
        await asyncio.wait_for(started.wait(), SOON)
        settle = StoreLedger.settle

        async def ends_meanwhile(ledger: StoreLedger) -> None:
            await settle(ledger)
            go.set()
            await runtime.manager.wait(live_session(session).index.by_id[execution_id])

        with monkeypatch.context() as patched:
            patched.setattr(StoreLedger, "settle", ends_meanwhile)
            outcome = await session.result(execution_id, timeout=0)
        assert outcome.status == "started", "another process may have taken it over, and this one does not know it"
        assert (await session.result(execution_id)).value == "there"
