"""What a transcript amounts to, as far as it was read: its entries, how they read for a model, and what they count."""

from collections.abc import Sequence
from copy import copy
from dataclasses import replace

from ..turns import Usage
from .completion import used_by
from .rendering import Rendering
from .transcript import Began, Entry, Input, Noted, Said


class TranscriptState:
    """A fold over the entries of one transcript. Adding an entry costs the same however many there are."""

    def __init__(self) -> None:
        self.read = 0
        """How many stored entries were read, those that only a newer version knows among them."""
        self.entries: list[Entry] = []
        self.places: list[int] = []
        """Where each of them stands in the stored transcript."""
        self.rendering = Rendering()
        """The entries as a model reads them."""
        self.used = Usage()
        """By all turns."""
        self.used_by_turn = Usage()
        """By the newest turn."""
        self.responses = 0
        """How many responses of the model there are."""
        self.began = 0
        """The number of the newest turn."""
        self.turn_id: str | None = None
        """The id of the newest turn."""
        self.turns: set[str] = set()
        """The ids of all turns."""
        self.told = 0
        """The number of the newest event that the model was told of."""

    def copy(self) -> "TranscriptState":
        """A state that can grow while this one stays. What both have is shared, and never changes."""
        made = copy(self)
        made.entries, made.places, made.turns = [*self.entries], [*self.places], {*self.turns}
        made.rendering = self.rendering.copy()
        made.used, made.used_by_turn = replace(self.used), replace(self.used_by_turn)
        return made

    def add(self, entries: Sequence[Entry | None]) -> None:
        """Take in the next entries; None stands for one that only a newer version knows."""
        for entry in entries:
            self.read += 1
            if entry is not None:
                self._add(entry)

    def _add(self, entry: Entry) -> None:
        self.entries.append(entry)
        self.places.append(self.read)
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
            self.told = max(self.told, entry.seq)
