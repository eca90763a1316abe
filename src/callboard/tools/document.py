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


def too_large(size: int, limit: int) -> ToolError:
    """The error for a document over the limit."""
    return ToolError(
        f"The arguments are too large: {size:,} bytes, and at most {limit:,} are taken.", category="validation"
    )


def check_text(data: bytes, validated: Any) -> None:
    """Refuse a document that validation took and that is not JSON, or gives a key twice in one object.

    The number of keys in the text is held against those that validation found, which is exact and cheap for plain
    documents; only where they differ (ignored keys, colons inside strings, defaults) is the text read again.
    """
    text = data.decode("latin-1")  # searching a text is twice as fast as searching bytes
    if "NaN" in text or "Infinity" in text:
        _check_constants(data)
    if text.count(":") != _keys_given(validated):
        _check_keys(data)


def _check_constants(data: bytes) -> None:
    try:
        from_json(data, allow_inf_nan=False)
    except ValueError:
        raise ToolError(
            "The arguments contain NaN or Infinity, which are not JSON. Use a number, or a string.",
            category="validation",
        ) from None


def _check_keys(data: bytes) -> None:
    try:
        json.loads(data, object_pairs_hook=_unique)
    except RecursionError:
        raise ToolError("The arguments are nested too deeply.", category="validation") from None


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
    for current in pending:  # it grows while it is walked
        names = _inner.get(current.__class__)
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
