"""The input side of a typed tool: from the JSON document of a call to what the handler is given.

`Arguments` is the port. Tools that come with a JSON schema and no Python types have their own in `schema_arguments`.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple, Protocol, cast

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import CoreSchema, SchemaValidator, from_json, to_json

from ..errors import ToolError
from ..jsonrules.duplicate_keys import check_keys_and_numbers, max_key_count
from ..jsonrules.key_counter import Counter, key_counter
from ..schemas.clean import clean
from ..schemas.secrets import has_secrets, names_shown
from ..types import JSONSchema
from .coercion import Fault, coerced
from .document import check_depth
from .input_schema import InputSchema
from .problems import MANY_PROBLEMS, REQUIRED, Problem, excerpt_of, problems_of, validation_error
from .strictness import strict_validator

ROUNDS = 3
"""A JSON text inside a JSON text is put right too, to this depth."""


class Arguments(Protocol):
    """Reads a call's arguments."""

    @property
    def model(self) -> Any:
        """The type of the input: a Pydantic model, or a typed dictionary of the function's parameters."""
        ...

    @property
    def closed(self) -> bool:
        """Whether properties that it does not declare are refused."""
        ...

    def parse(self, tool: str, data: bytes) -> Any:
        """The validated input. Raises `ToolError` (validation) that says what is wrong and where."""
        ...

    def schema(self) -> JSONSchema:
        """The JSON schema as the source of the types gives it, not yet cleaned."""
        ...


class AnyArguments:
    """Takes anything, for a tool that is never run."""

    model = dict[str, Any]
    closed = False

    def parse(self, tool: str, data: bytes) -> Any:
        return from_json(data)

    def schema(self) -> JSONSchema:
        return {"type": "object"}


class TypedArguments:
    """Arguments validated by Pydantic, in JSON mode, whatever form they came in."""

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
        """What is said of properties beside their types, which Pydantic does not read."""
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
            value = self._put_right(tool, data, error)
            check_keys_and_numbers(data)
        else:
            # Where the numbers agree, each key is one that the type knows, and none is there twice.
            if self._counter is None or self._counter(value) != data.count(b":"):
                self._check(value, data)
        return value

    def _check(self, value: Any, data: bytes) -> None:
        """Refuse a document that gives a key twice. It has colons in its texts, or keys that its type does not know."""
        if self._counter is None or self._counter(value) != max_key_count(data):
            check_depth(data)
            check_keys_and_numbers(data)

    def _validate_first(self, data: bytes) -> Any:
        """Look at the type, and validate. Not done when the tool is made: there may be thousands never called."""
        schema = self._adapter.core_schema
        facts = _facts_of(schema)
        validator = self._adapter.validator
        if facts.countable:
            self._counter = key_counter(schema)
        if facts.texts or facts.floats:
            validator = strict_validator(schema)
        elif self.closed and issubclass(self.model, BaseModel):
            # Else Pydantic would put the model's own validator in place of this one, which refuses more.
            validator = SchemaValidator(schema, _use_prebuilt=False)
        self._validate = validator.validate_json if self._lax else partial(validator.validate_json, strict=True)
        return self._validate(data)

    def schema(self) -> JSONSchema:
        schema = self._adapter.json_schema(schema_generator=InputSchema)
        for name, text in self.descriptions.items():
            schema["properties"][name]["description"] = text
        return schema

    def _put_right(self, tool: str, data: bytes, first: ValidationError) -> Any:
        error = first
        if self._cleaned is None:
            self._cleaned = clean(self.schema())
        schema = self._cleaned
        if first.error_count() > MANY_PROBLEMS:
            raise self._many_problems(tool, data, first.error_count(), schema)
        for _ in range(ROUNDS):
            if error.error_count() > MANY_PROBLEMS:
                break
            errors = error.errors(include_url=False, include_input=False)
            if any(entry["type"] in ("json_invalid", "extra_forbidden") for entry in errors):
                break
            faults = [Fault(entry["loc"], entry["type"] == "missing") for entry in errors]
            try:
                if (better := coerced(from_json(data), faults, schema, lax=self._lax)) is None:
                    break
                data = to_json(better)
                return self._validate(data)
            except ValidationError as again:
                error = again
            except (ValueError, RecursionError):  # what was put together is nested too deeply
                break
        raise validation_error(tool, self._shown(first, schema), first.error_count()) from None

    def _shown(self, error: ValidationError, schema: JSONSchema) -> list[Problem]:
        return problems_of(error, reveal=not has_secrets(schema), names=names_shown(schema))

    def _many_problems(self, tool: str, data: bytes, total: int, schema: JSONSchema) -> ToolError:
        """The error for arguments with so many problems that finding them all took long. Only a part is told."""
        found: list[Problem] = []
        try:
            self._validate(to_json(excerpt_of(from_json(data), schema.get("properties", {}))))
        except ValidationError as error:
            if error.error_count() <= MANY_PROBLEMS:
                found = [each for each in self._shown(error, schema) if each["message"] != REQUIRED]
        except (ValueError, RecursionError):
            pass
        return validation_error(tool, found, total)


class _Facts(NamedTuple):
    """What a type says of the documents that it takes."""

    countable: bool
    """A value has just the keys that were given, and nothing in it is taken as it comes: nothing is filled in, nothing
    computed, and there are no values of which the type does not say what is in them."""
    texts: bool
    """Some of it was read from a JSON text within the document."""
    floats: bool
    """There are numbers in it that may not be finite, if it is not asked for that they are."""


_SCALARS = {"str", "int", "bool", "none", "literal", "enum", "float"}
_RECORDS = {"typed-dict", "typed-dict-field", "model", "model-fields", "model-field", "dict", "any"}
_WRAPPERS = {"definitions", "definition-ref", "default", "nullable", "list", "tuple", "union", "tagged-union"}
_OTHERS = {"date", "datetime", "time", "timedelta", "uuid", "url", "multi-host-url", "bytes", "decimal"}
_WALKED = frozenset({*_SCALARS, *_RECORDS, *_WRAPPERS, *_OTHERS})


def _facts_of(schema: CoreSchema) -> _Facts:
    exact, opaque, texts, floats = True, False, False, False
    by_name = shared_by_name = False
    pending: list[Any] = [schema]
    for node in pending:  # it grows while it is walked
        if isinstance(node, dict):
            entry = cast("dict[str, Any]", node)
            kind = entry.get("type")
            if isinstance(kind, str):
                texts, floats = texts or kind == "json", floats or kind == "float"
                own = entry.get("post_init") or entry.get("custom_init")  # code of its own, which may set any field
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
    return _Facts(exact and not opaque and not (by_name and shared_by_name), texts, floats)


def _shares_a_key(fields: dict[str, Any], *, by_name: bool = False) -> bool:
    """Whether two fields of a record may be read from the same key, which then counts twice."""
    keys = [str(field.get("validation_alias", name)) for name, field in fields.items()]
    if by_name:  # a field has its name as a key beside its alias
        keys += [name for name, field in fields.items() if str(field.get("validation_alias", name)) != name]
    return len(set(keys)) < len(keys)
