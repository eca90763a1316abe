"""Tools that arrive as data: a name, a JSON schema and an async callable, no Python types."""

from collections.abc import Awaitable, Callable
from typing import Any, Unpack

from ..types import JSONSchema
from .definition import Tool
from .function import Policy, policy
from .handler import Handler, HandlerKind
from .result import Result
from .schema_arguments import SchemaArguments
from .signature import takes_context


def dynamic_tool(
    name: str,
    input_schema: JSONSchema,
    handler: Callable[..., Awaitable[Any]],
    *,
    description: str,
    output_schema: JSONSchema | None = None,
    lax: bool = True,
    **options: Unpack[Policy],
) -> Tool:
    """A tool from a JSON schema. The handler is given the arguments as one dict, and a `ToolContext` if it wants one.

    Raises `RegistrationError` for a schema that is not valid, `SchemaError` for one that refers to outside of itself.
    """
    context, parameter = takes_context(handler)
    return Tool(
        name=name,
        description=description,
        arguments=SchemaArguments(input_schema, lax=lax),
        result=Result(declared=output_schema),
        handler=Handler(handler, HandlerKind.ASYNC, context=context, parameter=parameter),
        **policy(options),
    )
