"""The cost of validating a value against a JSON schema, estimated before it is spent.

The validator runs in one piece, during which nothing else of the process runs. Its work is bounded neither by the
schema nor by the value alone, but by their product. It remembers which definitions a value fits, but not why: to
describe the problems in a value, it tries every branch of a recursive schema at every level of the value. Each
description copies the value that has the problem, with everything in it, and the values that are allowed instead.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, cast

from ..schemas.references import recursive_references, resolve
from ..types import JSONSchema
from .pattern_cost import SlowTexts, backtracks

MAX_CHECKS = 5_000_000
"""Checks of a value against a part of a schema, each of which takes up to 0.4 µs."""
MAX_DESCRIBED = 50_000
"""Checks of a value in which problems are described, each of which takes up to 20 µs."""
MAX_COPIED = 1_000_000
"""Values that are copied into descriptions of problems, each of which takes up to 1 µs."""
TEXT = 64
"""Characters of a text that take as long to copy as another value."""
BACKTRACKING = 2_000
"""Checks that take as long as a regular expression which the validator must try in several ways."""
BACKTRACKING_BYTE = 500
"""Checks that take as long as each byte of a text which a slow regular expression is matched against."""

_SAME_VALUE = ("not", "if", "then", "else")
"""Keywords with a schema that the same value is checked against."""
_SAME_VALUE_LISTS = ("allOf", "anyOf", "oneOf")
_PARTS = (
    *("additionalProperties", "unevaluatedProperties", "propertyNames"),
    *("items", "additionalItems", "unevaluatedItems", "contains"),
)
"""Keywords with a schema that all parts of a value may be checked against."""


@dataclass(frozen=True, slots=True)
class _Checks:
    here: int = 0
    """Checks of a value itself."""
    below: int = 0
    """The most checks of any value in it."""
    again: int = 0
    """The most references to recursive definitions that any value in it is checked against."""

    def __add__(self, other: "_Checks") -> "_Checks":
        return _Checks(self.here + other.here, self.below + other.below, self.again + other.again)


class ValidationCost:
    """The cost of one schema, which must be valid."""

    def __init__(self, schema: JSONSchema) -> None:
        self._schema = schema
        self._recursive = recursive_references(schema)
        counter = _Counter(schema, self._recursive, _weight)
        self._checks, self._branches = counter.most()
        self._has_names = counter.has_names
        patterns = self._checks // BACKTRACKING
        self._texts = SlowTexts(schema) if patterns else None
        self._per_byte = patterns * BACKTRACKING_BYTE if self._texts else 0

    def is_too_high(self, value: Any, size: int) -> bool:
        """Return whether a value, whose JSON has `size` bytes, is too expensive to validate."""
        if size * (self._checks + self._per_byte) <= MAX_CHECKS:
            return False
        return _measure(value).values * self._checks + self._reading(value) > MAX_CHECKS

    def _reading(self, value: Any) -> int:
        """Return the checks that take as long as slow regular expressions read the texts in a value."""
        return self._texts.count(value) * self._per_byte if self._texts else 0

    def can_describe(self, value: Any) -> bool:
        """Return whether the problems in a value can be described.

        A problem copies the value that has it. A problem with a name copies the object.
        """
        measured = _measure(value)
        branches = self._branches**measured.depth
        reading = self._reading(value) * MAX_DESCRIBED // MAX_CHECKS  # no slower than without a description
        if measured.values * self._checks * branches + reading > MAX_DESCRIBED:
            return False
        missing, options = self._copies
        copied = measured.copied * missing * (measured.widest if self._has_names else 1)
        return (copied + measured.values * options) * branches <= MAX_COPIED

    @cached_property
    def _copies(self) -> tuple[int, int]:
        """The most copies of one value, and of the values that are allowed instead."""
        missing, options = (_Counter(self._schema, self._recursive, weight) for weight in (_missing, _options))
        return missing.most()[0], options.most()[0]


class _Counter:
    """Counts the checks that a schema causes: one for each schema in it, and those by the weight of its keywords."""

    def __init__(
        self, document: JSONSchema, recursive: frozenset[str], weight: Callable[[Mapping[str, Any]], int]
    ) -> None:
        self._document = document
        self._recursive = recursive
        self._weight = weight
        self._known: dict[tuple[str, bool], _Checks] = {}
        self.has_names = False
        """Whether a schema for the names of properties was found."""

    def most(self) -> tuple[int, int]:
        """Return the most checks of one value, and the most references to recursive definitions for a part of it."""
        found = [self.of(self._document), *(self.of({"$ref": each}) for each in self._recursive)]
        return max(max(each.here, each.below) for each in found), max(1, *(each.again for each in found))

    def of(self, schema: Any, *, is_part: bool = False) -> _Checks:
        """Count the checks of a value against a schema; `is_part` says that it is a part of the value."""
        if not isinstance(schema, dict):
            return _Checks(1)
        fields = cast("dict[str, Any]", schema)
        self.has_names = self.has_names or "propertyNames" in fields
        found = _Checks(1 + self._weight(fields))
        if isinstance(reference := fields.get("$ref"), str):
            found += self._referenced(reference, is_part)
        same = [fields[keyword] for keyword in _SAME_VALUE if keyword in fields]
        for keyword in _SAME_VALUE_LISTS:
            same += _list(fields.get(keyword))
        for each in (*same, *_named(fields.get("dependentSchemas")), *_named(fields.get("dependencies"))):
            found += self.of(each, is_part=is_part)
        return found + self._parts(fields)

    def _parts(self, fields: Mapping[str, Any]) -> _Checks:
        """Count the checks of the parts of a value."""
        distinct = [*_named(fields.get("properties")), *_list(fields.get("prefixItems")), *_list(fields.get("items"))]
        shared = [fields[keyword] for keyword in _PARTS if isinstance(fields.get(keyword), dict)]
        found = _most(self.of(each, is_part=True) for each in distinct)
        for each in (*shared, *_named(fields.get("patternProperties"))):
            found += _most([self.of(each, is_part=True)])
        return found

    def _referenced(self, reference: str, is_part: bool) -> _Checks:
        if is_part and reference in self._recursive:
            return _Checks(again=1)
        key = reference, is_part
        if key not in self._known:
            self._known[key] = _Checks(1)  # for a definition that refers to itself for the same value
            self._known[key] = self.of(resolve(self._document, reference), is_part=is_part)
        return self._known[key]


def _most(found: Iterable[_Checks]) -> _Checks:
    """Return the most checks of any of these parts of a value, as checks below it."""
    every = [*found, _Checks()]
    return _Checks(0, max(max(each.here, each.below) for each in every), max(each.again for each in every))


def _weight(fields: Mapping[str, Any]) -> int:
    """Return the cost of the keywords of a schema that are not subschemas, as a number of checks."""
    patterns = [fields.get("pattern"), *cast("dict[str, Any]", fields.get("patternProperties") or {})]
    weight = sum(BACKTRACKING for each in patterns if isinstance(each, str) and backtracks(each))
    listed = max(len(_list(fields.get("required"))), len(cast("dict[str, Any]", fields.get("dependentRequired") or {})))
    objects = sum(isinstance(each, dict | list) for each in _list(fields.get("enum")))
    return weight + listed // 10 + objects + len(patterns) - 1


def _missing(fields: Mapping[str, Any]) -> int:
    """Return the problems that a value can have besides one: the properties that it lacks."""
    dependent = _named(fields.get("dependentRequired"))
    return len(_list(fields.get("required"))) + sum(len(_list(each)) for each in dependent)


def _options(fields: Mapping[str, Any]) -> int:
    """Return the values that take as long to copy as those that a problem lists, because they are allowed."""
    return _measure([fields.get("enum"), fields.get("const")]).copied // 6  # counted on the third level, copied faster


def _named(value: Any) -> Iterable[Any]:
    return cast("dict[str, Any]", value).values() if isinstance(value, dict) else ()


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []


class _Measured(NamedTuple):
    values: int
    depth: int
    copied: int
    """Values to copy if each value is copied with everything in it, long texts counted as several."""
    widest: int
    """The most properties of an object."""


def _measure(value: Any) -> _Measured:
    """Count the values in JSON data, names included, and their levels."""
    values, depth, copied, widest, level = 0, -1, 0, 0, [value]
    while level:
        depth += 1
        count, characters = len(level), 0
        following: list[Any] = []
        for each in level:
            if isinstance(each, dict):
                fields = cast("dict[str, Any]", each)
                count += len(fields)
                widest = max(widest, len(fields))
                following += fields.values()
            elif isinstance(each, list):
                following += cast("list[Any]", each)
            elif isinstance(each, str):
                characters += len(each)
        values += count
        copied += (depth + 1) * (count + characters // TEXT)
        level = following
    return _Measured(values, depth, copied, widest)
