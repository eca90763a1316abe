"""Keys given twice in one JSON object, and numbers that are not finite.

Two readers of such a document could see two different calls, and one of them may be the person who approves it.
"""

import json
import math
import re
from typing import Any

from pydantic_core import from_json, to_json

from ..errors import ToolError
from ..shortening import shorten

_ESCAPED_COLON = re.compile(rb"\\u003[aA]")
_BACKSLASH, _N, _I = b"\\NI"


def max_key_count(data: bytes) -> int:
    """Return an upper bound for the number of keys in a document, or -1 where counting would be expensive.

    Every key ends with a quotation mark and a colon, and few documents have whitespace between the two. Text values can
    contain the same pair, so the document may have fewer keys, but never more.
    """
    if data.find(b" :") >= 0 or any(space in data for space in b"\t\n\r"):
        return -1
    return data.count(b'":')


def check_keys_and_numbers(data: bytes) -> None:
    """Raise `ToolError` (validation) for a duplicate key in an object, or a number that is not finite.

    The document, which must be valid JSON, is decoded and encoded again, which drops a duplicate key; colons are
    counted. Only where the counts differ, or the text may hold NaN or Infinity, does the slow and exact reader decide.
    """
    written = to_json(from_json(data), inf_nan_mode="constants")
    same = written.count(b":") == data.count(b":") and not (_BACKSLASH in data and _ESCAPED_COLON.search(data))
    if not same or ((_N in written or _I in written) and (b"NaN" in written or b"Infinity" in written)):
        read_strictly(data)


def read_strictly(data: bytes) -> None:
    """Decode a document with the exact reader. Raises `ToolError` (validation) as `check_keys_and_numbers` does."""
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
