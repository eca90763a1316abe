"""Extracts of texts around the words that a search found. Pure functions."""

import re
from collections.abc import Sequence

from .search_words import MAX_TEXT, MAX_WORD, WORD, fold, is_prefix

SNIPPET_LENGTH = 300
"""The largest number of characters of an extract."""

_SPACES = re.compile(r"\s+")


def snippet(text: str, terms: Sequence[str]) -> str:
    """Return the part of a text, as one line, in which most of the terms are; its beginning if none is."""
    line = _SPACES.sub(" ", text[:MAX_TEXT]).strip()
    if len(line) <= SNIPPET_LENGTH:
        return line
    start = _best_start(_occurrences(line, terms), SNIPPET_LENGTH)
    end = min(len(line), start + SNIPPET_LENGTH - 2)  # room for an ellipsis at each end
    start = max(0, end - SNIPPET_LENGTH + 2)
    cut = line[start:end].strip()
    return f"{'…' if start else ''}{cut}{'…' if end < len(line) or len(text) > MAX_TEXT else ''}"


def _occurrences(line: str, terms: Sequence[str]) -> list[tuple[int, str]]:
    """Return the places of the terms, and which term is there."""
    exact, prefixes = frozenset(terms), tuple(filter(is_prefix, terms))
    found: list[tuple[int, str]] = []
    for match in WORD.finditer(line):
        word = fold(match[0])[:MAX_WORD]
        if word in exact:
            found.append((match.start(), word))
        elif word.startswith(prefixes):
            found.append((match.start(), next(filter(word.startswith, prefixes))))
    return found


def _best_start(found: list[tuple[int, str]], length: int) -> int:
    """Return where the extract with the most different terms begins: shortly before the first of them."""
    best, most = 0, 0
    counts: dict[str, int] = {}
    last = 0
    for first, (place, term) in enumerate(found):
        while last < len(found) and found[last][0] - place < length * 3 // 4:
            counts[found[last][1]] = counts.get(found[last][1], 0) + 1
            last += 1
        if len(counts) > most:
            best, most = found[first][0], len(counts)
        counts[term] -= 1
        if not counts[term]:
            del counts[term]
    return max(0, best - length // 6)
