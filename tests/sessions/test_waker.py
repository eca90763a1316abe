"""Sessions with late results are woken some at a time, and none is forgotten (E5, H5)."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from callboard.sessions.waker import AT_ONCE, LONGEST, PAGE, RETRY_DELAY, Waker
from callboard.storage.errors import StoreUnavailable
from callboard.testing import ManualClock, settle

pytestmark = pytest.mark.anyio


class Conversation:
    """A conversation whose turn ends when the test says so."""

    def __init__(self) -> None:
        self.woken = 0
        self.ended = asyncio.Event()

    def wake(self) -> None:
        self.woken += 1

    async def idle(self) -> None:
        await self.ended.wait()


class Session:
    def __init__(self, session_id: str, conversation: Conversation | None) -> None:
        self.id = session_id
        self.conversation = conversation
        self.ledger = SimpleNamespace(idle=True)

    def find_conversation(self) -> Conversation | None:
        return self.conversation


class Process:
    """The store, the loader and the memory of a process, with sessions to wake."""

    def __init__(self, sessions: dict[str, str]) -> None:
        self.clock = ManualClock()
        self.sessions = sessions
        """The users of the sessions with results."""
        self.in_memory: dict[str, Session] = {}
        self.conversations: dict[str, Conversation] = {}
        self.loaded: list[str] = []
        self.progress = asyncio.Event()
        self.asked = Counter[str]()
        self.failures: dict[str, Exception] = {}
        """What the next look for a session raises, or for the list."""
        services: Any = SimpleNamespace(store=self, clock=self.clock)
        me: Any = self
        self.waker = Waker(services, me, me)

    async def sessions_to_wake(
        self, *, ids: Collection[str] | None = None, after: str = "", limit: int = 100
    ) -> list[tuple[str, str]]:
        self.asked["sessions_to_wake" if ids is None else "named"] += 1
        if (failure := self.failures.pop("the list", None)) is not None:
            raise failure
        wanted = self.sessions if ids is None else self.sessions.keys() & ids
        return sorted((each, self.sessions[each]) for each in wanted if each > after)[:limit]

    def get(self, session_id: str) -> Session | None:
        return self.in_memory.get(session_id)

    async def find_or_load(self, session_id: str) -> Session | None:
        await asyncio.sleep(0)
        if (failure := self.failures.pop(session_id, None)) is not None:
            raise failure
        self.loaded.append(session_id)
        self.progress.set()
        if session_id in self.sessions and session_id not in self.in_memory:
            conversation = self.conversations.setdefault(session_id, Conversation())
            self.in_memory[session_id] = Session(session_id, conversation)
        return self.in_memory.get(session_id)

    def evict(self, session: Session) -> None:
        del self.in_memory[session.id]

    @property
    def under_way(self) -> list[str]:
        return [
            each for each in self.loaded if each in self.conversations and not self.conversations[each].ended.is_set()
        ]

    def end(self, session_id: str) -> None:
        self.conversations[session_id].ended.set()

    async def until_loaded(self, number: int) -> None:
        async with asyncio.timeout(60):
            while len(self.loaded) < number:
                self.progress.clear()
                await self.progress.wait()
        await settle()


@asynccontextmanager
async def waking(process: Process) -> AsyncGenerator[Waker]:
    process.waker.open()
    try:
        process.waker.wake_all()
        yield process.waker
    finally:
        await process.waker.close()


def of_user(user_id: str, number: int) -> dict[str, str]:
    return {f"{user_id}{each:05}": user_id for each in range(number)}


async def test_h5_sessions_are_woken_some_at_a_time() -> None:
    process = Process(of_user("m", 3 * AT_ONCE))
    async with waking(process):
        await process.until_loaded(AT_ONCE // 2)
        assert len(process.loaded) == AT_ONCE // 2
        assert len(process.in_memory) == AT_ONCE // 2
        while len(process.loaded) < 3 * AT_ONCE:
            before = len(process.loaded)
            process.end(process.under_way[0])
            await process.until_loaded(before + 1)
            assert len(process.under_way) == AT_ONCE // 2
        assert process.loaded == sorted(process.sessions)
        assert {each.woken for each in process.conversations.values()} == {1}


async def test_h5_the_session_of_another_user_does_not_wait_for_thousands() -> None:
    process = Process({**of_user("m", 2_500), "z": "alice"})
    async with waking(process) as waker:
        await process.until_loaded(AT_ONCE // 2)
        assert process.loaded.index("z") == 1
        process.sessions["zz"] = "bob"
        waker.wake_all()
        await process.until_loaded(AT_ONCE // 2 + 1)
        assert "zz" in process.loaded


async def test_h5_a_slow_model_does_not_keep_other_sessions_waiting() -> None:
    process = Process(of_user("m", AT_ONCE))
    async with waking(process):
        await process.until_loaded(AT_ONCE // 2)
        await process.clock.advance(LONGEST - 0.001)
        assert len(process.loaded) == AT_ONCE // 2
        await process.clock.advance(0.001)
        await process.until_loaded(AT_ONCE)
        assert not any(each.ended.is_set() for each in process.conversations.values())


async def test_e5_sessions_that_were_loaded_to_be_woken_leave_memory() -> None:
    process = Process(of_user("m", 3))
    used = process.in_memory["m00001"] = Session("m00001", process.conversations.setdefault("m00001", Conversation()))
    async with waking(process):
        await process.until_loaded(3)
        process.in_memory["m00002"].ledger.idle = False
        for each in process.sessions:
            process.end(each)
        await settle()
        assert set(process.in_memory) == {"m00001", "m00002"}
        assert process.in_memory["m00001"] is used


async def test_e5_sessions_are_woken_when_the_store_answers_again() -> None:
    process = Process(of_user("m", 3))
    process.failures = {"the list": StoreUnavailable("away"), "m00000": StoreUnavailable("away")}
    async with waking(process):
        await settle()
        assert process.loaded == []
        await process.clock.advance(RETRY_DELAY)
        assert process.loaded == []
        await process.clock.advance(RETRY_DELAY)
        await process.until_loaded(3)
        assert process.loaded == ["m00001", "m00002", "m00000"]


async def test_e5_a_failure_in_one_session_keeps_no_other_from_being_woken(caplog: pytest.LogCaptureFixture) -> None:
    process = Process(of_user("m", AT_ONCE))
    process.failures = {each: RuntimeError("broken") for each in [*process.sessions][: AT_ONCE - 2]}
    async with waking(process) as waker:
        await process.until_loaded(2)
        assert process.loaded == [*process.sessions][AT_ONCE - 2 :]
        assert "failed to wake the session m00000" in caplog.text
        process.failures = {"the list": RuntimeError("broken")}
        waker.wake_all()
        await settle()
        assert "failed to look for results" in caplog.text
        waker.wake_all()
        await process.until_loaded(2 + AT_ONCE // 2 - 2)


async def test_e5_sessions_that_are_deleted_or_have_no_conversation_take_no_room() -> None:
    process = Process(of_user("m", 3 * AT_ONCE))
    for each in [*process.sessions][AT_ONCE:]:
        process.in_memory[each] = Session(each, None)
    async with waking(process):
        await process.until_loaded(AT_ONCE // 2)
        for each in [*process.sessions][:AT_ONCE]:
            process.conversations.setdefault(each, Conversation()).ended.set()
        del process.sessions["m00031"]
        await process.until_loaded(3 * AT_ONCE)
        assert len(process.conversations) == AT_ONCE


async def test_e5_closing_in_the_middle_leaves_no_task_and_wakes_no_more() -> None:
    process = Process(of_user("m", 10 * AT_ONCE))
    before = asyncio.all_tasks()
    async with waking(process) as waker:
        await process.until_loaded(AT_ONCE // 2)
    await settle()
    assert asyncio.all_tasks() == before
    assert process.clock.pending == 0
    for each in process.under_way:
        process.end(each)
    waker.wake_all()
    await waker.close()
    await settle()
    assert len(process.loaded) == AT_ONCE // 2


async def test_h5_waking_costs_one_look_at_each_session() -> None:
    process = Process(of_user("m", 3 * PAGE + 7))
    for each in process.sessions:
        process.conversations.setdefault(each, Conversation()).ended.set()
    async with waking(process) as waker:
        waker.wake_all()
        await process.until_loaded(len(process.sessions))
        await settle()
        assert len(process.loaded) == len(process.sessions)
        assert process.asked["sessions_to_wake"] == 5
        assert process.in_memory == {}


async def test_m2_sessions_that_another_process_names_are_woken_with_one_look() -> None:
    process = Process({})
    async with waking(process) as waker:
        await settle()
        process.sessions = of_user("m", 9)
        process.failures = {"the list": StoreUnavailable("away")}
        for each in ("m00003", "m00007", "deleted"):
            waker.wake(each)
        await settle()
        assert process.loaded == []
        await process.clock.advance(RETRY_DELAY)
        await process.until_loaded(2)
        assert process.loaded == ["m00003", "m00007"]
        assert process.asked["sessions_to_wake"] == 1
        assert process.asked["named"] <= 3
