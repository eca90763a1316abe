"""Repair of common mistakes that models make in arguments.

It decodes a JSON text given for an object or a list, drops null given for a property with a default, and adds a missing
nullable property. (Pydantic's lax mode reads numbers in strings.) Repair runs only after validation has failed, at the
locations that validation named, and its result is validated again.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, cast

from pydantic_core import from_json

from ..jsonrules.duplicate_keys import check_keys_and_numbers
from ..types import JSONSchema

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
    parent, key = _locate(root, at)
    if at.missing:
        if isinstance(parent, dict) and key not in parent and not _is_required(schema, at.location):
            parent[key] = None
            return True
        return False
    value = parent[key]
    if lax and value is None and isinstance(parent, dict) and _is_property(schema, at.location):
        del parent[key]
        return True
    if lax and isinstance(value, str) and (parsed := _parsed(value)) is not None:
        parent[key] = parsed
        return True
    return False


def _locate(root: list[Any], at: InvalidLocation) -> tuple[Any, Any]:
    """Return the container and the key of a location. Parts that lead nowhere are names of union branches."""
    parent: Any = root
    key: Any = 0
    for index, part in enumerate(at.location):
        here = parent[key]
        last = index == len(at.location) - 1
        if isinstance(here, dict) and (part in here or (last and at.missing)):
            parent, key = cast(dict[Any, Any], here), part
        elif isinstance(here, list) and isinstance(part, int) and part < len(cast(list[Any], here)):
            parent, key = cast(list[Any], here), part
    return parent, key


def _is_property(schema: JSONSchema, location: Sequence[int | str]) -> bool:
    """Whether a location is that of a declared property. Names of union branches are skipped."""
    return _descend(schema, location)[1]


def _is_required(schema: JSONSchema, location: Sequence[int | str]) -> bool:
    """Whether all objects that can hold the property at a location require it, so that null cannot replace it."""
    name = location[-1]
    above = [branch for each in _descend(schema, location[:-1])[0] for branch in _branches(each, schema)]
    known = [each for each in above if name in each.get("properties", ()) or name in each.get("required", ())]
    return bool(known) and all(name in each.get("required", ()) for each in known)


def _descend(schema: JSONSchema, location: Sequence[int | str]) -> tuple[list[JSONSchema], bool]:
    """Return the schemas that apply at a location, and whether it is that of a declared property."""
    here = [schema]
    declared = False
    for part in location:
        here = [branch for each in here for branch in _branches(each, schema)]
        below = [each["properties"][part] for each in here if part in each.get("properties", {})]
        others = [
            each[key] for each in here for key in ("additionalProperties", "items") if isinstance(each.get(key), dict)
        ]
        others += [position for each in here for position in each.get("prefixItems", ())]
        if below or others:
            here, declared = below or others, bool(below)
    return here, declared


def _branches(schema: JSONSchema, root: JSONSchema, depth: int = 0) -> Iterator[JSONSchema]:
    if isinstance(reference := schema.get("$ref"), str) and depth < 20:
        yield from _branches(root.get("$defs", {}).get(reference.rpartition("/")[2], {}), root, depth + 1)
    yield schema
    for keyword in ("anyOf", "allOf"):
        for branch in cast("list[JSONSchema]", schema.get(keyword, ())):
            yield from _branches(branch, root, depth + 1)


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
