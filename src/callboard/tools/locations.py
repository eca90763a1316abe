"""The path of a value in a document, from the location that a validator reports.

A location of Pydantic also names branches of unions: `("block", "image", "size")` is the path `block.size` where
`image` is the tag of a branch, even if the block has a property `image`. A path consists of keys only.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from ..types import JSONSchema

Path = tuple[int | str, ...]

MAX_READINGS = 16
"""Readings of one location that are compared: documents exist that admit many."""


class _Reading(NamedTuple):
    """What the first parts of a location may mean."""

    value: Any
    schemas: list[JSONSchema]
    """The schemas that apply to the value, with all branches."""
    in_branch: bool = False
    """Whether a part has already named the branch of this value."""


def path_in(document: Any, schema: JSONSchema, location: Sequence[int | str], *, is_missing: bool = False) -> Path:
    """Return the path of a location in a document with this cleaned schema. A missing property ends the path.

    The reading with the most keys wins; among equals, the one whose last part is a key wins: the name of a branch
    stands before the keys in it.
    """
    readings: dict[Path, _Reading] = {(): _Reading(document, _expanded([schema], schema))}
    ending: set[Path] = set()
    for index, part in enumerate(location):
        last = index == len(location) - 1
        found: dict[Path, _Reading] = {}
        ending.clear()
        for path, reading in readings.items():
            value, schemas, in_branch = reading
            absent = last and is_missing and _is_absent(part, value)
            if absent or _is_key(part, value):
                below = _expanded(schemas_below(schemas, part)[0], schema)
                found.setdefault((*path, part), _Reading(None if absent else value[part], below))
                ending.add((*path, part))
                if in_branch or not any("anyOf" in each for each in schemas):
                    continue
            named = in_branch or "[" not in str(part)  # `list[A]` may precede other branches
            found.setdefault(path, reading._replace(in_branch=named))
        kept = sorted(found, key=len, reverse=True)[:MAX_READINGS]
        readings = {path: found[path] for path in kept}
    return max(readings, key=lambda path: (len(path), path in ending))


def schemas_at(schema: JSONSchema, path: Path) -> tuple[list[JSONSchema], bool]:
    """Return the schemas that apply at a path, with all branches, and whether it is that of a declared property."""
    here, declared = _expanded([schema], schema), False
    for part in path:
        below, declared = schemas_below(here, part)
        here = _expanded(below, schema)
    return here, declared


def schemas_below(schemas: list[JSONSchema], part: int | str) -> tuple[list[JSONSchema], bool]:
    """Return the schemas of a property or an item, and whether it is a declared property."""
    declared = [each["properties"][part] for each in schemas if part in each.get("properties", {})]
    if declared:
        return declared, True
    others = [each[key] for each in schemas for key in ("additionalProperties", "items") if _is_schema(each.get(key))]
    return [*others, *(position for each in schemas for position in each.get("prefixItems", ()))], False


def _expanded(schemas: list[JSONSchema], root: JSONSchema) -> list[JSONSchema]:
    """Return schemas with all that apply to the same value: those that they refer to, and their branches. Each once."""
    found: dict[int, JSONSchema] = {}
    pending = list(schemas)
    for schema in pending:  # grows during the walk
        if id(schema) in found:
            continue
        found[id(schema)] = schema
        name = str(schema.get("$ref", "")).rpartition("/")[2]
        pending += [root["$defs"][name]] if name in root.get("$defs", ()) else []
        for keyword in ("anyOf", "allOf"):
            pending += cast("list[JSONSchema]", schema.get(keyword, ()))
    return list(found.values())


def _is_schema(value: Any) -> bool:
    return isinstance(value, dict)


def _is_absent(part: int | str, value: Any) -> bool:
    """Whether a part names a property that an object lacks, or a position beyond the end of an array."""
    if isinstance(value, dict):
        return part not in value
    return isinstance(value, list) and isinstance(part, int) and part >= len(cast("list[Any]", value))


def _is_key(part: int | str, value: Any) -> bool:
    if isinstance(value, dict):
        return part in value
    return isinstance(value, list) and isinstance(part, int) and part < len(cast("list[Any]", value))
