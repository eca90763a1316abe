"""Forms for people: the answer schema of a request, in the subset of JSON Schema that MCP clients can show.

A form is flat: strings, numbers, booleans, and choices of strings. A schema that needs more has no form.
"""

from collections.abc import Mapping
from typing import Any, cast

from ...types import JSONSchema

_KEPT = {
    "string": ("minLength", "maxLength", "format", "enum", "enumNames", "oneOf"),
    "number": ("minimum", "maximum"),
    "integer": ("minimum", "maximum"),
    "boolean": (),
    "array": ("minItems", "maxItems", "items"),
}
"""The keywords of each type, beside those of all."""
_FORMATS = ("email", "uri", "date", "date-time")

APPROVAL: JSONSchema = {
    "type": "object",
    "properties": {
        "approved": {"type": "boolean", "title": "Approve", "description": "Whether the call may run"},
        "reason": {"type": "string", "title": "Reason", "description": "Why not, for the model"},
    },
    "required": ["approved"],
}
"""The form of a request for approval. Arguments are edited on the page only."""


def form_of(schema: JSONSchema) -> JSONSchema | None:
    """Return the form of an answer schema; None if a form cannot express it."""
    if schema.get("type") != "object" or not isinstance(schema.get("properties"), dict):
        return None
    definitions: Mapping[str, JSONSchema] = schema.get("$defs", {})
    fields: JSONSchema = {}
    required = list[str](schema.get("required", ()))
    for name, declared in schema["properties"].items():
        field = _field(declared, definitions)
        if field is not None:
            fields[name] = field
        elif name in required:
            return None
    return {"type": "object", "properties": fields, "required": required} if fields else None


def _field(declared: JSONSchema, definitions: Mapping[str, JSONSchema]) -> JSONSchema | None:
    schema = _resolved(declared, definitions)
    kind = schema.get("type")
    if "const" in schema and isinstance(schema["const"], str):
        kind, schema = "string", {**schema, "enum": [schema["const"]]}
    if not isinstance(kind, str) or kind not in _KEPT:
        return None
    if kind == "array" and not _is_choice(schema.get("items")):
        return None
    field: JSONSchema = {"type": kind}
    for keyword in ("title", "description", "default", *_KEPT[kind]):
        if schema.get(keyword) is not None and not (keyword == "format" and schema[keyword] not in _FORMATS):
            field[keyword] = schema[keyword]
    return field


def _resolved(declared: JSONSchema, definitions: Mapping[str, JSONSchema]) -> JSONSchema:
    """Return a schema without references, and without the null of an optional value."""
    schema = declared
    if (choices := schema.get("anyOf")) is not None:
        some = [each for each in cast("list[JSONSchema]", choices) if each.get("type") != "null"]
        if len(some) != 1:
            return {}
        schema = {**some[0], **{keyword: value for keyword, value in schema.items() if keyword != "anyOf"}}
    if (reference := schema.get("$ref")) is not None:
        target = definitions.get(str(reference).rpartition("/")[2], {})
        schema = {**target, **{keyword: value for keyword, value in schema.items() if keyword != "$ref"}}
    return schema


def _is_choice(items: Any) -> bool:
    """Return whether the items of a list are a choice of strings."""
    return isinstance(items, dict) and ("enum" in items or "anyOf" in items)
