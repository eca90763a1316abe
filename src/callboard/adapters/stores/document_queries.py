"""Queries of documents of users. Each write is safe to repeat, as after a commit with an unknown result."""

from typing import Any

from sqlalchemy import Connection, Select, delete, func, select, text, update

from ...storage.document_records import CollectionLimits, DocumentRow, DocumentWrite
from ...storage.errors import Conflict
from ...storage.text import is_storable
from .tables import columns_of, documents

_DOCUMENT = select(*columns_of(documents, DocumentRow))
_INSERT = text(
    "INSERT INTO documents (user_id, collection, key, version, updated_at, writer, size, value)"
    " VALUES (:user_id, :collection, :key, :version, :updated_at, :writer, :size, :value)"
    " ON CONFLICT DO NOTHING"
)


def put(
    connection: Connection, user_id: str, collection: str, write: DocumentWrite, limits: CollectionLimits
) -> DocumentRow:
    """See `DocumentRecords.put_document`."""
    if not all(map(is_storable, (user_id, collection, write.key, write.writer))):
        raise Conflict("The name of the document has a character that no database can hold.")
    place = {"user_id": user_id, "collection": collection, "key": write.key}
    here = [documents.c[name] == value for name, value in place.items()]
    while True:
        stored = _row(connection, _DOCUMENT.where(*here).with_for_update())
        written = write.apply(stored)
        if written is stored:
            return written
        total = select(func.count(), func.coalesce(func.sum(documents.c.size), 0)).where(*here[:2])
        count, size = connection.execute(total).one()
        limits.check(count, int(size), stored, written)
        values = {
            "version": written.version,
            "updated_at": written.updated_at,
            "writer": written.writer,
            "size": len(written.value),
            "value": written.value.decode(),
        }
        if stored is not None:
            connection.execute(update(documents).where(*here).values(values))
            return written
        if connection.execute(_INSERT, place | values).rowcount == 1:
            return written
        # Another process has just stored a document with this key: look at it.


def find(connection: Connection, user_id: str, collection: str, key: str) -> DocumentRow | None:
    """See `DocumentRecords.document`."""
    return _row(connection, _of_collection(user_id, collection).where(documents.c.key == key))


def listed(
    connection: Connection, user_id: str, collection: str, prefix: str, after: str, limit: int
) -> list[DocumentRow]:
    """See `DocumentRecords.documents`."""
    if not (is_storable(prefix) and is_storable(after)):
        return []
    statement = _of_collection(user_id, collection).where(documents.c.key > after, documents.c.key >= prefix)
    if prefix:
        statement = statement.where(func.substr(documents.c.key, 1, len(prefix)) == prefix)
    rows = connection.execute(statement.order_by(documents.c.key).limit(limit))
    return [_document_row(**row) for row in rows.mappings()]


def remove(connection: Connection, user_id: str, collection: str, key: str) -> bool:
    """See `DocumentRecords.delete_document`."""
    here = documents.c.user_id == user_id, documents.c.collection == collection, documents.c.key == key
    return connection.execute(delete(documents).where(*here)).rowcount == 1


def _of_collection(user_id: str, collection: str) -> Select[*tuple[Any, ...]]:
    return _DOCUMENT.where(documents.c.user_id == user_id, documents.c.collection == collection)


def _row(connection: Connection, statement: Select[*tuple[Any, ...]]) -> DocumentRow | None:
    row = connection.execute(statement).mappings().one_or_none()
    return None if row is None else _document_row(**row)


def _document_row(*, value: str, **fields: Any) -> DocumentRow:
    return DocumentRow(value=value.encode(), **fields)
