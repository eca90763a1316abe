"""Access to untrusted JSON: a value of the wrong type reads as an empty one."""

from collections.abc import Iterator
from typing import Any, cast

from ..request import Body

Path = tuple[str, ...]


def names(text: str) -> frozenset[str]:
    """Split a text into a set of names."""
    return frozenset(text.split())


def as_object(value: Any) -> Body:
    return cast(Body, value) if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    return cast(list[Any], value) if isinstance(value, list) else []


def as_objects(value: Any) -> list[Body]:
    """Return the elements of a list, each as an object."""
    return [as_object(each) for each in as_list(value)]


def subschemas(schema: Body, at: Path = ()) -> Iterator[tuple[Path, Body]]:
    """Yield a JSON schema and all schemas within it, each with its path."""
    yield at, schema
    for keyword in ("properties", "$defs", "definitions"):
        for name, inner in as_object(schema.get(keyword)).items():
            yield from subschemas(as_object(inner), (*at, keyword, name))
    for keyword in ("anyOf", "oneOf", "allOf"):
        for index, inner in enumerate(as_objects(schema.get(keyword))):
            yield from subschemas(inner, (*at, keyword, str(index)))
    for keyword in ("items", "additionalProperties"):
        if isinstance(schema.get(keyword), dict):
            yield from subschemas(as_object(schema[keyword]), (*at, keyword))
