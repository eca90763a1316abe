"""Secret fields: types `SecretStr`, `SecretBytes` and `Secret`, or `writeOnly` in a schema.

A value that holds a secret and cannot be masked in part, such as a JSON text or an object with secret keys, is masked
as a whole.
"""

from typing import Any, cast

from ..types import JSONSchema
from .walk import as_schema, descendants

MASK = "********"


def has_secrets(schema: JSONSchema) -> bool:
    """Whether any field below a cleaned schema is secret."""
    return any(each.get("writeOnly") for each in descendants(schema))


def public_names(schema: JSONSchema) -> frozenset[str] | None:
    """Return the property names that may be displayed, or None if no object has secret keys and every name may be."""
    schemas = list(descendants(schema))
    if not any(_may_hold_secrets(as_schema(each.get("propertyNames")) or {}) for each in schemas):
        return None
    return frozenset(name for each in schemas for name in as_schema(each.get("properties")) or {})


def masked(value: Any, schema: JSONSchema) -> Any:
    """Return a copy of a value with its secrets masked, as marked in a cleaned schema.

    A value that does not have the shape of its schema (a string for an object, an undeclared property) could hold a
    secret anywhere: it is masked as a whole if the schema has secrets.
    """
    return _masked(value, schema, as_schema(schema.get("$defs")) or {})


def _masked(value: Any, schema: JSONSchema, definitions: JSONSchema) -> Any:
    if schema.get("writeOnly"):
        return MASK
    if isinstance(reference := schema.get("$ref"), str):
        return _masked(value, as_schema(definitions.get(reference.rpartition("/")[2])) or {}, definitions)
    if value is None or not _may_hold_secrets(schema):
        return value
    if any(_may_hold_secrets(inner) for word in _WHOLE if (inner := as_schema(schema.get(word))) is not None):
        return MASK
    for keyword in ("anyOf", "oneOf", "allOf"):
        for branch in cast(list[JSONSchema], schema.get(keyword, ())):
            value = _masked(value, branch, definitions)
    if isinstance(value, dict) and not schema.keys().isdisjoint(_OF_OBJECTS):
        properties = as_schema(schema.get("properties")) or {}
        others = as_schema(schema.get("additionalProperties")) or {"writeOnly": True}
        if patterns := as_schema(schema.get("patternProperties")):  # each of them may apply
            others = {"anyOf": [*patterns.values(), others]}
        given = cast(dict[str, Any], value)
        return {key: _masked(child, properties.get(key, others), definitions) for key, child in given.items()}
    if isinstance(value, list) and not schema.keys().isdisjoint(_OF_LISTS):
        given_items = cast(list[Any], value)
        positions = cast(list[JSONSchema], schema.get("prefixItems", ()))
        items = as_schema(schema.get("items")) or {"writeOnly": True}
        schemas = [*positions, *[items] * len(given_items)]
        return [_masked(child, inner, definitions) for child, inner in zip(given_items, schemas, strict=False)]
    return cast(Any, value) if schema.keys().isdisjoint(_OF_OBJECTS | _OF_LISTS) else MASK


_WHOLE = ("propertyNames", "contentSchema")
_OF_OBJECTS = frozenset({"properties", "additionalProperties", "patternProperties"})
_OF_LISTS = frozenset({"items", "prefixItems"})


def _may_hold_secrets(schema: JSONSchema) -> bool:
    """Whether a field below is secret, or is a reference, which may lead to one."""
    return any(each.get("writeOnly") or "$ref" in each for each in descendants(schema))
