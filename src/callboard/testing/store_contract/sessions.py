"""Contract of a store: sessions are created once, listed, and deleted with all their records."""

from dataclasses import replace

from ...storage.change import Change, ExecutionWrite
from ...storage.event_log import Head, Page
from ...storage.store import Store
from ..store_rows import NOW, add, create, event, execution_row, post, request_row, session_row
from .contract import Contract, commit_one, refusals, refused, stored_session


class SessionContract(Contract):
    async def test_e7_session_is_read_as_it_was_written(self, store: Store) -> None:
        row = session_row(
            namespaces=("a", "b"), channel="voice", allow=("x",), tools=("x", "y"), open=False, updated_at=NOW + 0.125
        )
        await commit_one(store, Change("s", session=row))
        assert await store.session("s") == row
        bare = session_row("bare", namespaces=(), allow=())
        await commit_one(store, Change("bare", session=bare))
        assert await store.session("bare") == bare, "an empty list is not None"
        assert await store.session("other") is None

    async def test_e7_fields_that_the_store_sets_are_ignored_in_writes(self, store: Store) -> None:
        await commit_one(store, Change("s", session=session_row(last_seq=9, first_seq=4, unconsumed=("x",), writes=9)))
        assert await store.session("s") == session_row()

    async def test_e7_session_has_the_time_of_its_newest_event(self, store: Store) -> None:
        await commit_one(store, create(updated_at=NOW + 1))
        row = await stored_session(store)
        assert (row.active_at, row.last_activity) == (None, NOW + 1)
        await commit_one(store, Change("s", events=[event(at=NOW + 5), event(at=NOW + 7.5)]))
        await commit_one(store, create("t"))
        rows = await store.sessions()
        assert [(row.active_at, row.last_activity) for row in rows] == [(NOW + 7.5, NOW + 7.5), (None, NOW)]
        await store.trim("s", keep=0, before=0.0)
        [row, _] = await store.sessions()
        assert (row.active_at, row.last_activity) == (None, NOW + 1), "a deleted event has no time"

    async def test_e2_session_is_written_only_for_its_user(self, store: Store) -> None:
        await commit_one(store, create())
        later = session_row(tools=("x",), open=False, created_at=NOW + 5, updated_at=NOW + 5)
        await commit_one(store, Change("s", session=later))
        assert await store.session("s") == replace(later, created_at=NOW, writes=2), "the creation time stays"
        await refused(store, Change("s", session=session_row(user_id="bob"), events=[event()]), "another user")
        assert await store.session("s") == replace(later, created_at=NOW, writes=2)

    async def test_e2_newer_row_of_a_session_has_more_writes_whatever_the_clocks_say(self, store: Store) -> None:
        assert await store.commit([create(), create(updated_at=NOW - 9)]) == [0, 0]
        assert (await stored_session(store)).writes == 2
        await commit_one(store, post(1))
        await refused(store, Change("s", session=session_row(), consumed=["x"]), "waits to be consumed")
        assert (await stored_session(store)).writes == 2, "the session itself was not written"
        await commit_one(store, create(updated_at=NOW - 99))
        assert (await stored_session(store)).writes == 3
        await store.delete("s")
        await commit_one(store, create())
        assert (await stored_session(store)).writes == 1

    async def test_e2_change_of_an_unknown_session_is_refused(self, store: Store) -> None:
        await refused(store, post(1), "no session s")
        results = await store.commit([post(1), create(), post(2)])
        assert refusals(results) == [True, False, False]
        assert results[1:] == [0, 1], "later changes of a group see earlier ones"
        await refused(store, Change("s", session=session_row("other")), "another session")

    async def test_e2_sessions_are_listed_by_id_and_user(self, store: Store) -> None:
        ids = ["Z", "a", "a b", "b", "ä", "€", "\U0001f600"]
        assert ids == sorted(ids), "by code points"
        await store.commit([create(name, user_id="ann" if name != "b" else "bob") for name in reversed(ids)])
        assert [row.id for row in await store.sessions()] == ids
        assert [row.id for row in await store.sessions("bob")] == ["b"]
        assert [row.id for row in await store.sessions(after="a b", limit=2)] == ["b", "ä"]
        assert [row.id for row in await store.sessions("ann", after="a b", limit=2)] == ["ä", "€"]
        assert await store.sessions("unknown") == []

    async def test_e2_session_is_deleted_with_all_its_records_and_no_others(self, store: Store) -> None:
        for name in ("s", "t"):
            await commit_one(store, create(name))
            await commit_one(store, add(execution_row(f"x{name}", name)))
            await commit_one(store, add(request_row(f"r{name}", name, execution_id=f"x{name}")))
            await commit_one(store, Change(name, late=[f"x{name}"], transcript=[b"{}"], events=[event()]))
        assert await store.delete("s", NOW + 1) is False, "another session has the id now"
        assert await store.session("s") is not None
        assert await store.delete("s", NOW) is True
        assert await store.delete("s") is False
        assert await store.session("s") is None
        assert await store.events("s", 0, 9) == Page(1, [], 1, 0)
        assert await store.executions("s") == []
        assert await store.execution_of_call("s", "call of xs") is None
        assert await store.transcript("s") == []
        assert await store.request("rs") is None
        assert await store.requests() == [request_row("rt", "t", execution_id="xt")]
        assert await store.executions("t") == [execution_row("xt", "t")]
        await commit_one(store, create())
        assert await commit_one(store, post(1)) == 1, "a new session begins at 1"

    async def test_e7_change_for_a_deleted_session_is_not_written_to_its_successor(self, store: Store) -> None:
        await store.commit([create()])
        meant = Change("s", executions=[ExecutionWrite(execution_row(), "p1", new=True)], events=[event()], made_at=NOW)
        assert await commit_one(store, Change("s", events=[event()], made_at=NOW)) == 1
        await store.delete("s")
        results = await store.commit([Change("s", session=session_row(created_at=NOW + 1)), meant, post(1)])
        assert refusals(results) == [False, True, False], "also within one group"
        await refused(store, meant, "was deleted")
        assert await store.executions("s") == []
        assert await store.heads(["s"]) == {"s": Head(1, NOW + 1)}
        assert await commit_one(store, Change("s", events=[event()], made_at=NOW + 1)) == 2
