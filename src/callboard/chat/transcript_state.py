"""The state of a transcript as far as it was read: entries, rendering for the model, and counters."""

from collections.abc import Sequence
from copy import copy
from dataclasses import replace

from ..turns import Usage
from .completion import used_by
from .rendering import Rendering
from .transcript import Began, Entry, Input, Noted, Said


class TranscriptState:
    """A fold over the entries of a transcript. The cost of adding an entry does not grow with the transcript."""

    def __init__(self) -> None:
        self.read = 0
        """The number of stored entries that were read, including those of a newer version."""
        self.entries: list[Entry] = []
        self.positions: list[int] = []
        """The position of each entry in the stored transcript."""
        self.rendering = Rendering()
        """The entries as a model reads them."""
        self.used = Usage()
        """The usage of all turns."""
        self.used_by_turn = Usage()
        """The usage of the newest turn."""
        self.responses = 0
        """The number of the model's responses."""
        self.began = 0
        """The number of the newest turn."""
        self.turn_id: str | None = None
        """The id of the newest turn."""
        self.turns: set[str] = set()
        """The ids of all turns."""
        self.delivered = 0
        """The number of the newest event that was delivered to the model."""

    def copy(self) -> "TranscriptState":
        """Copy the state, so that the copy can grow while this one stays. Entries are shared and never change."""
        made = copy(self)
        made.entries, made.positions, made.turns = [*self.entries], [*self.positions], {*self.turns}
        made.rendering = self.rendering.copy()
        made.used, made.used_by_turn = replace(self.used), replace(self.used_by_turn)
        return made

    def add(self, entries: Sequence[Entry | None]) -> None:
        """Add the next entries; None stands for an entry of a newer version."""
        for entry in entries:
            self.read += 1
            if entry is not None:
                self._add(entry)

    def _add(self, entry: Entry) -> None:
        self.entries.append(entry)
        self.positions.append(self.read)
        self.rendering.add((entry,))
        if isinstance(entry, Said):
            self.responses += 1
            used = used_by(entry.response)
            self.used.add(used)
            self.used_by_turn.add(used)
        elif isinstance(entry, Began):
            self.began = entry.number
            if entry.turn_id != self.turn_id:
                self.turn_id, self.used_by_turn = entry.turn_id, Usage()
            self.turns.add(entry.turn_id)
        elif isinstance(entry, Input | Noted):
            self.delivered = max(self.delivered, entry.seq)
