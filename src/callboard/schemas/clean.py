"""The default form of a schema, which every provider accepts.

No `$ref` and `$defs` (but for recursive types), no `title`, no null beside another type: an optional property is its
plain type and is not required. Descriptions, defaults, enums and consts are kept character for character. The dialects
start from this form and never see what Pydantic, or a foreign server, wrote originally.
"""

from collections.abc import Callable
from typing import Any, cast

from ..errors import SchemaError
from ..types import JSONSchema
from .walk import LISTED, NAMED, SINGLE, as_schema, children

MAX_NODES = 20_000
"""How many schemas one may grow into: a few nested references can otherwise stand for billions."""

_DROPPED = frozenset({"title", "discriminator", "$schema", "$id", "$comment", "$anchor", "$defs", "definitions"})


def clean(schema: JSONSchema) -> JSONSchema:
    """The default form. Raises `SchemaError` for a reference that leads nowhere, or a schema too deep or too large."""
    try:
        return _Cleaner(schema).root()
    except RecursionError:
        raise SchemaError("The schema is nested too deeply to be shown to a model.") from None


class _Cleaner:
    """One pass over one document: which references are recursive, and how much has been written out."""

    def __init__(self, document: JSONSchema) -> None:
        self._document = document
        self._recursive = _recursive_references(document, self._resolve)
        self._kept: dict[str, JSONSchema | None] = {}
        self._nodes = 0

    def root(self) -> JSONSchema:
        top = self._document
        while isinstance(reference := top.get("$ref"), str):  # a root must say what it is, not point at it
            top = {**self._resolve(reference), **{k: v for k, v in top.items() if k not in ("$ref", "$defs")}}
        cleaned, _ = self._clean(top)
        if self._kept:
            cleaned["$defs"] = {_name(reference): kept for reference, kept in self._kept.items()}
        return cleaned

    def _resolve(self, reference: str) -> JSONSchema:
        target: Any = self._document
        if not reference.startswith("#"):
            raise SchemaError(f"The schema refers to {reference!r}, which is outside of it.")
        for part in reference.removeprefix("#").split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            target = cast(dict[str, Any], target).get(key) if isinstance(target, dict) else None
        if (found := as_schema(target)) is None:
            raise SchemaError(f"The schema refers to {reference!r}, which it does not define.")
        return found

    def _clean(self, schema: JSONSchema) -> tuple[JSONSchema, bool]:
        """The cleaned schema, and whether it admitted null (which the cleaned one does not say)."""
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise SchemaError(f"The schema grows beyond {MAX_NODES} parts when its references are written out.")
        if isinstance(reference := schema.get("$ref"), str):
            return self._reference(reference, {k: v for k, v in schema.items() if k != "$ref"})
        cleaned: JSONSchema = {}
        required: list[str] = schema.get("required", [])
        for keyword, value in schema.items():
            if keyword in _DROPPED or keyword in ("required", "anyOf", "oneOf", "allOf"):
                continue
            if keyword in NAMED and isinstance(value, dict):
                cleaned[keyword], optional = self._named(cast(dict[str, Any], value))
                if keyword == "properties":
                    required = [name for name in schema.get("required", ()) if name not in optional]
            elif keyword in LISTED and isinstance(value, list):
                cleaned[keyword] = [self._clean(child)[0] for child in cast(list[JSONSchema], value)]
            elif keyword in SINGLE and (child := as_schema(value)) is not None:
                cleaned[keyword] = self._clean(child)[0]
            else:
                cleaned[keyword] = value
        if required:
            cleaned["required"] = required
        return self._unions(schema, *_without_null(cleaned))

    def _named(self, named: dict[str, Any]) -> tuple[dict[str, Any], set[str]]:
        """The cleaned schemas by name, and the names of those that admitted null."""
        cleaned: dict[str, Any] = {}
        optional: set[str] = set()
        for name, child in named.items():
            cleaned[name], nullable = (child, False) if (schema := as_schema(child)) is None else self._clean(schema)
            if nullable:
                optional.add(name)
        return cleaned, optional

    def _unions(self, schema: JSONSchema, cleaned: JSONSchema, nullable: bool) -> tuple[JSONSchema, bool]:
        branches: list[JSONSchema] = []
        for keyword in ("anyOf", "oneOf"):
            for child in cast(list[JSONSchema], schema.get(keyword, ())):
                branch, null = self._clean(child)
                nullable = nullable or null or branch == {"type": "null"}
                if branch != {"type": "null"}:
                    branches.extend(cast(list[JSONSchema], branch["anyOf"]) if set(branch) == {"anyOf"} else [branch])
        unique = [branch for index, branch in enumerate(branches) if branch not in branches[:index]]
        if len(unique) == 1:
            cleaned = _merge(unique[0], cleaned)
        elif unique:
            cleaned["anyOf"] = unique
        elif nullable and "type" not in cleaned and "enum" not in cleaned:
            cleaned, nullable = {**cleaned, "type": "null"}, False
        for child in cast(list[JSONSchema], schema.get("allOf", ())):
            part, null = self._clean(child)
            nullable = nullable or null
            if len(schema["allOf"]) == 1:
                cleaned = _merge(part, cleaned)
            else:
                cleaned.setdefault("allOf", []).append(part)
        return cleaned, nullable

    def _reference(self, reference: str, beside: JSONSchema) -> tuple[JSONSchema, bool]:
        notes = {k: v for k, v in beside.items() if k not in _DROPPED}
        if reference not in self._recursive:
            target, nullable = self._clean(self._resolve(reference))
            return _merge(target, notes), nullable
        if reference not in self._kept:
            self._kept[reference] = None  # claimed before it is filled: it will meet itself
            self._kept[reference] = self._clean(self._resolve(reference))[0]
        pointer = {"$ref": f"#/$defs/{_name(reference)}"}
        return ({"anyOf": [pointer], **notes} if notes else pointer), False


def _name(reference: str) -> str:
    return reference.rpartition("/")[2] if reference != "#" else "root"


def _merge(target: JSONSchema, beside: JSONSchema) -> JSONSchema:
    if "$ref" in target and beside:
        return {"anyOf": [target], **beside}
    return {**target, **beside}


def _without_null(cleaned: JSONSchema) -> tuple[JSONSchema, bool]:
    """Null taken out of a list of types and of an enum; several types that remain become a union."""
    nullable = False
    types: Any = cleaned.get("type")
    if isinstance(types, list):
        rest = [kind for kind in cast(list[str], types) if kind != "null"]
        nullable = len(rest) < len(cast(list[str], types)) and bool(rest)
        if len(rest) > 1:
            del cleaned["type"]
            cleaned["anyOf"] = [{"type": kind} for kind in rest]
        else:
            cleaned["type"] = rest[0] if rest else "null"
    values: Any = cleaned.get("enum")
    if isinstance(values, list) and None in values and len(cast(list[Any], values)) > 1:
        nullable = True
        cleaned["enum"] = [value for value in cast(list[Any], values) if value is not None]
    return cleaned, nullable


def _recursive_references(document: JSONSchema, resolve: Callable[[str], JSONSchema]) -> frozenset[str]:
    """The references from which one can come back to themselves."""
    edges: dict[str, set[str]] = {}

    def references(schema: JSONSchema) -> set[str]:
        found: set[str] = set()
        pending = [schema]
        while pending:
            current = pending.pop()
            if isinstance(reference := current.get("$ref"), str):
                found.add(reference)
            pending.extend(child for _, child in children(current))
        return found

    pending = references({k: v for k, v in document.items() if k not in ("$defs", "definitions")})
    while pending:
        reference = pending.pop()
        if reference not in edges:
            edges[reference] = references(resolve(reference))
            pending |= edges[reference]

    def comes_back(start: str) -> bool:
        seen: set[str] = set()
        ahead = set(edges[start])
        while ahead:
            here = ahead.pop()
            if here == start:
                return True
            if here not in seen:
                seen.add(here)
                ahead |= edges[here]
        return False

    return frozenset(reference for reference in edges if comes_back(reference))
