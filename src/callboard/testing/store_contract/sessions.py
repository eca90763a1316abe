"""Contract of a store: sessions are created once, listed, and deleted with all their records."""

from dataclasses import replace

from ...storage.change import Change, ExecutionWrite
from ...storage.errors import Conflict
from ...storage.event_log import Head, Page
from ...storage.store import Store
from ..store_rows import NOW, asks, event, execution_row, made, new, posts, request_row, session_row
from .checks import commit_one, refused
from .contract import Contract


class SessionContract(Contract):
    """Sessions are created once, listed, and deleted with all their records."""

    async def test_e7_session_is_read_as_it_was_written(self, store: Store) -> None:
        row = session_row(
            namespaces=("a", "b"), channel="voice", allow=("x",), tools=("x", "y"), open=False, updated_at=NOW + 0.125
        )
        await commit_one(store, Change("s", session=row))
        assert await store.session("s") == row
        bare = session_row("bare", namespaces=(), allow=())
        await commit_one(store, Change("bare", session=bare))
        assert await store.session("bare") == bare, "no namespaces are not all of them"
        assert await store.session("other") is None

    async def test_e7_fields_that_the_store_sets_are_ignored_in_writes(self, store: Store) -> None:
        await commit_one(store, Change("s", session=session_row(last_seq=9, first_seq=4, unconsumed=("x",), writes=9)))
        assert await store.session("s") == session_row()

    async def test_e7_session_has_the_time_of_its_newest_event(self, store: Store) -> None:
        await commit_one(store, made(updated_at=NOW + 1))
        row = await store.session("s")
        assert row is not None
        assert (row.active_at, row.last_activity) == (None, NOW + 1)
        await commit_one(store, Change("s", events=[event(at=NOW + 5), event(at=NOW + 7.5)]))
        await commit_one(store, made("t"))
        rows = await store.sessions()
        assert [(row.active_at, row.last_activity) for row in rows] == [(NOW + 7.5, NOW + 7.5), (None, NOW)]
        await store.trim("s", keep=0, before=0.0)
        [row, _] = await store.sessions()
        assert (row.active_at, row.last_activity) == (None, NOW + 1), "nothing is known of what is forgotten"

    async def test_e2_session_is_written_only_for_its_user(self, store: Store) -> None:
        await commit_one(store, made())
        later = session_row(tools=("x",), open=False, created_at=NOW + 5, updated_at=NOW + 5)
        await commit_one(store, Change("s", session=later))
        assert await store.session("s") == replace(later, created_at=NOW, writes=2), "it was made once"
        await refused(store, Change("s", session=session_row(user_id="bob"), events=[event()]), "another user")
        assert await store.session("s") == replace(later, created_at=NOW, writes=2)

    async def test_e2_newer_row_of_a_session_has_more_writes_whatever_the_clocks_say(self, store: Store) -> None:
        async def writes() -> int:
            row = await store.session("s")
            assert row is not None
            return row.writes

        assert await store.commit([made(), made(updated_at=NOW - 9)]) == [0, 0]
        assert await writes() == 2
        await commit_one(store, posts(1))
        await refused(store, Change("s", session=session_row(), consumed=["x"]), "waits to be consumed")
        assert await writes() == 2, "nothing was written of the session itself"
        await commit_one(store, made(updated_at=NOW - 99))
        assert await writes() == 3
        await store.delete("s")
        await commit_one(store, made())
        assert await writes() == 1

    async def test_e2_change_of_an_unknown_session_is_refused(self, store: Store) -> None:
        await refused(store, posts(1), "no session s")
        results = await store.commit([posts(1), made(), posts(2)])
        assert [isinstance(result, Conflict) for result in results] == [True, False, False]
        assert results[1:] == [0, 1], "changes of one session see each other in their order"
        await refused(store, Change("s", session=session_row("other")), "another session")

    async def test_e2_sessions_are_listed_by_id_and_user(self, store: Store) -> None:
        ids = ["Z", "a", "a b", "b", "ä", "€", "\U0001f600"]
        assert ids == sorted(ids), "by the numbers of their characters, everywhere"
        await store.commit([made(name, user_id="ann" if name != "b" else "bob") for name in reversed(ids)])
        assert [row.id for row in await store.sessions()] == ids
        assert [row.id for row in await store.sessions("bob")] == ["b"]
        assert [row.id for row in await store.sessions(after="a b", limit=2)] == ["b", "ä"]
        assert [row.id for row in await store.sessions("ann", after="a b", limit=2)] == ["ä", "€"]
        assert await store.sessions("nobody") == []

    async def test_e2_session_is_deleted_with_all_its_records_and_no_others(self, store: Store) -> None:
        for name in ("s", "t"):
            await commit_one(store, made(name))
            await commit_one(store, new(execution_row(f"x{name}", name)))
            await commit_one(store, asks(request_row(f"r{name}", name, execution_id=f"x{name}")))
            await commit_one(store, Change(name, late=[f"x{name}"], transcript=[b"{}"], events=[event()]))
        assert await store.delete("s", NOW + 1) is False, "the one that is meant is gone, and another has its id"
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
        await commit_one(store, made())
        assert await commit_one(store, posts(1)) == 1, "a new one begins anew"

    async def test_e7_change_for_a_deleted_session_is_not_written_to_its_successor(self, store: Store) -> None:
        await store.commit([made()])
        meant = Change("s", executions=[ExecutionWrite(execution_row(), "p1", new=True)], events=[event()], made_at=NOW)
        assert await commit_one(store, Change("s", events=[event()], made_at=NOW)) == 1
        await store.delete("s")
        results = await store.commit([Change("s", session=session_row(created_at=NOW + 1)), meant, posts(1)])
        assert [isinstance(result, Conflict) for result in results] == [False, True, False], "also within one group"
        (result,) = await store.commit([meant])
        assert isinstance(result, Conflict)
        assert await store.executions("s") == []
        assert await store.heads(["s"]) == {"s": Head(1, NOW + 1)}
        assert await commit_one(store, Change("s", events=[event()], made_at=NOW + 1)) == 2
