"""Where schemas stand inside a schema.

A JSON Schema mixes keywords, names chosen by people and plain data. Every transformation here goes through this table,
so that a property which is *named* `title` or `$ref`, or a default that looks like a schema, is never mistaken for one.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any, cast

from ..types import JSONSchema

NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
"""Keywords whose value maps names to schemas."""

LISTED = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
"""Keywords whose value is a list of schemas."""

SINGLE = frozenset(
    {
        "items",
        "additionalItems",
        "additionalProperties",
        "not",
        "contains",
        "propertyNames",
        "if",
        "then",
        "else",
        "unevaluatedProperties",
        "unevaluatedItems",
        "contentSchema",
    }
)
"""Keywords whose value is a schema, or a boolean that stands for one."""


def as_schema(value: Any) -> JSONSchema | None:
    """The value if it is a schema object (booleans, which stand for schemas too, are not)."""
    return cast(JSONSchema, value) if isinstance(value, dict) else None


def unique(schemas: Iterable[JSONSchema]) -> list[JSONSchema]:
    """The schemas without repetitions, in order. They are told apart as JSON: `1` is not `true`."""
    return list({json.dumps(schema, sort_keys=True, default=repr): schema for schema in schemas}.values())


def json_type(value: Any) -> str:
    """The name that JSON Schema has for the type of a value."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    if isinstance(value, int | float):
        return "integer" if isinstance(value, int) else "number"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"


def by_type(values: Iterable[Any]) -> list[JSONSchema]:
    """An enumeration of several types as one enumeration for each."""
    found: dict[str, list[Any]] = {}
    for value in values:
        found.setdefault(json_type(value), []).append(value)
    return [{"type": kind, "enum": group} for kind, group in found.items()]


def array_items(schema: JSONSchema) -> JSONSchema:
    """One schema for all items, also of a tuple (whose positions most dialects cannot tell apart)."""
    rest = as_schema(schema.get("items")) or {}
    positions: list[JSONSchema] = schema.get("prefixItems", [])
    if not positions:
        return rest
    closed = schema.get("maxItems", len(positions) + 1) <= len(positions)
    kinds = unique(positions if closed else [*positions, rest])
    return kinds[0] if len(kinds) == 1 else {"anyOf": kinds}


def children(schema: JSONSchema) -> Iterator[tuple[str, JSONSchema]]:
    """Every direct sub-schema with the path from its parent, as people write it: `.name`, `[]`, or nothing."""
    for keyword, value in schema.items():
        if keyword in NAMED and isinstance(value, dict):
            for name, child in cast(dict[str, Any], value).items():
                if isinstance(child, dict):
                    yield (f".{name}" if keyword == "properties" else ""), cast(JSONSchema, child)
        elif (keyword in LISTED or keyword == "items") and isinstance(value, list):
            for index, child in enumerate(cast(list[Any], value)):
                if isinstance(child, dict):
                    yield (f"[{index}]" if keyword in ("prefixItems", "items") else ""), cast(JSONSchema, child)
        elif keyword in SINGLE and isinstance(value, dict):
            yield (
                ("[]" if keyword == "items" else ".*" if keyword == "additionalProperties" else ""),
                cast(JSONSchema, value),
            )
