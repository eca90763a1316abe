"""Contract of a store: several stores on one database see each other's writes and never overwrite them."""

import asyncio
import math
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest

from ...storage.change import Change, Notice
from ...storage.committer import ChangeGroup, GroupWithdrawn
from ...storage.errors import AlreadyWritten, Conflict, Unstorable
from ...storage.event_log import Head, Page
from ...storage.store import Store
from ..store_rows import (
    NOW,
    add,
    claims,
    close,
    create,
    document_write,
    event,
    execution_row,
    finished_row,
    key_row,
    owner_row,
    post,
    request_row,
    update,
)
from .contract import Contract, OpenStore, commit_one, refusals, stored_session
from .idempotency import keyed_event
from .user_documents import only_winner

TIMEOUT = 20.0
"""Seconds to wait for something that takes milliseconds."""


class Notifications:
    """Collects the notifications of a store."""

    def __init__(self) -> None:
        self.calls: list[str | None] = []
        self.loud: list[str | None] = []
        """Those of changes that are not quiet."""
        self.left: list[str | None] = []
        """Those of results that wait for a process with a model."""
        self._came = asyncio.Event()

    def __call__(self, session_id: str | None, notice: Notice = Notice.CHANGED, /) -> None:
        self.calls.append(session_id)
        if notice is not Notice.QUIET:
            self.loud.append(session_id)
        if notice is Notice.RESULTS_LEFT:
            self.left.append(session_id)
        self._came.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for notifications until a condition holds."""
        async with asyncio.timeout(TIMEOUT):
            while not condition():
                self._came.clear()
                await self._came.wait()


async def winner(*commits: Coroutine[Any, Any, list[int | Conflict]]) -> int:
    """Commit changes that exclude each other at the same time. Return the position of the only one that fits."""
    results = refusals(result for (result,) in await asyncio.gather(*commits))
    assert results.count(False) == 1
    return results.index(False)


class LateWithdrawal(ChangeGroup):
    """A group that is withdrawn when it is written, and just before the store begins its commit."""

    def seal(self) -> None:
        assert self.withdraw() is True
        super().seal()


class SharedStoreContract(Contract):
    @pytest.fixture
    async def store(self, open_store: OpenStore) -> AsyncGenerator[Store]:
        async with open_store() as store:
            yield store

    @pytest.fixture
    async def other(self, open_store: OpenStore) -> AsyncGenerator[Store]:
        async with open_store() as store:
            yield store

    async def test_b6_group_that_was_withdrawn_is_not_written(self, store: Store) -> None:
        await commit_one(store, create())
        group = ChangeGroup([post(1), post(2)])
        assert group.withdraw() is True
        with pytest.raises(GroupWithdrawn):
            await store.commit(group)
        assert (await store.events("s", 0, 9)).lines == []
        group = ChangeGroup([post(3)])
        assert await store.commit(group) == [1]
        assert group.withdraw() is False, "the group is committed"

    async def test_b6_group_that_is_withdrawn_before_its_commit_is_not_committed(self, store: Store) -> None:
        await commit_one(store, create())
        with pytest.raises(GroupWithdrawn):
            await store.commit(LateWithdrawal([post(1), post(2)]))
        assert (await store.events("s", 0, 9)).lines == []
        assert await store.commit([post(3)]) == [1]

    async def test_h5_key_made_by_one_process_is_known_to_another(self, store: Store, other: Store) -> None:
        await store.add_key(key_row("a"))
        assert await other.key("a") == key_row("a")
        await other.revoke_key("a", NOW + 1)
        assert await store.key("a") == key_row("a", revoked_at=NOW + 1)

    async def test_k4_one_of_several_processes_that_expect_a_version_writes(self, store: Store, other: Store) -> None:
        for number in range(20):
            writes = [
                (each, document_write(expected=number, writer=writer))
                for each in (store, other)
                for writer in ("x", "y")
            ]
            written = await only_winner("ann", writes)
            assert await store.document("ann", "c", "k") == await other.document("ann", "c", "k") == written
            assert written.version == number + 1

    async def test_h6_one_of_several_processes_with_one_key_writes(self, store: Store, other: Store) -> None:
        await store.commit([create()])
        for number in range(20):
            change = keyed_event(number, key=str(number))
            results = [result for (result,) in await asyncio.gather(store.commit([change]), other.commit([change]))]
            [written] = [each for each in results if isinstance(each, int)]
            [repeated] = [each for each in results if isinstance(each, AlreadyWritten)]
            assert repeated.row.seq == written
        assert len((await other.events("s", 0, 99)).lines) == 20

    async def test_d2_other_process_is_notified_of_written_sessions(self, open_store: OpenStore) -> None:
        mine, theirs = Notifications(), Notifications()
        async with open_store(mine) as first, open_store(theirs) as second:
            await first.commit([create("a"), create("b")])
            await theirs.until(lambda: None in theirs.calls or {"a", "b"} <= set(theirs.calls))
            assert await second.heads(["a", "b"]) == dict.fromkeys("ab", Head(0, NOW)), "the commit precedes it"
            theirs.calls.clear()
            await first.commit([post(1, session_id="b"), Change("a", consumed=["nothing"])])
            await theirs.until(lambda: bool(theirs.calls))
            assert set(theirs.calls) <= {"b", None}, "a change in conflict causes no notification"
            assert len((await second.events("b", 0, 9)).lines) == 1
            assert mine.calls == [], "a store is not notified of its own writes"
            await second.commit([post(2, session_id="b")])
            await mine.until(lambda: bool(mine.calls))
            theirs.calls.clear()
            assert await first.delete("b") is True
            await theirs.until(lambda: bool(theirs.calls))
            assert await second.session("b") is None

    async def test_d2_changes_that_another_process_acts_on_are_not_notified_as_quiet(
        self, open_store: OpenStore
    ) -> None:
        theirs = Notifications()
        async with open_store() as first, open_store(theirs):
            await first.commit([create("a"), create("b"), add(execution_row("x", "a"))])
            await theirs.until(lambda: None in theirs.loud or {"a", "b"} <= set(theirs.loud))
            theirs.loud.clear()
            quiet, cancelling = post(1, session_id="a"), Change("a", cancel=["x"])
            assert (quiet.notice, cancelling.notice) == (Notice.QUIET, Notice.CHANGED)
            await first.commit([post(1, session_id="b")])
            await first.commit([quiet, cancelling])
            await theirs.until(lambda: bool({"a", None} & set(theirs.loud)))

    async def test_m2_results_that_are_left_to_a_process_with_a_model_are_notified_as_such(
        self, open_store: OpenStore
    ) -> None:
        mine, theirs = Notifications(), Notifications()
        async with open_store(mine) as first, open_store(theirs):
            names = ["a", "b", "c"]
            await first.commit([*map(create, names), *(add(execution_row("x", name)) for name in names)])
            await theirs.until(lambda: None in theirs.calls or set(names) <= set(theirs.calls))
            assert theirs.left == []
            left = Change("b", late=["x"], results_left=True)
            await first.commit([post(1, session_id="a"), left, post(1, session_id="b"), Change("c", late=["x"])])
            await theirs.until(lambda: bool(theirs.left) and bool({"c", None} & set(theirs.calls)))
            assert theirs.left == ["b"]
            assert mine.calls == []

    async def test_d2_closed_store_gets_no_notifications(self, open_store: OpenStore) -> None:
        mine, other = Notifications(), Notifications()
        async with open_store() as first, open_store(other):
            async with open_store(mine):
                pass
            await first.commit([create()])
            await other.until(lambda: bool(other.calls))
        assert mine.calls == []

    async def test_b1_numbers_have_no_gaps_with_two_writers(self, store: Store, other: Store) -> None:
        ids = [f"s{number}" for number in range(6)]
        await store.commit([create(session_id) for session_id in ids])

        async def write(store: Store, order: list[str]) -> list[tuple[str, int]]:
            numbers: list[tuple[str, int]] = []
            for step in range(15):
                results = await store.commit([post(step, session_id=session_id) for session_id in order])
                for session_id, result in zip(order, results, strict=True):
                    assert isinstance(result, int), result
                    numbers.append((session_id, result))
            return numbers

        async with asyncio.timeout(60):
            found = await asyncio.gather(
                write(store, ids), write(other, ids[::-1]), write(store, ids[::2]), write(other, ids[1::2])
            )
        counted = Counter(number for numbers in found for number in numbers)
        assert set(counted.values()) == {1}, "no number is given twice"
        for session_id in ids:
            numbers = sorted(number for name, number in counted if name == session_id)
            assert numbers == list(range(1, 46))
            page = await store.events(session_id, 0, 100)
            assert (page.first_seq, page.last_seq, len(page.lines)) == (1, 45, 45)

    async def test_e2_session_created_by_two_users_at_once_belongs_to_one(self, store: Store, other: Store) -> None:
        for number in range(10):
            changes = [create(f"s{number}", user_id=user) for user in ("ann", "bob")]
            won = await winner(store.commit(changes[:1]), other.commit(changes[1:]))
            assert (await stored_session(store, f"s{number}")).user_id == ("ann", "bob")[won]

    async def test_e5_one_of_two_heirs_recovers_a_process(self, store: Store, other: Store) -> None:
        await store.commit([create(f"s{number}") for number in range(5)])
        for beat in range(5):
            await store.join(owner_row("dead", beat=beat))
            rows = [execution_row(f"x{beat}", f"s{number}", owner="dead") for number in range(5)]
            await store.commit([add(row) for row in rows])
            given = await asyncio.gather(store.recover("dead", beat, "p1"), other.recover("dead", beat, "p2"))
            heir = "p1" if given[0].found else "p2"
            assert sorted((each.claims for each in given), key=len) == [[], claims(*rows)]
            keys = [(row.session_id, row.id) for row in rows]
            assert await store.executions_by_key(keys) == [replace(row, owner=heir) for row in rows]
            assert await other.owners() == []

    async def test_m3_one_of_two_processes_continues_an_answered_call(self, store: Store, other: Store) -> None:
        await store.commit([create()])
        for number in range(5):
            row = execution_row(f"x{number}", owner=None)
            await store.commit([add(row)])
            await store.commit([add(request_row(f"r{number}", execution_id=row.id, status="answered"))])
            given = await asyncio.gather(store.recover(None, 0, "p1"), other.recover(None, 0, "p2"))
            assert sorted(len(each.claims) for each in given) == [0, 1]

    async def test_e5_execution_is_either_finished_or_recovered(self, store: Store, other: Store) -> None:
        """A process that was wrongly taken for dead ends its execution while an heir recovers it."""
        await store.commit([create()])
        for number in range(10):
            await other.join(owner_row("zombie"))
            row = execution_row(f"x{number}", owner="zombie")
            await other.commit([add(row)])
            (ended,), given = await asyncio.gather(
                other.commit([update(finished_row(row.id), by="zombie")]), store.recover("zombie", 0, "heir")
            )
            recovered = isinstance(ended, Conflict)
            assert given.claims == (claims(row) if recovered else [])
            expected = replace(row, owner="heir") if recovered else finished_row(row.id)
            assert await store.execution("s", row.id) == expected

    async def test_m3_first_answer_counts(self, store: Store, other: Store) -> None:
        await store.commit([create()])
        for number in range(10):
            row = request_row(f"r{number}")
            await store.commit([add(row)])
            answers = [replace(row, status="answered", answer=answer) for answer in (b"1", b"2")]
            won = await winner(store.commit([close(answers[0])]), other.commit([close(answers[1])]))
            assert await store.request(row.id) == answers[won]

    async def test_x10_call_id_has_one_execution_with_two_writers(self, store: Store, other: Store) -> None:
        await store.commit([create()])
        for number in range(10):
            twins = [add(execution_row(f"{name}{number}", call_id=f"c{number}")) for name in "ab"]
            await winner(store.commit(twins[:1]), other.commit(twins[1:]))

    async def test_d2_execution_is_cancelled_by_another_process(self, store: Store, other: Store) -> None:
        await store.commit([create(), add(execution_row())])
        await asyncio.gather(
            other.commit([Change("s", cancel=["x"])]), store.commit([update(execution_row(attempt=2), by="p1")])
        )
        assert await store.execution("s", "x") == execution_row(attempt=2, cancelling=True)

    async def test_e5_change_that_a_database_does_not_accept_fails_alone(self, store: Store) -> None:
        unfit = [
            add(execution_row("x", priority=2**70)),
            add(execution_row("x", queued_at=math.nan)),
            replace(add(execution_row("x", display_arguments=b"\xff")), events=[event()]),
            Change("s", events=[b"[]"]),
            Change("s", events=[b'{"kind":"k"}']),
            Change("s", events=[b'{"kind":"k","at":"soon","data":{}}']),
        ]
        for change in unfit:
            results = await store.commit(
                [create(), post(1), change, post(2), change, add(execution_row("y")), create("t")]
            )
            assert refusals(results) == [False, False, True, False, True, False, False]
            assert isinstance(results[2], Unstorable)
            assert (results[0], results[1], results[3], results[5]) == (0, 1, 2, 2)
            assert [row.id for row in await store.executions("s")] == ["y"]
            assert len((await store.events("s", 0, 9)).lines) == 2
            assert await store.delete("s")

    async def test_e5_unacceptable_changes_of_a_large_group_fail_alone(self, store: Store) -> None:
        await store.commit([create(f"s{number:03}") for number in range(100)])
        results = await store.commit(
            [
                add(execution_row("x", f"s{number:03}", priority=2**70 if number in (0, 42, 99) else 1))
                for number in range(100)
            ]
        )
        assert [number for number, refused in enumerate(refusals(results)) if refused] == [0, 42, 99]
        assert isinstance(results[42], Unstorable)
        assert "does not take" in str(results[42])
        assert await store.executions("s042") == []
        assert len(await store.executions("s041")) == 1

    async def test_d2_heartbeats_are_seen_by_all_processes(self, store: Store, other: Store) -> None:
        await store.join(owner_row("p1"))
        await other.join(owner_row("p2"))
        assert [store.beat("p1"), other.beat("p2"), other.beat("p2")] == [True] * 3
        assert await store.owners() == [owner_row("p1", beat=1), owner_row("p2", beat=2)]
        assert (await other.recover("p1", 1, "p2")).found
        assert store.beat("p1") is False, "a recovered process does not beat again"

    async def test_d2_records_survive_a_restart(self, open_store: OpenStore) -> None:
        async with open_store() as store:
            await store.commit([create(), post(1, 2), add(execution_row()), Change("s", late=["x"], transcript=[b"1"])])
            await store.join(owner_row())
        async with open_store() as store:
            row = await stored_session(store)
            assert (row.last_seq, row.unconsumed) == (2, ("x",))
            assert await store.commit([post(3)]) == [3]
            assert (await store.events("s", 2, 9))[::3] == Page(3, [], 1, 3)[::3]
            assert await store.transcript("s") == [b"1"]
            assert (await store.recover("p1", 0, "p2")).claims == claims(execution_row())
