"""The transcript of a session as far as this process has read it, and the inputs that are not in it yet.

Only the turn that holds the lease writes the transcript. Inputs go to the board first, in any process, and enter the
transcript when a turn delivers them.
"""

import asyncio
from collections.abc import Generator, Sequence
from typing import Any, NamedTuple

from pydantic_ai.messages import ToolCallPart

from ..events.event import Event
from ..events.kinds import EventKind
from ..sessions.conversation_scope import ConversationScope
from ..storage.change import Change, Delivery, TurnWrite
from ..turns import Turn, TurnStatus, Usage
from .messages import Positioned
from .transcript import Entry, Input, Note, Reply, decode_entry, encode_entry
from .transcript_state import TranscriptState

PAGE = 500
"""The number of stored entries that are read at once."""
SLICE = 50
"""The number of entries that are decoded before the event loop runs other tasks."""
SLICE_BYTES = 262_144
"""The bytes of entries that are decoded before the event loop runs other tasks, unless a single entry has more."""


class _Shown(NamedTuple):
    """The result of a search for inputs that the model has not received."""

    after: int
    """The number of the event after which it began."""
    searched: int
    """The number of the last event that was searched."""
    inputs: Sequence[Event]


class History:
    """The transcript of one session, and how far its board was searched for inputs."""

    def __init__(self, scope: ConversationScope) -> None:
        self._scope = scope
        self.state = TranscriptState()
        """The transcript as far as it was read."""
        self.inputs: list[Input | Note] = []
        """Undelivered inputs and notes, in order."""
        self._lock = asyncio.Lock()
        """Held while the transcript is read or written."""
        self._loaded = False
        self._searched = 0
        """The number of the last event that was searched for inputs."""
        self._shown = _Shown(0, 0, ())

    def turn_count(self, turn_id: str) -> int:
        """The number of turns, including this one. A turn that resumed after a pause counts once."""
        return len(self.state.turn_ids) + (turn_id not in self.state.turn_ids)

    def usage_of(self, turn_id: str) -> Usage:
        """The usage of a turn, if it is the newest one."""
        return self.state.turn_usage if turn_id == self.state.turn_id else Usage()

    @property
    def delivered(self) -> int:
        """The number of the event up to which all inputs are delivered to the model."""
        return self._searched if not self.inputs else self.inputs[0].seq - 1

    def positioned(self) -> list[Positioned]:
        """The entries with their positions."""
        return list(map(Positioned, self.state.positions, self.state.entries))

    def open_calls(self) -> list[ToolCallPart]:
        """The calls that have no answer."""
        return self.state.rendering.open_calls()

    def turn_since(self, seq: int) -> Turn:
        """The turn of another process that delivered the input of an event."""
        texts: list[str] = []
        since = 0
        for each in reversed(self.state.entries):
            if isinstance(each, Reply):
                texts.append(each.response.text or "")
            elif isinstance(each, Input):
                if each.seq < seq:
                    break
                since = len(texts)
        status = TurnStatus.PAUSED if self.open_calls() else TurnStatus.FINISHED
        turn_id = self.state.turn_id or ""
        return Turn(turn_id, status, "\n\n".join(filter(None, texts[:since][::-1])), self.usage_of(turn_id))

    async def load(self) -> None:
        """Read the transcript, if it was not read yet. A later write detects what other processes wrote since."""
        if not self._loaded:
            await self.refresh()

    async def refresh(self) -> bool:
        """Read what other processes have written since. False if there is nothing.

        A long transcript is decoded and rendered in slices, so that it does not block the event loop. Until the last
        slice the history is unchanged.
        """
        async with self._lock:
            state = self.state
            lines = await self._scope.transcript(state.read_count, PAGE)
            changed = bool(lines)
            while lines:
                slices = [*_slices(lines)]
                if len(slices) > 1 and state is self.state:
                    state = state.copy()
                for some in slices:
                    state.add([*map(decode_entry, some)])
                    if state is not self.state:
                        await asyncio.sleep(0)
                lines = await self._scope.transcript(state.read_count, PAGE) if len(lines) == PAGE else []
            self._replace_state(state)
            self._loaded = True
            return changed

    async def find_inputs(self) -> bool:
        """Search the board for new inputs and notes. True where any wait."""
        async with self._lock:
            self._searched, events = await self._scope.written_after(self._searched)
        for event in events:
            data = event.data
            if event.kind == EventKind.USER_INPUT:
                ids = data.get("input_id", ""), data.get("message_id") or ""
                self.inputs.append(Input(data["text"], event.seq, *ids))
            else:
                self.inputs.append(Note(data["message"], event.seq))
        return bool(self.inputs)

    async def inputs_after(self, seq: int) -> list[dict[str, Any]]:
        """The inputs on the board after an event, as messages. Events that an earlier call searched are not read."""
        known = self._shown if seq >= self._shown.after else _Shown(seq, seq, ())
        searched, events = await self._scope.written_after(max(seq, known.searched))
        new = [event for event in events if event.kind == EventKind.USER_INPUT]
        posted = [event for event in (*known.inputs, *new) if event.seq > seq]
        self._shown = _Shown(seq, searched, posted)
        return [{"id": f"e{each.seq}", "role": "user", "text": each.data["text"]} for each in posted]

    async def add(
        self, entries: Sequence[Entry], *, results: Sequence[str] = (), events: Sequence[bytes] = (), turn: TurnWrite
    ) -> None:
        """Write entries with the state of their turn, and take the late results that they deliver.

        Raises `Conflict`, and then nothing was written. A cancellation takes effect after the write has ended, so that
        this object never differs from the store.
        """
        now = self._scope.now()
        change = Change(
            self._scope.session.id,
            turns=[turn],
            deliveries=[Delivery(each.id, now) for each in entries if isinstance(each, Input) and each.id],
            consumed=results,
            transcript=[encode_entry(entry) for entry in entries],
            said_at=now,
            events=events,
        )
        writing = asyncio.ensure_future(self._write(change, entries))
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            await asyncio.wait([writing])
            writing.result()  # an error of the write comes first
            raise

    async def _write(self, change: Change, entries: Sequence[Entry]) -> None:
        async with self._lock:
            # A conflict where another turn wrote entries that this one does not know.
            change.entries = self.state.read_count
            await self._scope.write(change)
            self.state.add(entries)
            self._replace_state(self.state)

    def _replace_state(self, state: TranscriptState) -> None:
        """Replace the state, and drop the inputs that it has delivered."""
        self.state = state
        self._searched = max(self._searched, state.delivered)
        if self.inputs:
            self.inputs = [each for each in self.inputs if each.seq > state.delivered]


def _slices(lines: Sequence[bytes]) -> Generator[Sequence[bytes]]:
    """Split stored entries into slices."""
    start = size = 0
    for end, line in enumerate(lines):
        if end > start and (end - start == SLICE or size + len(line) > SLICE_BYTES):
            yield lines[start:end]
            start, size = end, 0
        size += len(line)
    if lines:
        yield lines[start:]
