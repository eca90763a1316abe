"""What a session's conversation has come to: its transcript as far as it was read, and what the user wrote since.

The transcript is written only by the turn that has the floor. What the user writes goes to the board first, in any
process, and enters the transcript when a turn takes it in.
"""

import asyncio
from collections.abc import Sequence

from pydantic_ai.messages import ToolCallPart

from ..events.event import Event
from ..events.kinds import EventKind
from ..sessions.conversation_scope import ConversationScope
from ..storage.change import Change, Delivery, TurnWrite
from ..turns import Usage
from .completion import used_by
from .messages import Placed
from .rendering import Rendering
from .transcript import Began, Entry, Input, Noted, Said, decode_entry, encode_entry

SLICE = 50
"""How many stored entries are read at once."""


class History:
    """The entries of one session, and how far its board was looked through for inputs."""

    def __init__(self, scope: ConversationScope) -> None:
        self._scope = scope
        self.entries: list[Entry] = []
        self._places: list[int] = []
        """Where each of them stands in the stored transcript."""
        self.rendering = Rendering()
        """The entries as a model reads them."""
        self.inputs: list[Input | Noted] = []
        """What the model has not been told, in order."""
        self.used = Usage()
        """By all turns."""
        self.responses = 0
        """How many responses of the model the transcript has."""
        self.began = 0
        """The number of the newest turn."""
        self.turn_id: str | None = None
        """Its id."""
        self._one = asyncio.Lock()
        """One reads or writes at a time."""
        self._of_turn = Usage()
        self._turns: set[str] = set()
        self._loaded = False
        self._read = 0
        """How many stored entries were read, those that only a newer version knows among them."""
        self._looked = 0
        """The number of the last event that was looked at."""

    def turns_with(self, turn_id: str) -> int:
        """How many turns there were, and that one; one that went on after a pause is one."""
        return len(self._turns) + (turn_id not in self._turns)

    def used_by(self, turn_id: str) -> Usage:
        """By a turn, if it is the newest one."""
        return self._of_turn if turn_id == self.turn_id else Usage()

    @property
    def told(self) -> int:
        """The number of the newest event that the model was told of, or is being told of now."""
        return self._looked if not self.inputs else self.inputs[0].seq - 1

    @property
    def next_place(self) -> int:
        """Where the next entry will stand."""
        return self._read + 1

    def placed(self) -> list[Placed]:
        """The entries, each with its place."""
        return list(map(Placed, self._places, self.entries))

    def open_calls(self) -> list[ToolCallPart]:
        """Calls that have no answer."""
        return self.rendering.open_calls()

    async def load(self) -> None:
        """Read it for the first time. What others write later is found out when something is to be written."""
        if not self._loaded:
            await self.refresh()

    async def refresh(self) -> bool:
        """Read what other processes have written meanwhile. False where they have written nothing."""
        async with self._one:
            lines = await self._scope.transcript(self._read)
            read = await _decoded(lines)
            known = [(place, entry) for place, entry in enumerate(read, self._read + 1) if entry is not None]
            self._read += len(lines)
            self._places += [place for place, _ in known]
            self._take_in([entry for _, entry in known])
            self._loaded = True
            return bool(lines)

    async def look(self) -> bool:
        """Look for what the user wrote, or the system wants to be told. True where there is something."""
        async with self._one:
            self._looked, events = await self._scope.written_after(self._looked)
        for event in events:
            if event.kind == EventKind.USER_INPUT:
                self.inputs.append(_input(event))
            else:
                self.inputs.append(Noted(event.data["message"], event.seq))
        return bool(self.inputs)

    async def add(
        self,
        entries: Sequence[Entry],
        *,
        taken: Sequence[str] = (),
        events: Sequence[bytes] = (),
        turn: TurnWrite,
    ) -> None:
        """Write entries and what belongs to them, and know them. Raises `Conflict`, and then nothing was written.

        Whoever is cancelled meanwhile learns it when the writing has ended: what is stored and what is known here
        never differ.
        """
        writing = asyncio.ensure_future(self._add(entries, taken, events, turn))
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            await asyncio.wait([writing])
            writing.result()  # what went wrong with it comes first
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
        async with self._one:
            change.entries = self._read  # else it was composed without what another turn has said and told
            await self._scope.write(change)
            self._places += range(self._read + 1, self._read + len(entries) + 1)
            self._read += len(entries)
            self._take_in(entries)

    def _take_in(self, entries: Sequence[Entry]) -> None:
        self.entries += entries
        self.rendering.add(entries)
        told = 0
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
                told = max(told, entry.seq)
        self._looked = max(self._looked, told)
        if told:
            self.inputs = [each for each in self.inputs if each.seq > told]


async def _decoded(lines: Sequence[bytes]) -> list[Entry | None]:
    """Stored entries; None for those that only a newer version knows. A long transcript is read in slices, so that it
    does not hold the event loop.
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
