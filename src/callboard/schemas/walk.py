"""Traversal of JSON schemas.

A JSON schema mixes keywords, user-defined names and plain data. Every transformation uses these tables of keywords, so
that a property *named* `title` or `$ref`, or a default that looks like a schema, is never mistaken for a keyword.
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
"""Keywords whose value is a schema or a boolean."""


def as_schema(value: Any) -> JSONSchema | None:
    """Return the value if it is a schema object, and None otherwise, also for a boolean schema."""
    return cast(JSONSchema, value) if isinstance(value, dict) else None


def unique(schemas: Iterable[JSONSchema]) -> list[JSONSchema]:
    """Remove duplicate schemas, keeping the order. They are compared as JSON: `1` is not `true`."""
    return list({json.dumps(schema, sort_keys=True, default=repr): schema for schema in schemas}.values())


def json_type(value: Any) -> str:
    """Return the JSON Schema name of a value's type."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    if isinstance(value, int | float):
        return "integer" if isinstance(value, int) else "number"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"


def by_type(values: Iterable[Any]) -> list[JSONSchema]:
    """Split an enum of several types into one enum per type."""
    found: dict[str, list[Any]] = {}
    for value in values:
        found.setdefault(json_type(value), []).append(value)
    return [{"type": kind, "enum": group} for kind, group in found.items()]


def array_items(schema: JSONSchema) -> JSONSchema:
    """Return one schema for all items of an array or a tuple, whose positions most dialects cannot distinguish."""
    rest = as_schema(schema.get("items")) or {}
    positions: list[JSONSchema] = schema.get("prefixItems", [])
    if not positions:
        return rest
    closed = schema.get("maxItems", len(positions) + 1) <= len(positions)
    kinds = unique(positions if closed else [*positions, rest])
    return kinds[0] if len(kinds) == 1 else {"anyOf": kinds}


def descendants(schema: JSONSchema) -> Iterator[JSONSchema]:
    """Yield a schema and every schema below it."""
    pending = [schema]
    for current in pending:  # it grows during the walk
        yield current
        pending.extend(child for _, child in children(current))


def children(schema: JSONSchema) -> Iterator[tuple[str, JSONSchema]]:
    """Yield every direct sub-schema with the path from its parent: `.name`, `[]`, or an empty string."""
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
