"""Documents of a user: small JSON values that tools keep. Values, and the port that a handler uses.

A handler gets the port as `ToolContext.documents`, bound to the user of its call. Stores keep the values; see
`storage.document_records`. Notes, which people and models read and search, are in `user_memory`.
"""

import builtins
from dataclasses import dataclass
from typing import Any, Protocol

from .errors import ToolError


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A stored document of a user."""

    key: str
    value: Any
    """The JSON value."""
    version: int
    """1 for a new document, and one more after each write."""
    updated_at: float
    """When the document was last written, in seconds since 1970."""


class DocumentChanged(ToolError):
    """A document does not have the version that a write expected. Nothing was written."""

    code = "document_changed"

    def __init__(self, collection: str, key: str, expected: int, version: int) -> None:
        if expected == 0:
            problem = "exists already"
        elif version == 0:
            problem = "no longer exists"
        else:
            problem = f"was changed meanwhile: its version is {version}, and not {expected}"
        super().__init__(f"The document {key!r} in {collection!r} {problem}. Nothing was written. Read it again.")
        self.collection = collection
        self.key = key
        self.version = version
        """The version that is stored; 0 if the document does not exist."""


class UserDocuments(Protocol):
    """The documents of one user, in collections. Every method raises `ToolError`, with a message for the model.

    A collection is named by 1 to 64 characters of `a-z`, `0-9`, `_`, `.` and `-`, and exists while it has documents. A
    key has 1 to 200 printable characters. The category of the error is `validation` for any other name, and `transient`
    if the store does not answer: a write may then be stored, now or later.
    """

    async def get(self, collection: str, key: str) -> Document | None:
        """Return a document; None if it does not exist."""
        ...

    async def put(self, collection: str, key: str, value: Any, *, version: int | None = None) -> Document:
        """Write a document, and return it as it is stored.

        With a `version`, the document is written only if it has that version, and with 0 only if it does not exist.
        Otherwise `DocumentChanged` is raised. Of several calls that write with the same version, one succeeds. A call
        that repeats its own last write, as a retry after a lost confirmation does, succeeds and changes nothing.

        The category of the error is `validation` for a value that JSON cannot express, or that is too large or nested
        too deeply, and `resource` if the collection is full.
        """
        ...

    async def delete(self, collection: str, key: str) -> bool:
        """Delete a document. Return whether it existed. A new document with this key begins with version 1."""
        ...

    async def list(
        self, collection: str, *, prefix: str = "", after: str | None = None, limit: int = 100
    ) -> builtins.list[Document]:
        """Return the first documents of a collection in the order of their keys, at most 100.

        With a `prefix`, only documents whose keys begin with it are returned; with `after`, only those after that key.
        """
        ...
