"""Where schemas stand inside a schema.

A JSON Schema mixes keywords, names chosen by people and plain data. Every transformation here goes through this table,
so that a property which is *named* `title` or `$ref`, or a default that looks like a schema, is never mistaken for one.
"""

from collections.abc import Iterator
from typing import Any, cast

from ..types import JSONSchema

NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
"""Keywords whose value maps names to schemas."""

LISTED = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
"""Keywords whose value is a list of schemas."""

SINGLE = frozenset(
    {
        "items",
        "additionalProperties",
        "not",
        "contains",
        "propertyNames",
        "if",
        "then",
        "else",
        "unevaluatedProperties",
        "unevaluatedItems",
    }
)
"""Keywords whose value is a schema, or a boolean that stands for one."""


def as_schema(value: Any) -> JSONSchema | None:
    """The value if it is a schema object (booleans, which stand for schemas too, are not)."""
    return cast(JSONSchema, value) if isinstance(value, dict) else None


def array_items(schema: JSONSchema) -> JSONSchema:
    """One schema for all items, also of a tuple (whose positions most dialects cannot tell apart)."""
    if not (positions := cast(list[JSONSchema], schema.get("prefixItems", []))):
        return as_schema(schema.get("items")) or {}
    kinds = [kind for index, kind in enumerate(positions) if kind not in positions[:index]]
    return kinds[0] if len(kinds) == 1 else {"anyOf": kinds}


def children(schema: JSONSchema) -> Iterator[tuple[str, JSONSchema]]:
    """Every direct sub-schema with the path from its parent, as people write it: `.name`, `[]`, or nothing."""
    for keyword, value in schema.items():
        if keyword in NAMED and isinstance(value, dict):
            for name, child in cast(dict[str, Any], value).items():
                if isinstance(child, dict):
                    yield (f".{name}" if keyword == "properties" else ""), cast(JSONSchema, child)
        elif keyword in LISTED and isinstance(value, list):
            for index, child in enumerate(cast(list[Any], value)):
                if isinstance(child, dict):
                    yield (f"[{index}]" if keyword == "prefixItems" else ""), cast(JSONSchema, child)
        elif keyword in SINGLE and isinstance(value, dict):
            yield (
                ("[]" if keyword == "items" else ".*" if keyword == "additionalProperties" else ""),
                cast(JSONSchema, value),
            )
