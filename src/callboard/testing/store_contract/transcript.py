"""Contract of a store: late results are consumed once; a transcript only grows."""

from dataclasses import replace

from ...storage.change import Change, ExecutionWrite
from ...storage.event_log import Head
from ...storage.store import Store
from ..store_rows import NOW, add, create, event, execution_row, finished_row, session_row, turn_row
from .contract import Contract, commit_one, refusals, refused, stored_session


class TranscriptContract(Contract):
    async def test_c5_entries_are_appended_only_to_a_transcript_of_the_expected_length(self, store: Store) -> None:
        unknown = Change("a", session=session_row("a"), transcript=[b"{}"], entries=1)
        await refused(store, unknown, "does not have 1 entries")
        await store.commit([create("a")])
        first = Change("a", transcript=[b'{"n":1}', b'{"n":2}'], entries=0)
        late = Change("a", transcript=[b'{"n":3}'], entries=0, events=[event()])
        next_one = Change("a", transcript=[b'{"n":4}'], entries=2)
        results = await store.commit([first, late, next_one])
        assert refusals(results) == [False, True, False], "also within one group"
        assert await store.transcript("a") == [b'{"n":1}', b'{"n":2}', b'{"n":4}']
        assert (await store.heads(["a"])) == {"a": Head(0, NOW)}, "nothing of the conflicting change was written"
        await refused(store, Change("a", events=[event()], entries=2), "does not have 2 entries")

    async def test_e3_late_results_are_consumed_once_in_order(self, store: Store) -> None:
        await store.commit([create(), *(add(execution_row(name)) for name in "cab")])
        await commit_one(store, Change("s", late=["c"]))
        await commit_one(store, Change("s", late=["a", "b", "c"]))
        assert (await stored_session(store)).unconsumed == ("c", "a", "b"), "a waiting result keeps its position"
        await commit_one(store, Change("s", session=session_row(updated_at=NOW + 1)))
        assert (await stored_session(store)).unconsumed == ("c", "a", "b"), "writes of a session keep them"
        await commit_one(store, Change("s", consumed=["a"]))
        assert (await stored_session(store)).unconsumed == ("c", "b")
        await refused(store, Change("s", consumed=["a"]), "waits to be consumed")
        await refused(store, Change("s", consumed=["b", "b"]), "waits to be consumed")
        await refused(store, Change("s", consumed=["c", "unknown"]), "waits to be consumed")
        await refused(store, Change("s", late=["unknown"]), "no execution unknown")
        assert (await stored_session(store)).unconsumed == ("c", "b"), "refused changes write nothing"
        results = await store.commit([Change("s", consumed=[name]) for name in "bbc"])
        assert refusals(results) == [False, True, False]
        assert (await stored_session(store)).unconsumed == ()

    async def test_e3_late_results_are_added_to_those_of_earlier_groups(self, store: Store) -> None:
        await store.commit([create(), *(add(execution_row(name)) for name in "cabdefghi")])
        await store.commit([Change("s", late=["c"]), Change("s", late=["a"])])
        await store.commit([Change("s", late=["b"])])
        await store.commit([Change("s", late=["a", "d"]), Change("s", consumed=["c"]), Change("s", late=["e"])])
        assert (await stored_session(store)).unconsumed == ("a", "b", "d", "e")
        await store.commit([Change("s", late=[name]) for name in "ibhgbf"])  # many at once
        assert (await stored_session(store)).unconsumed == tuple("abdeihgf")
        await refused(store, Change("missing", late=["a"]), "no session missing")

    async def test_e3_result_can_be_late_and_consumed_in_one_change(self, store: Store) -> None:
        await commit_one(store, create())
        written = [ExecutionWrite(finished_row(), new=True)]
        await commit_one(store, Change("s", executions=written, late=["x"], consumed=["x"], transcript=[b'"x"']))
        assert (await stored_session(store)).unconsumed == ()
        await commit_one(
            store, Change("s", session=session_row(), executions=[ExecutionWrite(finished_row())], late=["x"])
        )
        assert (await stored_session(store)).unconsumed == ("x",)

    async def test_m5_sessions_with_results_for_the_model_are_found(self, store: Store) -> None:
        names = ("a", "b", "c", "closed", "d", "empty", "quiet")
        rows = {name: session_row(name) for name in names}
        rows["closed"], rows["quiet"] = replace(rows["closed"], open=False), replace(rows["quiet"], wake="wait")
        for name, row in rows.items():
            entries = [] if name == "empty" else [b"{}"]
            await commit_one(store, Change(name, session=row, transcript=entries))
            await commit_one(store, add(execution_row("x", name)))
        assert await store.sessions_to_wake() == []
        await store.commit([Change(name, late=["x"]) for name in names if name != "c"])
        assert await store.sessions_to_wake() == [(name, rows[name].user_id) for name in ("a", "b", "d")]
        assert await store.sessions_to_wake(after="a", limit=1) == [("b", rows["b"].user_id)]
        assert [name for name, _ in await store.sessions_to_wake(ids=["d", "c", "b", "b", "no", "quiet"])] == ["b", "d"]
        assert [name for name, _ in await store.sessions_to_wake(ids={"a", "b", "d"}, after="a", limit=1)] == ["b"]
        assert await store.sessions_to_wake(ids=[]) == []
        await commit_one(store, Change("b", consumed=["x"]))
        assert [name for name, _ in await store.sessions_to_wake()] == ["a", "d"]

    async def test_m3_quiet_sessions_are_found_if_their_newest_turn_is_paused(self, store: Store) -> None:
        turns = {"a": ["paused"], "b": ["paused", "finished"], "c": ["finished", "paused"], "d": ["paused", None]}
        for name, statuses in turns.items():
            session = session_row(name, open=False) if name == "c" else session_row(name, wake="wait")
            await commit_one(store, Change(name, session=session, transcript=[b"{}"]))
            for number, status in enumerate(statuses, 1):
                ended = {} if status is None else {"status": status, "completed_at": NOW}
                await commit_one(store, add(turn_row(number, name, turn_id=f"t{number}", **ended)))
            await commit_one(store, add(execution_row("x", name)))
        assert await store.sessions_to_wake() == []
        await store.commit([Change(name, late=["x"]) for name in turns])
        assert [name for name, _ in await store.sessions_to_wake()] == ["a", "c"]

    async def test_c5_transcript_is_append_only_and_keeps_its_bytes(self, store: Store) -> None:
        first, second, third = b'{"b": 1, "a":1.0}', b'["\\u0000", 1e400,  -0.0]', '"ä"'.encode()
        await store.commit([create(), Change("s", transcript=[first]), Change("s", transcript=[second, third])])
        assert await store.transcript("s") == [first, second, third]
        assert await store.transcript("s", 1) == [second, third]
        assert await store.transcript("s", 1, 1) == [second]
        assert await store.transcript("s", 0, 2**70) == [first, second, third]
        assert await store.transcript("s", 3) == []
        assert await store.transcript("s", 2**70) == []
        assert await store.transcript("unknown") == []

    async def test_c5_a_transcript_is_read_from_its_end(self, store: Store) -> None:
        entries = [b'{"n":%d}' % n for n in range(1, 8)]
        await store.commit([create(), Change("s", transcript=entries)])
        assert await store.transcript_before("s", None, 3) == (5, entries[4:])
        assert await store.transcript_before("s", 5, 3) == (2, entries[1:4])
        assert await store.transcript_before("s", 2, 3) == (1, entries[:1])
        assert (await store.transcript_before("s", 1, 3))[1] == []
        assert await store.transcript_before("s", 99, 2) == (6, entries[5:])
        assert (await store.transcript_before("unknown", None, 3))[1] == []
