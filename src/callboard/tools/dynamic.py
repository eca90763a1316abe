"""Tools defined by data: a name, a JSON schema and an async callable, without Python types."""

import copy
import inspect
from collections.abc import Awaitable, Callable
from functools import partial, wraps
from typing import Any, Unpack, cast

from pydantic_core import from_json

from ..checks import Check
from ..errors import CATEGORIES, ErrorCategory, RegistrationError, ToolError
from ..schemas.clean import clean
from ..types import JSONSchema
from .definition import Tool
from .handler import Handler, HandlerKind
from .options import Policy, check_options, policy
from .result import Result
from .schema_arguments import SchemaArguments, validator
from .signature import dynamic_parameters
from .validation_cost import ValidationCost


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
    """Make a tool from a JSON schema. The handler takes the arguments as one dict, and optionally a `ToolContext`.

    Raises `RegistrationError` for an invalid schema or a generator, and `SchemaError` for a schema with external
    references. A handler that returns no awaitable fails with the category `configuration` when it is called.
    """
    check_options("dynamic_tool", options, Policy.__optional_keys__)
    Check(RegistrationError).flag("lax", lax)
    context, parameter = dynamic_parameters(handler)
    return Tool(
        name=name,
        description=description,
        arguments=SchemaArguments(input_schema, lax=lax),
        result=Result() if output_schema is None else _result(output_schema),
        handler=Handler(_awaited(handler, name), HandlerKind.ASYNC, context=context, parameter=parameter),
        **policy(options),
    )


def _awaited(handler: Callable[..., Any], name: str) -> Callable[..., Awaitable[Any]]:
    """Return a handler, or one that says so if it turns out not to be async. Raises `RegistrationError`."""
    inner: Any = handler
    while isinstance(inner, partial):
        inner = cast("partial[Any]", inner).func
    if inspect.isgeneratorfunction(inner) or inspect.isasyncgenfunction(inner):
        raise RegistrationError(f"The handler of the tool {name} is a generator; it must be an async function.")
    if inspect.iscoroutinefunction(inner):
        return handler

    @wraps(handler)
    async def checked(*args: Any, **kwargs: Any) -> Any:
        made = handler(*args, **kwargs)
        if not inspect.isawaitable(made):
            raise ToolError(
                CATEGORIES[ErrorCategory.CONFIGURATION].message,
                category=ErrorCategory.CONFIGURATION,
                report=f"the handler of {name} returned {type(made).__name__}; it must be an async function",
            )
        return await made

    return checked


def _result(schema: JSONSchema) -> Result:
    try:
        clean(schema)  # raises for external references before a validator sees them
    except (AttributeError, KeyError, TypeError):
        raise RegistrationError("The output schema is not a valid JSON schema.") from None
    declared = copy.deepcopy(schema)
    check, cost = validator(declared, "output"), ValidationCost(declared)

    def is_valid(written: bytes) -> bool:
        value: Any = from_json(written)
        if cost.is_too_high(value, len(written)):
            message = "The result has too many values to check against the tool's schema, or texts that are too long."
            raise ToolError(message, category="resource")
        return check.is_valid(value)

    return Result(declared=declared, is_valid=is_valid)
