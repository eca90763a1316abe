"""Gemini's subset of OpenAPI 3.0: a fixed set of keywords, enums of strings only, no references.

Constraints that the subset does not know are left out or loosened (the tool's own validation still holds them); a
recursive type, which it cannot say at all, is refused with its name.
"""

from typing import Any, cast

from ..errors import SchemaError
from ..types import JSONSchema
from .walk import array_items, as_schema

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
        "required",
    }
)
_FORMATS = frozenset({"date-time", "int32", "int64", "float", "double"})


def gemini(schema: JSONSchema, path: str = "") -> JSONSchema:
    """A cleaned schema in Gemini's form. Raises `SchemaError` for what it cannot say."""
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        raise SchemaError(
            f"Gemini cannot say the recursive type {name}, which {path or 'the input'} is.", path=path, dialect="gemini"
        )
    if "allOf" in schema or "not" in schema:
        raise SchemaError(
            f"Gemini cannot say 'allOf' or 'not', which {path or 'the input'} uses.", path=path, dialect="gemini"
        )
    made: JSONSchema = {keyword: value for keyword, value in schema.items() if keyword in _KEPT}
    if schema.get("format") in _FORMATS:
        made["format"] = schema["format"]
    _values(schema, made)
    _bounds(schema, made)
    if properties := as_schema(schema.get("properties")):
        made["properties"] = {name: gemini(child, f"{path}.{name}".lstrip(".")) for name, child in properties.items()}
    if (others := as_schema(schema.get("additionalProperties"))) is not None:
        made["additionalProperties"] = gemini(others, f"{path}.*")
    if schema.get("type") == "array":
        made["items"] = gemini(array_items(schema), f"{path}[]")
    if "anyOf" in schema:
        made["anyOf"] = [gemini(branch, path) for branch in cast(list[JSONSchema], schema["anyOf"])]
    return made


def _values(schema: JSONSchema, made: JSONSchema) -> None:
    values: list[Any] = [schema["const"]] if "const" in schema else schema.get("enum", [])
    if values and all(isinstance(value, str) for value in values):
        made["enum"] = values
        made["type"] = "string"


def _bounds(schema: JSONSchema, made: JSONSchema) -> None:
    """Exclusive bounds, which the subset lacks: exact for integers, one notch looser for other numbers."""
    step = 1 if schema.get("type") == "integer" else 0
    if (low := schema.get("exclusiveMinimum")) is not None:
        made["minimum"] = max(low + step, made.get("minimum", low + step))
    if (high := schema.get("exclusiveMaximum")) is not None:
        made["maximum"] = min(high - step, made.get("maximum", high - step))
