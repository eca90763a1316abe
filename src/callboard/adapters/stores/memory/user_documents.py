"""Documents of users, in memory."""

from ....storage.document_records import CollectionLimits, DocumentRow, DocumentWrite
from ....storage.errors import Conflict
from ....storage.text import is_storable
from .state import MemoryState


class MemoryDocuments:
    """`DocumentRecords` in memory."""

    _state: MemoryState

    async def put_document(
        self, user_id: str, collection: str, write: DocumentWrite, limits: CollectionLimits
    ) -> DocumentRow:
        if not all(map(is_storable, (user_id, collection, write.key, write.writer))):
            raise Conflict("The name of the document has a character that no database can hold.")
        return self._state.put_document(user_id, collection, write, limits)

    async def document(self, user_id: str, collection: str, key: str) -> DocumentRow | None:
        return self._collection(user_id, collection).get(key)

    async def documents(
        self, user_id: str, collection: str, *, prefix: str = "", after: str = "", limit: int = 100
    ) -> list[DocumentRow]:
        known = self._collection(user_id, collection)
        return [known[key] for key in sorted(known) if key > after and key.startswith(prefix)][:limit]

    async def delete_document(self, user_id: str, collection: str, key: str) -> bool:
        known = self._collection(user_id, collection)
        existed = known.pop(key, None) is not None
        if not known:
            self._state.documents.pop((user_id, collection), None)
        return existed

    def _collection(self, user_id: str, collection: str) -> dict[str, DocumentRow]:
        return self._state.documents.get((user_id, collection), {})
