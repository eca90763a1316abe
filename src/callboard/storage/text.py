"""Checks for text that every store can hold. PostgreSQL refuses NUL, and no driver encodes a lone surrogate.

Ids with either are refused: two ids must never become equal. Names that a client chooses freely, of tools that do not
exist, are stored with a replacement character. JSON documents may contain anything: stores encode them.
"""

import re

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def is_storable(text: str) -> bool:
    """Return whether a text has neither a NUL character nor a lone surrogate."""
    return (text.isascii() and "\0" not in text) or _UNSTORABLE.search(text) is None


def storable(text: str) -> str:
    """Return a text with U+FFFD instead of each character that no store can hold."""
    return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", text)
