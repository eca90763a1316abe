"""The input side of a dynamic tool: arguments held against a JSON schema, with the same errors as typed ones.

The schema may come from a stranger (a remote server), so it never leads to a request: references outside of it are
refused, and the validator has nothing to fetch with.
"""

import copy
import math
from collections.abc import Iterator
from itertools import islice
from typing import Any, NoReturn, cast

from pydantic_core import from_json, to_json

from ..errors import MissingExtraError, RegistrationError
from ..jsonrules.duplicate_keys import check_keys_and_numbers
from ..schemas.clean import clean
from ..schemas.secrets import MASK, has_secrets, names_shown
from ..shortening import shorten
from ..types import JSONSchema
from .arguments import ROUNDS
from .coercion import Fault, coerced
from .document import check_depth
from .problems import MANY_PROBLEMS, MAX_PROBLEMS, REQUIRED, Problem, path_of, shown, validation_error

_COMPOSED = frozenset({"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas"})
"""Keywords that declare properties elsewhere than in `properties`."""


class SchemaArguments:
    """Arguments validated against a JSON schema. Undeclared properties are refused unless the schema admits them."""

    __slots__ = ("_cleaned", "_lax", "_names", "_schema", "_secret", "_validator", "closed", "model")

    def __init__(self, schema: JSONSchema, *, lax: bool) -> None:
        if not isinstance(cast(Any, schema), dict):
            raise RegistrationError("The input schema is not a JSON schema: an object is wanted.")
        try:
            self._cleaned = clean(
                schema
            )  # refuses what is too deep, too large or refers to elsewhere, before a validator sees it
        except (AttributeError, KeyError, TypeError):  # a schema stands where there is none
            raise RegistrationError("The input schema is not a valid JSON schema.") from None
        if schema.get("type", "object") != "object":
            raise RegistrationError(f"The input of a tool is an object, and the schema says {schema['type']!r}.")
        self._secret = has_secrets(self._cleaned)
        self._names = names_shown(self._cleaned)
        self.model = dict[str, Any]
        schema = copy.deepcopy(schema)  # what is shown must not change with the caller's own dict
        self.closed = schema.get("additionalProperties", False) is False
        closing = "unevaluatedProperties" if _COMPOSED & schema.keys() else "additionalProperties"
        self._schema = {**({closing: False} if self.closed else {}), **schema, "type": "object"}
        self._lax = lax
        self._validator = validator(self._schema)

    def parse(self, tool: str, data: bytes) -> dict[str, Any]:
        check_depth(data)
        try:
            value: Any = from_json(data, allow_inf_nan=False)
        except ValueError as error:
            problem = Problem(path="", message=f"Invalid JSON: {error}", received=None)
            raise validation_error(tool, [problem]) from None
        found = first = list(islice(self._problems(value), MANY_PROBLEMS))
        for _ in range(ROUNDS if 0 < len(found) < MANY_PROBLEMS else 0):
            faults = [fault for fault, _ in found]
            try:
                better = coerced(value, faults, self._cleaned, lax=self._lax) if faults else None
                if better is None and (not self._lax or (better := _literals(value, faults)) is None):
                    break
                value, found = better, list(islice(self._problems(better), MANY_PROBLEMS))
            except (ValueError, RecursionError):  # what was put together is nested too deeply
                break
        if found:
            raise validation_error(tool, [problem for _, problem in first])
        check_keys_and_numbers(data)
        return cast("dict[str, Any]", value)

    def schema(self) -> JSONSchema:
        return self._schema

    def _problems(self, value: Any) -> Iterator[tuple[Fault, Problem]]:
        for error in self._validator.iter_errors(value):
            location: list[int | str] = list(error.instance_path)
            kind = type(error.kind).__name__.rpartition("_")[2]
            if kind == "Required":
                location.append(error.kind.property)
                message, received = REQUIRED, None
            elif kind in ("AdditionalProperties", "UnevaluatedProperties"):
                unexpected = [name if self._names is None else MASK for name in error.kind.unexpected[:MAX_PROBLEMS]]
                names = ", ".join(map(repr, unexpected))
                message, received = f"There is no such property: {shorten(names)}. Leave it out.", None
            else:
                message, received = f"{shorten(error.message)}.", shown(error.instance)
                if self._secret:  # the message quotes the value
                    message, received = f"This does not fit the schema ({kind}).", MASK
            yield (
                Fault(location, kind == "Required"),
                Problem(path=path_of(location, self._names), message=message, received=received),
            )


def _literals(value: Any, faults: list[Fault]) -> Any:
    """Numbers and truth values that came as text, read as what they are. None where there are none."""
    root: list[Any] = [from_json(to_json(value))]
    changed = False
    for fault in faults:
        parent, key = root, cast("int | str", 0)
        for part in () if fault.missing else fault.location:
            parent, key = cast("Any", parent)[key], part
        text = cast("Any", parent)[key]
        if isinstance(text, str):
            try:
                literal = from_json(text.strip().lower(), allow_inf_nan=False)
            except ValueError:
                continue
            if isinstance(literal, bool | int | float) and math.isfinite(literal):
                cast("Any", parent)[key], changed = literal, True
    return root[0] if changed else None


def validator(schema: JSONSchema, which: str = "input") -> Any:
    """A validator of JSON data that never fetches anything. Raises `RegistrationError` for what is no schema."""
    try:
        import jsonschema_rs
    except ImportError:
        raise MissingExtraError("A tool that is defined by a JSON schema", "dynamic") from None
    try:
        return jsonschema_rs.validator_for(schema, retriever=_nothing)
    except ValueError as error:
        reason = str(error).partition("\n")[0]
        raise RegistrationError(f"The {which} schema is not a valid JSON schema: {reason}") from None


def _nothing(address: str) -> NoReturn:
    raise ValueError(f"{address} is outside of the schema")
