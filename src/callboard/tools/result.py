"""The output side of a tool: what a handler returned, checked against its promise and written as JSON once."""

from typing import Any

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError, SchemaSerializer, from_json, to_json

from ..errors import ToolError
from ..types import JSONSchema
from .problems import problems_of


class Result:
    """Writes results. With `adapter` None anything that JSON can say is admitted; `schema` then is what is promised."""

    __slots__ = ("_adapter", "_declared", "_serialize", "_validate", "model")

    def __init__(
        self, model: Any = Any, adapter: TypeAdapter[Any] | None = None, declared: JSONSchema | None = None
    ) -> None:
        self.model = model
        self._adapter = adapter
        self._declared = declared
        self._validate = None if adapter is None else adapter.validator.validate_python
        serializer = None if adapter is None else adapter.serializer
        self._serialize = serializer.to_json if isinstance(serializer, SchemaSerializer) else to_json

    def write(self, tool: str, value: Any) -> bytes:
        """The value as JSON. Raises `ToolError` (execution) where it is not what the tool promises, or not JSON."""
        try:
            if self._validate is not None:
                value = self._validate(value)
            return self._serialize(value)
        except ValidationError as error:
            problems = "; ".join(f"{p['path'] or 'result'}: {p['message']}" for p in problems_of(error)[:5])
            raise ToolError(
                f"The tool {tool} failed: it returned something other than what it promises.",
                report=f"{tool} returned a wrong type: {problems}",
            ) from error
        except (PydanticSerializationError, RecursionError, ValueError, TypeError) as error:
            raise ToolError(
                f"The tool {tool} failed: its result cannot be written as JSON.", report=f"{tool}: {error}"
            ) from error

    def data(self, tool: str, value: Any) -> Any:
        """The value as JSON data."""
        return from_json(self.write(tool, value))

    def schema(self) -> JSONSchema | None:
        """The JSON schema of the output, not yet cleaned; None where anything may come."""
        if self._adapter is None:
            return self._declared
        return self._adapter.json_schema(mode="serialization")
