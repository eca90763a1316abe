"""The cost of a run does not depend on the length of the conversation, from 10 to 5,000 turns (H3)."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart

from callboard.chat.messages import plain_messages_off_loop
from callboard.chat.transcript import CallAnswer, Input, Reply, TurnStart, encode_entry
from callboard.protocols.agui import frames
from callboard.protocols.agui.thread_messages import MAX_WINDOW, WINDOW, ThreadReader
from callboard.sessions.session import live_session
from callboard.storage.change import Change
from tests.server.agui.stage import Page, Site, site

pytestmark = pytest.mark.anyio

SIZES = [100, 1_000, 5_000]
"""Turns, each with four messages."""


async def grow(s: Site, turns: int, thread: str, text: str = "add gives 3.") -> None:
    """Write a conversation of so many turns to a thread."""

    def entries() -> Iterator[bytes]:
        for turn in range(1, turns + 1):
            call = ToolCallPart("add", {"a": 1, "b": 2}, f"c{turn}")
            yield encode_entry(TurnStart(f"t{turn}", turn))
            yield encode_entry(Input('add {"a": 1, "b": 2}', 0, "", f"u{turn}"))
            yield encode_entry(Reply(ModelResponse(parts=[call])))
            yield encode_entry(CallAnswer(f"c{turn}", "add", "3"))
            yield encode_entry(Reply(ModelResponse(parts=[TextPart(text)])))

    session = await s.session(thread)
    await live_session(session).ledger.write(Change(session.id, transcript=list(entries())))
    await live_session(session).conversation().entries()  # as any turn does


class Work:
    """Counts the messages and bytes that a run renders and sends."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.entries = self.sent = self.rendered = 0
        one, snapshot, convert = ThreadReader._messages, frames.messages_snapshot, plain_messages_off_loop

        def counted(lines: ThreadReader, *given: Any) -> Any:
            self.entries += 1
            return one(lines, *given)

        def sized(messages: Any) -> bytes:
            frame = snapshot(messages)
            self.sent += len(frame)
            return frame

        async def whole(entries: Any, find: Any) -> Any:
            self.rendered += 1
            return await convert(entries, find)

        monkeypatch.setattr(ThreadReader, "_messages", counted)
        monkeypatch.setattr(frames, "messages_snapshot", sized)
        monkeypatch.setattr("callboard.chat.conversation.plain_messages_off_loop", whole)

    def take(self) -> tuple[int, int, int]:
        found = self.entries, self.sent // 1_000, self.rendered
        self.entries = self.sent = self.rendered = 0
        return found


async def test_h3_cost_of_a_run_does_not_depend_on_the_length_of_the_conversation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    work = Work(monkeypatch)
    costs: list[list[tuple[int, int, int]]] = []
    async with site() as s:
        for turns in SIZES:
            thread = f"t{turns}"
            await grow(s, turns, thread)
            page = Page(s, thread)
            work.take()
            found: list[tuple[int, int, int]] = []
            await page.run()  # a new page
            assert page.kinds == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
            assert len(page.messages) == WINDOW
            assert page.messages[-1]["content"] == "add gives 3."
            found.append(work.take())
            await page.run()  # a page that lacks nothing
            assert page.kinds == ["RUN_STARTED", "RUN_FINISHED"]
            found.append(work.take())
            costs.append(found)
    assert costs[0] == costs[1] == costs[2]
    for entries, _, rendered in costs[0]:
        assert entries <= 2 * WINDOW
        assert rendered == 0


async def test_h3_page_can_request_more_messages_up_to_a_limit() -> None:
    async with site() as s:
        await grow(s, 1_000, "t")
        page = Page(s)
        await page.run(forwardedProps={"callboard": {"messages": 10}})
        assert 10 <= len(page.messages) <= 13
        await page.run(forwardedProps={"callboard": {"messages": MAX_WINDOW}})
        assert MAX_WINDOW <= len(page.messages) <= MAX_WINDOW + 3
        assert page.messages[0]["role"] == "user", "the window begins with a whole message"
        await page.run()
        assert page.kinds == ["RUN_STARTED", "RUN_FINISHED"], "messages before the window are kept"
        assert len(page.messages) >= MAX_WINDOW


async def test_h3_a_window_is_bounded_in_characters_too() -> None:
    async with site() as s:
        await grow(s, 60, "t", "x" * 50_000)
        page = Page(s)
        await page.run()
        assert 60 < len(page.messages) < 120, "some twenty answers of 50,000 characters"


async def test_h3_message_of_a_page_with_a_long_copy_is_answered() -> None:
    async with site() as s:
        page = Page(s)
        await grow(s, 300, "t")
        await page.run(forwardedProps={"callboard": {"messages": 500}})
        had = len(page.messages)
        assert had > 2 * WINDOW
        end = await page.run("hello")
        assert end["outcome"] == {"type": "success"}
        assert "MESSAGES_SNAPSHOT" not in page.kinds
        end = await page.run('pay {"amount": 5}')
        assert end["outcome"]["type"] == "interrupt"
        assert len(page.messages) == had + 4, "the snapshot before an interrupt removes nothing"


async def test_h3_long_transcript_is_read_without_blocking_the_event_loop() -> None:
    async with site() as s:
        session = await s.session()
        turns = 0

        async def others() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        lines = [encode_entry(Input(f"{n}")) for n in range(2_000)]
        await live_session(session).ledger.write(Change(session.id, transcript=lines))
        beside = asyncio.ensure_future(others())
        await live_session(session).conversation().entries()
        beside.cancel()
        assert turns >= 30, "other tasks run between two slices"
