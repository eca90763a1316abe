"""Gemini's subset of OpenAPI 3.0: a fixed set of keywords, enums of strings only, no references.

Unsupported constraints are left out or loosened (the tool's own validation still enforces them). A recursive type,
which the subset cannot express, is refused with its name.
"""

import math
from typing import Any, cast

from ..errors import SchemaError
from ..types import JSONSchema
from .walk import array_items, as_schema, by_type, unique

_KEPT = frozenset(
    {
        "type",
        "description",
        "default",
        "pattern",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "minProperties",
        "maxProperties",
    }
)
_FORMATS = frozenset({"date-time", "int32", "int64", "float", "double"})


def gemini(schema: JSONSchema, path: str = "") -> JSONSchema:
    """Convert a cleaned schema to Gemini's form. Raises `SchemaError` for a type that it cannot express."""
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        raise _unsupported(path, f"the recursive type {name}, which {{}} is")
    if "allOf" in schema or "not" in schema:
        raise _unsupported(path, "'allOf' or 'not', which {} uses")
    if "type" not in schema and "enum" in schema:
        schema = {**{k: v for k, v in schema.items() if k != "enum"}, "anyOf": by_type(schema["enum"])}
    if "anyOf" in schema and "properties" not in schema:
        return _union(schema, path)
    if "type" not in schema:
        raise _unsupported(path, "a value of any type, which {} is")
    made: JSONSchema = {keyword: value for keyword, value in schema.items() if keyword in _KEPT}
    if schema.get("format") in _FORMATS:
        made["format"] = schema["format"]
    _values(schema, made)
    _bounds(schema, made)
    if properties := as_schema(schema.get("properties")):
        made["properties"] = {name: gemini(child, f"{path}.{name}".lstrip(".")) for name, child in properties.items()}
        if required := [name for name in schema.get("required", []) if name in properties]:
            made["required"] = required
    if others := as_schema(schema.get("additionalProperties")):
        made["additionalProperties"] = gemini(others, f"{path}.*")
    if schema.get("type") == "array":
        made["items"] = gemini(array_items(schema), f"{path}[]")
    return made


def _union(schema: JSONSchema, path: str) -> JSONSchema:
    """Convert a union. No keyword may stand beside it, so the others are copied into every branch."""
    beside = {keyword: value for keyword, value in schema.items() if keyword not in ("anyOf", "default", "description")}
    branches: list[JSONSchema] = []
    for branch in cast(list[JSONSchema], schema["anyOf"]):
        texts = [part["description"] for part in (schema, branch) if part.get("description")]
        described = {"description": "\n\n".join(texts)} if texts else {}
        made = gemini({**beside, **branch, **described}, path)
        branches.extend(cast(list[JSONSchema], made["anyOf"]) if "anyOf" in made else [made])
    branches = unique(branches)
    return branches[0] if len(branches) == 1 else {"anyOf": branches}


def _unsupported(path: str, what: str) -> SchemaError:
    return SchemaError(f"Gemini cannot express {what.format(path or 'the input')}.", path=path, dialect="gemini")


def _values(schema: JSONSchema, made: JSONSchema) -> None:
    values: list[Any] = [schema["const"]] if "const" in schema else schema.get("enum", [])
    if values and all(isinstance(value, str) for value in values):
        made["enum"] = values
        made["type"] = "string"


def _bounds(schema: JSONSchema, made: JSONSchema) -> None:
    """Convert exclusive bounds, which the subset lacks: exactly for integers, to inclusive ones for other numbers."""
    whole = schema.get("type") == "integer"
    if (low := schema.get("exclusiveMinimum")) is not None:
        low = math.floor(low) + 1 if whole else low
        made["minimum"] = max(low, made.get("minimum", low))
    if (high := schema.get("exclusiveMaximum")) is not None:
        high = math.ceil(high) - 1 if whole else high
        made["maximum"] = min(high, made.get("maximum", high))
