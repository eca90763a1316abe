"""References inside one schema document: resolution, and detection of recursive references."""

import re
from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import unquote

from ..errors import SchemaError
from ..types import JSONSchema
from .walk import as_schema, children

MAX_STEPS = 500_000
"""Schemas and references to visit in search of cycles, which takes a fraction of a second."""


_DEFINITIONS = ("$defs", "definitions")
"""Keywords whose schemas apply only where a reference points at them."""


def resolve(document: JSONSchema, reference: str) -> Any:
    """Resolve a reference. Raises `SchemaError` for an external or undefined one."""
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
    """Make a name for the target of a reference that is valid inside a reference."""
    last = unquote(reference).rpartition("/")[2].lstrip("#")
    return re.sub(r"[^\w.-]", "_", last) or "root"


def references_in(schema: Any) -> list[str]:
    """List the distinct references in a schema. Raises `SchemaError` for a schema that is too large to search."""
    found: dict[str, None] = {}
    pending = [top] if (top := as_schema(schema)) is not None else []
    for current in pending:  # grows during the walk
        if len(pending) > MAX_STEPS:
            raise _too_large()
        if isinstance(reference := current.get("$ref"), str):
            found[reference] = None
        inside = {keyword: value for keyword, value in current.items() if keyword not in _DEFINITIONS}
        pending.extend(child for _, child in children(inside))
    return list(found)


def recursive_references(document: JSONSchema) -> frozenset[str]:
    """Find the references that reach themselves.

    Raises `SchemaError` for an undefined reference, or a document that is too large to search.
    """
    edges: dict[str, list[str]] = {}
    pending = references_in(document)
    for reference in pending:
        if reference not in edges:
            edges[reference] = references_in(resolve(document, reference))
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
    """Select the definitions that a cleaned schema uses, directly or indirectly."""
    pending = [short_name(reference) for reference in references_in(schema)]
    needed: dict[str, JSONSchema] = {}
    for name in pending:
        if name not in needed:
            needed[name] = definitions[name]
            pending.extend(short_name(reference) for reference in references_in(definitions[name]))
    return needed


def _too_large() -> SchemaError:
    return SchemaError("The schema has too many parts or references to process.")
