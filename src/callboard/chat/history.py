"""The transcript of a session as far as this process has read it, and the inputs that are not in it yet.

Only the turn that holds the lease writes the transcript. Inputs go to the board first, in any process, and enter the
transcript when a turn delivers them.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from pydantic_ai.messages import ToolCallPart

from ..events.event import Event
from ..events.kinds import EventKind
from ..sessions.conversation_scope import ConversationScope
from ..storage.change import Change, Delivery, TurnWrite
from ..turns import Turn, TurnStatus, Usage
from .completion import used_by
from .messages import Positioned
from .rendering import Rendering
from .transcript import Began, Entry, Input, Noted, Said, decode_entry, encode_entry

SLICE = 50
"""The number of stored entries that are decoded at once."""


class History:
    """The transcript of one session, and how far its board was searched for inputs."""

    def __init__(self, scope: ConversationScope) -> None:
        self._scope = scope
        self.entries: list[Entry] = []
        self._positions: list[int] = []
        """The position of each entry in the stored transcript."""
        self.rendering = Rendering()
        """The entries as a model reads them."""
        self.inputs: list[Input | Noted] = []
        """Undelivered inputs and notes, in order."""
        self.used = Usage()
        """The usage of all turns."""
        self.responses = 0
        """The number of the model's responses in the transcript."""
        self.began = 0
        """The number of the newest turn."""
        self.turn_id: str | None = None
        """The id of the newest turn."""
        self._lock = asyncio.Lock()
        """Held while the transcript is read or written."""
        self._of_turn = Usage()
        self._turns: set[str] = set()
        self._loaded = False
        self._read = 0
        """The number of stored entries that were read, including those of a newer version."""
        self._searched = 0
        """The number of the last event that was searched for inputs."""

    def turns_with(self, turn_id: str) -> int:
        """The number of turns, including this one. A turn that resumed after a pause counts once."""
        return len(self._turns) + (turn_id not in self._turns)

    def used_by(self, turn_id: str) -> Usage:
        """The usage of a turn, if it is the newest one."""
        return self._of_turn if turn_id == self.turn_id else Usage()

    @property
    def delivered(self) -> int:
        """The number of the event up to which all inputs are delivered to the model."""
        return self._searched if not self.inputs else self.inputs[0].seq - 1

    @property
    def next_position(self) -> int:
        """The position of the next entry."""
        return self._read + 1

    def positioned(self) -> list[Positioned]:
        """The entries with their positions."""
        return list(map(Positioned, self._positions, self.entries))

    def open_calls(self) -> list[ToolCallPart]:
        """The calls that have no answer."""
        return self.rendering.open_calls()

    def turn_since(self, seq: int) -> Turn:
        """The turn of another process that delivered the input of an event."""
        texts: list[str] = []
        since = 0
        for each in reversed(self.entries):
            if isinstance(each, Said):
                texts.append(each.response.text or "")
            elif isinstance(each, Input):
                if each.seq < seq:
                    break
                since = len(texts)
        status = TurnStatus.PAUSED if self.open_calls() else TurnStatus.FINISHED
        turn_id = self.turn_id or ""
        return Turn(turn_id, status, "\n\n".join(filter(None, texts[:since][::-1])), self.used_by(turn_id))

    async def load(self) -> None:
        """Read the transcript, if it was not read yet. A later write detects what other processes wrote since."""
        if not self._loaded:
            await self.refresh()

    async def refresh(self) -> bool:
        """Read what other processes have written since. False where there is nothing."""
        async with self._lock:
            lines = await self._scope.transcript(self._read)
            read = await _decoded(lines)
            known = [(position, entry) for position, entry in enumerate(read, self._read + 1) if entry is not None]
            self._read += len(lines)
            self._positions += [position for position, _ in known]
            self._take_in([entry for _, entry in known])
            self._loaded = True
            return bool(lines)

    async def find_inputs(self) -> bool:
        """Search the board for new inputs and notes. True where any wait."""
        async with self._lock:
            self._searched, events = await self._scope.written_after(self._searched)
        for event in events:
            if event.kind == EventKind.USER_INPUT:
                self.inputs.append(_input(event))
            else:
                self.inputs.append(Noted(event.data["message"], event.seq))
        return bool(self.inputs)

    async def inputs_after(self, seq: int) -> list[dict[str, Any]]:
        """The inputs on the board after an event, as messages."""
        _, events = await self._scope.written_after(seq)
        posted = [event for event in events if event.kind == EventKind.USER_INPUT]
        return [{"id": f"e{each.seq}", "role": "user", "text": each.data["text"]} for each in posted]

    async def add(
        self,
        entries: Sequence[Entry],
        *,
        taken: Sequence[str] = (),
        events: Sequence[bytes] = (),
        turn: TurnWrite,
    ) -> None:
        """Write entries with the state of their turn. Raises `Conflict`, and then nothing was written.

        A cancellation takes effect after the write has ended, so that this object never differs from the store.
        """
        writing = asyncio.ensure_future(self._add(entries, taken, events, turn))
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            await asyncio.wait([writing])
            writing.result()  # an error of the write comes first
            raise

    async def _add(
        self,
        entries: Sequence[Entry],
        taken: Sequence[str],
        events: Sequence[bytes],
        turn: TurnWrite,
    ) -> None:
        now = self._scope.now()
        change = Change(
            self._scope.session.id,
            turns=[turn],
            deliveries=[Delivery(each.id, now) for each in entries if isinstance(each, Input) and each.id],
            taken=taken,
            transcript=[encode_entry(entry) for entry in entries],
            events=events,
        )
        async with self._lock:
            change.entries = self._read  # a conflict where another turn wrote entries that this one does not know
            await self._scope.write(change)
            self._positions += range(self._read + 1, self._read + len(entries) + 1)
            self._read += len(entries)
            self._take_in(entries)

    def _take_in(self, entries: Sequence[Entry]) -> None:
        self.entries += entries
        self.rendering.add(entries)
        delivered = 0
        for entry in entries:
            if isinstance(entry, Said):
                self.responses += 1
                used = used_by(entry.response)
                self.used.add(used)
                self._of_turn.add(used)
            elif isinstance(entry, Began):
                self.began = entry.number
                if entry.turn_id != self.turn_id:
                    self.turn_id, self._of_turn = entry.turn_id, Usage()
                self._turns.add(entry.turn_id)
            elif isinstance(entry, Input | Noted):
                delivered = max(delivered, entry.seq)
        self._searched = max(self._searched, delivered)
        if delivered:
            self.inputs = [each for each in self.inputs if each.seq > delivered]


async def _decoded(lines: Sequence[bytes]) -> list[Entry | None]:
    """Decode stored entries; None stands for an entry of a newer version.

    A long transcript is decoded in slices, so that it does not block the event loop.
    """
    entries: list[Entry | None] = []
    for start in range(0, len(lines), SLICE):
        if start:
            await asyncio.sleep(0)
        entries += map(decode_entry, lines[start : start + SLICE])
    return entries


def _input(event: Event) -> Input:
    data = event.data
    return Input(data["text"], event.seq, data.get("input_id", ""), data.get("message_id") or "")
