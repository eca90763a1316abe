"""Phrases about the person's browser, and the calls of the page's tools that they mean. Pure functions, no model.

| phrase | call |
| --- | --- |
| `where am I` | `where_am_i` |
| `what time is it here` | `local_time` |
| `copy hello to my clipboard` | `copy_to_clipboard` |
| `save hello as notes.txt`, `download hello as notes.txt` | `download_file` |
| `notify me`, `notify me that the tea is ready` | `show_notification` |

The page sends these tools with its messages. A phrase whose tool it did not send has its other meaning, if any.
"""

import re
from collections.abc import Collection
from typing import Any

Call = tuple[str, dict[str, Any]]

PAGE_EXAMPLES = (
    ("where_am_i", "where am I"),
    ("local_time", "what time is it here"),
    ("copy_to_clipboard", "copy hello to my clipboard"),
    ("download_file", "save hello as notes.txt"),
    ("show_notification", "notify me that the tea is ready"),
)
"""An example phrase for each tool of the page."""

MAX_PHRASE = 1_000
"""Characters of a phrase that is read, at most."""

_WHERE = re.compile(r"\bwhere am i\b", re.IGNORECASE)
_TIME_HERE = re.compile(r"\b(?:time|date|clock)\b.*\bhere\b", re.IGNORECASE)
_COPY = re.compile(r"\bcopy (.+?) (?:in)?to (?:my |the )?clipboard$", re.IGNORECASE)
_SAVE = re.compile(r"\b(?:save|download) (.+?) (?:as|to|in) (?:a file |the file )?([\w][\w.-]{0,99})$", re.IGNORECASE)
_NOTIFY = re.compile(r"\b(?:notify me|send me a notification)(?: (?:that|when|about|of):? ?(.+))?$", re.IGNORECASE)


def page_calls_in(phrase: str, names: Collection[str]) -> list[Call]:
    """The calls of the page's tools that a phrase means, if the page has sent them."""
    return [call for call in _calls_in(phrase) if call[0] in names] if len(phrase) <= MAX_PHRASE else []


def _calls_in(phrase: str) -> list[Call]:
    if _WHERE.search(phrase):
        return [("where_am_i", {})]
    if _TIME_HERE.search(phrase):
        return [("local_time", {})]
    if found := _COPY.search(phrase):
        return [("copy_to_clipboard", {"text": _unquoted(found[1])})]
    if found := _SAVE.search(phrase):
        return [("download_file", {"content": _unquoted(found[1]), "name": found[2]})]
    if found := _NOTIFY.search(phrase):
        return [("show_notification", {"title": "Callboard", "body": _unquoted(found[1] or "You asked for this.")})]
    return []


def _unquoted(text: str) -> str:
    return text[1:-1] if len(text) > 2 and text[0] == text[-1] and text[0] in "'\"" else text
