"""The input side of a typed tool: from the JSON document of a call to what the handler is given.

`Arguments` is the port. Tools that come with a JSON schema and no Python types have their own in `schema_arguments`.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, cast

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import CoreSchema, SchemaValidator, from_json, to_json

from ..schemas.clean import clean
from ..schemas.secrets import has_secrets, names_shown
from ..types import JSONSchema
from .coercion import Fault, coerced
from .counting import Counter, counter_of
from .document import check_depth, check_text
from .inner_text import strict_validator
from .input_schema import InputSchema
from .problems import problems_of, validation_error

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

    __slots__ = ("_adapter", "_cleaned", "_counter", "_facts", "_lax", "_validate", "closed", "descriptions", "model")

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
        self._facts: _Facts | None = None
        self._counter: Counter | None = None
        self._cleaned: JSONSchema | None = None
        validator = adapter.validator
        if closed and issubclass(model, BaseModel):
            # Else Pydantic would put the model's own validator in place of this one, which refuses more.
            validator = SchemaValidator(adapter.core_schema, _use_prebuilt=False)
        self._validate = validator.validate_json

    def parse(self, tool: str, data: bytes) -> Any:
        try:
            value = self._validate(data) if self._lax else self._validate(data, strict=True)
        except ValidationError as error:
            check_depth(data)
            value = self._put_right(tool, data, error)
            check_text(data, value, False)
        else:
            counter = self._counter
            if counter is None or counter(value) != data.count(b":"):
                value = self._checked(tool, data, value)
        return value

    def _checked(self, tool: str, data: bytes, value: Any) -> Any:
        """Look at a document more closely, unless its type says how deep it is and its keys are those of the type.

        The first one shows what to look for.
        """
        check_depth(data)
        if self._facts is None and self._learned().texts:
            return self.parse(tool, data)  # now with a look at them
        facts = self._learned()
        check_text(data, value, facts.exact, facts.opaque)
        return value

    def _learned(self) -> "_Facts":
        """What the type says. Not looked for when the tool is made: there may be thousands that are never called."""
        if self._facts is None:
            self._facts = _facts_of(self._adapter.core_schema)
            if self._facts.exact and not self._facts.opaque:
                self._counter = counter_of(self._adapter.core_schema)
            if self._facts.texts:
                self._validate = strict_validator(self._adapter.core_schema).validate_json
        return self._facts

    def schema(self) -> JSONSchema:
        schema = self._adapter.json_schema(schema_generator=InputSchema)
        for name, text in self.descriptions.items():
            schema["properties"][name]["description"] = text
        return schema

    def _put_right(self, tool: str, data: bytes, first: ValidationError) -> Any:
        error = first
        self._learned()
        if self._cleaned is None:
            self._cleaned = clean(self.schema())
        schema = self._cleaned
        for _ in range(ROUNDS):
            errors = error.errors(include_url=False, include_input=False)
            if any(entry["type"] in ("json_invalid", "extra_forbidden") for entry in errors):
                break
            faults = [Fault(entry["loc"], entry["type"] == "missing") for entry in errors]
            try:
                if (better := coerced(from_json(data), faults, schema, lax=self._lax)) is None:
                    break
                data = to_json(better)
                return self._validate(data) if self._lax else self._validate(data, strict=True)
            except ValidationError as again:
                error = again
            except (ValueError, RecursionError):  # what was put together is nested too deeply
                break
        reveal = not has_secrets(schema)
        raise validation_error(tool, problems_of(first, reveal=reveal, names=names_shown(schema))) from None


class _Facts(NamedTuple):
    """What a validated value can be relied on for."""

    exact: bool
    """It has just the keys that were given: no dictionary is filled, nothing is computed."""
    opaque: bool
    """It may hold values that cannot be walked, and in them numbers that are none."""
    texts: bool
    """Some of it was read from a JSON text within the document."""


_SCALARS = {"str", "int", "bool", "none", "literal", "enum", "float"}
_RECORDS = {"typed-dict", "typed-dict-field", "model", "model-fields", "model-field", "dict", "any"}
_WRAPPERS = {"definitions", "definition-ref", "default", "nullable", "list", "tuple", "union", "tagged-union"}
_OTHERS = {"date", "datetime", "time", "timedelta", "uuid", "url", "multi-host-url", "bytes", "decimal"}
_WALKED = frozenset({*_SCALARS, *_RECORDS, *_WRAPPERS, *_OTHERS})


def _facts_of(schema: CoreSchema) -> _Facts:
    exact, opaque, texts = True, False, False
    pending: list[Any] = [schema]
    for node in pending:  # it grows while it is walked
        if isinstance(node, dict):
            entry = cast("dict[str, Any]", node)
            kind = entry.get("type")
            if isinstance(kind, str):
                texts = texts or kind == "json"
                own = entry.get("post_init") or entry.get("custom_init")  # code of its own, which may set any field
                computed = kind.startswith("function-") or kind == "json" or bool(own)
                filled = kind == "typed-dict-field" and entry["schema"]["type"] == "default"
                shared = kind in ("typed-dict", "model-fields") and _shares_a_key(entry["fields"])
                exact = exact and not (computed or filled or shared or isinstance(entry.get("validation_alias"), list))
                opaque = opaque or not (kind in _WALKED or kind.startswith("function-"))
                opaque = opaque or (kind == "enum" and any(isinstance(each.value, float) for each in entry["members"]))
            opaque = opaque or "allow" in (entry.get("extra_behavior"), entry.get("extra_fields_behavior"))
            opaque = opaque or bool(entry.get("coerce_numbers_to_str"))
            pending += [value for key, value in entry.items() if key not in ("default", "metadata", "serialization")]
        elif isinstance(node, list | tuple):
            pending += cast("list[Any]", node)
    return _Facts(exact, opaque, texts)


def _shares_a_key(fields: dict[str, Any]) -> bool:
    """Whether two fields of a record are read from the same key, which then counts twice."""
    keys = [str(field.get("validation_alias", name)) for name, field in fields.items()]
    return len(set(keys)) < len(keys)
