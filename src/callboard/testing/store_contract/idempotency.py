"""Contract of a store: a change with a known idempotency key is not written again."""

from dataclasses import replace

from ...storage.change import Change
from ...storage.errors import AlreadyWritten, Conflict, IdempotencyConflict
from ...storage.records import MAX_IDEMPOTENCY_KEYS
from ...storage.store import Store
from ..store_rows import NOW, asks, event, execution_row, keyed, made, new, posts, request_row, session_row
from .contract import Contract


def keyed_event(number: int, key: str = "k", fingerprint: str = "f", session_id: str = "s") -> Change:
    return Change(session_id, events=[event(number)], idempotency=keyed(key, fingerprint))


class IdempotencyContract(Contract):
    """A change with a known idempotency key is not written again."""

    async def test_h6_repeated_change_is_written_once(self, store: Store) -> None:
        assert await store.commit([made(), keyed_event(1), posts(2)]) == [0, 1, 2]
        for _ in range(2):
            (again,) = await store.commit([keyed_event(1)])
            assert isinstance(again, AlreadyWritten)
            assert again.row == keyed(seq=1), "it is answered with the number of the first"
        (other,) = await store.commit([keyed_event(1, fingerprint="g")])
        assert isinstance(other, IdempotencyConflict)
        assert other.code == "idempotency_conflict"
        assert len((await store.events("s", 0, 9)).lines) == 2
        assert await store.idempotency("s", "k") == keyed(seq=1)
        assert await store.idempotency("s", "other") is None
        assert await store.idempotency("other", "k") is None

    async def test_h6_key_repeated_in_one_group_is_written_once(self, store: Store) -> None:
        await store.commit([made()])
        first, again, other, free = await store.commit(
            [keyed_event(1), keyed_event(1), keyed_event(1, fingerprint="g"), keyed_event(2, key="another")]
        )
        assert (first, free) == (1, 2)
        assert isinstance(again, AlreadyWritten)
        assert again.row.seq == 1
        assert isinstance(other, IdempotencyConflict)

    async def test_h6_key_belongs_to_one_session_and_is_deleted_with_it(self, store: Store) -> None:
        await store.commit([made("s"), made("t")])
        assert await store.commit([keyed_event(1), keyed_event(1, session_id="t")]) == [1, 1]
        assert await store.delete("s")
        assert await store.idempotency("s", "k") is None
        assert await store.commit([made("s"), keyed_event(1)]) == [0, 1], "the new session of that id never heard of it"

    async def test_h6_known_key_precedes_every_other_conflict_but_that_of_the_user(self, store: Store) -> None:
        row = request_row()
        await store.commit([made(), new(execution_row()), asks(row)])
        closed = replace(
            asks(replace(row, status="answered"), "open"), idempotency=keyed(answer=b'{"a": [1, "\\u0000"]}')
        )
        assert await store.commit([closed]) == [0]
        (again,) = await store.commit([closed])
        assert isinstance(again, AlreadyWritten), "and not that the request is closed"
        assert again.row == keyed(answer=b'{"a": [1, "\\u0000"]}', seq=0), "the answer comes back byte for byte"
        (stranger,) = await store.commit([Change("s", session=session_row(user_id="bob"), idempotency=keyed())])
        assert isinstance(stranger, Conflict)
        assert "another user" in str(stranger)
        (gone,) = await store.commit([Change("s", idempotency=keyed(), made_at=NOW - 1)])
        assert not isinstance(gone, AlreadyWritten | int)
        assert "deleted" in str(gone)

    async def test_h6_key_of_a_change_in_conflict_can_be_used_again(self, store: Store) -> None:
        await store.commit([made()])
        (refused,) = await store.commit([Change("s", consumed=["x"], idempotency=keyed())])
        assert isinstance(refused, Conflict)
        assert await store.idempotency("s", "k") is None
        assert await store.commit([keyed_event(1)]) == [1]

    async def test_h6_repeated_change_has_the_number_of_the_first_event(self, store: Store) -> None:
        assert await store.commit([made(), posts(1), replace(posts(2, 3), idempotency=keyed())]) == [0, 1, 3]
        assert await store.idempotency("s", "k") == keyed(seq=2)

    async def test_h6_change_with_only_a_key_is_written_and_keeps_a_given_number(self, store: Store) -> None:
        assert await store.commit([made(), Change("s", idempotency=keyed(seq=7))]) == [0, 0]
        assert await store.idempotency("s", "k") == keyed(seq=7)
        made_with_one = replace(made("t"), idempotency=keyed("first"))
        assert await store.commit([made_with_one]) == [0]
        (again,) = await store.commit([made_with_one])
        assert isinstance(again, AlreadyWritten), "a session that is made under a key is made once"

    async def test_h6_old_keys_are_deleted_by_age(self, store: Store) -> None:
        await store.commit([made("s"), made("t")])
        for number, name in enumerate("st"):
            await store.commit(
                [Change(name, idempotency=keyed(str(age), at=NOW - age)) for age in (0, 10 + number, 20)]
            )
        assert await store.forget_idempotency_keys(NOW - 10) == 3
        assert [await store.idempotency(name, "10") is not None for name in "st"] == [True, False]
        assert await store.forget_idempotency_keys(NOW - 10) == 0
        assert await store.commit([Change("s", idempotency=keyed("20", "other"))]) == [0], "it can be used again"

    async def test_h6_session_keeps_a_limited_number_of_keys(self, store: Store) -> None:
        await store.commit([made()])
        await store.commit([Change("s", idempotency=keyed(str(number))) for number in range(MAX_IDEMPOTENCY_KEYS)])
        assert await store.idempotency("s", "0") is not None
        await store.commit([Change("s", idempotency=keyed(f"more {number}")) for number in range(3)])
        kept = [await store.idempotency("s", str(number)) is not None for number in (0, 1, 2, 3, 4)]
        assert kept == [False, False, False, True, True], "the oldest went"
        assert await store.idempotency("s", "more 2") is not None
        assert await store.commit([keyed_event(1, key="0")]) == [1]
