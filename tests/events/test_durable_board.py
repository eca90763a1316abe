"""The board of a session with a store: numbers, readers, commits and retention (B1, B6, B7, B8)."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Annotated, Any

import pytest

from callboard import Event, Runtime, Session, tool
from callboard.events.board import CursorExpired
from callboard.storage.change import Change
from callboard.storage.errors import Conflict, StoreUnavailable
from callboard.testing import ManualClock, settle
from tests.sessions.conftest import SOON, board_of, ended, seen, stored

pytestmark = pytest.mark.anyio


TAIL = 500
"""Least number of events of a stored board that are in memory."""

runs: list[str] = []


@pytest.fixture(autouse=True)
def fresh() -> None:
    runs.clear()


@tool
async def once(text: Annotated[str, "What"]) -> str:
    """Run, not idempotently."""
    runs.append(text)
    return text


@tool(idempotent=True)
async def again(text: Annotated[str, "What"]) -> str:
    """Run idempotently."""
    runs.append(text)
    return text


@tool(mode="human")
async def pay(amount: Annotated[int, "How much"]) -> int:
    """Pay."""
    runs.append(f"paid {amount}")
    return amount


TOOLS = (once, again, pay)


async def fill(session: Session, count: int, start: int = 1) -> None:
    """Post that many notices, in a few commits."""
    await asyncio.gather(*(session.notice("n", n=number) for number in range(start, start + count)))


async def read(session: Session, count: int, after: int = 0) -> list[Event]:
    events: list[Event] = []
    async with asyncio.timeout(SOON), aclosing(session.events(after)) as stream:
        async for event in stream:
            events.append(event)
            if len(events) == count:
                break
    return events


def seqs(events: Sequence[Event]) -> list[int]:
    return [event.seq for event in events]


# Numbers


async def test_b1_numbers_continue_after_a_restart(shared_url: str) -> None:
    async with Runtime(TOOLS, store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        assert [await session.notice("n") for _ in range(3)] == [1, 2, 3]
    async with Runtime(TOOLS, store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        assert session.board.last_seq == 3
        assert await session.notice("n") == 4
        assert seqs(await board_of(session)) == [1, 2, 3, 4]


async def test_b1_two_runtimes_write_to_one_session_without_gaps(shared_url: str) -> None:
    """Both write at once; live readers on both sides see the same events in the same order."""
    async with Runtime(TOOLS, store=shared_url) as one, Runtime(TOOLS, store=shared_url) as two:
        sessions = [await each.open("s", "ann") for each in (one, two)]
        total = 2 * (60 + 4 * 10)
        readers = [asyncio.ensure_future(read(session, total)) for session in sessions]

        async def write(side: int, session: Session) -> list[int]:
            numbers: list[int] = []
            for number in range(10):
                numbers += await asyncio.gather(*(session.notice("n", of=side) for _ in range(6)))
                outcome = await session.call("again", {"text": f"{side} {number}"})
                assert outcome.value == f"{side} {number}"
            return numbers

        given = await asyncio.gather(*(write(side, session) for side, session in enumerate(sessions)))
        first, second = await asyncio.gather(*readers)
        assert seqs(first) == seqs(second) == list(range(1, total + 1))
        assert [(event.kind, event.at, event.data) for event in first] == [
            (event.kind, event.at, event.data) for event in second
        ]
        notices = {event.seq: event.data["of"] for event in first if event.kind == "system_notice"}
        assert [sorted(seq for seq in notices if notices[seq] == side) for side in (0, 1)] == [sorted(n) for n in given]
        assert [list(numbers) for numbers in given] == [sorted(numbers) for numbers in given], "each in its order"
        assert seqs(await board_of(sessions[0], after=total - 5)) == list(range(total - 4, total + 1))


async def test_b1_events_of_an_execution_are_in_order_between_those_of_others(shared_url: str) -> None:
    async with Runtime(TOOLS, store=shared_url) as one, Runtime(TOOLS, store=shared_url) as two:
        first, second = await one.open("s", "ann"), await two.open("s", "ann")
        calls = [session.call("once", {"text": str(n)}) for n in range(8) for session in (first, second)]
        outcomes = await asyncio.gather(*calls)
        events = await board_of(first)
        for outcome in outcomes:
            own = [event.kind for event in events if event.data["execution_id"] == outcome.execution_id]
            assert own == ["tool_started", "tool_validating", "tool_executing", "tool_result"]
        assert seqs(events) == list(range(1, 65))


async def test_b1_event_written_while_a_board_catches_up_is_delivered(
    shared_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Runtime(TOOLS, store=shared_url) as runtime, stored(shared_url) as other:
        session = await runtime.open("s", "ann")
        await session.notice("own")
        line = (await other.events("s", 0, 1)).lines[0]
        got: list[int] = []
        everything = asyncio.Event()
        page = runtime.store.events
        answered, go = asyncio.Event(), asyncio.Event()

        async def slow(*where: Any) -> Any:
            found = await page(*where)
            answered.set()
            await go.wait()
            return found

        def take(events: Sequence[Event]) -> None:
            got.extend(seqs(events))
            if got[-1] == 4:
                everything.set()

        with session.subscribe(take, after=0):
            monkeypatch.setattr(runtime.store, "events", slow)
            await other.commit([Change("s", events=[line])])
            assert await session.notice("own") == 3  # which shows that one is missing
            await answered.wait()
            assert await session.notice("own") == 4  # while they are being read
            go.set()
            await asyncio.wait_for(everything.wait(), SOON)
        assert got == [1, 2, 3, 4]


# Commits


class Held:
    """A store's commit that waits for a release."""

    def __init__(self, commit: Callable[[Sequence[Change]], Awaitable[list[int | Conflict]]]) -> None:
        self._commit = commit
        self.asked = asyncio.Event()
        self.go = asyncio.Event()
        self.go.set()

    def hold(self) -> None:
        self.asked.clear()
        self.go.clear()

    async def __call__(self, changes: Sequence[Change]) -> list[int | Conflict]:
        self.asked.set()
        await self.go.wait()
        return await self._commit(changes)


async def held_back(held: Held, work: Awaitable[Any], *boards: Session) -> Any:
    """Act while commits are blocked: the action does not end, and no reader sees it, before they continue."""
    before = [session.board.last_seq for session in boards]
    held.hold()
    doing = asyncio.ensure_future(work)
    await held.asked.wait()
    await settle()
    assert not doing.done(), "it is acknowledged only when it is stored"
    assert [session.board.last_seq for session in boards] == before, "it is seen only when it is stored"
    held.go.set()
    result = await asyncio.wait_for(doing, SOON)
    assert [session.board.last_seq for session in boards] > before
    return result


async def test_b6_nothing_is_acknowledged_or_seen_before_it_is_stored(
    shared_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    @tool
    async def price() -> int:
        """Return the price."""
        return 7

    async with Runtime(TOOLS, store=shared_url, workers=[price]) as runtime:
        held = Held(runtime.store.commit)
        monkeypatch.setattr(runtime.store, "commit", held)
        session = await runtime.open("s", "ann")
        got: list[int] = []
        with session.subscribe(lambda events: got.extend(seqs(events))):
            await held_back(held, session.notice("n"), session)
            await settle()
            assert got == [1]
            outcome = await held_back(held, session.call("again", {"text": "a"}), session)
            assert outcome.value == "a"
            asked = await held_back(held, session.call("pay", {"amount": 5}), session)
            assert asked.status == "waiting"
            (request,) = await session.requests()
            await held_back(held, session.answer(request.id, {"approved": True}), session)
            assert (await ended(session, asked.execution_id)).value == 5
            wanted = {"kind": "user_request", "request_kind": "price"}
            await held_back(held, session.post(wanted), session)
            await seen(session, "user_response")
            await settle()
        assert got == seqs(await board_of(session))


async def test_b6_repeated_request_is_acknowledged_after_the_first_is_stored(
    shared_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Runtime(store=shared_url, workers=[again]) as runtime:
        held = Held(runtime.store.commit)
        monkeypatch.setattr(runtime.store, "commit", held)
        session = await runtime.open("s", "ann")
        wanted = {"kind": "user_request", "request_kind": "again", "request_id": "q", "payload": {"text": "a"}}
        held.hold()
        first = asyncio.ensure_future(session.post(wanted))
        await held.asked.wait()
        second = asyncio.ensure_future(session.post(wanted))
        await settle()
        assert not first.done()
        assert not second.done()
        held.go.set()
        assert await first == 1
        assert await second >= 1
        await seen(session, "user_response")
        assert runs == ["a"]


async def test_b6_tool_that_is_not_idempotent_starts_after_its_start_is_stored(
    shared_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Runtime(TOOLS, store=shared_url) as runtime:
        held = Held(runtime.store.commit)
        monkeypatch.setattr(runtime.store, "commit", held)
        session = await runtime.open("s", "ann")
        held.hold()
        call = asyncio.ensure_future(session.call("once", {"text": "a"}))
        await held.asked.wait()
        await settle()
        assert runs == []
        held.go.set()
        assert (await call).value == "a"
        assert runs == ["a"]


async def test_b6_outage_of_the_store_delays_writes_and_loses_nothing(
    shared_url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with Runtime(TOOLS, store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        commit, tries = runtime.store.commit, 0

        async def unreliable(changes: Sequence[Change]) -> list[int | Conflict]:
            nonlocal tries
            tries += 1
            if tries % 3:
                raise StoreUnavailable("not now")
            return await commit(changes)

        monkeypatch.setattr(runtime.store, "commit", unreliable)
        assert await session.notice("n") == 1
        assert (await session.call("once", {"text": "a"})).value == "a"
        assert tries >= 6
        assert seqs(await board_of(session)) == [1, 2, 3, 4, 5]
        assert "the store does not answer" in caplog.text


# Readers


async def test_b7_reader_from_any_cursor_gets_every_event_once(shared_url: str) -> None:
    """Events that are no longer in memory come from the store."""
    total = 2 * TAIL + 300
    async with Runtime(TOOLS, store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        await fill(session, total)
        assert session.board.first_seq > 1, "or nothing is proved here"
        for after in (0, 1, 499, 500, session.board.first_seq - 2, session.board.first_seq - 1, total - 1):
            events = await read(session, total - after, after)
            assert seqs(events) == list(range(after + 1, total + 1))
            assert [event.data["n"] for event in events] == seqs(events)
        waiting = asyncio.ensure_future(read(session, 2, total))
        await settle()
        await fill(session, 2, total + 1)
        assert seqs(await waiting) == [total + 1, total + 2]


async def test_b7_slow_reader_misses_nothing_and_does_not_slow_other_readers(shared_url: str) -> None:
    async with Runtime(TOOLS, store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        await fill(session, 2)
        async with asyncio.timeout(SOON), aclosing(session.events()) as slow, aclosing(session.events()) as fast:
            assert (await anext(slow)).seq == 1
            for _ in range(4):  # it is overtaken by more than memory holds
                await fill(session, 300, session.board.last_seq + 1)
            assert session.board.first_seq > 3
            assert [(await anext(fast)).seq for _ in range(1_202)] == list(range(1, 1_203))
            assert [(await anext(slow)).seq for _ in range(1_201)] == list(range(2, 1_203))


async def test_b7_subscription_reads_the_store_and_then_memory(shared_url: str) -> None:
    async with Runtime(TOOLS, store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        await fill(session, 2 * TAIL + 50)
    async with Runtime(TOOLS, store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        got: list[int] = []
        enough = asyncio.Event()

        def take(events: Sequence[Event]) -> None:
            got.extend(seqs(events))
            if got[-1] >= 2 * TAIL + 60:
                enough.set()

        with session.subscribe(take, after=3):
            await fill(session, 10)
            await asyncio.wait_for(enough.wait(), SOON)
        assert got == list(range(4, 2 * TAIL + 61))
        await session.notice("n")
        await settle()
        assert got[-1] == 2 * TAIL + 60, "it was closed"


async def test_b7_subscription_gets_events_of_other_processes_from_before_and_after_its_start(shared_url: str) -> None:
    async with Runtime(TOOLS, store=shared_url) as one, Runtime(TOOLS, store=shared_url) as two:
        session, other = await one.open("s", "ann"), await two.open("s", "ann")
        await other.notice("before")
        got: list[str] = []
        both = asyncio.Event()

        def take(events: Sequence[Event]) -> None:
            got.extend(event.data["message"] for event in events)
            if len(got) == 2:
                both.set()

        with session.subscribe(take):
            await other.notice("after")
            await asyncio.wait_for(both.wait(), SOON)
        assert got == ["before", "after"]


async def test_b7_subscription_closed_while_it_reads_is_not_called(shared_url: str) -> None:
    async with Runtime(TOOLS, store=shared_url) as runtime:
        await fill(await runtime.open("s", "ann"), 20)
    async with Runtime(TOOLS, store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        got: list[Any] = []
        subscription = session.subscribe(got.append, after=0)
        await settle(3)
        subscription.close()
        assert len(await board_of(session)) == 20
        assert got == []
        assert not session.board.has_readers


async def test_b7_subscriber_that_fails_on_stored_events_is_not_called_again(
    shared_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with Runtime(TOOLS, store=shared_url) as runtime:
        await fill(await runtime.open("s", "ann"), 20)
    async with Runtime(TOOLS, store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        called = asyncio.Event()

        def fails(events: Any) -> None:
            assert not called.is_set()
            called.set()
            raise RuntimeError("bad")

        with session.subscribe(fails, after=0):
            await asyncio.wait_for(called.wait(), SOON)
            assert await session.notice("n") == 21
            await settle()
        assert caplog.text.count("a subscriber of a board failed") == 1


# Retention


async def trimmed(runtime: Runtime, clock: ManualClock, seconds: float = 60.0) -> None:
    """Advance the clock to the next sweep, and wait until old events are trimmed."""
    await clock.advance(seconds)
    while tasks := runtime.sessions.background._tasks:
        await asyncio.wait(tasks)


async def test_b8_newest_events_are_kept_by_count_and_an_older_cursor_expires(shared_url: str) -> None:
    clock = ManualClock()
    async with Runtime(TOOLS, store=shared_url, clock=clock, keep_events=10) as runtime:
        session = await runtime.open("s", "ann")
        await fill(session, 30)
        await trimmed(runtime, clock)
    async with Runtime(TOOLS, store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        for after in (0, 19):
            with pytest.raises(CursorExpired) as expired:
                await read(session, 1, after)
            assert expired.value.first == 21
        assert seqs(await read(session, 10, expired.value.first - 1)) == list(range(21, 31)), "so one begins again"
        assert await session.notice("n") == 31, "numbers go on"


async def test_b8_events_are_kept_by_age(shared_url: str) -> None:
    clock = ManualClock()
    async with Runtime(TOOLS, store=shared_url, clock=clock, keep_for=600.0) as runtime:
        session = await runtime.open("s", "ann")
        for _ in range(4):
            await session.notice("n")
            await clock.advance(250.0)
        await session.notice("n")
        await trimmed(runtime, clock)
    async with Runtime(TOOLS, store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        with pytest.raises(CursorExpired) as expired:
            await read(session, 1)
        assert seqs(await read(session, 3, expired.value.first - 1)) == [3, 4, 5]


async def test_b8_events_are_kept_by_age_without_a_store() -> None:
    clock = ManualClock()
    async with Runtime(TOOLS, clock=clock, keep_for=600.0) as runtime:
        session = await runtime.open("s", "ann")
        heard: list[int] = []
        for _ in range(4):
            await session.notice("n")
            await clock.advance(250.0)
        session.subscribe(lambda events: heard.extend(event.seq for event in events))
        await session.notice("n")
        with pytest.raises(CursorExpired) as expired:
            await read(session, 1)
        assert seqs(await read(session, 3, expired.value.first - 1)) == [3, 4, 5]
        await clock.advance(1_000.0)
        assert (session.board.first_seq, session.board.last_seq, heard) == (6, 5, [5])


async def test_b8_events_of_sessions_that_are_not_open_are_trimmed(
    shared_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("callboard.sessions.housekeeping.TRIM_BATCH", 2)
    names = [f"s{number}" for number in range(5)]
    async with Runtime(TOOLS, store=shared_url) as runtime:
        for name in names:
            await fill(await runtime.open(name, "ann"), 12)
    clock = ManualClock()
    async with Runtime(TOOLS, store=shared_url, clock=clock, keep_events=4) as runtime:
        for done in (2, 4, 5):
            await trimmed(runtime, clock)
            rows = await runtime.store.sessions()
            assert [row.first_seq for row in rows] == [9] * done + [1] * (5 - done), "a little at a time"
        assert len(runtime.sessions) == 0
        await trimmed(runtime, clock)
        await fill(await runtime.open("s0", "ann"), 1)
        await trimmed(runtime, clock)
        assert (await runtime.store.sessions())[0].first_seq == 10, "and from the beginning again"


async def test_b8_all_events_are_kept_by_default(shared_url: str) -> None:
    clock = ManualClock()
    async with Runtime(TOOLS, store=shared_url, clock=clock) as runtime:
        session = await runtime.open("s", "ann")
        await fill(session, 30)
        await trimmed(runtime, clock, 3600.0)
    async with Runtime(TOOLS, store=shared_url) as runtime:
        assert len(await board_of(await runtime.open("s", "ann"))) == 30


async def test_b8_results_and_requests_outlive_their_events(shared_url: str) -> None:
    @tool(mode="background")
    async def late() -> str:
        """Return a late result."""
        return "there"

    clock = ManualClock()
    async with Runtime([*TOOLS, late], store=shared_url, clock=clock, keep_events=1) as runtime:
        session = await runtime.open("s", "ann")
        await ended(session, (await session.call("late")).execution_id)
        asked = await session.call("pay", {"amount": 3})
        await session.notice("n")
        await trimmed(runtime, clock)
    async with Runtime([*TOOLS, late], store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        assert [outcome.value for outcome in await session.take_results()] == ["there"]
        (request,) = await session.requests()
        await session.answer(request.id, {"approved": True})
        assert (await ended(session, asked.execution_id)).value == 3


async def test_b8_board_behind_the_kept_events_restarts(shared_url: str) -> None:
    """Another process wrote and trimmed events that this process has not read."""
    async with Runtime(TOOLS, store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        await fill(session, 3)
        async with stored(shared_url) as store:
            line = (await store.events("s", 0, 1)).lines[0]
            assert await store.commit([Change("s", events=[line] * 27)]) == [30]
            assert await store.trim("s", keep=10, before=0.0) == 21
        ends: list[Exception] = []
        ended = asyncio.Event()
        with session.subscribe(lambda events: None, after=2, ended=lambda error: (ends.append(error), ended.set())):
            assert seqs(await read(session, 10, 20)) == list(range(21, 31))
            with pytest.raises(CursorExpired) as expired:
                await read(session, 5, 2)
            assert expired.value.first == 21
            await asyncio.wait_for(ended.wait(), SOON)
        assert [(type(error), getattr(error, "first", None)) for error in ends] == [(CursorExpired, 21)]
        assert await session.notice("n") == 31
        assert (await anext(session.events(30))).seq == 31


async def test_b8_reader_of_a_deleted_session_gets_an_error(shared_url: str) -> None:
    async with Runtime(TOOLS, store=shared_url) as runtime:
        await fill(await runtime.open("s", "ann"), 3)
    async with Runtime(TOOLS, store=shared_url) as runtime:
        session = await runtime.open("s", "ann")
        assert await runtime.store.delete("s") is True
        with pytest.raises(CursorExpired):
            await read(session, 1)


async def test_b8_sweeps_write_nothing_for_sessions_without_old_events(
    shared_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = ManualClock()
    async with Runtime(TOOLS, store=shared_url, clock=clock, keep_for=600.0) as runtime:
        trim, written = runtime.store.trim, list[str]()

        async def noted_trim(session_id: str, *, keep: int, before: float) -> int:
            written.append(session_id)
            return await trim(session_id, keep=keep, before=before)

        monkeypatch.setattr(runtime.store, "trim", noted_trim)
        for n in range(3):
            await (await runtime.open(f"s{n}", "ann")).notice("n")
        await trimmed(runtime, clock, 120.0)
        assert written == []
        await trimmed(runtime, clock, 600.0)
        assert sorted(written) == ["s0", "s1", "s2"]
        await trimmed(runtime, clock, 120.0)
        assert len(written) == 3, "they have no more events"
