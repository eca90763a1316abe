"""The cleaned form of a schema, which every provider accepts and from which the dialects start.

It has no `$ref` and `$defs` (except for recursive types), no `title`, and no null beside another type: an optional
property has its plain type and is not required. Descriptions, defaults, enums and consts stay unchanged, except that
values which JSON cannot represent, such as an infinite default, are left out. Arrays always have `items`.
"""

import json
from typing import Any, cast

from ..errors import SchemaError
from ..types import JSONSchema
from .references import reachable, recursive_references, resolve, short_name
from .walk import LISTED, NAMED, SINGLE, as_schema, json_type, unique

MAX_NODES = 20_000
"""Schemas that inlining references may produce. A few nested references could otherwise expand to billions."""

MAX_DEPTH = 100
"""Nesting depth of schemas."""

_DROPPED = frozenset({"title", "discriminator", "$schema", "$id", "$comment", "$anchor", "$defs", "definitions"})
_COMBINED = frozenset({"required", "anyOf", "oneOf", "allOf"})
_ANNOTATIONS = frozenset({"description", "default", "examples", "deprecated", "readOnly", "writeOnly"})


def clean(schema: JSONSchema, *, keep_null: bool = False, max_nodes: int = MAX_NODES) -> JSONSchema:
    """Clean a schema. Raises `SchemaError` if it is invalid, too deep, too large, or has external references.

    `keep_null` is for schemas of results: a result may be null, and readers validate it against the schema.
    """
    try:
        return _Cleaner(schema, keep_null, max_nodes).root()
    except RecursionError:
        raise SchemaError("The schema is nested too deeply for a model.") from None


class _Cleaner:
    """The state of cleaning one document: recursive references, kept definitions, and the size so far."""

    def __init__(self, document: JSONSchema, keep_null: bool, max_nodes: int) -> None:
        self._document = document
        self._keep_null = keep_null
        self._max_nodes = max_nodes
        self._recursive = recursive_references(document)
        self._names: dict[str, str] = {}
        self._kept: dict[str, JSONSchema] = {}
        self._nodes = 0
        self._depth = 0

    def root(self) -> JSONSchema:
        cleaned, _ = self._clean(self._document)
        for kept in self._kept.values():
            self._inline_alias(kept)
        cleaned = self._inline_alias(cleaned)  # the root cannot be a reference
        needed = reachable(cleaned, self._kept) if self._kept else {}
        return {**cleaned, "$defs": needed} if needed else cleaned

    def _inline_alias(self, schema: JSONSchema) -> JSONSchema:
        """Replace a schema that is only a reference by its definition."""
        passed: set[str] = set()
        while (name := _alias_target(schema)) is not None:
            if name in passed:
                raise SchemaError(f"The schema defines {name} only by a reference to itself.")
            passed.add(name)
            schema = {**self._kept[name], **{k: v for k, v in schema.items() if k in _ANNOTATIONS}}
        return schema

    def _clean(self, given: Any) -> tuple[JSONSchema, bool]:
        """Return the cleaned schema, and whether the original admitted null."""
        if isinstance(given, bool):
            return ({} if given else {"not": {}}), False
        schema = _expect(given, dict, "a schema")
        self._nodes += 1
        if self._nodes > self._max_nodes:
            raise SchemaError(f"The schema has more than {self._max_nodes:,} parts when its references are inlined.")
        if self._depth >= MAX_DEPTH:
            raise SchemaError("The schema is nested too deeply for a model.")
        self._depth += 1
        if isinstance(reference := schema.get("$ref"), str):
            made = self._reference(reference, {k: v for k, v in schema.items() if k != "$ref"})
        else:
            made = self._plain(schema)
        self._depth -= 1
        return made

    def _plain(self, schema: JSONSchema) -> tuple[JSONSchema, bool]:
        cleaned: JSONSchema = {}
        required: list[str] = _expect(schema.get("required", []), list, "a list of names")
        for keyword, value in schema.items():
            if keyword in _DROPPED or keyword in _COMBINED:
                continue
            if keyword in ("$dynamicRef", "$recursiveRef"):
                raise SchemaError(f"The schema uses {keyword!r}, which cannot be inlined. Use '$ref'.")
            if keyword in NAMED:
                cleaned[keyword], optional = self._named(_expect(value, dict, "schemas by name"))
                if keyword == "properties":
                    required = [name for name in required if name not in optional]
            elif keyword in LISTED or (keyword == "items" and isinstance(value, list)):  # an older form
                cleaned["prefixItems"] = [self._clean(child)[0] for child in _expect(value, list, "a list of schemas")]
            elif keyword in SINGLE and not isinstance(value, bool):
                cleaned[keyword] = self._clean(value)[0]
            elif keyword in ("enum", "examples") and isinstance(value, list):
                cleaned[keyword] = [each for each in cast(list[Any], value) if _is_json(each)]
            elif _is_json(value):
                cleaned[keyword] = value
        if required:
            cleaned["required"] = required
        nullable = False if self._keep_null else _drop_null(cleaned)
        _add_type(cleaned)
        _add_items(cleaned)
        return self._unions(schema, cleaned, nullable)

    def _named(self, named: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
        """Return the cleaned schemas by name, and the names of those that admitted null."""
        made = {name: self._clean(child) for name, child in named.items()}
        return {name: child for name, (child, _) in made.items()}, [name for name, (_, null) in made.items() if null]

    def _unions(self, schema: JSONSchema, cleaned: JSONSchema, nullable: bool) -> tuple[JSONSchema, bool]:
        branches: list[JSONSchema] = []
        for keyword in ("anyOf", "oneOf"):
            for child in _expect(schema.get(keyword, []), list, "a list of schemas"):
                branch, null = self._clean(child)
                nullable = nullable or null
                if _is_null(branch) and not self._keep_null:
                    nullable = True
                else:
                    branches.extend(cast(list[JSONSchema], branch["anyOf"]) if set(branch) == {"anyOf"} else [branch])
        branches = unique(branches) if len(branches) > 1 else branches
        if len(branches) == 1:
            cleaned = _merge(branches[0], cleaned)
        elif branches:
            cleaned["anyOf"] = branches
        elif nullable and not {"type", "enum", "const", "anyOf"} & cleaned.keys():
            cleaned, nullable = {**cleaned, "type": "null"}, False
        parts = [self._clean(child) for child in _expect(schema.get("allOf", []), list, "a list of schemas")]
        for part, _ in parts:
            cleaned = _merge(part, cleaned)
        return cleaned, nullable or (bool(parts) and all(null for _, null in parts))

    def _reference(self, reference: str, beside: JSONSchema) -> tuple[JSONSchema, bool]:
        more, _ = self._clean(beside) if beside else ({}, False)
        if reference not in self._recursive:
            found, nullable = self._clean(resolve(self._document, reference))
            return _merge(found, more), nullable
        if reference not in self._names:
            name = short_name(reference)
            while name in self._names.values():
                name += "_"
            self._names[reference] = name  # before the recursion, which meets this reference again
            self._kept[name] = {}
            self._kept[name] = self._clean(resolve(self._document, reference))[0]
        return _merge({"$ref": f"#/$defs/{self._names[reference]}"}, more), False


def _expect(value: Any, kind: type[Any], what: str) -> Any:
    if not isinstance(value, kind):
        raise SchemaError(f"The schema is not valid: it has {str(value)[:80]!r} instead of {what}.")
    return value


def _is_json(value: Any) -> bool:
    """Whether JSON can represent the value of a keyword: a default or a bound in Python may be infinite."""
    if isinstance(value, str | int):
        return True
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True


def _alias_target(schema: JSONSchema) -> str | None:
    """Return the name of the definition if a schema is only a reference to it."""
    branches: list[JSONSchema] = schema.get("anyOf", [])
    if len(branches) == 1 and schema.keys() - _ANNOTATIONS == {"anyOf"}:
        return _alias_target(branches[0])
    return str(schema["$ref"]).rpartition("/")[2] if schema.keys() == {"$ref"} else None


def _merge(first: JSONSchema, second: JSONSchema) -> JSONSchema:
    """Merge two schemas that both apply, using `allOf` only for conflicts. Annotations of the second one win."""
    if not first or not second:
        return first or second
    if "$ref" in second:
        first, second = second, first
    if "$ref" in first and "anyOf" not in second:
        return {"anyOf": [first], **second}
    if "$ref" in first or any(_clash(keyword, first, second) for keyword in first.keys() & second.keys()):
        return {**second, "allOf": unique([*second.get("allOf", []), first])}
    made = {**first, **second}
    if "properties" in made:
        made["properties"] = {**first.get("properties", {}), **second.get("properties", {})}
    if "required" in made:
        made["required"] = list(dict.fromkeys([*first.get("required", []), *second.get("required", [])]))
    return made


def _clash(keyword: str, first: JSONSchema, second: JSONSchema) -> bool:
    one, other = first[keyword], second[keyword]
    if keyword == "properties":
        return any(one[name] != other[name] for name in cast(JSONSchema, one).keys() & other.keys())
    return keyword == "allOf" or (one != other and keyword != "required" and keyword not in _ANNOTATIONS)


def _is_null(cleaned: JSONSchema) -> bool:
    return cleaned.get("type") == "null"


def _drop_null(cleaned: JSONSchema) -> bool:
    """Remove null from a list of types and from an enum, and return whether it was there. Lists become unions."""
    nullable = False
    types: Any = cleaned.get("type")
    if isinstance(types, list):
        rest = [kind for kind in cast(list[str], types) if kind != "null"]
        nullable = len(rest) < len(cast(list[str], types)) and bool(rest)
        if len(rest) > 1:
            del cleaned["type"]
            cleaned["anyOf"] = [{"type": kind} for kind in rest]
            for branch in cleaned["anyOf"]:
                _add_items(branch)
        else:
            cleaned["type"] = rest[0] if rest else "null"
    values: Any = cleaned.get("enum")
    if isinstance(values, list) and None in values and len(cast(list[Any], values)) > 1:
        nullable = True
        cleaned["enum"] = [value for value in cast(list[Any], values) if value is not None]
    return nullable


def _add_type(cleaned: JSONSchema) -> None:
    """Add the type of an enum whose values have a single type, which some providers require."""
    values: Any = [cleaned["const"]] if "const" in cleaned else cleaned.get("enum", [])
    if "type" not in cleaned and len(kinds := {json_type(value) for value in values}) == 1:
        cleaned["type"] = kinds.pop()


def _add_items(cleaned: JSONSchema) -> None:
    """Add `items` to an array, which OpenAI requires. A tuple whose positions are all equal becomes a plain array."""
    if cleaned.get("type") != "array":
        return
    positions: list[JSONSchema] = cleaned.get("prefixItems", [])
    rest = cleaned.pop("additionalItems", cleaned.get("items", {}))
    if rest is False:
        cleaned["maxItems"] = min(len(positions), cleaned.get("maxItems", len(positions)))
    cleaned["items"] = as_schema(rest) or {}
    if positions and len(unique(positions)) == 1 and cleaned.get("maxItems", len(positions) + 1) <= len(positions):
        cleaned["items"] = positions[0]
        del cleaned["prefixItems"]
