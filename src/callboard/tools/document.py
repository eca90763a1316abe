"""The JSON document of a call's arguments: what is refused before its meaning is looked at.

A document is refused if it is too large, is not JSON (NaN and infinities are not), or says a key twice: two readers of
such a document could see two different calls, and one of them may be the person who approves it.
"""

import json
import math
from enum import Enum
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, from_json, to_json

from ..errors import ToolError

_PLAIN = frozenset({str, int, bool, type(None), bytes})


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
        return from_json(one) == from_json(other)
    except ValueError:
        return False


def too_large(size: int, limit: int) -> ToolError:
    """The error for a document over the limit."""
    return ToolError(
        f"The arguments are too large: {size:,} bytes, and at most {limit:,} are taken.", category="validation"
    )


def check_text(data: bytes, validated: Any, exact: bool = True, flat: bool = False, opaque: bool = False) -> None:
    """Refuse a document that validation took and that gives a key twice in one object, or holds what is not a number.

    The keys in the text are counted and held against those that validation found, which is cheap. `exact` says that
    validation added none (no defaults, no functions); else they are counted in the document itself. Only where the
    numbers differ (ignored keys, colons inside strings) is the text read again. `flat` says that there is nothing but
    one dictionary of plain values, `opaque` that there are values which cannot be walked.
    """
    if flat and data.count(b":") == len(validated):
        return
    if not opaque:
        found, keys = _keys_given(validated), data.count(b":")
        if (exact and found == keys) or keys == _keys_given(from_json(data)):
            return
    _read_again(data)


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


def _keys_given(value: Any) -> int:
    """How many keys of JSON objects a validated value came from. Raises `ToolError` for a number that is not finite."""
    total = 0
    pending = [value]
    known = _inner.get
    for current in pending:  # it grows while it is walked
        names = known(current.__class__)
        if names is None:
            names = _learn(current.__class__)
        if names is _LEAF:
            continue
        if names is _LIST:
            pending += current
        elif names is _DICT:
            total += len(current)
            pending += current.values()
        elif names is _FLOAT:
            if current - current:  # only what is not finite has a difference from itself
                _constant(str(current))
        else:
            given = current.__pydantic_fields_set__
            total += len(given)
            if names:
                fields = current.__dict__
                for name in names:
                    child = fields[name]
                    if child.__class__ is float:
                        if child - child:
                            _constant(str(child))
                    elif name in given:  # a default was not in the document
                        pending.append(child)
    return total


_LEAF, _FLOAT, _LIST, _DICT = ("<leaf>",), ("<float>",), ("<list>",), ("<dict>",)
_BASE: dict[type, tuple[str, ...]] = {
    **dict.fromkeys(_PLAIN, _LEAF),
    float: _FLOAT,
    list: _LIST,
    tuple: _LIST,
    dict: _DICT,
}
_inner = dict(_BASE)
"""By class: of a model, the fields that may hold objects, lists or fractions; else one of the four marks above."""


def _learn(cls: type) -> tuple[str, ...]:
    names = _LEAF
    if issubclass(cls, BaseModel):
        names = tuple(name for name, field in cls.model_fields.items() if not _is_plain(field.annotation))
    if len(_inner) >= 4096:  # classes that are made at run time must not be kept for ever
        _inner.clear()
        _inner.update(_BASE)
    _inner[cls] = names
    return names


def _is_plain(annotation: Any) -> bool:
    if isinstance(annotation, type) and get_origin(annotation) is None:
        return annotation in _PLAIN or issubclass(annotation, Enum)
    if get_origin(annotation) is Literal:
        return True
    return get_origin(annotation) is not None and all(_is_plain(inner) for inner in get_args(annotation))


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
