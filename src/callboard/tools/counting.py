"""How many keys of JSON objects a validated value came from, counted by functions that are made once per type.

A type that is made of records, lists and plain values gets such a function: it looks only where keys or numbers can be.
For any other type (unions of models, maps, what may be anything) there is none, and the value itself is walked.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, cast

Counter = Callable[[Any], int]

WRONG = -(10**9)
"""What a number that is not finite counts: no text has so few keys."""

_PLAIN = frozenset({"str", "int", "bool", "none", "literal", "enum"})


class _Unknown(Exception):
    """There is something in a type for which no function can be made."""


def counter_of(schema: Any) -> Counter | None:
    """The function for a Pydantic core schema, if one can be made."""
    try:
        return _counter(schema, {})
    except _Unknown:
        return None


def _counter(schema: Mapping[str, Any], definitions: dict[str, Any]) -> Counter | None:
    """The function for values of one part; None where there is nothing to count in them."""
    kind = schema["type"]
    if kind in _PLAIN:
        return None
    if kind == "float":
        return _finite
    if kind == "definitions":
        definitions.update({each["ref"]: each for each in schema["definitions"]})
        return _counter(schema["schema"], definitions)
    if kind == "definition-ref":
        if (found := definitions.pop(schema["schema_ref"], None)) is None:
            raise _Unknown  # it is inside of itself
        counter = _counter(found, definitions)
        definitions[schema["schema_ref"]] = found
        return counter
    if kind == "nullable":
        inner = _counter(schema["schema"], definitions)
        return None if inner is None else lambda value: 0 if value is None else inner(value)
    if kind == "list":
        inner = _counter(schema.get("items_schema") or {"type": "any"}, definitions)
        return None if inner is None else lambda values: sum(map(inner, values))
    if kind == "model" and not (schema.get("root_model") or schema.get("custom_init")):
        return _of_model(*_children(schema["schema"], "model-fields", definitions))
    if kind == "typed-dict":
        return _of_dict(*_children(schema, "typed-dict", definitions))
    raise _Unknown


def _children(
    schema: Mapping[str, Any], kind: str, definitions: dict[str, Any]
) -> tuple[tuple[str, ...], tuple[tuple[str, Counter], ...]]:
    """The fields of a record that are numbers with a point, and those with something to count in them."""
    if schema["type"] != kind or "extras_schema" in schema:
        raise _Unknown
    numbers: list[str] = []
    others: list[tuple[str, Counter]] = []
    for name, field in cast("dict[str, Any]", schema["fields"]).items():
        part, default = field["schema"], None
        if part["type"] == "default":
            if kind == "typed-dict":
                raise _Unknown  # a dictionary does not tell what was given from what was filled in
            part, default = part["schema"], part.get("default", math.nan)
        bare = part["schema"] if part["type"] == "nullable" else part
        if bare["type"] == "float" and _is_harmless(default):
            numbers.append(name)
        elif (counter := _counter(part, definitions)) is not None:
            others.append((name, counter))
    return tuple(numbers), tuple(others)


def _is_harmless(default: Any) -> bool:
    """Whether a default may be looked at as if it had been given. It need not be of its field's type."""
    return default is None or (isinstance(default, int | float) and math.isfinite(default))


def _finite(value: Any) -> int:
    if value - value:  # only what is not finite has a difference from itself
        return WRONG
    return 0


def _of_model(numbers: tuple[str, ...], others: tuple[tuple[str, Counter], ...]) -> Counter:
    def count(value: Any) -> int:
        fields, given = value.__dict__, value.__pydantic_fields_set__
        total = len(given)
        for name in numbers:
            number = fields[name]
            if number is not None and number - number:
                total = WRONG
        for name, counter in others:
            if name in given:  # a default came from no text, and would make up for a key that the text has twice
                total += counter(fields[name])
        return total

    return count if numbers or others else lambda value: len(value.__pydantic_fields_set__)


def _of_dict(numbers: tuple[str, ...], others: tuple[tuple[str, Counter], ...]) -> Counter:
    def count(value: dict[str, Any]) -> int:
        total = len(value)
        for name in numbers:
            if (number := value.get(name)) is not None and number - number:
                total = WRONG
        for name, counter in others:
            if (child := value.get(name)) is not None:
                total += counter(child)
        return total

    return count if numbers or others else len
