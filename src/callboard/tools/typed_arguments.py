"""Validation of a typed tool's arguments by Pydantic."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple, cast

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import CoreSchema, from_json, to_json

from ..errors import ToolError
from ..jsonrules.duplicate_keys import check_keys_and_numbers, max_key_count
from ..jsonrules.key_counter import Counter, key_counter
from ..schemas.clean import clean
from ..schemas.secrets import has_secrets, public_names
from ..types import JSONSchema, Violation
from .argument_repair import MAX_REPAIR_ROUNDS, InvalidLocation, repair_arguments
from .descriptions import undescribed
from .document import check_depth
from .flags import is_flag
from .input_schema import InputSchema
from .problems import MANY_PROBLEMS, REQUIRED, UNDECLARED, problems_of, sample_of, validation_error
from .union_cost import bounded
from .validators import CHECKED_KINDS, exact_validator, strict_validator


class TypedArguments:
    """Arguments validated by Pydantic, always in JSON mode."""

    __slots__ = ("_adapter", "_cleaned", "_counter", "_lax", "_validate", "closed", "descriptions", "model")

    def __init__(
        self,
        model: Any,
        adapter: TypeAdapter[Any],
        *,
        lax: bool,
        closed: bool = True,
        descriptions: Mapping[str, str] | None = None,
    ) -> None:
        self.descriptions: Mapping[str, str] = descriptions or {}
        """Descriptions of properties that stand beside their types, where Pydantic does not read them."""
        self.model = model
        self.closed = closed
        self._adapter = adapter
        self._lax = lax
        self._counter: Counter | None = None
        self._cleaned: JSONSchema | None = None
        self._validate: Callable[[bytes], Any] = self._validate_first

    def parse(self, tool: str, data: bytes) -> Any:
        try:
            value = self._validate(data)
        except ValidationError as error:
            check_depth(data)
            value = self._repair(tool, data, error)
            check_keys_and_numbers(data)
        else:
            # Equal counts prove that the type knows every key and that no key is given twice.
            if self._counter is None or self._counter(value) != data.count(b":"):
                self._check(value, data)
        return value

    def _check(self, value: Any, data: bytes) -> None:
        """Raise `ToolError` for a duplicate key, in a document with colons in its strings or with undeclared keys."""
        if self._counter is None or self._counter(value) != max_key_count(data):
            check_depth(data)
            check_keys_and_numbers(data)

    def _validate_first(self, data: bytes) -> Any:
        """Build the validator, and validate. Deferred to the first call, since most of many tools are never called."""
        schema = self._adapter.core_schema
        traits = _traits_of(schema)
        validator = self._adapter.validator
        if traits.countable:
            self._counter = key_counter(schema)
        if traits.checked:
            validator = strict_validator(schema, lax=self._lax)
        elif self.closed and issubclass(self.model, BaseModel):
            validator = exact_validator(schema)
        validate = validator.validate_json if self._lax else partial(validator.validate_json, strict=True)
        self._validate = bounded(schema, validate)
        return self._validate(data)

    def schema(self) -> JSONSchema:
        schema = self._adapter.json_schema(schema_generator=InputSchema)
        for name, text in self.descriptions.items():
            schema["properties"][name]["description"] = text
        return schema

    def undescribed(self) -> tuple[str, ...]:
        return undescribed(self.model, self.descriptions)

    def _repair(self, tool: str, data: bytes, first: ValidationError) -> Any:
        error, given = first, data
        if self._cleaned is None:
            self._cleaned = clean(self.schema())
        schema = self._cleaned
        if first.error_count() > MANY_PROBLEMS:
            raise self._many_problems(tool, data, first.error_count(), schema)
        for _ in range(MAX_REPAIR_ROUNDS):
            if error.error_count() > MANY_PROBLEMS:
                break
            errors = error.errors(include_url=False, include_input=False)
            if any(entry["type"] in ("json_invalid", *UNDECLARED) for entry in errors):
                break
            locations = [InvalidLocation(entry["loc"], entry["type"] == "missing") for entry in errors]
            try:
                if (better := repair_arguments(from_json(data), locations, schema, lax=self._lax)) is None:
                    break
                data = to_json(better)
                return self._validate(data)
            except ValidationError as again:
                error = again
            except (ValueError, RecursionError):  # the repaired document is nested too deeply
                break
        raise validation_error(tool, self._problems(first, given, schema), first.error_count()) from None

    def _problems(self, error: ValidationError, data: bytes, schema: JSONSchema) -> list[Violation]:
        try:
            document = from_json(data)
        except ValueError:  # which the error says
            document = None
        shown = public_names(schema)
        return problems_of(error, reveal=not has_secrets(schema), names=shown, document=document, schema=schema)

    def _many_problems(self, tool: str, data: bytes, total: int, schema: JSONSchema) -> ToolError:
        """Make the error for arguments with too many problems to list, by validating a sample of the document."""
        found: list[Violation] = []
        sample = data
        try:
            sample = to_json(sample_of(from_json(data), schema.get("properties", {})))
            self._validate(sample)
        except ValidationError as error:
            if error.error_count() <= MANY_PROBLEMS:
                found = [each for each in self._problems(error, sample, schema) if each["message"] != REQUIRED]
        except (ValueError, RecursionError):
            pass
        return validation_error(tool, found, total)


class _Traits(NamedTuple):
    """Properties of a type that decide how its documents are checked."""

    countable: bool
    """A validated value has exactly the keys of the document: no field is filled in, computed or untyped."""
    checked: bool
    """A part admits more than JSON rules allow, unless it has a strict validator."""


_SCALARS = {"str", "int", "bool", "none", "literal", "enum", "float"}
_RECORDS = {"typed-dict", "typed-dict-field", "model", "model-fields", "model-field", "dict", "any"}
_WRAPPERS = {"definitions", "definition-ref", "default", "nullable", "list", "tuple", "union", "tagged-union"}
_OTHERS = {"date", "datetime", "time", "timedelta", "uuid", "url", "multi-host-url", "bytes", "decimal"}
_WALKED = frozenset({*_SCALARS, *_RECORDS, *_WRAPPERS, *_OTHERS})


def _traits_of(schema: CoreSchema) -> _Traits:
    exact, opaque, checked = True, False, False
    by_name = shared_by_name = False
    pending: list[Any] = [schema]
    for node in pending:  # grows during the walk
        if isinstance(node, dict):
            entry = cast("dict[str, Any]", node)
            kind = entry.get("type")
            if isinstance(kind, str):
                checked = checked or kind in CHECKED_KINDS or is_flag(entry)
                own = entry.get("post_init") or entry.get("custom_init")  # user code, which may set any field
                computed = kind.startswith("function-") or kind == "json" or bool(own)
                filled = kind == "typed-dict-field" and entry["schema"]["type"] == "default"
                shared = kind in ("typed-dict", "model-fields") and _shares_a_key(entry["fields"])
                if kind in ("typed-dict", "model-fields"):
                    shared_by_name = shared_by_name or _shares_a_key(entry["fields"], by_name=True)
                exact = exact and not (computed or filled or shared or isinstance(entry.get("validation_alias"), list))
                opaque = opaque or not (kind in _WALKED or kind.startswith("function-"))
                opaque = opaque or (kind == "enum" and any(isinstance(each.value, float) for each in entry["members"]))
            opaque = opaque or "allow" in (entry.get("extra_behavior"), entry.get("extra_fields_behavior"))
            opaque = opaque or bool(entry.get("coerce_numbers_to_str"))
            by_name = by_name or bool(entry.get("validate_by_name") or entry.get("populate_by_name"))
            pending += [value for key, value in entry.items() if key not in ("default", "metadata", "serialization")]
        elif isinstance(node, list | tuple):
            pending += cast("list[Any]", node)
    return _Traits(exact and not opaque and not (by_name and shared_by_name), checked)


def _shares_a_key(fields: dict[str, Any], *, by_name: bool = False) -> bool:
    """Whether two fields of a record can be read from the same key, which would be counted twice."""
    keys = [str(field.get("validation_alias", name)) for name, field in fields.items()]
    if by_name:  # the name of a field is a key as well as its alias
        keys += [name for name, field in fields.items() if str(field.get("validation_alias", name)) != name]
    return len(set(keys)) < len(keys)
