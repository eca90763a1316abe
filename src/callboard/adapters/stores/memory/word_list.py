"""The words of notes and messages in memory, and how well they fit a query."""

from collections.abc import Sequence
from dataclasses import replace
from math import log
from typing import NamedTuple

from ....storage.search_words import is_prefix, words_of
from ....user_memory import MemoryHit, MemorySource, Note


class Entry(NamedTuple):
    """A note or a message, with its words: a space before and after each."""

    hit: MemoryHit
    """The entry with its whole text."""
    words: str

    @classmethod
    def of(cls, hit: MemoryHit, searched: str) -> "Entry":
        return cls(hit, f" {' '.join(words_of(searched))} ")

    @property
    def at(self) -> float:
        return self.hit.at

    def titled(self, title: str | None) -> "Entry":
        return self._replace(hit=replace(self.hit, title=title))

    def occurrences(self, term: str) -> int:
        """Return how often a term is in the entry."""
        return self.words.count(f" {term}" if is_prefix(term) else f" {term} ")


def note_entry(note: Note) -> Entry:
    """Return the entry of a note. Its key and its tags are searched too."""
    hit = MemoryHit(
        source=MemorySource.NOTE, text=note.text, at=note.updated_at, score=0.0, key=note.key, tags=note.tags
    )
    return Entry.of(hit, " ".join((note.key, *note.tags, note.text)))


def matching(entries: Sequence[Entry], terms: Sequence[str], limit: int) -> list[Entry]:
    """Return the entries with all terms, or with any of them if none has all."""
    found = [entry for entry in entries if all(map(entry.occurrences, terms))]
    return (found or [entry for entry in entries if any(map(entry.occurrences, terms))])[:limit]


def ranked(entries: Sequence[Entry], terms: Sequence[str]) -> list[MemoryHit]:
    """Return entries as hits, the best first: with many and rare terms, in few other words."""
    counts = {term: sum(entry.occurrences(term) > 0 for entry in entries) for term in terms}
    weights = {term: log(1 + len(entries) / count) for term, count in counts.items() if count}
    hits = [replace(entry.hit, score=_score(entry, weights)) for entry in entries]
    return sorted(hits, key=lambda hit: (hit.score, hit.at), reverse=True)


def _score(entry: Entry, weights: dict[str, float]) -> float:
    total = sum(weight * _saturated(entry.occurrences(term)) for term, weight in weights.items())
    return total / (1 + log(1 + entry.words.count(" ")))


def _saturated(count: int) -> float:
    """Return the effect of a number of occurrences, of which each adds less than the one before."""
    return count / (1 + count)
