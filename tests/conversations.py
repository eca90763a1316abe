"""Long conversations, made from one real turn: its rows, entries and events are written again with other ids."""

from collections.abc import Sequence
from dataclasses import replace

from callboard.adapters.stores import open_store
from callboard.chat.transcript import Entry, Input, TurnStart, decode_entry, encode_entry
from callboard.storage.change import Change, ExecutionWrite, TurnWrite
from callboard.storage.rows import ExecutionRow, InputRow, TurnRow

AT_ONCE = 100
"""Turns that are written in one transaction."""


async def repeat_turn(store: str, session_id: str, turns: int) -> None:
    """Repeat the only turn of a conversation until it has `turns` turns. No process may have the session open."""
    opened = open_store(store)
    await opened.open(lambda *_: None)
    try:
        entries = await opened.transcript(session_id)
        inputs = [entry.id for entry in map(decode_entry, entries) if isinstance(entry, Input)]
        turn = await opened.turn(session_id, 1)
        assert turn is not None
        first = _Turn(
            turn,
            await opened.inputs(session_id, inputs),
            await opened.executions(session_id),
            entries,
            (await opened.events(session_id, 0, 10_000)).lines,
        )
        for start in range(2, turns + 1, AT_ONCE):
            numbers = range(start, min(start + AT_ONCE, turns + 1))
            for done in await opened.commit([first.copy(session_id, number) for number in numbers]):
                assert isinstance(done, int), done
    finally:
        await opened.close()


class _Turn:
    """Everything that is stored of one turn."""

    def __init__(
        self,
        turn: TurnRow,
        inputs: Sequence[InputRow],
        calls: Sequence[ExecutionRow],
        entries: Sequence[bytes],
        events: Sequence[bytes],
    ) -> None:
        self._turn, self._inputs, self._calls, self._entries, self._events = turn, inputs, calls, entries, events
        ids = {each for row in calls for each in (row.id, row.call_id)}
        self._ids = ids | {row.id for row in inputs} | {turn.turn_id}

    def copy(self, session_id: str, number: int) -> Change:
        """Copy the turn under another number."""
        turn = replace(self._turn, turn_id=f"{self._turn.turn_id}_{number}", number=number)
        calls = (replace(row, id=f"{row.id}_{number}", call_id=f"{row.call_id}_{number}") for row in self._calls)
        return Change(
            session_id,
            turns=[TurnWrite(turn, new=True)],
            inputs=[replace(row, id=f"{row.id}_{number}") for row in self._inputs],
            executions=[ExecutionWrite(row, new=True) for row in calls],
            transcript=[self._entry(line, number) for line in self._entries],
            events=[self._renamed(line, number) for line in self._events],
        )

    def _entry(self, line: bytes, number: int) -> bytes:
        entry: Entry | None = decode_entry(self._renamed(line, number))
        assert entry is not None
        if isinstance(entry, TurnStart):
            entry = replace(entry, number=number)
        elif isinstance(entry, Input):
            entry = replace(entry, seq=entry.seq + (number - 1) * len(self._events))
        return encode_entry(entry)

    def _renamed(self, line: bytes, number: int) -> bytes:
        for each in self._ids:
            line = line.replace(f'"{each}"'.encode(), f'"{each}_{number}"'.encode())
        return line
