"""The JSON document of a call's arguments: what is refused before its meaning is looked at.

A document is refused if it is too large, is not JSON (NaN and infinities are not), or says a key twice: two readers of
such a document could see two different calls, and one of them may be the person who approves it.
"""

import json
from enum import Enum
from typing import Any, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, from_json, to_json

from ..errors import ToolError

_PLAIN = frozenset({str, int, float, bool, type(None), bytes})


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


def check_text(data: bytes, validated: Any, exact: bool = True, floats: bool = True, flat: bool = False) -> None:
    """Refuse a document that validation took and that is not JSON, or gives a key twice in one object.

    The number of keys in the text is held against those that validation found, which is cheap. `exact` says that
    validation added none (no defaults, no functions); else they are counted in the document itself. Only where the
    numbers differ (ignored keys, colons inside strings) is the text read again. Without `floats` the types have taken
    nothing that is not a number; `flat` says that there is nothing but one dictionary of plain values.
    """
    if flat and data.count(b":") == len(validated):
        return
    text = data.decode("latin-1")  # searching a text is faster than searching bytes
    if floats and ("NaN" in text or "Infinity" in text):
        _read_again(data)
        return
    keys = text.count(":")
    if (not exact or keys != _keys_given(validated)) and keys != _keys_given(from_json(data)):
        _read_again(data)


def _read_again(data: bytes) -> None:
    try:
        json.loads(data, object_pairs_hook=_unique, parse_constant=_constant)
    except RecursionError:
        raise ToolError("The arguments are nested too deeply.", category="validation") from None


def _constant(name: str) -> None:
    raise ToolError(
        f"The arguments contain {name}, which is not a number in JSON. Use one that is, or a string.",
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
    """How many keys of JSON objects a validated value came from, where that can be seen."""
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
        else:
            total += len(current.__pydantic_fields_set__)
            if names:
                fields = current.__dict__
                for name in names:
                    pending.append(fields[name])
    return total


_LEAF, _LIST, _DICT = ("<leaf>",), ("<list>",), ("<dict>",)
_BASE: dict[type, tuple[str, ...]] = {**dict.fromkeys(_PLAIN, _LEAF), list: _LIST, dict: _DICT}
_inner = dict(_BASE)
"""By class: of a model, the fields that may hold objects or lists of them; else one of the three marks above."""


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
