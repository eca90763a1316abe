"""Texts cut to a length that fits into a message."""

from typing import Any


def shorten(text: Any, limit: int = 200) -> str:
    """Cut a text, or what a caller gave instead of one, to `limit` characters and append its full length."""
    text = text if isinstance(text, str) else str(text)
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text):,} characters)"


def quoted(value: Any) -> str:
    """Return JSON data as an error message quotes it."""
    if value is None:
        return "null"
    return shorten(repr(value) if isinstance(value, str) else str(value), 80)
