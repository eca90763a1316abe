"""OpenAI's strict form: every property required, optional ones nullable, no open objects.

Unsupported constraints are left out (the tool's own validation still enforces them). A type that strict mode cannot
express is refused with its path.
"""

from typing import Any, cast

from ..errors import SchemaError
from ..types import JSONSchema
from .walk import array_items, as_schema, by_type, unique

_KEPT = frozenset(
    {
        "type",
        "description",
        "enum",
        "const",
        "pattern",
        "format",
        "multipleOf",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "minItems",
        "maxItems",
    }
)
_FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})
_REFUSED = ("allOf", "not", "if", "patternProperties", "dependentSchemas")


def strict(schema: JSONSchema) -> JSONSchema:
    """Convert a cleaned schema to strict form. Raises `SchemaError` with the path of an unsupported type."""
    made = _strict(schema, "")
    if definitions := as_schema(schema.get("$defs")):
        made["$defs"] = {name: _strict(definition, name) for name, definition in definitions.items()}
    return made


def _strict(schema: JSONSchema, path: str) -> JSONSchema:
    if "$ref" in schema:
        return {"$ref": schema["$ref"]}
    for keyword in _REFUSED:
        if keyword in schema:
            raise _unsupported(path, f"{keyword!r}")
    if "anyOf" in schema and "properties" in schema:
        raise _unsupported(path, "'anyOf' beside properties")
    if "type" not in schema and "enum" in schema:
        schema = {**{k: v for k, v in schema.items() if k != "enum"}, "anyOf": by_type(schema["enum"])}
    made = {keyword: value for keyword, value in schema.items() if keyword in _KEPT}
    if made.get("format") not in _FORMATS:
        made.pop("format", None)
    if "(?" in str(made.get("pattern", "")).replace("(?:", ""):
        del made["pattern"]
    if "anyOf" in schema:
        made["anyOf"] = [_strict(branch, path) for branch in cast(list[JSONSchema], schema["anyOf"])]
    elif schema.get("type") == "object":
        made.update(_object(schema, path))
    elif schema.get("type") == "array":
        made["items"] = _strict(array_items(schema), f"{path}[]")
    elif "type" not in schema:
        raise _unsupported(path, "a value of any type")
    return made


def _object(schema: JSONSchema, path: str) -> JSONSchema:
    properties = as_schema(schema.get("properties")) or {}
    if schema.get("additionalProperties", "properties" not in schema) is not False:
        raise _unsupported(path, "an object with any keys (dict)")
    required: list[str] = schema.get("required", [])
    made: dict[str, Any] = {}
    for name, child in properties.items():
        value = _strict(child, f"{path}.{name}".lstrip("."))
        made[name] = value if name in required else _nullable(value)
    return {"properties": made, "required": list(made), "additionalProperties": False}


def _nullable(schema: JSONSchema) -> JSONSchema:
    if schema.get("type") == "null":
        return schema
    if "anyOf" in schema:
        return {**schema, "anyOf": unique([*schema["anyOf"], {"type": "null"}])}
    if "$ref" in schema or "const" in schema:
        described = {"description": schema.pop("description")} if "description" in schema else {}
        return {"anyOf": [schema, {"type": "null"}], **described}
    made = {**schema, "type": [schema["type"], "null"]}
    if "enum" in schema:
        made["enum"] = [*schema["enum"], None]
    return made


def _unsupported(path: str, what: str) -> SchemaError:
    return SchemaError(
        f"OpenAI's strict mode cannot express {what}, which {path or 'the input'} is. "
        "Use the dialect 'openai', or a model with named fields.",
        path=path,
        dialect="openai-strict",
    )
