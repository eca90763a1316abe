"""The cost of regular expressions with lookaround, backreferences or possessive quantifiers in a JSON schema.

The validator matches such a pattern in steps, each of which may read the whole text. The number of steps is limited, so
the cost grows with the length of the texts that slow patterns are matched against. All other patterns, and those which
only look ahead from the start of the text, read a text once.
"""

import re
from collections.abc import Mapping
from typing import Any, cast

from ..schemas.references import resolve
from ..types import JSONSchema

MAX_STEPS = 20_000
"""Steps in which the validator tries to match a text. A text for which they do not suffice does not match."""

_BACKTRACKS = re.compile(r"\(\?(?:[=!>]|<[=!])|\\[1-9kg]|[*+?}]\+")
_LOOKAHEAD = re.compile(r"\(\?[=!]")
_LOOKAHEADS_AT_START = re.compile(r"\^(?:\(\?[=!](?:[^()\\]|\\.)*\))+")
_SAME_TEXT = ("not", "if", "then", "else", "items", "additionalItems", "unevaluatedItems", "contains")
"""Keywords with a schema of the same value, or of the items in a list."""
_SAME_TEXT_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
_OTHER_TEXTS = ("additionalProperties", "unevaluatedProperties", "propertyNames")
"""Keywords with a schema of the values of any properties, or of their names."""


def backtracks(pattern: str) -> bool:
    """Whether the validator cannot hand the whole pattern to an engine that reads each text once."""
    return _BACKTRACKS.search(pattern) is not None


def is_slow(pattern: str) -> bool:
    """Whether matching may take many steps, each of which reads the text."""
    start = _LOOKAHEADS_AT_START.match(pattern)
    at_start = 0 if start is None else len(_LOOKAHEAD.findall(start.group()))
    return len(_BACKTRACKS.findall(pattern)) > at_start


class SlowTexts:
    """The texts in a value that slow patterns of a schema are matched against, by the names of their properties."""

    __slots__ = ("_names",)

    def __init__(self, document: JSONSchema) -> None:
        self._names = _names(document)

    def __bool__(self) -> bool:
        return bool(self._names)

    def count(self, value: Any) -> int:
        """Return the bytes of these texts."""
        found, every = 0, None in self._names
        pending: list[tuple[Any, bool]] = [(value, every)]
        for each, counted in pending:  # grows during the walk
            if isinstance(each, str):
                found += len(each.encode(errors="replace")) if counted else 0
            elif isinstance(each, list):
                pending += [(item, counted) for item in cast("list[Any]", each)]
            elif isinstance(each, dict):
                for name, inside in cast("dict[str, Any]", each).items():
                    found += len(name.encode(errors="replace")) if every else 0
                    pending.append((inside, every or name in self._names))
        return found


def _names(document: JSONSchema) -> frozenset[str | None]:
    """Return the names of the properties whose texts are matched against slow patterns; None stands for all texts."""
    found: set[str | None] = set()
    seen: set[tuple[int, str | None]] = set()
    pending: list[tuple[Any, str | None]] = [(document, None)]
    for schema, name in pending:  # grows during the walk
        if not isinstance(schema, dict) or (id(cast("Any", schema)), name) in seen:
            continue
        fields = cast("dict[str, Any]", schema)
        seen.add((id(fields), name))
        if isinstance(pattern := fields.get("pattern"), str) and is_slow(pattern):
            found.add(name)
        if any(is_slow(each) for each in _map(fields.get("patternProperties"))):
            found.add(None)
        if isinstance(reference := fields.get("$ref"), str):
            pending.append((resolve(document, reference), name))
        for keyword in _SAME_TEXT_LISTS:
            pending += [(each, name) for each in _list(fields.get(keyword))]
        same = [fields.get(keyword) for keyword in _SAME_TEXT]
        for keyword in ("dependentSchemas", "dependencies"):
            same += _map(fields.get(keyword)).values()
        others = [fields.get(keyword) for keyword in _OTHER_TEXTS]
        others += _map(fields.get("patternProperties")).values()
        pending += [*((each, name) for each in same), *((each, None) for each in others)]
        pending += [(each, key) for key, each in _map(fields.get("properties")).items()]
    return frozenset(found)


def _map(value: Any) -> Mapping[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []
