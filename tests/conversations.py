"""Long conversations, made of one turn that was held: its rows, entries and events are written again with other ids."""

from collections.abc import Sequence
from dataclasses import replace

from callboard.adapters.stores import open_store
from callboard.chat.rows import turn_call
from callboard.chat.transcript import Began, Entry, Input, decode_entry, encode_entry
from callboard.storage.port import Change, ExecutionWrite
from callboard.storage.rows import INPUT, TURN, ExecutionRow

AT_ONCE = 100
"""How many turns are written in one transaction."""


async def repeat_turn(store: str, session_id: str, turns: int) -> None:
    """Lengthen a conversation of one turn to so many, as if each had been held. No process may have it open."""
    opened = open_store(store)
    await opened.open(lambda woken: None)
    try:
        first = _Turn(
            await opened.executions(session_id),
            await opened.transcript(session_id),
            (await opened.events(session_id, 0, 10_000)).lines,
        )
        for start in range(2, turns + 1, AT_ONCE):
            numbers = range(start, min(start + AT_ONCE, turns + 1))
            for done in await opened.commit([first.again(session_id, number) for number in numbers]):
                assert isinstance(done, int), done
    finally:
        await opened.close()


class _Turn:
    """All that is stored of one turn."""

    def __init__(self, rows: Sequence[ExecutionRow], entries: Sequence[bytes], events: Sequence[bytes]) -> None:
        self._rows, self._entries, self._events = rows, entries, events
        assert [row.kind for row in rows].count(TURN) == 1
        calls = {each for row in rows if row.is_call for each in (row.id, row.call_id)}
        self._ids = calls | {row.turn_id if row.kind == TURN else row.id for row in rows if not row.is_call}

    def again(self, session_id: str, number: int) -> Change:
        """The same turn as the one of another number."""
        return Change(
            session_id,
            executions=[ExecutionWrite(self._row(row, number), new=True) for row in self._rows],
            transcript=[self._entry(line, number) for line in self._entries],
            events=[self._renamed(line, number) for line in self._events],
        )

    def _row(self, row: ExecutionRow, number: int) -> ExecutionRow:
        if row.kind == TURN:
            return replace(row, id=f"{row.turn_id}_{number}.{number}", call_id=turn_call(number))
        call_id = f"\x1f{row.id}_{number}" if row.kind == INPUT else f"{row.call_id}_{number}"
        return replace(row, id=f"{row.id}_{number}", call_id=call_id)

    def _entry(self, line: bytes, number: int) -> bytes:
        entry: Entry | None = decode_entry(self._renamed(line, number))
        assert entry is not None
        if isinstance(entry, Began):
            entry = replace(entry, number=number)
        elif isinstance(entry, Input):
            entry = replace(entry, seq=entry.seq + (number - 1) * len(self._events))
        return encode_entry(entry)

    def _renamed(self, line: bytes, number: int) -> bytes:
        for each in self._ids:
            line = line.replace(f'"{each}"'.encode(), f'"{each}_{number}"'.encode())
        return line
