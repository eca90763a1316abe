"""Turns while the store does not answer for a moment: they go on where they were (B6, C5)."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from callboard import Runtime, Session
from callboard.sessions.conversation_scope import ConversationScope
from callboard.sessions.results import LateResults
from callboard.storage.errors import StoreUnavailable
from callboard.testing import ManualClock

from .scripted import TOOLS, Script, check, conversation_of, gate, last_contents, until

pytestmark = pytest.mark.anyio


def failing_once(read: Callable[..., Awaitable[Any]], script: Script, requests: int, failed: asyncio.Event) -> Any:
    """Return a read that fails once, after so many requests to the model."""

    async def fails_once(*args: Any) -> Any:
        if len(script.requests) == requests and not failed.is_set():
            failed.set()
            raise StoreUnavailable("gone for a while")
        return await read(*args)

    return fails_once


async def rests(session: Session) -> None:
    """Return when no turn runs."""
    while (task := conversation_of(session)._task) is not None and not task.done():
        await asyncio.wait([task])


async def test_b6_a_turn_goes_on_after_its_calls_when_the_store_answers_again(
    shared_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, clock, failed = Script([("add", '{"a":1,"b":2}')]), ManualClock(), asyncio.Event()
    async with Runtime(TOOLS, model=script.model(), store=shared_url, clock=clock) as runtime:
        session = await runtime.open("s", "u")
        fails_once = failing_once(ConversationScope.written_after, script, 1, failed)
        monkeypatch.setattr(ConversationScope, "written_after", fails_once)
        await session.post({"kind": "user_input", "text": "Go."})
        await failed.wait()
        await rests(session)
        assert session.is_processing
        await clock.advance(1.0)
        [finished] = await until(session, "turn_finished")
        assert finished.data["usage"]["requests"] == 2
        assert last_contents(script.requests[1]) == ["3"]
        assert not [event for event in session.board.read(0) if event.kind == "turn_failed"]
        await rests(session)
        assert not session.is_processing
        await check(session)


async def test_b6_a_turn_that_has_stored_nothing_begins_when_the_store_answers_again(
    shared_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, clock, failed = Script(), ManualClock(), asyncio.Event()
    async with Runtime(TOOLS, model=script.model(), store=shared_url, clock=clock) as runtime:
        session = await runtime.open("s", "u")
        await session.say("First.")
        gate("a").set()
        late = await session.call("build", {"what": "a"})
        await session.result(late.execution_id)
        await until(session, "turn_finished", 2)
        await rests(session)
        monkeypatch.setattr(LateResults, "outcomes", failing_once(LateResults.outcomes, script, 2, failed))
        await session.post({"kind": "user_input", "text": "Second."})
        await failed.wait()
        await rests(session)
        await clock.advance(1.0)
        await until(session, "turn_finished", 3)
        assert last_contents(script.requests[2]) == ["Second."]
        await rests(session)
        assert (await session.say("Third.")).status == "finished"
        await check(session)


async def test_c3_an_interrupt_ends_a_turn_that_waits_for_the_store(
    shared_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, clock, failed = Script([("add", '{"a":1,"b":2}')]), ManualClock(), asyncio.Event()
    async with Runtime(TOOLS, model=script.model(), store=shared_url, clock=clock) as runtime:
        session = await runtime.open("s", "u")
        fails_once = failing_once(ConversationScope.written_after, script, 1, failed)
        monkeypatch.setattr(ConversationScope, "written_after", fails_once)
        await session.post({"kind": "user_input", "text": "Go."})
        await failed.wait()
        await rests(session)
        assert await session.interrupt()
        await until(session, "turn_interrupted")
        await clock.advance(1.0)
        await rests(session)
        assert (len(script.requests), session.is_processing) == (1, False)
        await check(session)


async def test_b6_the_attempts_of_a_turn_do_not_multiply_while_the_store_is_away(
    shared_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = 0

    async def fails(results: LateResults) -> Any:
        nonlocal attempts
        attempts += 1
        raise StoreUnavailable("gone for a while")

    clock = ManualClock()
    async with Runtime(TOOLS, model=Script().model(), store=shared_url, clock=clock) as runtime:
        session = await runtime.open("s", "u")
        await session.say("First.")
        with monkeypatch.context() as away:
            away.setattr(LateResults, "waiting", fails)
            for _ in range(5):  # as late results do
                conversation_of(session).wake()
                await rests(session)
                await clock.advance(0.1)
            assert attempts == 5
            for _ in range(26):
                await clock.advance(0.1)
                await rests(session)
            assert attempts == 8
        assert (await session.say("Second.")).status == "finished"
