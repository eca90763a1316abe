"""The JSON document of a call's arguments: what is refused before its meaning is looked at.

A document is refused if it is too large, is not JSON (NaN and infinities are not), or says a key twice: two readers of
such a document could see two different calls, and one of them may be the person who approves it.
"""

import json
import math
from typing import Any, cast

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, from_json, to_json

from ..errors import ToolError
from ..nesting import DEEPEST, is_deeper


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


def check_depth(document: bytes) -> None:
    """Refuse a document that is too deep for some reader. Raises `ToolError` (validation)."""
    if is_deeper(document, DEEPEST):
        raise ToolError("The arguments are nested too deeply.", category="validation")


def check_text(data: bytes, validated: Any, exact: bool = True, opaque: bool = False) -> None:
    """Refuse a document that validation took and that gives a key twice in one object, or holds what is not a number.

    The keys in the text are counted and held against those that validation found, which is cheap. `exact` says that
    validation added none (no defaults, no functions); else they are counted in the document itself. Only where the
    numbers differ (ignored keys, colons inside strings) is the text read again. `opaque` says that there are values
    which cannot be walked.
    """
    if not opaque:
        keys = data.count(b":")
        try:
            if (exact and keys_given(validated) == keys) or keys == keys_given(from_json(data)):
                return
        except ValueError as error:
            _constant(str(error))
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


def keys_given(value: Any) -> int:
    """How many keys of JSON objects a validated value came from. Raises `ValueError` for a number that is not finite.

    What was not given (a default) is not looked at.
    """
    total = 0
    pending = [value]
    for current in pending:  # it grows while it is walked
        if isinstance(current, BaseModel):
            given = current.model_fields_set
            total += 0 if current.__pydantic_root_model__ else len(given)  # the root of a model is no key
            pending += [getattr(current, name) for name in given]
        elif isinstance(current, dict):
            total += len(cast("dict[Any, Any]", current))
            pending += cast("dict[Any, Any]", current).values()
        elif isinstance(current, list | tuple):
            pending += cast("list[Any]", current)
        elif isinstance(current, float) and not math.isfinite(current):
            raise ValueError(current)
    return total


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
