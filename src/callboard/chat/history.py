"""What a session's conversation has come to: its transcript as far as it was read, and what the user wrote since.

The transcript is written only by the turn that has the floor. What the user writes goes to the board first, in any
process, and enters the transcript when a turn takes it in.
"""

import asyncio
from collections.abc import Generator, Sequence

from pydantic_ai.messages import ToolCallPart

from ..events.event import Event
from ..events.kinds import EventKind
from ..sessions.conversation_scope import ConversationScope
from ..storage.change import Change, Delivery, TurnWrite
from ..turns import Usage
from .messages import Placed
from .rendering import Rendering
from .transcript import Entry, Input, Noted, decode_entry, encode_entry
from .transcript_state import TranscriptState

PAGE = 500
"""How many stored entries are read at once."""
SLICE = 50
"""How many entries are taken in before others get the event loop."""
SLICE_BYTES = 262_144
"""How many bytes of entries are taken in before others get the event loop, unless one alone has more."""


class History:
    """The entries of one session, and how far its board was looked through for inputs."""

    def __init__(self, scope: ConversationScope) -> None:
        self._scope = scope
        self._state = TranscriptState()
        self.inputs: list[Input | Noted] = []
        """What the model has not been told, in order."""
        self._one = asyncio.Lock()
        """One reads or writes at a time."""
        self._loaded = False
        self._looked = 0
        """The number of the last event that was looked at."""

    @property
    def entries(self) -> list[Entry]:
        return self._state.entries

    @property
    def rendering(self) -> Rendering:
        """The entries as a model reads them."""
        return self._state.rendering

    @property
    def used(self) -> Usage:
        """What all turns have used."""
        return self._state.used

    @property
    def responses(self) -> int:
        """How many responses of the model the transcript has."""
        return self._state.responses

    @property
    def began(self) -> int:
        """The number of the newest turn."""
        return self._state.began

    @property
    def turn_id(self) -> str | None:
        """The id of the newest turn."""
        return self._state.turn_id

    def turns_with(self, turn_id: str) -> int:
        """How many turns there were, and that one; one that went on after a pause is one."""
        return len(self._state.turns) + (turn_id not in self._state.turns)

    def used_by(self, turn_id: str) -> Usage:
        """By a turn, if it is the newest one."""
        return self._state.used_by_turn if turn_id == self.turn_id else Usage()

    @property
    def told(self) -> int:
        """The number of the newest event that the model was told of, or is being told of now."""
        return self._looked if not self.inputs else self.inputs[0].seq - 1

    @property
    def next_place(self) -> int:
        """Where the next entry will stand."""
        return self._state.read + 1

    def placed(self) -> list[Placed]:
        """The entries, each with its place."""
        return list(map(Placed, self._state.places, self.entries))

    def open_calls(self) -> list[ToolCallPart]:
        """Calls that have no answer."""
        return self.rendering.open_calls()

    async def load(self) -> None:
        """Read it for the first time. What others write later is found out when something is to be written."""
        if not self._loaded:
            await self.refresh()

    async def refresh(self) -> bool:
        """Read what other processes have written meanwhile. False where they have written nothing.

        A long transcript is decoded and rendered in slices, so that it does not hold the event loop. Until the last
        slice, the history stays as it was.
        """
        async with self._one:
            state = self._state
            lines = await self._scope.transcript(state.read, PAGE)
            changed = bool(lines)
            while lines:
                slices = [*_slices(lines)]
                if len(slices) > 1 and state is self._state:
                    state = state.copy()
                for some in slices:
                    state.add([*map(decode_entry, some)])
                    if state is not self._state:
                        await asyncio.sleep(0)
                lines = await self._scope.transcript(state.read, PAGE) if len(lines) == PAGE else []
            self._take_in(state)
            self._loaded = True
            return changed

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
            change.entries = self._state.read  # else it was composed without what another turn has said and told
            await self._scope.write(change)
            self._state.add(entries)
            self._take_in(self._state)

    def _take_in(self, state: TranscriptState) -> None:
        """Know a transcript, and leave out of the inputs what the model was told by it."""
        self._state = state
        self._looked = max(self._looked, state.told)
        if self.inputs:
            self.inputs = [each for each in self.inputs if each.seq > state.told]


def _slices(lines: Sequence[bytes]) -> Generator[Sequence[bytes]]:
    """Stored entries, some at a time."""
    start = size = 0
    for end, line in enumerate(lines):
        if end > start and (end - start == SLICE or size + len(line) > SLICE_BYTES):
            yield lines[start:end]
            start, size = end, 0
        size += len(line)
    if lines:
        yield lines[start:]


def _input(event: Event) -> Input:
    data = event.data
    return Input(data["text"], event.seq, data.get("input_id", ""), data.get("message_id") or "")
