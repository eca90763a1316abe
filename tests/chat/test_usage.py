"""The usage of a conversation: counted once per response, stored with its turns, in every store (C7)."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from callboard import Runtime, Session, TurnLimits
from callboard.chat.transcript import Entry, Reply
from callboard.chat.turn_lease import TurnLease
from callboard.sessions.session import live_session
from callboard.storage.change import Change
from callboard.testing.providers import AnthropicDouble, Call, Turn, Usage
from callboard.turns import Usage as SessionUsage

from .scripted import TOOLS, Script, Step, conversation_of, gate, until

pytestmark = pytest.mark.anyio

IN, OUT = 1e-6, 5e-6
"""The prices of a token of the double's model, in US dollars."""


async def stored(runtime: Runtime, session: Session) -> SessionUsage:
    """The usage of a conversation, as the store has it, or the process if nothing is stored."""
    found = await runtime.sessions.conversation_usage(live_session(session))
    [listed] = await runtime.sessions.recent("u")
    assert found is not None
    assert listed.usage is not None
    assert SessionUsage.decode(listed.usage) == found, "the list has the same"
    return found


async def test_c7_the_usage_of_a_conversation_is_stored_with_its_turns(store_url: str) -> None:
    script = [
        Turn(Call("add", {"a": 1, "b": 2}), usage=Usage(100, 10)),
        Turn("Three.", usage=Usage(200, 20)),
        Turn("You are welcome.", usage=Usage(300, 30)),
    ]
    async with (
        AnthropicDouble(script) as provider,
        Runtime(TOOLS, model=provider.model(), store=store_url) as runtime,
    ):
        session = await runtime.open("s", "u")
        assert await runtime.sessions.conversation_usage(live_session(session)) is None, "without turns"
        await session.say("Add.")
        first = await stored(runtime, session)
        assert (first.requests, first.tool_calls, first.input_tokens, first.output_tokens) == (2, 1, 300, 30)
        assert first.cost == pytest.approx(300 * IN + 30 * OUT)
        assert first.unpriced_requests == 0
        await session.say("Thanks.")
        both = await stored(runtime, session)
        assert (both.requests, both.tool_calls, both.input_tokens, both.output_tokens) == (3, 1, 600, 60)
        assert both.cost == pytest.approx(600 * IN + 60 * OUT)
        assert both == conversation_of(session).usage


async def test_c7_parts_of_a_paused_turn_are_counted_once(store_url: str) -> None:
    script = [Turn(Call("pay", {"amount": 5}), usage=Usage(100, 10)), Turn("Paid.", usage=Usage(200, 20))]
    async with (
        AnthropicDouble(script) as provider,
        Runtime(TOOLS, model=provider.model(), store=store_url) as runtime,
    ):
        session = await runtime.open("s", "u")
        assert (await session.say("Pay.")).status == "paused"
        assert (await stored(runtime, session)).input_tokens == 100
        [request] = await session.requests()
        await session.answer(request.id, {"approved": True})
        [finished] = await until(session, "turn_finished")
        assert finished.data["usage"]["input_tokens"] == 300, "the event has the usage of all parts"
        assert (await stored(runtime, session)).input_tokens == 300


async def test_c7_a_model_without_a_known_price_has_no_cost(store_url: str) -> None:
    async with Runtime(TOOLS, model=Script(["One."], ["Two."]).model(), store=store_url) as runtime:
        session = await runtime.open("s", "u")
        turn = await session.say("Go.")
        assert (turn.usage.cost, turn.usage.unpriced_requests) == (None, 1)
        await session.say("Go on.")
        usage = await stored(runtime, session)
        assert (usage.cost, usage.unpriced_requests, usage.requests) == (None, 2, 2)
        assert usage.output_tokens > 0


async def test_c7_known_and_unknown_prices_are_told_apart(shared_url: str) -> None:
    async with Runtime(TOOLS, model=Script(["One."]).model(), store=shared_url) as runtime:
        await (await runtime.open("s", "u")).say("Go.")
    async with (
        AnthropicDouble([Turn("Two.", usage=Usage(100, 10))]) as provider,
        Runtime(TOOLS, model=provider.model(), store=shared_url) as runtime,
    ):
        session = await runtime.open("s", "u")
        await session.say("Go on.")
        usage = await stored(runtime, session)
        assert usage.cost == pytest.approx(100 * IN + 10 * OUT)
        assert (usage.requests, usage.unpriced_requests) == (2, 1)


async def test_c7_a_failed_turn_and_its_retry_both_count(store_url: str) -> None:
    script = Script(["Half an answer.", RuntimeError("The model broke.")], ["A whole answer."])
    async with Runtime(TOOLS, model=script.model(), store=store_url) as runtime:
        session = await runtime.open("s", "u")
        assert (await session.say("Go.")).status == "failed"
        failed = await stored(runtime, session)
        assert failed.requests == 1
        assert failed.output_tokens > 0, "what was reported before the error counts"
        assert (await session.say("Try again.")).status == "finished"
        usage = await stored(runtime, session)
        assert usage.requests == 2
        assert usage.output_tokens > failed.output_tokens


@pytest.mark.parametrize("ends", ["interrupt", "error"])
async def test_c7_a_response_without_text_counts_too(ends: str, shared_url: str) -> None:
    reached, error = asyncio.Event(), RuntimeError("The model broke.")
    steps: list[Step] = [("add", '{"a":1,"b":2}'), *([reached.set, gate("never")] if ends == "interrupt" else [error])]
    limits = TurnLimits(session_tokens=1)
    async with Runtime(TOOLS, model=Script(steps).model(), store=shared_url, turn_limits=limits) as runtime:
        session = await runtime.open("s", "u")
        turn = asyncio.ensure_future(session.say("Go."))
        if ends == "interrupt":
            await reached.wait()
            await session.interrupt()
        assert (await turn).status in {"interrupted", "failed"}
        usage = await stored(runtime, session)
        assert (usage.requests, usage.tool_calls, usage.unpriced_requests) == (1, 0, 1)
        assert usage.input_tokens > 0
        assert [message["role"] for message in await session.messages()] == ["user"]
    script = Script(["Done."])
    async with Runtime(TOOLS, model=script.model(), store=shared_url, turn_limits=limits) as runtime:
        session = await runtime.open("s", "u")
        assert (await session.say("Again.")).status == "failed", "the limit of the session holds"
        assert script.requests == []


async def test_c7_a_turn_that_another_process_continues_is_counted_once(shared_url: str) -> None:
    first = [Turn(Call("slow", {}), usage=Usage(100, 10))]
    async with AnthropicDouble(first) as provider:
        async with Runtime(TOOLS, model=provider.model(), store=shared_url) as runtime:
            session = await runtime.open("s", "u")
            turn = asyncio.ensure_future(session.say("Go."))
            await until(session, "tool_executing")
        await turn  # the process leaves in the middle of the turn, as if it died
    gate("slow").set()
    second = [Turn("Done.", usage=Usage(200, 20))]
    async with (
        AnthropicDouble(second) as provider,
        Runtime(TOOLS, model=provider.model(), store=shared_url) as runtime,
    ):
        session = await runtime.open("s", "u")
        await until(session, "turn_finished")
        usage = await stored(runtime, session)
        assert (usage.requests, usage.input_tokens, usage.output_tokens) == (2, 300, 30)


async def test_c7_a_write_that_is_lost_does_not_count(store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The usage comes from the stored transcript: a response that is written again is counted once."""
    original, refused = TurnLease.write, [True]

    async def lose_first_response(lease: TurnLease, entries: Sequence[Entry], **options: Any) -> None:
        if entries and isinstance(entries[0], Reply) and refused:
            refused.clear()
            raise RuntimeError("The write was lost.")
        await original(lease, entries, **options)

    monkeypatch.setattr(TurnLease, "write", lose_first_response)
    script = [Turn("Lost.", usage=Usage(100, 10)), Turn("Stored.", usage=Usage(200, 20))]
    async with (
        AnthropicDouble(script) as provider,
        Runtime(TOOLS, model=provider.model(), store=store_url) as runtime,
    ):
        session = await runtime.open("s", "u")
        assert (await session.say("Go.")).status == "failed"
        assert (await stored(runtime, session)).requests == 0
        await session.say("Again.")
        assert (await stored(runtime, session)).input_tokens == 200


async def test_c7_usage_costs_no_further_commit(store_url: str) -> None:
    async with Runtime(TOOLS, model=Script(["One."]).model(), store=store_url) as runtime:
        session = await runtime.open("s", "u")
        writes: list[int] = []
        ledger = live_session(session).ledger
        original = ledger.write

        def write(change: Change, **options: Any) -> Any:
            if change.turns:
                writes.append(len(change.turns))
                assert change.turns[0].row.usage is not None
            return original(change, **options)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(type(ledger), "write", lambda self, change, **options: write(change, **options))
            await session.say("Go.")
        assert writes == [1, 1, 1], "the input, the response and the end of the turn"
