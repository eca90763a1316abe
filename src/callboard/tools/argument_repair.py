"""Repair of common mistakes that models make in arguments.

It decodes a JSON text given for an object or a list, drops null given for a property with a default, and adds a missing
nullable property. (Pydantic's lax mode reads numbers in strings.) Repair runs only after validation has failed, at the
locations that validation named, and its result is validated again.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from pydantic_core import from_json

from ..jsonrules.duplicate_keys import check_keys_and_numbers
from ..types import JSONSchema
from .locations import Path, path_in, schemas_at

MAX_REPAIR_ROUNDS = 3
"""Attempts at repair. Each one decodes one more level of JSON text inside JSON text."""


class InvalidLocation(NamedTuple):
    """A location that failed validation, and whether the property is missing there."""

    location: Sequence[int | str]
    missing: bool


def repair_arguments(arguments: Any, locations: Iterable[InvalidLocation], schema: JSONSchema, *, lax: bool) -> Any:
    """Repair arguments in place and return them, or None if nothing could be repaired.

    A root that is itself a JSON text is decoded. The cleaned schema distinguishes declared properties, which may be
    dropped, from the keys of an open object, which may not. Without `lax`, only missing nullable properties are added.
    """
    if isinstance(arguments, str):
        return _parsed(arguments) if lax else None
    changed = False
    root: list[Any] = [arguments]
    for at in locations:
        changed = _repair(root, at, schema, lax) or changed
    return root[0] if changed else None


def _repair(root: list[Any], at: InvalidLocation, schema: JSONSchema, lax: bool) -> bool:
    path = path_in(root[0], schema, at.location, is_missing=at.missing)
    parent: Any = root
    key: Any = 0
    for part in path:
        parent, key = parent[key], part
    if at.missing:
        if isinstance(parent, dict) and key not in parent and not _is_required(schema, path):
            parent[key] = None
            return True
        return False
    value = parent[key]
    if lax and value is None and isinstance(parent, dict) and schemas_at(schema, path)[1]:
        del parent[key]
        return True
    if lax and isinstance(value, str) and (parsed := _parsed(value)) is not None:
        parent[key] = parsed
        return True
    return False


def _is_required(schema: JSONSchema, path: Path) -> bool:
    """Whether all objects that can hold the property at a path require it, so that null cannot replace it."""
    name = path[-1]
    above, _ = schemas_at(schema, path[:-1])
    known = [each for each in above if name in each.get("properties", ()) or name in each.get("required", ())]
    return bool(known) and all(name in each.get("required", ()) for each in known)


def _parsed(text: str) -> Any:
    """Decode a text that holds an object or a list, by the rules of the document around it; otherwise return None."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        value: Any = from_json(text, allow_inf_nan=False)
    except ValueError:
        return None
    check_keys_and_numbers(text.encode())
    return value
