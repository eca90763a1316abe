"""Titles of sessions: the automatic one, from the first message of a person, and one that a person gives."""

import re
import unicodedata

AUTOMATIC_LENGTH = 80
"""The largest number of characters of an automatic title."""
MAX_TITLE = 200
"""The largest number of characters of a title that a person gives."""
MAX_SCANNED = 10_000
"""Characters of a message that are searched for a title."""

_HIDDEN = re.compile(
    "[\0-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u061c\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
"""Control characters, marks that change the direction of the text around them, and lone surrogates."""


def automatic_title(message: str) -> str | None:
    """Return the title that a message gives: its first line with any text, shortened; None if it has no text."""
    for line in message[:MAX_SCANNED].splitlines():
        if title := clean_title(line):
            return title if len(title) <= AUTOMATIC_LENGTH else f"{_first_words(title)}…"
    return None


def clean_title(text: str) -> str:
    """Return a title as one line, without hidden characters and with single spaces; empty if nothing is visible."""
    title = " ".join(_HIDDEN.sub("", text).split())
    return title if any(each.isprintable() and each != " " for each in title) else ""


def fold_title(text: str) -> str:
    """Return a text in the form in which titles are searched: without differences of case and of encoding."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def _first_words(title: str) -> str:
    """Cut a title before its limit: between words, unless its end is one long word."""
    cut = title[: AUTOMATIC_LENGTH - 1]
    words = cut if title[len(cut)] == " " else cut.rpartition(" ")[0]
    return words if len(words) > AUTOMATIC_LENGTH // 2 else cut
