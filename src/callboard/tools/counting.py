"""How many keys of JSON objects a validated value came from, counted by a function that is written once per type.

A type that is made of records, lists and plain values gets such a function, which goes straight to where keys or
numbers can be, since it is on the path of every call. For any other type (unions of models, maps, what may be
anything) there is none, and the value itself is walked.
"""

from collections.abc import Callable, Mapping
from itertools import count
from keyword import iskeyword
from typing import Any, cast

Counter = Callable[[Any], int]

_PLAIN = frozenset({"str", "int", "bool", "none", "literal", "enum"})
_MOST = 400
"""How many lines such a function may have; a type that is used in many places is written in each of them."""
_DEEPEST = 15
"""How many loops and conditions may stand in each other. Python takes 20."""


class _Unknown(Exception):
    """There is something in a type for which no function can be written."""


def counter_of(schema: Any) -> Counter | None:
    """The function for a Pydantic core schema, if one can be written. A number that is not finite makes it say -1."""
    try:
        lines = _Text().of(schema, "value")
    except _Unknown:
        return None
    if not lines:
        return None
    if lines == ["total += len(value)"]:
        return len
    made: dict[str, Any] = {}
    body = "\n    ".join(["total = 0", *lines, "return total"])
    exec(f"def counter(value):\n    {body}\n", made)  # noqa: S102  # names in it are written as literals
    return cast("Counter", made["counter"])


class _Text:
    """Writes the lines that count the keys in one variable, and all that it holds."""

    def __init__(self) -> None:
        self._numbers = count()
        self._lines = 0
        self._definitions: dict[str, Any] = {}

    def of(self, schema: Mapping[str, Any], value: str, depth: int = 0) -> list[str]:
        """The lines for values of one part of a type; none where there is nothing to count in them."""
        if depth > _DEEPEST:
            raise _Unknown
        match schema["type"]:
            case kind if kind in _PLAIN:
                return []
            case "float":
                return [f"if {value} - {value}: return -1"]  # only what is not finite has a difference from itself
            case "definitions":
                self._definitions.update({each["ref"]: each for each in schema["definitions"]})
                return self.of(schema["schema"], value, depth)
            case "definition-ref":
                return self._defined(schema["schema_ref"], value, depth)
            case "nullable":
                return _within(f"if {value} is not None:", self.of(schema["schema"], value, depth + 1))
            case "list":
                item = self._name()
                inner = self.of(schema.get("items_schema") or {"type": "any"}, item, depth + 1)
                return _within(f"for {item} in {value}:", inner)
            case "model" if not (schema.get("root_model") or schema.get("custom_init")):
                return self._of_model(schema["cls"], schema["schema"], value, depth)
            case "typed-dict":
                return self._of_dict(schema, value, depth)
            case _:
                raise _Unknown

    def _defined(self, reference: str, value: str, depth: int) -> list[str]:
        if (found := self._definitions.pop(reference, None)) is None:
            raise _Unknown  # it is inside of itself
        lines = self.of(found, value, depth)
        self._definitions[reference] = found
        return lines

    def _of_model(self, model: type, schema: Mapping[str, Any], value: str, depth: int) -> list[str]:
        given = self._name()
        parts: list[str] = []
        for name, part, has_default in _fields(schema, "model-fields"):
            # A default came from no text, and would make up for a key that the text has twice.
            guard = f"if {name!r} in {given}:" if has_default else None
            parts += self._part(_read(model, name, value), part, guard, depth)
        if not parts:
            return [f"total += len({value}.__pydantic_fields_set__)"]
        return [f"{given} = {value}.__pydantic_fields_set__", f"total += len({given})", *parts]

    def _of_dict(self, schema: Mapping[str, Any], value: str, depth: int) -> list[str]:
        lines = [f"total += len({value})"]
        for name, part, has_default in _fields(schema, "typed-dict"):
            if has_default:
                raise _Unknown  # a dictionary does not tell what was given from what was filled in
            required = schema["fields"][name].get("required")
            guard = None if required else f"if {name!r} in {value}:"
            lines += self._part(f"{value}[{name!r}]", part, guard, depth)
        return lines

    def _part(self, place: str, schema: Mapping[str, Any], guard: str | None, depth: int) -> list[str]:
        """The lines for a field, which are skipped unless the guard holds."""
        name = self._name()
        if not (inner := self.of(schema, name, depth + 1)):
            return []
        lines = [f"{name} = {place}", *inner]
        self._lines += len(lines)
        if self._lines > _MOST:
            raise _Unknown
        return lines if guard is None else _within(guard, lines)

    def _name(self) -> str:
        return f"v{next(self._numbers)}"


def _read(model: type, name: str, value: str) -> str:
    """How a field is read: as an attribute, which is quicker, unless the class has something else in its way."""
    plain = model.__getattribute__ is object.__getattribute__ and not hasattr(model, name)
    return f"{value}.{name}" if plain and name.isidentifier() and not iskeyword(name) else f"{value}.__dict__[{name!r}]"


def _within(head: str, lines: list[str]) -> list[str]:
    return [head, *(f" {line}" for line in lines)] if lines else []


def _fields(schema: Mapping[str, Any], kind: str) -> list[tuple[str, Mapping[str, Any], bool]]:
    """The fields of a record: their names, what they hold, and whether they need not be given."""
    if schema["type"] != kind or "extras_schema" in schema:
        raise _Unknown
    found: list[tuple[str, Mapping[str, Any], bool]] = []
    for name, field in cast("dict[str, Any]", schema["fields"]).items():
        part, has_default = field["schema"], field["schema"]["type"] == "default"
        found.append((name, part["schema"] if has_default else part, has_default))
    return found
