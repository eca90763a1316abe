"""Requirements of OpenAI's APIs on the schema of a function."""

from ..request import Body
from .json_access import as_list, as_object, subschemas

TOP_LEVEL = frozenset({"oneOf", "anyOf", "allOf", "enum", "not"})
NOT_STRICT = ("allOf", "not", "dependentRequired", "dependentSchemas", "if", "then", "else")


def schema_complaint(name: str, schema: Body, *, strict: bool) -> str | None:
    """Return the error message of the service for an invalid function schema, or None."""
    complaint = _shape(schema) or (_strict(schema) if strict else None)
    return f"Invalid schema for function '{name}': {complaint}" if complaint else None


def _shape(schema: Body) -> str | None:
    if schema.get("type") != "object" or TOP_LEVEL & schema.keys():
        return "schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level."
    for at, inner in subschemas(schema):
        if inner.get("type") == "array" and "items" not in inner:
            return f"In context={at}, array schema missing items."
    return None


def _strict(schema: Body) -> str | None:
    for at, inner in subschemas(schema):
        if "$ref" in inner and (beside := inner.keys() - {"$ref"}):
            return f"context={at}, $ref cannot have keywords {beside}."
        for keyword in NOT_STRICT:
            if keyword in inner:
                return f"In context={at}, '{keyword}' is not permitted."
        if inner.get("type") == "object":
            if inner.get("additionalProperties") is not False:
                return f"In context={at}, 'additionalProperties' is required to be supplied and to be false."
            required = as_list(inner.get("required"))
            for name in as_object(inner.get("properties")):
                if name not in required:
                    return (
                        f"In context={at}, 'required' is required to be supplied and to be an array including every "
                        f"key in properties. Missing '{name}'."
                    )
    return None
