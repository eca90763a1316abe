"""Contract of a store: documents are kept per user and collection, and a write can expect a version."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from ...storage.document_records import (
    CollectionLimits,
    DocumentConflict,
    DocumentRow,
    DocumentsFull,
    DocumentWrite,
)
from ...storage.errors import Conflict
from ...storage.store import Store
from ..store_rows import NOW, ROOMY, document_row, document_write
from .contract import Contract
from .documents import DOCUMENTS, UNSTORABLE

ODD_KEYS = ["a", "A", "a%", "a_b", "a\\", "aé", "a'\"; --", "a\U0001f600", "a\uffee", "b", "é", "\ue000", "\U0001f600"]
"""Keys that databases may compare in another way, in no special order."""


async def put(store: Store, write: DocumentWrite, user_id: str = "ann", collection: str = "c") -> DocumentRow:
    return await store.put_document(user_id, collection, write, ROOMY)


async def keys(store: Store, prefix: str = "", after: str = "", limit: int = 100) -> list[str]:
    return [row.key for row in await store.documents("ann", "c", prefix=prefix, after=after, limit=limit)]


async def only_winner(user_id: str, writes: Sequence[tuple[Store, DocumentWrite]]) -> DocumentRow:
    """Write at the same time. Return the document of the only call that succeeds.

    A call may write through several stores: it is successful in all of them, or in none.
    """
    results = await asyncio.gather(*(put(store, write, user_id) for store, write in writes), return_exceptions=True)
    successful: set[str] = set()
    refused: set[str] = set()
    rows: list[DocumentRow] = []
    for (_, write), result in zip(writes, results, strict=True):
        if isinstance(result, DocumentRow):
            successful.add(write.writer)
            rows.append(result)
        else:
            assert isinstance(result, DocumentConflict), result
            refused.add(write.writer)
    assert len(successful) == 1
    assert successful.isdisjoint(refused)
    assert all(row == rows[0] for row in rows)
    return rows[0]


class UserDocumentContract(Contract):
    async def test_k4_document_is_read_as_it_was_written(self, store: Store) -> None:
        write = document_write("k ä\U0001f511", b'{"b": [1.0, -0.0], "a":"\\u0000"}', at=NOW + 0.125, writer="call")
        row = document_row(write.key, write.value, updated_at=write.at, writer="call")
        assert await put(store, write) == row
        assert await store.document("ann", "c", write.key) == row
        assert await store.documents("ann", "c") == [row]

    @pytest.mark.parametrize("name", [name for name in DOCUMENTS if name != "much"])
    async def test_k4_values_are_never_altered(self, store: Store, name: str) -> None:
        value = DOCUMENTS[name].encode()
        await put(store, document_write(value=value))
        row = await store.document("ann", "c", "k")
        assert row is not None
        assert row.value == value

    async def test_k4_every_write_counts_the_version_up(self, store: Store) -> None:
        for number in range(1, 4):
            write = document_write(value=b"%d" % number, at=NOW + number, writer=f"w{number}")
            assert (await put(store, write)).version == number
        row = document_row(value=b"3", version=3, updated_at=NOW + 3, writer="w3")
        assert await store.document("ann", "c", "k") == row

    async def test_k4_write_with_another_version_than_the_stored_one_is_refused(self, store: Store) -> None:
        for expected in (1, 7):
            with pytest.raises(DocumentConflict) as caught:
                await put(store, document_write(expected=expected))
            assert caught.value.version == 0
        assert await store.documents("ann", "c") == []
        await put(store, document_write(expected=0))
        await put(store, document_write(value=b"2", expected=1))
        for expected in (0, 1, 3):
            with pytest.raises(DocumentConflict) as caught:
                await put(store, document_write(value=b"9", expected=expected))
            assert caught.value.version == 2
        assert await store.documents("ann", "c") == [document_row(value=b"2", version=2)]
        assert (await put(store, document_write(value=b"9", expected=2))).version == 3

    async def test_k4_write_that_is_repeated_changes_nothing(self, store: Store) -> None:
        for expected in range(3):
            write = document_write(value=b"[%d]" % expected, expected=expected, at=NOW + expected)
            first = await put(store, write)
            assert await put(store, replace(write, at=NOW + 9)) == first
            for other in (replace(write, writer="y"), replace(write, value=b"5")):
                with pytest.raises(DocumentConflict):
                    await put(store, other)
            assert await store.documents("ann", "c") == [first]
        await put(store, document_write(value=b"9"))
        with pytest.raises(DocumentConflict):
            await put(store, document_write(value=b"[2]", expected=2, at=NOW + 2))

    async def test_k4_one_of_several_calls_that_expect_a_version_writes(self, store: Store) -> None:
        for number in range(10):
            writes = [(store, document_write(expected=number, writer=f"w{each}")) for each in range(5)]
            assert (await only_winner("ann", writes)).version == number + 1

    async def test_k4_no_write_is_lost_among_many(self, store: Store) -> None:
        async def increment(writer: str) -> None:
            while True:
                row = await store.document("ann", "c", "k")
                value, version = (0, 0) if row is None else (int(row.value), row.version)
                try:
                    await put(store, document_write(value=b"%d" % (value + 1), expected=version, writer=writer))
                    return
                except DocumentConflict:
                    continue

        await asyncio.gather(*(increment(f"w{number}") for number in range(12)))
        row = await store.document("ann", "c", "k")
        assert row is not None
        assert (row.value, row.version) == (b"12", 12)

    async def test_k4_writes_without_a_version_at_once_are_all_carried_out(self, store: Store) -> None:
        rows = await asyncio.gather(*(put(store, document_write(writer=f"w{number}")) for number in range(10)))
        assert sorted(row.version for row in rows) == list(range(1, 11))

    async def test_k4_other_users_and_collections_do_not_see_a_document(self, store: Store) -> None:
        await put(store, document_write(value=b'"secret"'))
        for user, collection in (("bob", "c"), ("ANN", "c"), ("ann ", "c"), ("", "c"), ("ann", "d"), ("ann", "")):
            assert await store.document(user, collection, "k") is None
            assert await store.documents(user, collection) == []
            assert not await store.delete_document(user, collection, "k")
        await put(store, document_write(value=b"2", expected=0), "bob")
        await put(store, document_write(value=b"3", expected=0), "ann", "d")
        assert await store.documents("ann", "c") == [document_row(value=b'"secret"')]
        assert await store.documents("bob", "c") == [document_row(value=b"2")]

    async def test_k4_documents_are_listed_by_key_in_pages(self, store: Store) -> None:
        for key in ODD_KEYS:
            await put(store, document_write(key))
        ordered = sorted(ODD_KEYS)
        assert await keys(store) == ordered
        assert await keys(store, limit=3) + await keys(store, after=ordered[2]) == ordered
        assert await keys(store, after="a%%") == [key for key in ordered if key > "a%%"]
        for prefix in ("a", "A", "a%", "a_", "_", "a\\", "\U0001f600", "aa", "\U0010ffff", "é"):
            assert await keys(store, prefix) == [key for key in ordered if key.startswith(prefix)]
        among = [key for key in ordered if key.startswith("a")]
        assert await keys(store, "a", among[1], 2) == among[2:4]
        assert await keys(store, "a", "b") == await keys(store, limit=0) == []

    async def test_k4_deleted_document_is_gone(self, store: Store) -> None:
        await put(store, document_write())
        await put(store, document_write(value=b"2"))
        assert await store.delete_document("ann", "c", "k")
        assert not await store.delete_document("ann", "c", "k")
        assert await store.document("ann", "c", "k") is None
        with pytest.raises(DocumentConflict):
            await put(store, document_write(expected=2))
        assert (await put(store, document_write(expected=0))).version == 1

    async def test_k4_number_of_documents_is_limited_per_user_and_collection(self, store: Store) -> None:
        limits = CollectionLimits(2, 100)
        for key in ("a", "b"):
            await store.put_document("ann", "c", document_write(key), limits)
        for expected in (None, 0):
            with pytest.raises(DocumentsFull, match="has 2 documents"):
                await store.put_document("ann", "c", document_write("d", expected=expected), limits)
        with pytest.raises(DocumentConflict):
            await store.put_document("ann", "c", document_write("d", expected=1), limits)
        await store.put_document("bob", "c", document_write("d"), limits)
        await store.put_document("ann", "other", document_write("d"), limits)
        await store.put_document("ann", "c", document_write("a", b"2", expected=1), limits)
        assert await store.delete_document("ann", "c", "b")
        await store.put_document("ann", "c", document_write("d"), limits)
        assert await keys(store) == ["a", "d"]

    async def test_k4_size_of_a_collection_is_limited(self, store: Store) -> None:
        limits = CollectionLimits(9, 10)
        await store.put_document("ann", "c", document_write("a", b"12345"), limits)
        await store.put_document("ann", "c", document_write("b", '"ä"'.encode()), limits)
        with pytest.raises(DocumentsFull, match="would have 11 bytes; at most 10"):
            await store.put_document("ann", "c", document_write("d", b"12"), limits)
        with pytest.raises(DocumentsFull, match="would have 11 bytes"):
            await store.put_document("ann", "c", document_write("a", b"1234567"), limits)
        await store.put_document("ann", "c", document_write("a", b"123456"), limits)
        smaller = CollectionLimits(1, 1)
        await store.put_document("ann", "c", document_write("a", b"654321"), smaller)
        await store.put_document("bob", "c", document_write("a", b"1"), smaller)
        assert [row.value for row in await store.documents("ann", "c")] == [b"654321", '"ä"'.encode()]

    @pytest.mark.parametrize("name", UNSTORABLE)
    async def test_k4_names_that_no_database_can_hold_are_refused_and_not_found(self, store: Store, name: str) -> None:
        await put(store, document_write())
        for user, collection, key in ((name, "c", "k"), ("ann", name, "k"), ("ann", "c", name)):
            with pytest.raises(Conflict) as caught:
                await put(store, document_write(key), user, collection)
            assert caught.value.code == "conflict"
            assert await store.document(user, collection, key) is None
            assert not await store.delete_document(user, collection, key)
        assert await store.documents(name, "c") == await store.documents("ann", name) == []
        assert await keys(store, prefix=name) == []
        assert await keys(store) == ["k"]
