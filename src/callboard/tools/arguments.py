"""The input side of a typed tool: from the JSON document of a call to what the handler is given.

`Arguments` is the port. Tools that come with a JSON schema and no Python types have their own in `schema_arguments`.
"""

from typing import Any, Protocol

from pydantic import TypeAdapter, ValidationError
from pydantic_core import from_json, to_json

from ..types import JSONSchema
from .coercion import Fault, coerced
from .document import check_text
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


class TypedArguments:
    """Arguments validated by Pydantic, in JSON mode, whatever form they came in."""

    __slots__ = ("_adapter", "_lax", "_validate", "closed", "model")

    def __init__(self, model: Any, adapter: TypeAdapter[Any], *, lax: bool, closed: bool = True) -> None:
        self.model = model
        self.closed = closed
        self._adapter = adapter
        self._lax = lax
        self._validate = adapter.validator.validate_json

    def parse(self, tool: str, data: bytes) -> Any:
        try:
            value = self._validate(data) if self._lax else self._validate(data, strict=True)
        except ValidationError as error:
            value = self._put_right(tool, data, error)
        check_text(data, value)
        return value

    def schema(self) -> JSONSchema:
        return self._adapter.json_schema()

    def _put_right(self, tool: str, data: bytes, first: ValidationError) -> Any:
        error = first
        for _ in range(ROUNDS if self._lax else 0):
            errors = error.errors(include_url=False, include_input=False)
            if any(entry["type"] in ("json_invalid", "extra_forbidden") for entry in errors):
                break
            faults = [Fault(entry["loc"], entry["type"] == "missing") for entry in errors]
            if (better := coerced(from_json(data), faults)) is None:
                break
            data = to_json(better)
            try:
                return self._validate(data)
            except ValidationError as again:
                error = again
        raise validation_error(tool, problems_of(first)) from None
