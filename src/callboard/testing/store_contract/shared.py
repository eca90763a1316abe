"""Contract of a store: several stores on one database see each other's writes and never overwrite them."""

import asyncio
import math
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace

import pytest

from ...storage.change import Change
from ...storage.change_group import ChangeGroup, GroupWithdrawn
from ...storage.errors import AlreadyWritten, Conflict
from ...storage.event_log import Head, Page
from ...storage.store import Store
from ..store_rows import (
    NOW,
    asks,
    claims,
    event,
    execution_row,
    finished_row,
    held,
    key_row,
    made,
    new,
    owner_row,
    posts,
    request_row,
)
from .checks import commit_one
from .contract import Contract, OpenStore
from .idempotency import keyed_event

TIMEOUT = 20.0
"""Seconds to wait for something that takes milliseconds."""


class Notifications:
    """Collects the notifications of a store."""

    def __init__(self) -> None:
        self.calls: list[str | None] = []
        self._came = asyncio.Event()

    def __call__(self, session_id: str | None) -> None:
        self.calls.append(session_id)
        self._came.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for notifications until a condition holds."""
        async with asyncio.timeout(TIMEOUT):
            while not condition():
                self._came.clear()
                await self._came.wait()


class SharedStoreContract(Contract):
    """Several stores on one database see each other's writes and never overwrite them."""

    @pytest.fixture
    async def store(self, open_store: OpenStore) -> AsyncGenerator[Store]:
        async with open_store() as store:
            yield store

    async def test_b6_group_that_was_withdrawn_is_not_written(self, store: Store) -> None:
        await commit_one(store, made())
        group = ChangeGroup([posts(1), posts(2)])
        assert group.withdraw() is True
        with pytest.raises(GroupWithdrawn):
            await store.commit(group)
        assert (await store.events("s", 0, 9)).lines == []
        group = ChangeGroup([posts(3)])
        assert await store.commit(group) == [1]
        assert group.withdraw() is False, "it is committed"

    async def test_h5_key_made_by_one_process_is_known_to_another(self, open_store: OpenStore) -> None:
        async with open_store() as here, open_store() as there:
            await here.add_key(key_row("a"))
            assert await there.key("a") == key_row("a")
            await there.revoke_key("a", NOW + 1)
            assert await here.key("a") == key_row("a", revoked_at=NOW + 1)

    async def test_h6_one_of_several_processes_with_one_key_writes(self, open_store: OpenStore) -> None:
        async with open_store() as first, open_store() as second:
            await first.commit([made()])
            for round_ in range(20):
                change = keyed_event(round_, key=str(round_))
                results = [
                    result for (result,) in await asyncio.gather(first.commit([change]), second.commit([change]))
                ]
                [written] = [each for each in results if isinstance(each, int)]
                [repeated] = [each for each in results if isinstance(each, AlreadyWritten)]
                assert repeated.row.seq == written
            assert len((await second.events("s", 0, 99)).lines) == 20

    async def test_d2_other_process_is_notified_of_written_sessions(self, open_store: OpenStore) -> None:
        mine, theirs = Notifications(), Notifications()
        async with open_store(mine) as first, open_store(theirs) as second:
            await first.commit([made("a"), made("b")])
            await theirs.until(lambda: None in theirs.calls or {"a", "b"} <= set(theirs.calls))
            assert (await second.heads(["a", "b"])) == {"a": Head(0, NOW), "b": Head(0, NOW)}, (
                "what it is woken for is there"
            )
            theirs.calls.clear()
            await first.commit([posts(1, session_id="b"), Change("a", consumed=["nothing"])])
            await theirs.until(lambda: bool(theirs.calls))
            assert set(theirs.calls) <= {"b", None}, "a change that was not written is nothing to wake for"
            assert len((await second.events("b", 0, 9)).lines) == 1
            assert mine.calls == [], "a store is not notified of its own writes"
            await second.commit([posts(2, session_id="b")])
            await mine.until(lambda: bool(mine.calls))
            theirs.calls.clear()
            assert await first.delete("b") is True
            await theirs.until(lambda: bool(theirs.calls))
            assert await second.session("b") is None

    async def test_d2_closed_store_gets_no_notifications(self, open_store: OpenStore) -> None:
        mine, other = Notifications(), Notifications()
        async with open_store() as first, open_store(other):
            async with open_store(mine):
                pass
            await first.commit([made()])
            await other.until(lambda: bool(other.calls))
        assert mine.calls == []

    async def test_b1_numbers_have_no_gaps_with_two_writers(self, open_store: OpenStore) -> None:
        async with open_store() as first, open_store() as second:
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

    async def test_e2_session_created_by_two_users_at_once_belongs_to_one(self, open_store: OpenStore) -> None:
        async with open_store() as first, open_store() as second:
            for number in range(10):
                name = f"s{number}"
                (commit_one,), (other,) = await asyncio.gather(
                    first.commit([made(name, user_id="ann")]), second.commit([made(name, user_id="bob")])
                )
                assert sorted([isinstance(commit_one, Conflict), isinstance(other, Conflict)]) == [False, True]
                row = await first.session(name)
                assert row is not None
                assert row.user_id == ("bob" if isinstance(commit_one, Conflict) else "ann")

    async def test_e5_one_of_two_heirs_recovers_a_process(self, open_store: OpenStore) -> None:
        async with open_store() as first, open_store() as second:
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

    async def test_m3_one_of_two_processes_continues_an_answered_call(self, open_store: OpenStore) -> None:
        async with open_store() as first, open_store() as second:
            await first.commit([made()])
            for turn in range(5):
                row = execution_row(f"x{turn}", owner=None)
                await first.commit([new(row)])
                await first.commit([asks(request_row(f"r{turn}", execution_id=row.id, status="answered"))])
                given = await asyncio.gather(first.recover(None, 0, "p1"), second.recover(None, 0, "p2"))
                assert sorted(len(each.claims) for each in given) == [0, 1]

    async def test_e5_execution_is_either_finished_or_recovered(self, open_store: OpenStore) -> None:
        """A process that was thought dead ends its execution while it is taken from it: one of the two has it."""
        async with open_store() as zombie, open_store() as heir:
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

    async def test_m3_first_answer_counts(self, open_store: OpenStore) -> None:
        async with open_store() as first, open_store() as second:
            await first.commit([made()])
            for turn in range(10):
                row = request_row(f"r{turn}")
                await first.commit([asks(row)])
                answers = [replace(row, status="answered", answer=answer) for answer in (b"1", b"2")]
                (commit_one,), (other,) = await asyncio.gather(
                    first.commit([asks(answers[0], was="open")]), second.commit([asks(answers[1], was="open")])
                )
                assert sorted([isinstance(commit_one, Conflict), isinstance(other, Conflict)]) == [False, True]
                assert await first.request(row.id) == answers[isinstance(commit_one, Conflict)]

    async def test_x10_call_id_has_one_execution_with_two_writers(self, open_store: OpenStore) -> None:
        async with open_store() as first, open_store() as second:
            await first.commit([made()])
            for turn in range(10):
                (commit_one,), (other,) = await asyncio.gather(
                    first.commit([new(execution_row(f"a{turn}", call_id=f"c{turn}"))]),
                    second.commit([new(execution_row(f"b{turn}", call_id=f"c{turn}"))]),
                )
                assert sorted([isinstance(commit_one, Conflict), isinstance(other, Conflict)]) == [False, True]

    async def test_d2_execution_is_cancelled_by_another_process(self, open_store: OpenStore) -> None:
        async with open_store() as holder, open_store() as other:
            await holder.commit([made(), new(execution_row())])
            await asyncio.gather(
                other.commit([Change("s", cancel=["x"])]), holder.commit([held(execution_row(attempt=2), by="p1")])
            )
            assert await holder.execution("s", "x") == execution_row(attempt=2, cancelling=True)

    async def test_e5_change_that_a_database_does_not_accept_fails_alone(self, store: Store) -> None:
        unfit = [
            new(execution_row("x", priority=2**70)),
            new(execution_row("x", queued_at=math.nan)),
            replace(new(execution_row("x", display_arguments=b"\xff")), events=[event()]),
            Change("s", events=[b"[]"]),
            Change("s", events=[b'{"kind":"k"}']),
            Change("s", events=[b'{"kind":"k","at":"soon","data":{}}']),
        ]
        for change in unfit:
            results = await store.commit(
                [made(), posts(1), change, posts(2), change, new(execution_row("y")), made("t")]
            )
            refused = [isinstance(result, Conflict) for result in results]
            assert refused == [False, False, True, False, True, False, False]
            assert (results[0], results[1], results[3], results[5]) == (0, 1, 2, 2)
            assert [row.id for row in await store.executions("s")] == ["y"]
            assert len((await store.events("s", 0, 9)).lines) == 2
            assert await store.delete("s")

    async def test_e5_unacceptable_changes_of_a_large_group_fail_alone(self, store: Store) -> None:
        changes = [made(f"s{number:03}") for number in range(100)]
        group = [
            new(execution_row("x", f"s{number:03}", priority=2**70 if number in (0, 42, 99) else 1))
            for number in range(100)
        ]
        await store.commit(changes)
        results = await store.commit(group)
        assert [number for number, result in enumerate(results) if isinstance(result, Conflict)] == [0, 42, 99]
        assert "does not take" in str(results[42])
        assert await store.executions("s042") == []
        assert len(await store.executions("s041")) == 1

    async def test_d2_heartbeats_are_seen_by_all_processes(self, open_store: OpenStore) -> None:
        async with open_store() as first, open_store() as second:
            await first.join(owner_row("p1"))
            await second.join(owner_row("p2"))
            assert [first.beat("p1"), second.beat("p2"), second.beat("p2")] == [True] * 3
            assert await first.owners() == [owner_row("p1", beat=1), owner_row("p2", beat=2)]
            assert (await second.recover("p1", 1, "p2")).found
            assert first.beat("p1") is False, "it was taken for dead"

    async def test_d2_records_survive_a_restart(self, open_store: OpenStore) -> None:
        async with open_store() as store:
            await store.commit([made(), posts(1, 2), new(execution_row()), Change("s", late=["x"], transcript=[b"1"])])
            await store.join(owner_row())
        async with open_store() as store:
            row = await store.session("s")
            assert row is not None
            assert (row.last_seq, row.unconsumed) == (2, ("x",))
            assert await store.commit([posts(3)]) == [3]
            assert (await store.events("s", 2, 9))[::3] == Page(3, [], 1, 3)[::3]
            assert await store.transcript("s") == [b"1"]
            assert (await store.recover("p1", 0, "p2")).claims == claims(execution_row())
