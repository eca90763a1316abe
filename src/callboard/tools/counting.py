"""How many keys of JSON objects a validated value came from, counted by functions that are made once per type.

A type that is made of records, lists and plain values gets such a function: it looks only where keys or numbers can be.
For any other type (unions of models, maps, what may be anything) there is none, and the value itself is walked.
"""

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
    if kind in ("nullable", "default"):
        return _counter(schema["schema"], definitions)
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
    fields = cast("dict[str, Any]", schema["fields"])
    found = {name: _counter(field["schema"], definitions) for name, field in fields.items()}
    numbers = tuple(name for name, counter in found.items() if counter is _finite)
    others = tuple((name, each) for name, each in found.items() if each is not None and each is not _finite)
    return numbers, others


def _finite(value: Any) -> int:
    if value - value:  # only what is not finite has a difference from itself
        return WRONG
    return 0


def _of_model(numbers: tuple[str, ...], others: tuple[tuple[str, Counter], ...]) -> Counter:
    def count(value: Any) -> int:
        fields = value.__dict__
        total = len(value.__pydantic_fields_set__)
        for name in numbers:
            number = fields[name]
            if number is not None and number - number:
                total = WRONG
        for name, counter in others:
            if (child := fields[name]) is not None:
                total += counter(child)
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
