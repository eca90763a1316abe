"""What is put right where models commonly err.

Numbers in strings are Pydantic's own business (its lax mode). Here: a JSON text where an object or a list is wanted,
null for a property that has a default, and a nullable property that was left out. It runs only after validation has
failed, on exactly the places that validation named, and its result is validated again.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, cast

from pydantic_core import from_json

from ..jsonrules.duplicate_keys import check_keys_and_numbers
from ..types import JSONSchema


class Fault(NamedTuple):
    """A place that failed validation: where, and whether the property is missing there."""

    location: Sequence[int | str]
    missing: bool


def coerced(arguments: Any, faults: Iterable[Fault], schema: JSONSchema, *, lax: bool = True) -> Any:
    """The arguments with every fault put right that can be, or None where there was nothing to do.

    The input is not changed. A root that is itself a JSON text is read as one. The schema, cleaned, tells the
    properties from the keys of an open object, of which none may be left out. Without `lax` only what the schema itself
    allows is put right: a nullable property that is missing.
    """
    if isinstance(arguments, str):
        return _parsed(arguments) if lax else None
    changed = False
    root: list[Any] = [_copy(arguments)]
    for fault in faults:
        changed = _coerce(root, fault, schema, lax) or changed
    return root[0] if changed else None


def _coerce(root: list[Any], fault: Fault, schema: JSONSchema, lax: bool) -> bool:
    parent, key = _place(root, fault)
    if fault.missing:
        if isinstance(parent, dict) and key not in parent:
            parent[key] = None
            return True
        return False
    value = parent[key]
    if lax and value is None and isinstance(parent, dict) and _is_property(schema, fault.location):
        del parent[key]
        return True
    if lax and isinstance(value, str) and (parsed := _parsed(value)) is not None:
        parent[key] = parsed
        return True
    return False


def _place(root: list[Any], fault: Fault) -> tuple[Any, Any]:
    """The container and the key of the fault. What cannot be followed further is the name of a union's branch."""
    parent: Any = root
    key: Any = 0
    for index, part in enumerate(fault.location):
        here = parent[key]
        last = index == len(fault.location) - 1
        if isinstance(here, dict) and (part in here or (last and fault.missing)):
            parent, key = cast(dict[Any, Any], here), part
        elif isinstance(here, list) and isinstance(part, int) and part < len(cast(list[Any], here)):
            parent, key = cast(list[Any], here), part
    return parent, key


def _is_property(schema: JSONSchema, location: Sequence[int | str]) -> bool:
    """Whether a location is that of a declared property. Names of union branches along the way are passed over."""
    here = [schema]
    declared = False
    for part in location:
        here = [branch for each in here for branch in _branches(each, schema)]
        below = [each["properties"][part] for each in here if part in each.get("properties", {})]
        others = [
            each[key] for each in here for key in ("additionalProperties", "items") if isinstance(each.get(key), dict)
        ]
        if below or others:
            here, declared = below or others, bool(below)
    return declared


def _branches(schema: JSONSchema, root: JSONSchema, depth: int = 0) -> Iterator[JSONSchema]:
    if isinstance(reference := schema.get("$ref"), str) and depth < 20:
        yield from _branches(root.get("$defs", {}).get(reference.rpartition("/")[2], {}), root, depth + 1)
    yield schema
    for branch in cast("list[JSONSchema]", schema.get("anyOf", ())):
        yield from _branches(branch, root, depth + 1)


def _parsed(text: str) -> Any:
    """The object or list that a text holds, else None. It is held to the same rules as the document around it."""
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        value: Any = from_json(text, allow_inf_nan=False)
    except ValueError:
        return None
    check_keys_and_numbers(text.encode())
    return value


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(child) for key, child in cast(dict[Any, Any], value).items()}
    if isinstance(value, list):
        return [_copy(child) for child in cast(list[Any], value)]
    return value
