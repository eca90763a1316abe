"""Contract of a store: a change with a known idempotency key is not written again."""

from dataclasses import replace

from ...storage.change import Change
from ...storage.errors import AlreadyWritten, IdempotencyConflict
from ...storage.records import MAX_IDEMPOTENCY_KEYS
from ...storage.store import Store
from ..store_rows import NOW, add, close, create, event, execution_row, idempotency_row, post, request_row
from .contract import Contract, refused


def keyed_event(number: int, key: str = "k", fingerprint: str = "f", session_id: str = "s") -> Change:
    return Change(session_id, events=[event(number)], idempotency=idempotency_row(key, fingerprint))


class IdempotencyContract(Contract):
    async def test_h6_repeated_change_is_written_once(self, store: Store) -> None:
        assert await store.commit([create(), keyed_event(1), post(2)]) == [0, 1, 2]
        for _ in range(2):
            (again,) = await store.commit([keyed_event(1)])
            assert isinstance(again, AlreadyWritten)
            assert again.row == idempotency_row(seq=1), "it has the number of the first"
        (other,) = await store.commit([keyed_event(1, fingerprint="g")])
        assert isinstance(other, IdempotencyConflict)
        assert other.code == "idempotency_conflict"
        assert len((await store.events("s", 0, 9)).lines) == 2
        assert await store.idempotency("s", "k") == idempotency_row(seq=1)
        assert await store.idempotency("s", "other") is None
        assert await store.idempotency("other", "k") is None

    async def test_h6_key_repeated_in_one_group_is_written_once(self, store: Store) -> None:
        await store.commit([create()])
        first, again, other, free = await store.commit(
            [keyed_event(1), keyed_event(1), keyed_event(1, fingerprint="g"), keyed_event(2, key="another")]
        )
        assert (first, free) == (1, 2)
        assert isinstance(again, AlreadyWritten)
        assert again.row.seq == 1
        assert isinstance(other, IdempotencyConflict)

    async def test_h6_key_belongs_to_one_session_and_is_deleted_with_it(self, store: Store) -> None:
        await store.commit([create("s"), create("t")])
        assert await store.commit([keyed_event(1), keyed_event(1, session_id="t")]) == [1, 1]
        assert await store.delete("s")
        assert await store.idempotency("s", "k") is None
        assert await store.commit([create("s"), keyed_event(1)]) == [0, 1], "the new session does not know it"

    async def test_h6_known_key_precedes_every_other_conflict_but_that_of_the_user(self, store: Store) -> None:
        row = request_row()
        await store.commit([create(), add(execution_row()), add(row)])
        key = idempotency_row(answer=b'{"a": [1, "\\u0000"]}')
        closed = replace(close(replace(row, status="answered")), idempotency=key)
        assert await store.commit([closed]) == [0]
        (again,) = await store.commit([closed])
        assert isinstance(again, AlreadyWritten), "not a conflict about the closed request"
        assert again.row == replace(key, seq=0), "the answer is kept byte for byte"
        await refused(store, replace(create(user_id="bob"), idempotency=key), "another user")
        await refused(store, Change("s", idempotency=key, made_at=NOW - 1), "deleted")

    async def test_h6_key_of_a_change_in_conflict_can_be_used_again(self, store: Store) -> None:
        await store.commit([create()])
        await refused(store, Change("s", consumed=["x"], idempotency=idempotency_row()), "waits to be consumed")
        assert await store.idempotency("s", "k") is None
        assert await store.commit([keyed_event(1)]) == [1]

    async def test_h6_repeated_change_has_the_number_of_the_first_event(self, store: Store) -> None:
        assert await store.commit([create(), post(1), replace(post(2, 3), idempotency=idempotency_row())]) == [0, 1, 3]
        assert await store.idempotency("s", "k") == idempotency_row(seq=2)

    async def test_h6_change_with_only_a_key_is_written_and_keeps_a_given_number(self, store: Store) -> None:
        assert await store.commit([create(), Change("s", idempotency=idempotency_row(seq=7))]) == [0, 0]
        assert await store.idempotency("s", "k") == idempotency_row(seq=7)
        creation = replace(create("t"), idempotency=idempotency_row("first"))
        assert await store.commit([creation]) == [0]
        (again,) = await store.commit([creation])
        assert isinstance(again, AlreadyWritten), "the session is created once"

    async def test_h6_old_keys_are_deleted_by_age(self, store: Store) -> None:
        await store.commit([create("s"), create("t")])
        for number, name in enumerate("st"):
            await store.commit(
                [Change(name, idempotency=idempotency_row(str(age), at=NOW - age)) for age in (0, 10 + number, 20)]
            )
        assert await store.forget_idempotency_keys(NOW - 10) == 3
        assert [await store.idempotency(name, "10") is not None for name in "st"] == [True, False]
        assert await store.forget_idempotency_keys(NOW - 10) == 0
        assert await store.commit([Change("s", idempotency=idempotency_row("20", "other"))]) == [0], "it can be reused"

    async def test_h6_session_keeps_a_limited_number_of_keys(self, store: Store) -> None:
        await store.commit([create()])
        await store.commit(
            [Change("s", idempotency=idempotency_row(str(number))) for number in range(MAX_IDEMPOTENCY_KEYS)]
        )
        assert await store.idempotency("s", "0") is not None
        await store.commit([Change("s", idempotency=idempotency_row(f"more {number}")) for number in range(3)])
        kept = [await store.idempotency("s", str(number)) is not None for number in (0, 1, 2, 3, 4)]
        assert kept == [False, False, False, True, True], "the oldest are deleted"
        assert await store.idempotency("s", "more 2") is not None
        assert await store.commit([keyed_event(1, key="0")]) == [1]
