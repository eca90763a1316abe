"""Documents of users compared with a dictionary: the same steps give the same results (K4)."""

from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from callboard.storage.document_records import CollectionLimits, DocumentConflict, DocumentRow, DocumentsFull
from callboard.storage.store import Store
from callboard.testing.store_rows import NOW, document_write
from tests.examples import examples

pytestmark = pytest.mark.anyio

USERS = ("ann", "bob")
COLLECTIONS = ("c", "d")
KEYS = ("a", "ab", "B", "b%", "é")
LIMITS = CollectionLimits(3, 12)


class Step(NamedTuple):
    """A write or a deletion."""

    user: str
    collection: str
    key: str
    delete: bool
    value: bytes
    expected: int | None
    writer: str


STEPS = st.lists(
    st.builds(
        Step,
        user=st.sampled_from(USERS),
        collection=st.sampled_from(COLLECTIONS),
        key=st.sampled_from(KEYS),
        delete=st.sampled_from([False, False, False, True]),
        value=st.sampled_from([b"1", b"22", b"55555", b'"a very long text"']),
        expected=st.sampled_from([None, None, 0, 0, 1, 1, 2, 3]),
        writer=st.sampled_from(["x", "y"]),
    ),
    max_size=20,
)

Model = dict[tuple[str, str], dict[str, tuple[bytes, int, str]]]


def expected_result(model: Model, step: Step) -> Any:
    """Carry out a step in the model. Return what a store returns, or the name of its error."""
    mine = model.setdefault((step.user, step.collection), {})
    known = mine.get(step.key)
    if step.delete:
        return mine.pop(step.key, None) is not None
    version = known[1] if known else 0
    if step.expected is not None and step.expected != version:
        return version if known == (step.value, step.expected + 1, step.writer) else "DocumentConflict"
    old = len(known[0]) if known else 0
    size = sum(len(value) for value, _, _ in mine.values()) - old + len(step.value)
    if (known is None and len(mine) == LIMITS.max_documents) or (len(step.value) > old and size > LIMITS.max_bytes):
        return "DocumentsFull"
    mine[step.key] = step.value, version + 1, step.writer
    return version + 1


async def result(store: Store, step: Step) -> Any:
    if step.delete:
        return await store.delete_document(step.user, step.collection, step.key)
    write = document_write(step.key, step.value, step.expected, writer=step.writer)
    try:
        return (await store.put_document(step.user, step.collection, write, LIMITS)).version
    except (DocumentConflict, DocumentsFull) as error:
        return type(error).__name__


@given(steps=STEPS, prefix=st.sampled_from(["", "a", "b", "é"]), after=st.sampled_from(["", *KEYS]))
@examples(40, 500, suppress=[HealthCheck.function_scoped_fixture])
async def test_k4_documents_are_those_of_a_dictionary(store: Store, steps: list[Step], prefix: str, after: str) -> None:
    model: Model = {}
    for user in USERS:  # of the example before
        for collection in COLLECTIONS:
            for row in await store.documents(user, collection):
                await store.delete_document(user, collection, row.key)
    for step in steps:
        assert await result(store, step) == expected_result(model, step)
    for user in USERS:
        for collection in COLLECTIONS:
            rows = [
                DocumentRow(key=key, value=value, version=version, updated_at=NOW, writer=writer)
                for key, (value, version, writer) in sorted(model.get((user, collection), {}).items())
            ]
            assert await store.documents(user, collection) == rows
            wanted = [row for row in rows if row.key.startswith(prefix) and row.key > after]
            assert await store.documents(user, collection, prefix=prefix, after=after, limit=2) == wanted[:2]
            for key in KEYS:
                found = next((row for row in rows if row.key == key), None)
                assert await store.document(user, collection, key) == found
