"""The JSON document of a call's arguments: what is refused before its meaning is looked at.

A document is refused if it is too large, is not JSON (NaN and infinities are not), or says a key twice: two readers of
such a document could see two different calls, and one of them may be the person who approves it.
"""

import json
import math
from enum import Enum
from types import UnionType
from typing import Any, Literal, NamedTuple, Union, get_args, get_origin

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


def check_text(data: bytes, validated: Any, exact: bool = True, opaque: bool = False) -> None:
    """Refuse a document that validation took and that gives a key twice in one object, or holds what is not a number.

    The keys in the text are counted and held against those that validation found, which is cheap. `exact` says that
    validation added none (no defaults, no functions); else they are counted in the document itself. Only where the
    numbers differ (ignored keys, colons inside strings) is the text read again. `opaque` says that there are values
    which cannot be walked.
    """
    if not opaque:
        found, keys = keys_given(validated), data.count(b":")
        if (exact and found == keys) or keys == keys_given(from_json(data)):
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


class _Plan(NamedTuple):
    """How to walk a value of one class: the fields of a model by what they hold, plain ones left out."""

    walk: bool = False
    leaves: tuple[tuple[str, type], ...] = ()
    """Models that hold plain fields only, and so need no walk of their own."""
    floats: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


_LEAF, _FLOAT, _LIST, _DICT = _Plan(), _Plan(), _Plan(), _Plan()
_BASE: dict[type, _Plan] = {
    **dict.fromkeys(_PLAIN, _LEAF),
    float: _FLOAT,
    list: _LIST,
    tuple: _LIST,
    dict: _DICT,
}
_plans = dict(_BASE)


def keys_given(value: Any) -> int:
    """How many keys of JSON objects a validated value came from. Raises `ToolError` for a number that is not finite.

    It runs for every call with nested arguments. What was not given (a default) is not looked at.
    """
    total = 0
    pending = [value]
    if value.__class__ is dict:  # nearly always: the parameters of a function
        total = len(value)
        pending = list(value.values())
    known = _plans.get
    for current in pending:  # it grows while it is walked
        plan = known(current.__class__) or _learn(current.__class__)
        if plan is _LEAF:
            continue
        if plan is _LIST:
            pending += current
        elif plan is _DICT:
            total += len(current)
            pending += current.values()
        elif plan is _FLOAT:
            if current - current:  # only what is not finite has a difference from itself
                _constant(str(current))
        else:
            given = current.__pydantic_fields_set__
            total += len(given)
            walk, leaves, floats, others = plan
            if walk:
                fields = current.__dict__
                for name, cls in leaves:
                    child = fields[name]
                    if child.__class__ is cls:
                        total += len(child.__pydantic_fields_set__)
                    elif child is not None:
                        pending.append(child)
                for name in floats:
                    number = fields[name]
                    if number.__class__ is float and number - number:
                        _constant(str(number))
                for name in others:
                    if name in given:
                        pending.append(fields[name])
    return total


def _learn(cls: type) -> _Plan:
    plan = _LEAF
    if issubclass(cls, BaseModel):
        leaves: list[tuple[str, type]] = []
        floats: list[str] = []
        others: list[str] = []
        for name, field in cls.model_fields.items():
            kinds = [kind for kind in _members(field.annotation) if kind not in _PLAIN]
            if kinds == [float]:
                floats.append(name)
            elif len(kinds) == 1 and _is_leaf(kinds[0], cls) and (field.is_required() or field.default is None):
                leaves.append((name, kinds[0]))
            elif not all(map(_is_plain, kinds)):
                others.append(name)
        plan = _Plan(bool(leaves or floats or others), tuple(leaves), tuple(floats), tuple(others))
    if len(_plans) >= 4096:  # classes that are made at run time must not be kept for ever
        _plans.clear()
        _plans.update(_BASE)
    _plans[cls] = plan
    return plan


def _members(annotation: Any) -> tuple[Any, ...]:
    """The members of a union, or the one type that it is."""
    return get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)


def _is_leaf(kind: Any, within: type) -> bool:
    """Whether a type is a model with plain fields only, below another."""
    if not (isinstance(kind, type) and get_origin(kind) is None and issubclass(kind, BaseModel)) or kind is within:
        return False
    return all(_is_plain(field.annotation) for field in kind.model_fields.values())


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
