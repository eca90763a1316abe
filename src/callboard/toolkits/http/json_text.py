"""JSON of a service as values that can be stored and written again. Services write more than the standard allows."""

import json
import math
import re
from typing import Any

_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED = re.compile(r"\\u[dD][89a-fA-F]")


def read_json(text: str) -> Any:
    """Parse a JSON text, with null for numbers that are not finite, and U+FFFD for halves of surrogate pairs.

    A service writes such a half where it cut a text within an emoji. Raises `ValueError` or `RecursionError`.
    """
    value = json.loads(text, parse_constant=_nothing, parse_float=_finite)
    if _ESCAPED.search(text) is None:  # a half can only be written as an escape
        return value
    plain = json.dumps(value, ensure_ascii=False)
    return json.loads(_SURROGATE.sub("\N{REPLACEMENT CHARACTER}", plain)) if _SURROGATE.search(plain) else value


def _nothing(_: str) -> None:
    return None


def _finite(text: str) -> float | None:
    return value if math.isfinite(value := float(text)) else None
