"""Validation of a dynamic tool's arguments against a JSON schema, with the same errors as typed arguments.

The schema may come from an untrusted server, so it never causes a request: external references are refused, and the
validator's retriever always fails.
"""

import copy
import math
from collections.abc import Container
from itertools import islice
from typing import Any, NoReturn, cast

from pydantic_core import from_json

from ..errors import MissingExtraError, RegistrationError
from ..jsonrules.duplicate_keys import check_keys_and_numbers
from ..schemas.clean import MAX_NODES, clean
from ..schemas.secrets import MASK, has_secrets, public_names
from ..shortening import shorten
from ..types import JSONSchema, Violation
from .argument_repair import MAX_REPAIR_ROUNDS, InvalidLocation, repair_arguments
from .descriptions import undescribed_in_schema
from .document import check_depth
from .pattern_cost import MAX_STEPS
from .problems import MANY_PROBLEMS, MAX_PROBLEMS, REQUIRED, abbreviate, path_of, validation_error
from .validation_cost import ValidationCost

_COMPOSED = frozenset({"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if", "dependentSchemas"})
"""Keywords that declare properties outside of `properties`."""

TOO_MANY = "There are too many values to check against the schema, or texts are too long. Send fewer or shorter ones."
NOT_DESCRIBED = "They do not fit the schema, and are too large or nested too deeply to say where."


class SchemaArguments:
    """Arguments validated against a JSON schema. Undeclared properties are refused unless the schema allows them.

    A schema with more than `max_parts` schemas, with its references inlined, is refused, and so is a regular expression
    that needs more than `max_pattern_bytes` of memory.
    """

    __slots__ = ("_cleaned", "_cost", "_lax", "_names", "_schema", "_secret", "_validator", "closed", "model")

    def __init__(
        self, schema: JSONSchema, *, lax: bool, max_parts: int = MAX_NODES, max_pattern_bytes: int | None = None
    ) -> None:
        if not isinstance(cast(Any, schema), dict):
            raise RegistrationError("The input schema is not a JSON schema: it must be an object.")
        try:
            # raises for depth, size and external references before a validator sees them
            self._cleaned = clean(schema, max_nodes=max_parts)
        except (AttributeError, KeyError, TypeError):  # a keyword has a value of the wrong type
            raise RegistrationError("The input schema is not a valid JSON schema.") from None
        if schema.get("type", "object") != "object":
            raise RegistrationError(f"The input schema has the type {schema['type']!r}; it must be 'object'.")
        self._secret = has_secrets(self._cleaned)
        self._names = public_names(self._cleaned)
        self.model = dict[str, Any]
        schema = copy.deepcopy(schema)  # the caller may modify its own
        self.closed = schema.get("additionalProperties", False) is False
        closing = "unevaluatedProperties" if _COMPOSED & schema.keys() else "additionalProperties"
        self._schema = {**({closing: False} if self.closed else {}), **schema, "type": "object"}
        self._lax = lax
        self._validator = validator(self._schema, max_pattern_bytes=max_pattern_bytes)
        self._cost = ValidationCost(self._schema)

    def parse(self, tool: str, data: bytes) -> dict[str, Any]:
        check_depth(data)
        try:
            value: Any = from_json(data, allow_inf_nan=False)
        except ValueError as error:
            problem = Violation(path="", message=f"Invalid JSON: {error}", received=None)
            raise validation_error(tool, [problem]) from None
        found = first = self._problems(value, len(data))
        for _ in range(MAX_REPAIR_ROUNDS if 0 < len(found) < MANY_PROBLEMS else 0):
            locations = [at for at, _ in found]
            try:
                better = repair_arguments(value, locations, self._cleaned, lax=self._lax) if locations else None
                if better is None and (not self._lax or (better := _literals(value, locations)) is None):
                    break
                value, found = better, self._problems(better, len(data))
            except (ValueError, RecursionError):  # the repaired document is nested too deeply
                break
        if found:
            raise validation_error(tool, [problem for _, problem in first])
        check_keys_and_numbers(data)
        return cast("dict[str, Any]", value)

    def schema(self) -> JSONSchema:
        return self._schema

    def undescribed(self) -> tuple[str, ...]:
        return tuple(undescribed_in_schema(self._cleaned))

    def _problems(self, value: Any, size: int) -> list[tuple[InvalidLocation, Violation]]:
        """Return the problems in a value, whose JSON has `size` bytes; only one if describing them is too expensive."""
        if self._cost.is_too_high(value, size):
            return [_general(TOO_MANY)]
        if self._validator.is_valid(value):
            return []
        if not self._cost.can_describe(value):
            return [_general(NOT_DESCRIBED)]
        errors = islice(self._validator.iter_errors(value), MANY_PROBLEMS)
        return [(_location(error), violation(error, self._names, is_secret=self._secret)) for error in errors]


def _general(message: str) -> tuple[InvalidLocation, Violation]:
    return InvalidLocation([], False), Violation(path="", message=message, received=None)


def _location(error: Any) -> InvalidLocation:
    location: list[int | str] = list(error.instance_path)
    is_missing = _kind(error) == "Required"
    return InvalidLocation([*location, error.kind.property] if is_missing else location, is_missing)


def _kind(error: Any) -> str:
    return type(error.kind).__name__.rpartition("_")[2]


def violation(error: Any, names: Container[str] | None = None, *, is_secret: bool = False) -> Violation:
    """Describe an error of a validator. Only these names are shown, if given; a secret value is not quoted."""
    kind = _kind(error)
    if kind == "Required":
        message, received = REQUIRED, None
    elif kind in ("AdditionalProperties", "UnevaluatedProperties"):
        unexpected = ", ".join(repr(name if names is None else MASK) for name in error.kind.unexpected[:MAX_PROBLEMS])
        message, received = f"There is no such property: {shorten(unexpected)}. Leave it out.", None
    elif is_secret:  # the message quotes the value
        message, received = f"This does not fit the schema ({kind}).", MASK
    else:
        message, received = f"{shorten(error.message)}.", abbreviate(error.instance)
    return Violation(path=path_of(_location(error).location, names), message=message, received=received)


def _literals(value: Any, locations: list[InvalidLocation]) -> Any:
    """Decode numbers and booleans from strings in place and return the value, or None if there are none."""
    root: list[Any] = [value]
    changed = False
    for at in locations:
        parent, key = root, cast("int | str", 0)
        for part in () if at.missing else at.location:
            parent, key = cast("Any", parent)[key], part
        text = cast("Any", parent)[key]
        if isinstance(text, str):
            try:
                literal = from_json(text.strip().lower(), allow_inf_nan=False)
            except ValueError:
                continue
            if isinstance(literal, bool | int) or (isinstance(literal, float) and math.isfinite(literal)):
                cast("Any", parent)[key], changed = literal, True
    return root[0] if changed else None


def validator(schema: JSONSchema, which: str = "input", *, max_pattern_bytes: int | None = None) -> Any:
    """Make a validator that never fetches references. Raises `RegistrationError` for an invalid schema."""
    try:
        import jsonschema_rs
    except ImportError:
        raise MissingExtraError("A tool that is defined by a JSON schema", "dynamic") from None
    options = jsonschema_rs.FancyRegexOptions(backtrack_limit=MAX_STEPS, size_limit=max_pattern_bytes)
    try:
        return jsonschema_rs.validator_for(schema, retriever=_refuse_reference, pattern_options=options)
    except ValueError as error:
        reason = str(error).partition("\n")[0]
        raise RegistrationError(f"The {which} schema is not a valid JSON schema: {reason}") from None


def _refuse_reference(address: str) -> NoReturn:
    raise ValueError(f"{address} is outside of the schema")
