"""Runs that race with other events: nothing is sent twice, lost, or waited for in vain (H3)."""

import asyncio
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import pytest
from ag_ui.core import RunAgentInput

from callboard import Runtime, Session
from callboard.protocols.agui.run import Run
from callboard.protocols.agui.run_request import parse_run_request
from callboard.protocols.agui.thread import Thread
from callboard.sessions.live_session import LiveSession
from callboard.sessions.session import live_session
from tests.server.agui.stage import Page, Site, site

pytestmark = pytest.mark.anyio


def begin(s: Site, thread: Thread, session: Session, *messages: Any, **more: Any) -> AsyncGenerator[bytes]:
    """Start a run without a connection. It continues when its next frames are requested."""
    run_request = parse_run_request(RunAgentInput.model_validate(s.input(*messages, thread=session.id, **more)))
    return Run(live_session(session), thread, run_request).stream()


def take(page: Page, frames: bytes) -> None:
    for frame in frames.split(b"\n\n"):
        if frame.startswith(b"data: "):
            page.take(json.loads(frame.removeprefix(b"data: ")))


async def the_rest(page: Page, frames: AsyncGenerator[bytes]) -> None:
    async with asyncio.timeout(90):
        async for each in frames:
            take(page, each)


async def read_all(page: Page, events: AsyncGenerator[dict[str, Any]]) -> None:
    async for event in events:
        page.take(event)


async def ended(session: Session, turns: int) -> None:
    """Wait until so many turns are finished."""
    async with asyncio.timeout(90):
        async for event in session.events(0):
            turns -= event.kind == "turn_finished"
            if not turns:
                return


def said(page: Page) -> list[str]:
    """Return the streamed texts by message."""
    found: dict[str, str] = {}
    for event in page.of("TEXT_MESSAGE_CONTENT"):
        found[event["messageId"]] = found.get(event["messageId"], "") + event["delta"]
    return list(found.values())


async def test_h3_message_that_ends_before_its_deltas_are_read_is_sent_once() -> None:
    async with site() as s:
        session, page = await s.session(), Page()
        frames = begin(s, Thread(), session, "slow {}")
        while not page.of("TOOL_CALL_END"):
            take(page, await anext(frames))
        s.gates["slow"].set()
        await ended(session, 1)  # while the client does not read
        await the_rest(page, frames)
        assert said(page) == ["slow gives at last."]
        assert page.events[-1]["outcome"] == {"type": "success"}


async def test_h3_input_during_a_late_result_is_answered_and_sent_once() -> None:
    async with site() as s:
        session, page = await s.session(), Page()
        thread = Thread()
        await session.say('build {"what": "x"}')
        s.gates["x begins"].set()
        await thread.starting.acquire()
        frames = begin(s, thread, session, 'add {"a": 1, "b": 2}')
        take(page, await anext(frames))
        reading = asyncio.ensure_future(the_rest(page, frames))
        while not session.board.has_readers:  # noqa: ASYNC110 - it begins to read in its own time
            await asyncio.sleep(0)
        s.gates["x"].set()
        await ended(session, 2)  # the late result is delivered, and the run has received its deltas
        thread.starting.release()
        await reading
        assert said(page) == ["add gives 3."], "earlier messages are in the snapshot"
        assert "built x" in str(page.of("MESSAGES_SNAPSHOT"))
        assert page.events[-1]["outcome"] == {"type": "success"}


async def test_h3_input_is_accepted_although_the_client_disconnects_at_once() -> None:
    async with site() as s:
        session, page = await s.session(), Page()
        frames = begin(s, Thread(), session, 'add {"a": 1, "b": 2}')
        take(page, await anext(frames))
        await frames.aclose()
        await ended(session, 1)
        assert page.kinds == ["RUN_STARTED"]
        assert [each["role"] for each in await session.messages()] == ["user", "assistant", "tool", "assistant"]


async def test_h3_input_is_accepted_although_the_client_disconnects_while_another_run_starts() -> None:
    async with site() as s:
        session = await s.session()
        thread = Thread()
        await thread.starting.acquire()
        reading = asyncio.ensure_future(the_rest(Page(), begin(s, thread, session, 'add {"a": 1, "b": 2}')))
        while not session.board.has_readers:  # noqa: ASYNC110 - it begins to read in its own time
            await asyncio.sleep(0)
        reading.cancel()
        await asyncio.wait([reading])
        thread.starting.release()
        await ended(session, 1)
        assert len(await session.messages()) == 4


# One message, several servers


async def users(s: Site, thread: str = "t") -> list[str]:
    return [each["text"] for each in await (await s.session(thread)).messages() if each["role"] == "user"]


async def test_h3_message_to_two_servers_is_accepted_once(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'callboard.db'}"
    async with site(store) as here, site(store) as there:
        speaking = asyncio.ensure_future(here.run("speak"))
        await here.gates["speaking"].wait()
        again = here.input('add {"a": 1, "b": 2}')
        pages = Page(), Page()
        async with here.streaming(again) as first, there.streaming(again) as second:
            ways = [asyncio.ensure_future(read_all(*each)) for each in zip(pages, (first, second), strict=True)]
            for session in (await here.session(), await there.session()):
                async for event in session.events(0):
                    if event.kind == "user_input" and "add" in event.data["text"]:
                        break
            while not (await there.session()).is_processing:  # noqa: ASYNC110 - it waits for the turn in its own time
                await asyncio.sleep(0.01)
            here.gates["speak"].set()
            await asyncio.gather(*ways)
        await speaking
        for page in pages:
            assert page.events[-1]["outcome"] == {"type": "success"}
            assert "add gives 3." in str(page.messages)
        assert await users(there) == ["speak", 'add {"a": 1, "b": 2}']


async def test_h3_delivered_message_is_recognized_by_its_id(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'callboard.db'}"
    async with site(store) as s:
        await s.run('add {"a": 1, "b": 2}')
        again = s.input('add {"a": 3, "b": 4}')
        async with s.streaming(again) as events:
            await read_all(Page(), events)
    async with site(store) as s:
        page = Page()
        async with s.streaming(again) as events:  # which is not its position in the transcript
            await read_all(page, events)
        assert page.kinds == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
        assert await users(s) == ['add {"a": 1, "b": 2}', 'add {"a": 3, "b": 4}']
        again["threadId"] = "other"
        async with s.streaming(again) as events:
            await read_all(page, events)
        assert await users(s, "other") == ['add {"a": 3, "b": 4}'], "ids belong to their thread"


async def test_e1_thread_does_not_keep_its_session_in_memory() -> None:
    threads: WeakKeyDictionary[LiveSession, Thread] = WeakKeyDictionary()  # as the endpoint has it
    async with Runtime() as runtime:
        session = live_session(await runtime.open("s", user_id="u"))
        thread = threads.setdefault(session, Thread())
        with thread.lending(session, []):
            assert threads.setdefault(session, Thread()) is thread
        assert session not in vars(thread).values(), "or the session would never leave memory"
