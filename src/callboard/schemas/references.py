"""References inside one schema document: where they lead, and which of them lead back to themselves."""

import re
from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import unquote

from ..errors import SchemaError
from ..types import JSONSchema
from .walk import as_schema, children

MAX_STEPS = 500_000
"""How many schemas and references are looked at in search of circles: a fraction of a second."""


_DEFINITIONS = ("$defs", "definitions")
"""They are no part of a schema until something refers to them."""


def target(document: JSONSchema, reference: str) -> Any:
    """What a reference stands for. Raises `SchemaError` for one that leads out of the document, or nowhere."""
    if not reference.startswith("#"):
        raise SchemaError(f"The schema refers to {reference!r}, which is outside of it.")
    found: Any = document
    path = unquote(reference[1:])
    for part in path.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list):
            items = cast(list[Any], found)
            found = items[int(key)] if key.isdecimal() and int(key) < len(items) else None
        else:
            found = cast(dict[str, Any], found).get(key) if isinstance(found, dict) else None
    if (path and not path.startswith("/")) or not isinstance(found, dict | bool):
        raise SchemaError(f"The schema refers to {reference!r}, which it does not define.")
    return cast(Any, found)


def short_name(reference: str) -> str:
    """A name for what a reference leads to, fit to be part of a reference itself."""
    last = unquote(reference).rpartition("/")[2].lstrip("#")
    return re.sub(r"[^\w.-]", "_", last) or "root"


def mentioned(schema: Any) -> list[str]:
    """Every reference in a schema, once each. Raises `SchemaError` for a schema too large to be searched."""
    found: dict[str, None] = {}
    pending = [top] if (top := as_schema(schema)) is not None else []
    for current in pending:  # it grows while it is walked
        if len(pending) > MAX_STEPS:
            raise _too_large()
        if isinstance(reference := current.get("$ref"), str):
            found[reference] = None
        inside = {keyword: value for keyword, value in current.items() if keyword not in _DEFINITIONS}
        pending.extend(child for _, child in children(inside))
    return list(found)


def recursive(document: JSONSchema) -> frozenset[str]:
    """The references from which one can come back to themselves.

    Raises `SchemaError` for a reference that leads nowhere, or a document too large to be searched.
    """
    edges: dict[str, list[str]] = {}
    pending = mentioned(document)
    for reference in pending:
        if reference not in edges:
            edges[reference] = mentioned(target(document, reference))
            pending.extend(edges[reference])
            if len(pending) > MAX_STEPS:
                raise _too_large()
    steps = 0
    found: set[str] = set()
    for start in edges:
        seen: dict[str, None] = dict.fromkeys(edges[start])
        ahead = list(seen)
        for here in ahead:
            new = [reference for reference in edges[here] if reference not in seen]
            seen.update(dict.fromkeys(new))
            ahead.extend(new)
            steps += 1 + len(edges[here])
        if start in seen:
            found.add(start)
        if steps > MAX_STEPS:
            raise _too_large()
    return frozenset(found)


def reachable(schema: JSONSchema, definitions: Mapping[str, JSONSchema]) -> dict[str, JSONSchema]:
    """The definitions that a cleaned schema needs, directly or through others."""
    pending = [short_name(reference) for reference in mentioned(schema)]
    needed: dict[str, JSONSchema] = {}
    for name in pending:
        if name not in needed:
            needed[name] = definitions[name]
            pending.extend(short_name(reference) for reference in mentioned(definitions[name]))
    return needed


def _too_large() -> SchemaError:
    return SchemaError("The schema has too many parts, or too many references, to be followed.")
