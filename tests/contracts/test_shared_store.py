"""What a store promises to several processes that use it at once (B1, D2, E5): here, several stores on one address."""

import asyncio
import math
from collections import Counter
from collections.abc import Callable
from dataclasses import replace

import pytest

from callboard.storage.change import Change, ExecutionWrite
from callboard.storage.errors import Conflict
from callboard.storage.event_log import Head, Page
from callboard.storage.store import Store

from .conftest import Opening
from .rows import NOW, asks, claims, event, execution_row, finished_row, held, made, new, owner_row, posts, request_row

pytestmark = pytest.mark.anyio

SOON = 20.0
"""How many seconds something may take that takes milliseconds."""


class Woken:
    """What a store was woken with, and a way to wait for it."""

    def __init__(self) -> None:
        self.calls: list[str | None] = []
        self._came = asyncio.Event()

    def __call__(self, session_id: str | None) -> None:
        self.calls.append(session_id)
        self._came.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(SOON):
            while not condition():
                self._came.clear()
                await self._came.wait()


async def test_d2_other_process_is_woken_with_what_was_written(shared_url: str, opening: Opening) -> None:
    mine, theirs = Woken(), Woken()
    async with opening(shared_url, mine) as first, opening(shared_url, theirs) as second:
        await first.commit([made("a"), made("b")])
        await theirs.until(lambda: None in theirs.calls or {"a", "b"} <= set(theirs.calls))
        assert (await second.heads(["a", "b"])) == {"a": Head(0, NOW), "b": Head(0, NOW)}, (
            "what it is woken for is there"
        )
        theirs.calls.clear()
        await first.commit([posts(1, session_id="b"), Change("a", taken=["nothing"])])
        await theirs.until(lambda: bool(theirs.calls))
        assert set(theirs.calls) <= {"b", None}, "a change that was not written is nothing to wake for"
        assert len((await second.events("b", 0, 9)).lines) == 1
        assert mine.calls == [], "nobody is woken by himself"
        await second.commit([posts(2, session_id="b")])
        await mine.until(lambda: bool(mine.calls))
        theirs.calls.clear()
        assert await first.delete("b") is True
        await theirs.until(lambda: bool(theirs.calls))
        assert await second.session("b") is None


async def test_d2_waking_is_by_session_on_postgresql_whatever_its_length(
    emptied_database: str, opening: Opening
) -> None:
    theirs = Woken()
    ids = {f"{number}-{'ä' * 180}" for number in range(100)}
    async with opening(emptied_database) as first, opening(emptied_database, theirs):
        await first.commit([made(session_id) for session_id in ids])
        await theirs.until(lambda: set(theirs.calls) >= ids)
        theirs.calls.clear()
        await first.commit([made("x" * 9_000)])
        await theirs.until(lambda: theirs.calls == [None])


async def test_d2_closed_store_is_not_woken(shared_url: str, opening: Opening) -> None:
    mine, other = Woken(), Woken()
    async with opening(shared_url) as first, opening(shared_url, other):
        async with opening(shared_url, mine):
            pass
        await first.commit([made()])
        await other.until(lambda: bool(other.calls))
    assert mine.calls == []


async def test_b1_numbers_have_no_gaps_whoever_writes(shared_url: str, opening: Opening) -> None:
    async with opening(shared_url) as first, opening(shared_url) as second:
        ids = [f"s{number}" for number in range(6)]
        await first.commit([made(session_id) for session_id in ids])

        async def write(store: Store, order: list[str]) -> list[tuple[str, int]]:
            numbers: list[tuple[str, int]] = []
            for step in range(15):
                results = await store.commit([posts(step, session_id=session_id) for session_id in order])
                for session_id, result in zip(order, results, strict=True):
                    assert isinstance(result, int), result
                    numbers.append((session_id, result))
            return numbers

        async with asyncio.timeout(60):
            found = await asyncio.gather(
                write(first, ids), write(second, ids[::-1]), write(first, ids[::2]), write(second, ids[1::2])
            )
        counted = Counter(number for numbers in found for number in numbers)
        assert set(counted.values()) == {1}, "no number is given twice"
        for session_id in ids:
            numbers = sorted(number for name, number in counted if name == session_id)
            assert numbers == list(range(1, 46))
            page = await first.events(session_id, 0, 100)
            assert (page.first_seq, page.last_seq, len(page.lines)) == (1, 45, 45)


async def test_e2_session_made_by_two_at_once_is_one_users(shared_url: str, opening: Opening) -> None:
    async with opening(shared_url) as first, opening(shared_url) as second:
        for number in range(10):
            name = f"s{number}"
            (one,), (other,) = await asyncio.gather(
                first.commit([made(name, user_id="ann")]), second.commit([made(name, user_id="bob")])
            )
            assert sorted([isinstance(one, Conflict), isinstance(other, Conflict)]) == [False, True]
            row = await first.session(name)
            assert row is not None
            assert row.user_id == ("bob" if isinstance(one, Conflict) else "ann")


async def test_e5_one_of_two_heirs_inherits(shared_url: str, opening: Opening) -> None:
    async with opening(shared_url) as first, opening(shared_url) as second:
        await first.commit([made(f"s{number}") for number in range(5)])
        for turn in range(5):
            await first.join(owner_row("dead", beat=turn))
            rows = [execution_row(f"x{turn}", f"s{number}", owner="dead") for number in range(5)]
            await first.commit([new(row) for row in rows])
            given = await asyncio.gather(first.recover("dead", turn, "p1"), second.recover("dead", turn, "p2"))
            heir = "p1" if given[0].found else "p2"
            assert sorted((each.claims for each in given), key=len) == [[], claims(*rows)]
            keys = [(row.session_id, row.id) for row in rows]
            assert await first.executions_by_key(keys) == [replace(row, owner=heir) for row in rows]
            assert await second.owners() == []


async def test_m3_one_of_two_carries_an_answered_call_on(shared_url: str, opening: Opening) -> None:
    async with opening(shared_url) as first, opening(shared_url) as second:
        await first.commit([made()])
        for turn in range(5):
            row = execution_row(f"x{turn}", owner=None)
            await first.commit([new(row)])
            await first.commit([asks(request_row(f"r{turn}", execution_id=row.id, status="answered"))])
            given = await asyncio.gather(first.recover(None, 0, "p1"), second.recover(None, 0, "p2"))
            assert sorted(len(each.claims) for each in given) == [0, 1]


async def test_e5_end_and_inheritance_exclude_each_other(shared_url: str, opening: Opening) -> None:
    """A process that was thought dead ends its execution while it is taken from it: one of the two has it."""
    async with opening(shared_url) as zombie, opening(shared_url) as heir:
        await heir.commit([made()])
        for turn in range(10):
            await zombie.join(owner_row("zombie"))
            row = execution_row(f"x{turn}", owner="zombie")
            await zombie.commit([new(row)])
            (ended,), given = await asyncio.gather(
                zombie.commit([held(finished_row(row.id), by="zombie")]), heir.recover("zombie", 0, "heir")
            )
            stored = await heir.execution("s", row.id)
            if isinstance(ended, Conflict):
                assert given.claims == claims(row)
                assert stored == replace(row, owner="heir")
            else:
                assert given.claims == []
                assert stored == finished_row(row.id)


async def test_m3_first_answer_counts(shared_url: str, opening: Opening) -> None:
    async with opening(shared_url) as first, opening(shared_url) as second:
        await first.commit([made()])
        for turn in range(10):
            row = request_row(f"r{turn}")
            await first.commit([asks(row)])
            answers = [replace(row, status="answered", answer=answer) for answer in (b"1", b"2")]
            (one,), (other,) = await asyncio.gather(
                first.commit([asks(answers[0], was="open")]), second.commit([asks(answers[1], was="open")])
            )
            assert sorted([isinstance(one, Conflict), isinstance(other, Conflict)]) == [False, True]
            assert await first.request(row.id) == answers[isinstance(one, Conflict)]


async def test_x10_one_call_id_is_one_execution_whoever_is_first(shared_url: str, opening: Opening) -> None:
    async with opening(shared_url) as first, opening(shared_url) as second:
        await first.commit([made()])
        for turn in range(10):
            (one,), (other,) = await asyncio.gather(
                first.commit([new(execution_row(f"a{turn}", call_id=f"c{turn}"))]),
                second.commit([new(execution_row(f"b{turn}", call_id=f"c{turn}"))]),
            )
            assert sorted([isinstance(one, Conflict), isinstance(other, Conflict)]) == [False, True]


async def test_d2_cancel_arrives_from_anywhere(shared_url: str, opening: Opening) -> None:
    async with opening(shared_url) as holder, opening(shared_url) as other:
        await holder.commit([made(), new(execution_row())])
        await asyncio.gather(
            other.commit([Change("s", cancel=["x"])]), holder.commit([held(execution_row(attempt=2), by="p1")])
        )
        assert await holder.execution("s", "x") == execution_row(attempt=2, cancelling=True)


async def test_e5_what_a_database_does_not_take_fails_alone(shared_store: Store) -> None:
    unfit = [
        new(execution_row("x", priority=2**70)),
        new(execution_row("x", queued_at=math.nan)),
        Change("s", executions=[ExecutionWrite(execution_row("x", shown=b"\xff"), new=True)], events=[event()]),
        Change("s", events=[b"[]"]),
        Change("s", events=[b'{"kind":"k"}']),
        Change("s", events=[b'{"kind":"k","at":"soon","data":{}}']),
    ]
    for change in unfit:
        results = await shared_store.commit(
            [made(), posts(1), change, posts(2), change, new(execution_row("y")), made("t")]
        )
        refused = [isinstance(result, Conflict) for result in results]
        assert refused == [False, False, True, False, True, False, False]
        assert (results[0], results[1], results[3], results[5]) == (0, 1, 2, 2)
        assert [row.id for row in await shared_store.executions("s")] == ["y"]
        assert len((await shared_store.events("s", 0, 9)).lines) == 2
        assert await shared_store.delete("s")


async def test_e5_large_group_with_some_that_are_unfit(shared_store: Store) -> None:
    changes = [made(f"s{number:03}") for number in range(100)]
    group = [
        new(execution_row("x", f"s{number:03}", priority=2**70 if number in (0, 42, 99) else 1))
        for number in range(100)
    ]
    await shared_store.commit(changes)
    results = await shared_store.commit(group)
    assert [number for number, result in enumerate(results) if isinstance(result, Conflict)] == [0, 42, 99]
    assert "does not take" in str(results[42])
    assert await shared_store.executions("s042") == []
    assert len(await shared_store.executions("s041")) == 1


async def test_d2_beats_of_many_processes_are_seen_by_all(shared_url: str, opening: Opening) -> None:
    async with opening(shared_url) as first, opening(shared_url) as second:
        await first.join(owner_row("p1"))
        await second.join(owner_row("p2"))
        assert [first.beat("p1"), second.beat("p2"), second.beat("p2")] == [True] * 3
        assert await first.owners() == [owner_row("p1", beat=1), owner_row("p2", beat=2)]
        assert (await second.recover("p1", 1, "p2")).found
        assert first.beat("p1") is False, "it was taken for dead"


async def test_d2_everything_is_there_after_a_restart(shared_url: str, opening: Opening) -> None:
    async with opening(shared_url) as store:
        await store.commit([made(), posts(1, 2), new(execution_row()), Change("s", late=["x"], transcript=[b"1"])])
        await store.join(owner_row())
    async with opening(shared_url) as store:
        row = await store.session("s")
        assert row is not None
        assert (row.last_seq, row.unconsumed) == (2, ("x",))
        assert await store.commit([posts(3)]) == [3]
        assert (await store.events("s", 2, 9))[::3] == Page(3, [], 1, 3)[::3]
        assert await store.transcript("s") == [b"1"]
        assert (await store.recover("p1", 0, "p2")).claims == claims(execution_row())
