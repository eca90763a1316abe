"""Functions that count the object keys from which a validated value was built, generated once per type.

Counting is on the path of every call, so a type made of records, lists and plain values gets a generated function that
visits only the parts whose number of keys is not fixed. Other types (unions of models, maps, Any) get none: the caller
walks the value itself.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import count
from keyword import iskeyword
from typing import Any, NamedTuple, cast

Counter = Callable[[Any], int]

_PLAIN = frozenset({"str", "int", "bool", "none", "literal", "enum", "float"})
_MAX_PARTS = 400
"""Records and lists that a type may consist of. A record used in several fields counts once for each."""
_MAX_NESTING = 15
"""Nesting of loops and conditions in a generated function. Python allows 20."""


class _Unknown(Exception):
    """The type has a part for which no function can be generated."""


class _Keys(NamedTuple):
    """The code that counts the keys in one part of a type."""

    sure: int = 0
    """Keys that are always present."""
    names: tuple[str, ...] = ()
    """Lines that bind names to values."""
    terms: tuple[str, ...] = ()
    """Expressions to add."""
    more: tuple[str, ...] = ()
    """Further lines, which add to `total`."""

    @property
    def sum(self) -> str:
        return " + ".join([*self.terms, str(self.sure)] if self.sure or not self.terms else self.terms)

    @property
    def lines(self) -> list[str]:
        """Lines that add everything to `total`."""
        added = [f"total += {self.sum}"] if self.sure or self.terms else []
        return [*self.names, *added, *self.more]


_NONE = _Keys()


def key_counter(schema: Any) -> Counter | None:
    """Generate the function for a Pydantic core schema, or return None where that is impossible."""
    try:
        keys = _Writer().of(schema, "value")
    except _Unknown:
        return None
    if keys == _NONE:
        return None
    if keys == _Keys(terms=("len(value)",)):
        return len
    made: dict[str, Any] = {}
    body = "\n    ".join([*keys.names, f"total = {keys.sum}", *keys.more, "return total"])
    exec(f"def counter(value):\n    {body}\n", made)  # noqa: S102  # names from the schema are embedded as literals
    return cast("Counter", made["counter"])


class _Writer:
    """Generates code that counts the keys of a value and of everything in it."""

    def __init__(self) -> None:
        self._numbers = count()
        self._parts = 0
        self._definitions: dict[str, Any] = {}

    def of(self, schema: Mapping[str, Any], value: str, depth: int = 0) -> _Keys:
        """Generate code for one part of a type. `value` is the expression that yields it."""
        if schema["type"] in _PLAIN:
            return _NONE
        self._parts += 1
        if depth > _MAX_NESTING or self._parts > _MAX_PARTS:
            raise _Unknown
        match schema["type"]:
            case "definitions":
                self._definitions.update({each["ref"]: each for each in schema["definitions"]})
                return self.of(schema["schema"], value, depth)
            case "definition-ref":
                return self._defined(schema["schema_ref"], value, depth)
            case "nullable":
                name = self._name()
                inner = self.of(schema["schema"], name, depth + 1)
                return _within(f"if {name} is not None:", inner, f"{name} = {value}")
            case "list":
                item = self._name()
                inner = self.of(schema.get("items_schema") or {"type": "any"}, item, depth + 1)
                if inner == _Keys(inner.sure):
                    return _Keys(terms=(f"{inner.sure} * len({value})",)) if inner.sure else _NONE
                return _within(f"for {item} in {value}:", inner)
            case "model" if not (schema.get("root_model") or schema.get("custom_init")):
                return self._of_model(schema["cls"], schema["schema"], value, depth)
            case "typed-dict":
                return self._of_dict(schema, value, depth)
            case _:
                raise _Unknown

    def _defined(self, reference: str, value: str, depth: int) -> _Keys:
        if (found := self._definitions.pop(reference, None)) is None:
            raise _Unknown  # recursive
        keys = self.of(found, value, depth)
        self._definitions[reference] = found
        return keys

    def _of_model(self, model: type, schema: Mapping[str, Any], value: str, depth: int) -> _Keys:
        fields = _fields(schema, "model-fields")
        name, given = self._name(), self._name()
        parts = [
            # A default has no key in the text; counting it would hide a duplicate key.
            self._part(
                _read_field(model, field, name), part, f"if {field!r} in {given}:" if has_default else None, depth
            )
            for field, part, has_default in fields
        ]
        held = _all(parts)
        if fields and not any(has_default for _, _, has_default in fields):
            return _Keys(len(fields)) if held == _NONE else _all([_Keys(len(fields), (f"{name} = {value}",)), held])
        if held == _NONE:
            return _Keys(terms=(f"len({value}.__pydantic_fields_set__)",))
        names = (f"{name} = {value}", f"{given} = {name}.__pydantic_fields_set__")
        return _all([_Keys(names=names, terms=(f"len({given})",)), held])

    def _of_dict(self, schema: Mapping[str, Any], value: str, depth: int) -> _Keys:
        parts: list[_Keys] = []
        name, closed = self._name(), True
        for key, part, has_default in _fields(schema, "typed-dict"):
            if has_default:
                raise _Unknown  # a dictionary does not distinguish given values from defaults
            required = schema["fields"][key].get("required")
            closed = closed and bool(required)
            parts.append(self._part(f"{name}[{key!r}]", part, None if required else f"if {key!r} in {name}:", depth))
        own = _Keys(len(parts)) if closed else _Keys(terms=(f"len({name})",))
        held = _all(parts)
        if held == _NONE:
            return own if closed and depth else _Keys(terms=(f"len({value})",))
        return _all([_Keys(names=(f"{name} = {value}",)), own, held])

    def _part(self, expression: str, schema: Mapping[str, Any], guard: str | None, depth: int) -> _Keys:
        """Generate code for a field, which is visited only if the guard holds."""
        keys = self.of(schema, expression, depth + 1)
        return keys if guard is None else _within(guard, keys)

    def _name(self) -> str:
        return f"v{next(self._numbers)}"


def _all(parts: Iterable[_Keys]) -> _Keys:
    sure, names, terms, more = zip(_NONE, *parts, strict=True)
    return _Keys(sum(sure), sum(names, ()), sum(terms, ()), sum(more, ()))


def _within(head: str, keys: _Keys, *names: str) -> _Keys:
    """Put code into a loop or under a condition."""
    return _Keys(more=(*names, head, *(f" {line}" for line in keys.lines))) if keys != _NONE else _NONE


def _read_field(model: type, name: str, value: str) -> str:
    """Return the expression that reads a field: an attribute, which is faster, unless the class overrides it."""
    plain = model.__getattribute__ is object.__getattribute__ and not hasattr(model, name)
    return f"{value}.{name}" if plain and name.isidentifier() and not iskeyword(name) else f"{value}.__dict__[{name!r}]"


def _fields(schema: Mapping[str, Any], kind: str) -> list[tuple[str, Mapping[str, Any], bool]]:
    """List the fields of a record: name, schema, and whether it has a default."""
    if schema["type"] != kind or "extras_schema" in schema:
        raise _Unknown
    found: list[tuple[str, Mapping[str, Any], bool]] = []
    for name, field in cast("dict[str, Any]", schema["fields"]).items():
        part, has_default = field["schema"], field["schema"]["type"] == "default"
        found.append((name, part["schema"] if has_default else part, has_default))
    return found
