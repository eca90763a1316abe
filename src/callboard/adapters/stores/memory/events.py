"""Events in memory."""

from collections.abc import Collection
from itertools import accumulate

from ....storage.event_log import PAGE_BYTES, Head, Page
from ..event_header import event_header, input_id
from .state import MemoryPart


class MemoryEventLog(MemoryPart):
    """`EventLog` in memory."""

    async def events(self, session_id: str, after: int, limit: int, *, max_bytes: int = PAGE_BYTES) -> Page:
        session = self._session(session_id)
        if session is None:
            return Page(after + 1, [], 1, 0)
        first = max(after + 1, session.first_seq)
        start = first - session.first_seq
        lines = session.events[start : start + limit]
        sizes = accumulate(map(len, lines))
        del lines[next((number for number, size in enumerate(sizes, 1) if size >= max_bytes), len(lines)) :]
        return Page(first, lines, session.first_seq, session.last_seq)

    async def heads(self, session_ids: Collection[str]) -> dict[str, Head]:
        found = ((session_id, self._session(session_id)) for session_id in session_ids)
        return {session_id: Head(session.last_seq, session.made_at) for session_id, session in found if session}

    async def trim(self, session_id: str, *, keep: int, before: float) -> int:
        session = self._session(session_id)
        if session is None:
            return 1
        gone = max(0, len(session.events) - keep)
        while gone < len(session.events) and event_header(session.events[gone]).at < before:
            gone += 1
        pending = {row.id for row in session.inputs.values() if row.delivered_at is None}
        if pending:
            gone = next((place for place, line in enumerate(session.events[:gone]) if input_id(line) in pending), gone)
        del session.events[:gone]
        session.first_seq += gone
        return session.first_seq
