"""The JSON document of a call's arguments: what is refused before its meaning is looked at.

A document is refused if it is too large, is not JSON (NaN and infinities are not), or says a key twice: two readers of
such a document could see two different calls, and one of them may be the person who approves it.
"""

import json
import math
import re
from typing import Any, NamedTuple, cast

from pydantic_core import PydanticSerializationError, from_json, to_json

from ..census import has_more_values
from ..errors import ToolError
from ..nesting import DEEPEST, is_deeper

_ESCAPED_COLON = re.compile(rb"\\u003[aA]")
_BACKSLASH, _N, _I = b"\\NI"


def encode(arguments: Any) -> bytes:
    """Python data as a JSON document. Raises `ToolError` (validation) for what JSON cannot say."""
    try:
        data = to_json(arguments)
    except (PydanticSerializationError, ValueError) as error:
        raise ToolError(f"The arguments cannot be written as JSON: {_reason(error)}.", category="validation") from error
    except RecursionError as error:
        raise ToolError("The arguments are nested too deeply.", category="validation") from error
    return data


def encode_text(text: str) -> bytes:
    """A JSON text as bytes. Raises `ToolError` (validation) for one that is not valid Unicode."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ToolError(f"The arguments are not JSON: {_reason(error)}.", category="validation") from error


def same_document(one: bytes, other: bytes) -> bool:
    """Whether two documents say the same, however they are spaced and ordered."""
    if one == other:
        return True
    try:
        return canonical(one) == canonical(other)
    except (ValueError, RecursionError):
        return False


def canonical(document: bytes) -> bytes:
    """What a document says, written in one way: `1`, `1.0` and `true` are three things, the order of keys is none.

    Raises `ValueError` for what is not JSON, and for a key that is given twice: nobody knows which one is meant.
    """
    made = to_json(_ordered(from_json(document)))
    if made.count(b":") != document.count(b":"):  # or a colon is written as an escape
        try:
            _read_again(document)
        except ToolError as error:
            raise ValueError(error.message) from error
    return made


def too_large(size: int, limit: int) -> ToolError:
    """The error for a document over the limit."""
    return ToolError(
        f"The arguments are too large: {size:,} bytes, and at most {limit:,} are taken.", category="validation"
    )


class Size(NamedTuple):
    """How large the arguments of a call may be."""

    max_bytes: int
    max_values: int

    @property
    def harmless(self) -> int:
        """How many bytes a document may have that is within both limits, whatever it says."""
        return min(self.max_bytes, 2 * self.max_values)

    def check(self, document: bytes) -> None:
        """Refuse a document that is too large. Raises `ToolError` (validation)."""
        if len(document) > self.max_bytes:
            raise too_large(len(document), self.max_bytes)
        if has_more_values(document, self.max_values):
            raise ToolError(
                f"The arguments have too many values: at most {self.max_values:,} are taken.", category="validation"
            )

    def admits(self, document: bytes) -> bool:
        """Whether a document is not too large."""
        return len(document) <= self.harmless or (
            len(document) <= self.max_bytes and not has_more_values(document, self.max_values)
        )


def check_depth(document: bytes) -> None:
    """Refuse a document that is too deep for some reader. Raises `ToolError` (validation)."""
    if is_deeper(document, DEEPEST):
        raise ToolError("The arguments are nested too deeply.", category="validation")


def most_keys(data: bytes) -> int:
    """How many keys a document has at most, also where there are colons in its texts; -1 where that is not seen easily.

    Every key ends with a quotation mark and a colon, and only a few documents have space between the two. In a text
    there may be such a pair as well, so there can be fewer keys than this, and never more.
    """
    if data.find(b" :") >= 0 or any(space in data for space in b"\t\n\r"):
        return -1
    return data.count(b'":')


def check_text(data: bytes) -> None:
    """Refuse a document that validation took and that gives a key twice in one object, or holds what is not a number.

    It is read and written, which loses such a key, and the colons are counted; where their number differs, or the text
    may hold something that is not a number, it is read again by a reader that is slow, and sees everything.
    """
    written = to_json(from_json(data), inf_nan_mode="constants")
    same = written.count(b":") == data.count(b":") and not (_BACKSLASH in data and _ESCAPED_COLON.search(data))
    if not same or ((_N in written or _I in written) and (b"NaN" in written or b"Infinity" in written)):
        _read_again(data)


def _ordered(value: Any) -> Any:
    if isinstance(value, dict):
        given = cast("dict[str, Any]", value)
        return {key: _ordered(given[key]) for key in sorted(given)}
    if isinstance(value, list):
        return [_ordered(each) for each in cast("list[Any]", value)]
    return value


def _read_again(data: bytes) -> None:
    try:
        json.loads(data, object_pairs_hook=_unique, parse_constant=_constant, parse_float=_number)
    except RecursionError:
        raise ToolError("The arguments are nested too deeply.", category="validation") from None


def _number(text: str) -> float:
    if not math.isfinite(value := float(text)):
        _constant(text)
    return value


def _constant(text: str) -> None:
    raise ToolError(
        f"The arguments contain {shorten(text, 40)}, which is not a finite number. Use one that is, or a string.",
        category="validation",
    )


def _unique(pairs: list[tuple[str, Any]]) -> None:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise ToolError(
                f"The arguments give {shorten(key)!r} twice. Give each property once.", category="validation"
            )
        seen.add(key)


def shorten(text: str, limit: int = 200) -> str:
    """A text as it may stand in a message."""
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text):,} characters)"


def _reason(error: Exception) -> str:
    text = str(error)
    if "surrogates not allowed" in text:
        return "a text contains a lone surrogate, which is not valid Unicode"
    if "Circular" in text or "depth" in text:
        return "they contain themselves, or are nested too deeply"
    return "they contain a value that is not JSON data"
