"""The cost of validating a document against a type with recursive unions, counted before it is spent.

Pydantic tries every member of a union that has no discriminator. Where members contain the union again, such as in a
tree of conditions, each level of a document multiplies the work: one of 350 bytes can take minutes, during which
nothing else of the process runs. The count visits each part of a document once per schema, and adds up the checks.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from pydantic_core import CoreSchema, from_json

from ..errors import ToolError

MAX_CHECKS = 1_000_000
"""Checks of values against members of unions and their fields, each times the levels around the value: an error names
all of them. Each takes up to 0.5 µs.
"""

_Schema = Mapping[str, Any]
_Path = tuple[int | str, ...]
_NOT_VALIDATED = ("default", "metadata", "serialization", "python_schema")
"""Keys of a core schema under which nothing validates JSON."""
_SAME_VALUE = ("schema", "json_schema", "lax_schema")
"""Keys of a core schema with a schema that validates the same value."""


def bounded(schema: CoreSchema, validate: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    """Return `validate` itself, or with recursive unions in the schema, a function that limits the cost before it.

    The function raises `ToolError` (validation) for a document that takes too many checks.
    """
    top = cast("_Schema", schema)
    definitions = {each["ref"]: each for node in _nodes(top) for each in node.get("definitions", ())}
    if not definitions or not _has_recursive_union(top, definitions):
        return validate
    cost = _UnionCost(top, definitions)

    def validate_bounded(data: bytes) -> Any:
        cost.check(data)
        return validate(data)

    return validate_bounded


def _has_recursive_union(schema: _Schema, definitions: Mapping[str, _Schema]) -> bool:
    """Whether two members of a union can contain the same recursive type."""
    reached = {name: _references(definition) for name, definition in definitions.items()}
    size = -1
    while size < (size := sum(map(len, reached.values()))):
        for names in reached.values():
            names.update(*[reached[name] for name in names])
    recursive = {name for name, names in reached.items() if name in names}
    for union in (node for node in _nodes(schema) if recursive and node.get("type") == "union"):
        direct = [_references(choice) for choice in _choices(union)]
        if sum(not recursive.isdisjoint(names.union(*[reached[name] for name in names])) for names in direct) > 1:
            return True
    return False


def _references(schema: _Schema) -> set[str]:
    return {node["schema_ref"] for node in _nodes(schema) if node.get("type") == "definition-ref"}


def _nodes(schema: _Schema) -> Iterator[_Schema]:
    """Walk a core schema. Not all nodes are schemas: some map names to schemas."""
    pending: list[Any] = [schema]
    for node in pending:  # grows during the walk
        if isinstance(node, dict):
            entry = cast("dict[str, Any]", node)
            yield entry
            pending += [value for key, value in entry.items() if key not in _NOT_VALIDATED]
        elif isinstance(node, list | tuple):
            pending += cast("list[Any]", node)


@dataclass(slots=True)
class _Shapes:
    """What a schema allows a value to be, the members of its unions taken together."""

    checks: int = 0
    """Checks of the value itself, and of each field of an object."""
    fields: list[tuple[_Path, _Schema]] = field(default_factory=list[tuple[_Path, _Schema]])
    values: list[_Schema] = field(default_factory=list[_Schema])
    """Schemas of all values in an object, whatever their keys."""
    items: list[list[_Schema]] = field(default_factory=list[list[_Schema]])
    """Schemas of the items of a list by position, of which the last is that of all further items."""
    texts: list[_Schema] = field(default_factory=list[_Schema])
    """Schemas of the JSON in a text."""
    tagged: list[_Schema] = field(default_factory=list[_Schema])
    """Unions with a discriminator, which names the member that a value is checked against."""


class _UnionCost:
    def __init__(self, schema: _Schema, definitions: Mapping[str, _Schema]) -> None:
        self._schema = schema
        self._definitions = definitions
        self._known: dict[int, _Shapes] = {}

    def check(self, data: bytes) -> None:
        """Raise `ToolError` (validation) for a document that takes too many checks."""
        try:
            document: Any = from_json(data)
        except ValueError:  # the validator says why
            return
        top = self._shapes(self._schema)
        level = {(id(document), id(top)): (document, top, 1)}
        checks, depth = 0, 0  # levels of objects and lists around the values of a level
        while level:
            following: dict[tuple[int, int], tuple[Any, _Shapes, int]] = {}
            for value, shapes, times in level.values():
                for part, schema in self._parts(value, shapes):
                    below = self._shapes(schema)
                    checks += times * below.checks * (depth + 1)
                    if checks > MAX_CHECKS:
                        raise _too_expensive(depth)
                    if part.__class__ in (dict, list) or (below.texts and part.__class__ is str):
                        key = id(part), id(below)
                        following[key] = part, below, times + (following[key][2] if key in following else 0)
            level, depth = following, depth + 1

    def _parts(self, value: Any, shapes: _Shapes) -> Iterator[tuple[Any, _Schema]]:
        """List the parts of a value, each with every schema that it is checked against."""
        if isinstance(value, dict):
            found = ((_at(value, path), schema) for path, schema in shapes.fields)
            yield from (each for each in found if each[0] is not None)
            for schema in shapes.values:
                yield from ((each, schema) for each in cast("dict[str, Any]", value).values())
        elif isinstance(value, list):
            for schemas in shapes.items:
                last = len(schemas) - 1
                yield from ((each, schemas[min(at, last)]) for at, each in enumerate(cast("list[Any]", value)))
        elif isinstance(value, str) and shapes.texts:
            try:
                decoded = from_json(value)
            except ValueError:
                return
            yield from ((decoded, schema) for schema in shapes.texts)
        for union in shapes.tagged:
            for schema in _chosen(union, value):
                yield from self._parts(value, self._shapes(schema))

    def _shapes(self, schema: _Schema) -> _Shapes:
        if (found := self._known.get(id(schema))) is None:
            found = self._known[id(schema)] = _Shapes()
            self._add(schema, found, ())
        return found

    def _add(self, schema: _Schema, to: _Shapes, above: tuple[str, ...]) -> None:
        """Add the shapes of a schema; `above` are the definitions that the same value is checked against."""
        kind = schema["type"]
        if kind == "definition-ref":
            if (name := schema["schema_ref"]) not in above:
                self._add(self._definitions[name], to, (*above, name))
        elif kind == "tagged-union":
            to.checks += 1
            to.tagged.append(schema)
        elif kind == "json":
            to.checks += 1
            to.texts += [schema["schema"]] if "schema" in schema else []
        elif kind == "dict":
            to.checks += 1
            to.values += [schema["values_schema"]] if "values_schema" in schema else []
        elif kind in ("typed-dict", "model-fields", "dataclass-args"):
            fields = list(_fields(schema))
            to.checks += 1 + len(fields)
            to.fields += fields
            to.values += [schema["extras_schema"]] if "extras_schema" in schema else []
        elif "items_schema" in schema:
            to.checks += 1
            to.items += _items(schema)
        else:
            same = [schema[key] for key in _SAME_VALUE if key in schema]
            inside = [*same, *_choices(schema), *schema.get("steps", ())]
            to.checks += not inside
            for each in inside:
                self._add(each, to, above)


def _choices(union: _Schema) -> list[_Schema]:
    return [each[0] if isinstance(each, tuple) else each for each in union.get("choices", ())]


def _fields(record: _Schema) -> Iterator[tuple[_Path, _Schema]]:
    """List the paths from which the fields of a record are read."""
    given: Any = record["fields"]
    named = (
        [(each["name"], each) for each in cast("list[_Schema]", given)] if isinstance(given, list) else given.items()
    )
    for name, entry in cast("Iterable[tuple[str, _Schema]]", named):
        alias = entry.get("validation_alias", name)
        paths: set[_Path] = {(name,), *([(alias,)] if isinstance(alias, str) else map(tuple, alias))}
        yield from ((path, entry["schema"]) for path in paths)


def _items(schema: _Schema) -> list[list[_Schema]]:
    items: Any = schema["items_schema"]
    if not isinstance(items, list):
        return [[items]]
    known = cast("list[_Schema]", items)
    is_at_end = schema.get("variadic_item_index", len(known) - 1) == len(known) - 1
    return ([known] if known else []) if is_at_end else [[each] for each in known]


def _chosen(union: _Schema, value: Any) -> Iterable[_Schema]:
    """Return the member of a union that the discriminator names, if any."""
    found: Any = union["discriminator"]
    if callable(found):
        tag = found(value)
    else:
        paths = [(found,)] if isinstance(found, str) else found
        tag = next((tag for path in paths if (tag := _at(value, path)) is not None), None)
    return [union["choices"][tag]] if isinstance(tag, str | int) and tag in union["choices"] else ()


def _at(value: Any, path: Iterable[int | str]) -> Any:
    for key in path:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            return None
    return value


def _too_expensive(depth: int) -> ToolError:
    return ToolError(
        "The values are nested too deeply, or are too many, for a type with alternatives at every level. Nest at most "
        f"{depth} levels of objects and lists, or send fewer values.",
        category="validation",
    )
