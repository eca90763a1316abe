"""Contract of a store: late results are consumed once; a transcript only grows."""

from ...storage.change import Change, ExecutionWrite
from ...storage.errors import Conflict
from ...storage.event_log import Head
from ...storage.store import Store
from ..store_rows import NOW, event, execution_row, finished_row, made, new, session_row
from .checks import commit_one, refused, unconsumed
from .contract import Contract


class TranscriptContract(Contract):
    """Late results are consumed once; a transcript only grows."""

    async def test_c5_entries_are_appended_only_to_a_transcript_of_the_expected_length(self, store: Store) -> None:
        unknown = Change("a", session=session_row("a"), transcript=[b"{}"], entries=1)
        (result,) = await store.commit([unknown])
        assert isinstance(result, Conflict)
        await store.commit([made("a")])
        first = Change("a", transcript=[b'{"n":1}', b'{"n":2}'], entries=0)
        late = Change("a", transcript=[b'{"n":3}'], entries=0, events=[event()])
        next_one = Change("a", transcript=[b'{"n":4}'], entries=2)
        results = await store.commit([first, late, next_one])
        assert [isinstance(each, Conflict) for each in results] == [False, True, False], "also within one group"
        assert await store.transcript("a") == [b'{"n":1}', b'{"n":2}', b'{"n":4}']
        assert (await store.heads(["a"])) == {"a": Head(0, NOW)}, "nothing of it was written"
        (result,) = await store.commit([Change("a", events=[event()], entries=2)])
        assert isinstance(result, Conflict), "also where nothing is added to it"

    async def test_e3_late_results_are_consumed_once_in_order(self, store: Store) -> None:
        await store.commit([made(), *(new(execution_row(name)) for name in "cab")])
        await commit_one(store, Change("s", late=["c"]))
        await commit_one(store, Change("s", late=["a", "b", "c"]))
        assert await unconsumed(store) == ("c", "a", "b"), "one that waits keeps its place"
        await commit_one(store, Change("s", session=session_row(updated_at=NOW + 1)))
        assert await unconsumed(store) == ("c", "a", "b"), "it is not the writer's to say"
        await commit_one(store, Change("s", consumed=["a"]))
        assert await unconsumed(store) == ("c", "b")
        await refused(store, Change("s", consumed=["a"]), "waits to be consumed")
        await refused(store, Change("s", consumed=["b", "b"]), "waits to be consumed")
        await refused(store, Change("s", consumed=["c", "nobody"]), "waits to be consumed")
        await refused(store, Change("s", late=["nobody"]), "no execution nobody")
        assert await unconsumed(store) == ("c", "b"), "nothing of a change that does not fit is written"
        results = await store.commit(
            [Change("s", consumed=["b"]), Change("s", consumed=["b"]), Change("s", consumed=["c"])]
        )
        assert [isinstance(result, Conflict) for result in results] == [False, True, False]
        assert await unconsumed(store) == ()

    async def test_e3_result_can_be_late_and_consumed_in_one_change(self, store: Store) -> None:
        await commit_one(store, made())
        written = [ExecutionWrite(finished_row(), new=True)]
        await commit_one(store, Change("s", executions=written, late=["x"], consumed=["x"], transcript=[b'"x"']))
        assert await unconsumed(store) == ()
        await commit_one(
            store, Change("s", session=session_row(), executions=[ExecutionWrite(finished_row())], late=["x"])
        )
        assert await unconsumed(store) == ("x",)

    async def test_c5_transcript_is_append_only_and_keeps_its_bytes(self, store: Store) -> None:
        first, second, third = b'{"b": 1, "a":1.0}', b'["\\u0000", 1e400,  -0.0]', '"ä"'.encode()
        await store.commit([made(), Change("s", transcript=[first]), Change("s", transcript=[second, third])])
        assert await store.transcript("s") == [first, second, third]
        assert await store.transcript("s", 1) == [second, third]
        assert await store.transcript("s", 1, 1) == [second]
        assert await store.transcript("s", 0, 2**70) == [first, second, third]
        assert await store.transcript("s", 3) == []
        assert await store.transcript("s", 2**70) == []
        assert await store.transcript("unknown") == []

    async def test_c5_a_transcript_is_read_from_its_end(self, store: Store) -> None:
        entries = [b'{"n":%d}' % n for n in range(1, 8)]
        await store.commit([made(), Change("s", transcript=entries)])
        assert await store.transcript_before("s", None, 3) == (5, entries[4:])
        assert await store.transcript_before("s", 5, 3) == (2, entries[1:4])
        assert await store.transcript_before("s", 2, 3) == (1, entries[:1])
        assert (await store.transcript_before("s", 1, 3))[1] == []
        assert await store.transcript_before("s", 99, 2) == (6, entries[5:])
        assert (await store.transcript_before("nobody", None, 3))[1] == []
