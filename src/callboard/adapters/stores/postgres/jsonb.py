"""Columns of JSON in PostgreSQL. JSONB keeps the meaning of a document, which is not always the same.

JSONB refuses NUL characters and lone surrogates, turns `1e400` into an integer of 401 digits and drops the sign of
`-0.0`. A document of that rare kind is stored as a text, inside an object with one reserved key, and read back whole.
"""

import re
from json.encoder import encode_basestring
from typing import Any

from pydantic_core import from_json

from ..json_text import JsonText

_RESERVED = '{"$json":'
_ESCAPES = re.compile(r"\\u(?:00(?:00|[2-7])|[dD][89a-fA-F])")
"""NUL, halves of surrogate pairs, and plain characters, which are escaped only to hide the reserved key."""
_LOWER = re.compile(r"e(?<=\de)[+-]?\d+\s*(?:[,}\]]|\Z)")
_UPPER = re.compile(r"E(?<=\dE)[+-]?\d+\s*(?:[,}\]]|\Z)")
_MINUS = re.compile(r"-0(?:\.0*)?\s*(?:[,}\]]|\Z)")
"""Numbers that JSONB returns as other Python values. A match inside a text does no harm.

Every event is searched; a pattern that begins with one letter takes a tenth of the time of others.
"""

WINDOW = 65_536
"""Characters that are searched at once. A search holds the interpreter lock, and all other threads wait."""
_OVERLAP = 8
"""Characters at the end of a window that are searched again, as the end may cut the beginning of a match."""


class PostgresJson(JsonText):
    """A column of JSON in PostgreSQL: JSONB, or JSON if `exact`."""

    cache_ok = True

    def __init__(self, exact: bool = False) -> None:
        self.exact = exact
        """Whether PostgreSQL keeps the text, with its spaces and the order of its keys."""

    def get_col_spec(self, **kw: Any) -> str:
        return "JSON" if self.exact else "JSONB"

    def read(self, stored: str) -> bytes:
        return unwrapped(stored)

    def beginning(self, stored: str) -> str:
        return "" if is_wrapped(stored) else stored


def storable(document: str) -> str:
    """Return a document in a form that JSONB keeps unaltered: itself, or wrapped."""
    rare = (
        ("\\u" in document and _matches(_ESCAPES, document))
        or _matches(_LOWER, document)
        or ("E" in document and _matches(_UPPER, document))
        or ("-0" in document and _matches(_MINUS, document))
        or "$json" in document
    )
    return wrapped(document) if rare else document


def _matches(pattern: re.Pattern[str], document: str) -> bool:
    """Return whether a document has a match of a pattern, and let other threads run during the search of a long one."""
    if len(document) <= WINDOW:
        return pattern.search(document) is not None
    for start in range(0, len(document), WINDOW):
        found = pattern.search(document, max(0, start - _OVERLAP), start + WINDOW)
        if found and (found.end() < start + WINDOW or pattern.match(document, found.start())):
            return True
    return False


def wrapped(document: str) -> str:
    """Return a document inside an object with the reserved key, which can hold any text."""
    return f"{_RESERVED}{encode_basestring(document)}}}"


def is_wrapped(stored: str) -> bool:
    """Return whether a stored text reads as a wrapped document."""
    return stored.startswith(_RESERVED)


def unwrapped(stored: str) -> bytes:
    """Return the document of a stored text."""
    return from_json(stored)["$json"].encode() if is_wrapped(stored) else stored.encode()
