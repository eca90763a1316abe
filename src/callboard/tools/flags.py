"""Parameters of the type `enum.Flag`: the combinations of members that the schema lists are those that are accepted.

Pydantic lists only the members, but accepts all that the class accepts: combinations, negative numbers and, for an
`IntFlag`, numbers outside of all members.
"""

from collections.abc import Callable, Mapping
from enum import Flag
from functools import cache
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import PydanticCustomError, SchemaValidator, core_schema

MAX_COMBINATIONS = 256
"""Combinations that a schema may list, those of 8 members."""


class TooManyCombinations(TypeError):
    """A flag has more than `MAX_COMBINATIONS` combinations."""


def is_flag(schema: Mapping[str, Any]) -> bool:
    """Whether a core schema is that of a flag. One that reads other values itself, by `_missing_`, is like any enum."""
    cls = schema["cls"] if schema.get("type") == "enum" else None
    return isinstance(cls, type) and issubclass(cls, Flag) and cls._missing_.__func__ is Flag._missing_.__func__


@cache
def combinations(cls: type[Flag]) -> tuple[int, ...]:
    """Return the numbers of all combinations of members, in order. Raises `TooManyCombinations`."""
    found = {0}
    for member in cls.__members__.values():
        found |= {number | member.value for number in found}
        if len(found) > MAX_COMBINATIONS:
            raise TooManyCombinations(f"the flag {cls.__name__} has more than {MAX_COMBINATIONS} combinations")
    return tuple(sorted(found))


def combination_reader(cls: type[Flag], *, lax: bool) -> Callable[[Any], Flag]:
    """Return a function that reads a combination of members, and nothing else."""
    known = combinations(cls)
    expected = f"a sum of members of {cls.__name__}: {', '.join(map(str, known))}"
    integer = SchemaValidator(core_schema.int_schema(strict=not lax))

    def read(given: Any) -> Flag:
        if isinstance(given, cls):  # a function before this one made it
            return given
        number = integer.validate_python(given)
        if number not in known:
            raise PydanticCustomError("enum", "Input should be {expected}", {"expected": expected})
        return cls(number)

    return read


class FlagSchema(GenerateJsonSchema):
    """Lists the combinations of a flag as its values. A result may be any number, such as of an open `IntFlag`."""

    def enum_schema(self, schema: core_schema.EnumSchema) -> JsonSchemaValue:
        made = super().enum_schema(schema)
        if not is_flag(schema):
            return made
        made = {key: value for key, value in made.items() if key not in ("enum", "const")}
        return made if self.mode == "serialization" else {**made, "enum": list(combinations(schema["cls"]))}
