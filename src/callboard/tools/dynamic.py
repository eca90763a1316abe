"""Tools that arrive as data: a name, a JSON schema and an async callable, no Python types."""

import copy
from collections.abc import Awaitable, Callable
from typing import Any, Unpack

from ..errors import RegistrationError
from ..schemas.clean import clean
from ..types import JSONSchema
from .definition import Tool
from .function import Policy, policy
from .handler import Handler, HandlerKind
from .result import Result
from .schema_arguments import SchemaArguments, validator
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
        result=Result() if output_schema is None else _result(output_schema),
        handler=Handler(handler, HandlerKind.ASYNC, context=context, parameter=parameter),
        **policy(options),
    )


def _result(schema: JSONSchema) -> Result:
    try:
        clean(schema)  # refuses what refers to elsewhere, before a validator sees it
    except (AttributeError, KeyError, TypeError):
        raise RegistrationError("The output schema is not a valid JSON schema.") from None
    declared = copy.deepcopy(schema)
    return Result(declared=declared, fits=validator(declared, "output").is_valid)
