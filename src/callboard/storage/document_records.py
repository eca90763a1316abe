"""The port of the documents of users, and what a write to a document does."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from .errors import Conflict


class DocumentConflict(Conflict):
    """A document does not have the version that a write expected. Nothing was written."""

    code = "document_conflict"

    def __init__(self, version: int) -> None:
        super().__init__(f"The document has version {version}." if version else "The document does not exist.")
        self.version = version
        """The version that is stored; 0 if the document does not exist."""


class DocumentsFull(Conflict):
    """A collection has as many documents, or bytes, as are allowed. Nothing was written."""

    code = "documents_full"


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentRow:
    """A stored document."""

    key: str
    value: bytes
    """The JSON text of the value. It is returned byte for byte."""
    version: int
    updated_at: float
    writer: str
    """The call that wrote it last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentWrite:
    """A write to a document."""

    key: str
    value: bytes
    at: float
    """The time of the write, in seconds since 1970."""
    writer: str
    """The call that writes."""
    expected: int | None = None
    """The version that the document must have; 0: it must not exist; None: any."""

    def apply(self, stored: DocumentRow | None) -> DocumentRow:
        """Return the document after this write. Raises `DocumentConflict` if it does not have the expected version.

        It is `stored` itself if this write was carried out before, and its result was lost.
        """
        version = 0 if stored is None else stored.version
        if self.expected is not None and version != self.expected:
            mine = self.expected + 1, self.writer, self.value
            if stored is not None and (stored.version, stored.writer, stored.value) == mine:
                return stored
            raise DocumentConflict(version)
        return DocumentRow(key=self.key, value=self.value, version=version + 1, updated_at=self.at, writer=self.writer)


class CollectionLimits(NamedTuple):
    """Limits for the documents of a user in one collection."""

    max_documents: int
    max_bytes: int
    """Bytes of all values together."""

    def check(self, documents: int, size: int, stored: DocumentRow | None, written: DocumentRow) -> None:
        """Raise `DocumentsFull` if a collection of this many documents and bytes has no room for a write.

        `stored` is the document that is replaced. A document that does not grow always fits.
        """
        if stored is None and documents >= self.max_documents:
            raise DocumentsFull(f"The collection has {documents:,} documents, which is the largest number.")
        growth = len(written.value) - (0 if stored is None else len(stored.value))
        if growth > 0 and size + growth > self.max_bytes:
            raise DocumentsFull(
                f"The collection would have {size + growth:,} bytes; at most {self.max_bytes:,} are allowed."
            )


class DocumentRecords(Protocol):
    """Stores the documents of users. A method sees the documents of the named user and collection only."""

    async def put_document(
        self, user_id: str, collection: str, write: DocumentWrite, limits: CollectionLimits
    ) -> DocumentRow:
        """Carry out a write, as `DocumentWrite.apply` defines it, and return the document.

        Raises `DocumentConflict`; of several writes that expect the same version, one succeeds. Raises `DocumentsFull`;
        processes that write at the same moment can exceed a limit by one document each. Raises `Conflict` for a name
        that no store can hold.
        """
        ...

    async def document(self, user_id: str, collection: str, key: str) -> DocumentRow | None:
        """Return a document; None if it does not exist."""
        ...

    async def documents(
        self, user_id: str, collection: str, *, prefix: str = "", after: str = "", limit: int = 100
    ) -> list[DocumentRow]:
        """Return the first `limit` documents after a key, by key; with a prefix, only keys that begin with it."""
        ...

    async def delete_document(self, user_id: str, collection: str, key: str) -> bool:
        """Delete a document. Return whether it existed."""
        ...
