"""The board: one ordered log, read from any cursor (B1, B7, B8)."""

import asyncio
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callboard import Runtime
from callboard.budget import Budget, MemoryLimits
from callboard.events.board import Board, CursorExpired
from callboard.events.event import Event, encode_event, iso_time
from callboard.events.kinds import EventKind
from callboard.testing import settle

pytestmark = pytest.mark.anyio


def note(number: int) -> bytes:
    return encode_event(EventKind.SYSTEM_NOTICE, 1_800_000_000.0, b'{"n":%d}' % number)


def filled(count: int, retention: int = 10_000) -> Board:
    board = Board(retention)
    for number in range(1, count + 1):
        board.append(note(number))
    return board


def seqs(events: Any) -> list[int]:
    return [event.seq for event in events]


# Events


def test_b1_event_is_one_line_of_json() -> None:
    board = Board()
    board.append(encode_event("tool_progress", 1_800_000_000.25, b'{"stage":"a"}'))
    (event,) = board.read(0)
    assert event.line == (b'{"seq":1,"kind":"tool_progress","at":"2027-01-15T08:00:00.250Z","data":{"stage":"a"}}')
    assert json.loads(event.line)["seq"] == event.seq == 1
    assert (event.kind, event.data) == ("tool_progress", {"stage": "a"})
    assert event.at == datetime(2027, 1, 15, 8, 0, 0, 250_000, UTC)
    assert repr(event) == "Event(seq=1, kind='tool_progress', data={'stage': 'a'})"
    assert event.data is event.data


def test_b2_kind_of_a_newer_version_is_kept() -> None:
    event = Event(7, b'{"kind":"hologram","at":"2027-01-15T08:00:00.000Z","data":{"x":1}}')
    assert (event.kind, event.data) == ("hologram", {"x": 1})


@given(st.lists(st.floats(0, 4e9), min_size=1))
def test_b1_times_are_written_to_the_millisecond(times: list[float]) -> None:
    for timestamp in times:
        read = datetime.fromisoformat(iso_time(timestamp).decode()).timestamp()
        assert abs(read - int(timestamp * 1000) / 1000) < 1e-6


def test_b1_readers_share_the_bytes() -> None:
    board = filled(1)
    assert board.read(0)[0].encoded is board.read(0)[0].encoded


# Reading


@given(st.lists(st.integers(0, 4), max_size=30), st.integers(1, 8), st.integers(0, 40))
def test_b1_numbers_have_no_gaps_and_every_kept_event_can_be_read(
    appends: list[int], retention: int, after: int
) -> None:
    board = Board(retention)
    total = 0
    for count in appends:
        returned = board.append(*(note(total + number + 1) for number in range(count)))
        total += count
        assert returned == board.last_seq == total
    assert board.first_seq <= max(1, total - retention + 1), "at least the newest are kept"
    assert total - board.first_seq < 2 * retention + 4, "and not many more"
    if after < board.first_seq - 1:
        with pytest.raises(CursorExpired) as caught:
            board.read(after)
        assert caught.value.first == board.first_seq
        assert caught.value.code == "cursor_expired"
    else:
        events = board.read(after)
        assert seqs(events) == list(range(after + 1, total + 1))
        assert [event.data["n"] for event in events] == seqs(events)
        assert seqs(board.read(after, limit=2)) == seqs(events)[:2]


async def test_b1_follow_yields_existing_and_new_events() -> None:
    board = filled(3)
    got: list[int] = []

    async def read() -> None:
        async for event in board.follow(1):
            got.append(event.seq)
            if event.seq == 6:
                return

    task = asyncio.create_task(read())
    await settle()
    assert got == [2, 3]
    board.append(note(4), note(5))
    await settle()
    assert got == [2, 3, 4, 5]
    board.append(note(6))
    await task
    assert got == [2, 3, 4, 5, 6]


async def test_b1_follow_yields_existing_events_and_ends_with_the_board() -> None:
    board = filled(2)

    async def read(after: int) -> list[int]:
        return [event.seq async for event in board.follow(after)]

    waiting = [asyncio.create_task(read(after)) for after in (0, 2)]
    await settle()
    board.append(note(3))
    board.end()
    assert [await each for each in waiting] == [[1, 2, 3], [3]]
    assert await read(1) == [2, 3], "also for those who come later"
    assert not board.has_readers


async def test_b8_reader_with_an_expired_cursor_gets_an_error() -> None:
    board = filled(25, retention=10)
    assert board.first_seq == 12
    with pytest.raises(CursorExpired, match=r"^The events after 10 are no longer kept.*the first kept one is 12\.$"):
        await anext(board.follow(10))
    with pytest.raises(CursorExpired):
        board.subscribe(print, after=10)
    assert (await anext(board.follow(11))).seq == 12
    board.subscribe(print, after=25).close()


async def test_b8_kept_page_skips_events_that_are_no_longer_kept() -> None:
    board = filled(25, retention=10)
    assert seqs(await board.kept_page(0)) == list(range(12, 26))
    assert seqs(await board.kept_page(23)) == [24, 25]
    assert seqs(await board.kept_page(25)) == []


async def test_b8_overtaken_reader_gets_its_page_and_then_an_error() -> None:
    board = filled(3, retention=10)
    stream = board.follow()
    assert (await anext(stream)).seq == 1
    for number in range(50):
        board.append(note(number))
    assert [(await anext(stream)).seq for _ in range(2)] == [2, 3]
    with pytest.raises(CursorExpired) as caught:
        await anext(stream)
    assert caught.value.first == board.first_seq


async def test_b7_slow_reader_does_not_slow_other_readers() -> None:
    board = filled(1)
    slow, fast = board.follow(), board.follow()
    assert (await anext(slow)).seq == 1
    for number in range(2, 101):
        board.append(note(number))
    assert [(await anext(fast)).seq for _ in range(100)] == list(range(1, 101))
    assert [(await anext(slow)).seq for _ in range(99)] == list(range(2, 101))


async def test_b7_every_reader_gets_every_event_once() -> None:
    board = filled(0)

    async def read(count: int) -> list[int]:
        got: list[int] = []
        async for event in board.follow():
            got.append(event.seq)
            if len(got) == count:
                break
        return got

    readers = [asyncio.create_task(read(20)) for _ in range(500)]
    await settle(3)
    for number in range(20):
        board.append(note(number))
        await settle(2)
    assert {tuple(await reader) for reader in readers} == {tuple(range(1, 21))}


async def test_b7_cancelled_reader_leaves_nothing_behind() -> None:
    board = filled(0)
    readers = [asyncio.create_task(board.wait(0)) for _ in range(10)]
    await settle()
    assert len(board._waiting) == 10
    for reader in readers[:9]:
        reader.cancel()
    await settle()
    assert len(board._waiting) == 1
    board.append(note(1))
    await readers[9]
    assert board._waiting == []
    assert all(reader.cancelled() for reader in readers[:9])


# Subscriptions


async def test_b7_subscription_gets_one_batch_per_turn_of_the_loop() -> None:
    board = filled(2)
    batches: list[list[int]] = []
    with board.subscribe(lambda events: batches.append(seqs(events))) as subscription:
        board.append(note(3))
        board.append(note(4), note(5))
        assert batches == [], "no subscriber is called within a post"
        await settle()
        board.append(note(6))
        await settle()
        assert batches == [[3, 4, 5], [6]]
        assert subscription.cursor == 6
    board.append(note(7))
    await settle()
    assert batches == [[3, 4, 5], [6]]


async def test_b7_subscription_from_a_cursor_starts_with_existing_events() -> None:
    board = filled(3)
    got: list[int] = []
    with board.subscribe(lambda events: got.extend(seqs(events)), after=1):
        await settle()
        assert got == [2, 3]


async def test_b7_failing_subscriber_is_not_called_again_and_does_not_affect_others(
    caplog: pytest.LogCaptureFixture,
) -> None:
    board = filled(0)
    calls: list[str] = []
    got: list[int] = []

    def fails(events: Any) -> None:
        calls.append("called")
        raise RuntimeError("bad")

    with board.subscribe(fails), board.subscribe(lambda events: got.extend(seqs(events))):
        for number in range(1, 4):
            board.append(note(number))
            await settle()
    assert (calls, got) == (["called"], [1, 2, 3])
    assert "a subscriber of a board failed" in caplog.text


async def test_b7_subscriber_can_post_and_close_another() -> None:
    board = filled(0)
    got: list[int] = []

    def echo(events: Any) -> None:
        got.extend(seqs(events))
        if board.last_seq < 5:
            board.append(note(0))
        second.close()

    first = board.subscribe(echo)
    second = board.subscribe(lambda events: got.append(-1))
    board.append(note(1))
    await settle()
    first.close()
    first.close()
    assert got == [1, 2, 3, 4, 5], "the closed one was not called any more"


async def test_b7_subscriber_misses_nothing_if_more_events_come_at_once_than_are_kept() -> None:
    board = Board(retention=5)
    got: list[int] = []
    with board.subscribe(lambda events: got.extend(seqs(events))):
        for number in range(100):
            board.append(note(number))
        await settle()
    assert got == list(range(1, 101))
    assert board.first_seq > 1


def test_b7_events_are_a_sequence_with_encoded_lines() -> None:
    board = Board()
    for number in range(1, 5):
        board.append(encode_event("system_notice", 0.0, b'{"n":%d}' % number))
    events = board.read(1)
    assert (events.first, len(events), len(events.encoded)) == (2, 3, 3)
    assert [event.seq for event in events] == [2, 3, 4]
    assert (events[0].data, events[-1].seq) == ({"n": 2}, 4)
    assert [event.seq for event in events[1:]] == [3, 4]
    assert [event.encoded for event in events] == events.encoded
    with pytest.raises(IndexError):
        events[3]


def test_b2_known_kind_is_an_enum_member_and_unknown_kind_is_kept() -> None:
    board = Board()
    board.append(encode_event(EventKind.TOOL_RESULT, 0.0, b"{}"), encode_event("from_the_future", 0.0, b"{}"))
    known, unknown = board.read(0)
    assert (known.kind is EventKind.TOOL_RESULT, unknown.kind) == (True, "from_the_future")


async def test_b7_large_events_are_kept_by_bytes() -> None:
    """Subscribers get every event, also if many come at once, and the bytes are freed."""
    budget = Budget(MemoryLimits(session=200_000))
    board = Board(budget=budget, user_id="ann")
    large = encode_event(EventKind.TOOL_PARTIAL, 0.0, b'{"value":"%b"}' % (b"x" * 30_000))
    got: list[int] = []
    with board.subscribe(lambda events: got.extend(seqs(events))):
        board.append(note(1), *[large] * 10, note(12))
        board.extend((note(13), large))
        board.receive(24, [note(15), *[large] * 8, note(24)])
        await settle()
    assert got == list(range(1, 25))
    kept = board.read(board.first_seq - 1).encoded
    assert board.last_seq == 24
    assert budget.kept == sum(len(line) for line in kept if len(line) > 4_096) == 3 * len(large)
    with pytest.raises(CursorExpired):
        board.read(1)
    board.end()
    assert budget.kept == 0


def test_b7_large_events_dropped_by_count_free_their_bytes() -> None:
    budget = Budget()
    board = Board(5, budget=budget, user_id="ann")
    board.append(encode_event(EventKind.TOOL_PARTIAL, 0.0, b'{"value":"%b"}' % (b"x" * 30_000)))
    assert budget.kept > 30_000
    for number in range(20):
        board.append(note(number))
    assert budget.kept == 0


async def test_b1_users_of_a_session_can_read_its_board_and_not_write_to_it() -> None:
    async with Runtime() as runtime:
        session = await runtime.open("s", user_id="ann")
        await session.notice("hello")
        board: Any = session.board
        assert (board.first_seq, board.last_seq, [each.kind for each in board.read(0)]) == (1, 1, ["system_notice"])
        for name in ("append", "extend", "receive", "restart", "end", "drop_before", "deliver_live", "last_seq"):
            with pytest.raises(AttributeError):
                setattr(board, name, None)
        for name in ("append", "extend", "receive", "restart", "end", "drop_before", "deliver_live"):
            assert not hasattr(board, name)
