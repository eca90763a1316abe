"""The port that validates a tool's arguments: from the JSON document of a call to the input of the handler.

`typed_arguments` implements it for tools with Python types, `schema_arguments` for tools defined by a JSON schema.
"""

from typing import Any, Protocol

from pydantic_core import from_json

from ..types import JSONSchema


class Arguments(Protocol):
    """Validates the arguments of a call."""

    @property
    def model(self) -> Any:
        """The type of the input: a Pydantic model, or a typed dictionary of the function's parameters."""
        ...

    @property
    def closed(self) -> bool:
        """Whether undeclared properties are refused."""
        ...

    def parse(self, tool: str, data: bytes) -> Any:
        """Return the validated input. Raises `ToolError` (validation) with the path of each problem."""
        ...

    def schema(self) -> JSONSchema:
        """Return the JSON schema as generated from the types, not yet cleaned."""
        ...

    def undescribed(self) -> tuple[str, ...]:
        """List the paths of the properties that have no description."""
        ...


class AnyArguments:
    """Accepts any JSON, for a tool that is never run."""

    model = dict[str, Any]
    closed = False

    def parse(self, tool: str, data: bytes) -> Any:
        return from_json(data)

    def schema(self) -> JSONSchema:
        return {"type": "object"}

    def undescribed(self) -> tuple[str, ...]:
        return ()
