"""The documents of a user, in the store: checks what is written and asked, and translates errors for the model.

`ToolContext.documents` returns it. Below it is the port `storage.document_records`.
"""

import builtins
import re
from typing import Any

from pydantic_core import PydanticSerializationError, from_json, to_json

from ..clock import Clock
from ..errors import ErrorCategory, ToolError
from ..jsonrules.depth import MAX_DEPTH, exceeds_depth
from ..jsonrules.readability import check_readability
from ..storage.document_records import (
    CollectionLimits,
    DocumentConflict,
    DocumentRecords,
    DocumentRow,
    DocumentsFull,
    DocumentWrite,
)
from ..storage.errors import Conflict
from ..user_documents import Document, DocumentChanged
from .store_availability import available

MAX_DOCUMENTS = 10_000
"""The number of documents that a user can have in a collection."""
MAX_COLLECTION_BYTES = 64 * 1024 * 1024
"""The number of bytes of these documents together, as JSON."""
MAX_VALUE_BYTES = 256 * 1024
"""The number of bytes of a value, as JSON."""
MAX_KEY = 200
"""The number of characters of a key."""
MAX_LIMIT = 100
"""The number of documents that are returned at once."""
MAX_VERSION = 2**62
"""A number beyond every version."""

_COLLECTION = re.compile(r"[a-z0-9_.-]{1,64}")


class StoredDocuments:
    """The documents of one user, as a call sees them. See `UserDocuments`."""

    def __init__(self, records: DocumentRecords, clock: Clock, user_id: str, writer: str) -> None:
        self._records = records
        self._clock = clock
        self._user_id = user_id
        self._writer = writer

    async def get(self, collection: str, key: str) -> Document | None:
        _check_names(collection, key)
        with available("The documents are"):
            row = await self._records.document(self._user_id, collection, key)
        return None if row is None else _document(row)

    async def put(self, collection: str, key: str, value: Any, *, version: int | None = None) -> Document:
        _check_names(collection, key)
        if version is not None and not (_is_whole(version) and 0 <= version < MAX_VERSION):
            raise _invalid("version", f"is {version!r}. Give that of a document, 0 for a new one, or None for any.")
        write = DocumentWrite(
            key=key, value=_encoded(value), at=self._clock.time(), writer=self._writer, expected=version
        )
        limits = CollectionLimits(MAX_DOCUMENTS, MAX_COLLECTION_BYTES)
        try:
            with available("The documents are"):
                row = await self._records.put_document(self._user_id, collection, write, limits)
        except DocumentConflict as error:
            raise DocumentChanged(collection, key, version or 0, error.version) from error
        except DocumentsFull as error:
            raise ToolError(
                f"The document cannot be stored in {collection!r}. {error} Delete documents first.",
                category=ErrorCategory.RESOURCE,
            ) from error
        except Conflict as error:
            raise ToolError("The document cannot be stored.", report=str(error)) from error
        return _document(row)

    async def delete(self, collection: str, key: str) -> bool:
        _check_names(collection, key)
        with available("The documents are"):
            return await self._records.delete_document(self._user_id, collection, key)

    async def list(
        self, collection: str, *, prefix: str = "", after: str | None = None, limit: int = 100
    ) -> builtins.list[Document]:
        _check_names(collection)
        for name, text in (("prefix", prefix), ("after", after or "")):
            if text and not _is_key(text):
                raise _invalid(name, f"must have at most {MAX_KEY} printable characters.")
        if not _is_whole(limit):
            raise _invalid("limit", f"is {limit!r}; it must be a whole number.")
        most = max(0, min(limit, MAX_LIMIT))
        with available("The documents are"):
            rows = await self._records.documents(
                self._user_id, collection, prefix=prefix, after=after or "", limit=most
            )
        return [_document(row) for row in rows]


def _encoded(value: Any) -> bytes:
    """Return a value as JSON text that every reader accepts."""
    try:
        written = to_json(value)
    except (PydanticSerializationError, RecursionError, ValueError) as error:
        problem = "it contains a value that is not JSON data, a lone surrogate, or itself"
        raise _invalid("value", f"cannot be written as JSON: {problem}.", report=str(error)) from error
    try:
        check_readability(written)
    except ValueError as error:
        raise _invalid("value", f"cannot be written as JSON: {error}.") from error
    if len(written) > MAX_VALUE_BYTES:
        raise _invalid("value", f"has {len(written):,} bytes as JSON; at most {MAX_VALUE_BYTES:,} are allowed.")
    if exceeds_depth(written, MAX_DEPTH):
        raise _invalid("value", f"has more than {MAX_DEPTH} levels of arrays and objects.")
    return written


def _document(row: DocumentRow) -> Document:
    return Document(key=row.key, value=from_json(row.value), version=row.version, updated_at=row.updated_at)


def _check_names(collection: Any, key: Any = "k") -> None:
    if not (isinstance(collection, str) and _COLLECTION.fullmatch(collection)):
        raise _invalid("collection", "must have 1 to 64 characters of a-z, 0-9, _, . and -.")
    if not _is_key(key):
        raise _invalid("key", f"must have 1 to {MAX_KEY} printable characters.")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_key(text: Any) -> bool:
    return isinstance(text, str) and 0 < len(text) <= MAX_KEY and text.isprintable()


def _invalid(name: str, problem: str, report: str | None = None) -> ToolError:
    return ToolError(f"{name} {problem}", category=ErrorCategory.VALIDATION, report=report)
