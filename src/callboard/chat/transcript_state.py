"""The state of a transcript as far as it was read: entries, rendering for the model, and counters."""

from collections.abc import Sequence
from copy import copy
from dataclasses import replace

from ..turns import Usage
from .completion import usage_of
from .rendering import Rendering
from .transcript import Entry, Input, LostResponse, Note, Reply, TurnStart


class TranscriptState:
    """A fold over the entries of a transcript. The cost of adding an entry does not grow with the transcript."""

    def __init__(self) -> None:
        self.read_count = 0
        """The number of stored entries that were read, including those of a newer version."""
        self.entries: list[Entry] = []
        self.positions: list[int] = []
        """The position of each entry in the stored transcript."""
        self.rendering = Rendering()
        """The entries as a model reads them."""
        self.usage = Usage()
        """The usage of all turns."""
        self.turn_usage = Usage()
        """The usage of the newest turn."""
        self.responses = 0
        """The number of the model's responses."""
        self.turn_number = 0
        """The number of the newest turn."""
        self.turn_id: str | None = None
        """The id of the newest turn."""
        self.turn_ids: set[str] = set()
        """The ids of all turns."""
        self.delivered = 0
        """The number of the newest event that was delivered to the model."""

    def copy(self) -> "TranscriptState":
        """Copy the state, so that the copy can grow while this one stays. Entries are shared and never change."""
        made = copy(self)
        made.entries, made.positions, made.turn_ids = [*self.entries], [*self.positions], {*self.turn_ids}
        made.rendering = self.rendering.copy()
        made.usage, made.turn_usage = replace(self.usage), replace(self.turn_usage)
        return made

    def add(self, entries: Sequence[Entry | None]) -> None:
        """Add the next entries; None stands for an entry of a newer version."""
        for entry in entries:
            self.read_count += 1
            if entry is not None:
                self._add(entry)

    def _add(self, entry: Entry) -> None:
        self.entries.append(entry)
        self.positions.append(self.read_count)
        self.rendering.add((entry,))
        if isinstance(entry, Reply):
            self.responses += 1
            self._count(usage_of(entry.response))
        elif isinstance(entry, LostResponse):
            unpriced = int(entry.cost is None)
            self._count(Usage(1, 0, entry.input_tokens, entry.output_tokens, entry.cost, unpriced_requests=unpriced))
        elif isinstance(entry, TurnStart):
            self.turn_number = entry.number
            if entry.turn_id != self.turn_id:
                self.turn_id, self.turn_usage = entry.turn_id, Usage()
            self.turn_ids.add(entry.turn_id)
        elif isinstance(entry, Input | Note):
            self.delivered = max(self.delivered, entry.seq)

    def _count(self, usage: Usage) -> None:
        self.usage.add(usage)
        self.turn_usage.add(usage)
