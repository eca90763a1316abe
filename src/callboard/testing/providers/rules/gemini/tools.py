"""Names and schemas of tools."""

import re
from collections.abc import Iterator

from ...request import Body, Refusal, Request
from ..json_access import as_object, as_objects
from .conversation import both_spellings, declarations, field
from .fields import unknown_name

NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")
SCHEMA = both_spellings(
    "type format title description nullable enum maxItems minItems properties required minProperties maxProperties "
    "minLength maxLength pattern example anyOf propertyOrdering default items minimum maximum"
)


def tool_names_well_formed(request: Request) -> Refusal | None:
    """The name of a tool begins with a letter or `_`; up to 64 letters, digits, `_`, `.`, `:` and `-` are allowed.

    https://github.com/kaitranntt/ccs/issues/25
    """
    for place, declaration in declarations(request):
        if not NAME.fullmatch(str(declaration.get("name", ""))):
            return Refusal(
                f"* GenerateContentRequest.{place}.name: Invalid function name. Must start with a letter or an "
                "underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.), colons (:), or dashes (-), "
                "with a maximum length of 64.\n"
            )
    return None


def tool_names_unique(request: Request) -> Refusal | None:
    """Tool names are unique.

    https://github.com/rikkahub/rikkahub/issues/1311
    """
    seen: set[str] = set()
    for _, declaration in declarations(request):
        if (name := str(declaration.get("name"))) in seen:
            return Refusal(f"Duplicate function declaration found: {name}")
        seen.add(name)
    return None


def schemas_supported(request: Request) -> Refusal | None:
    """`parameters` supports a subset of OpenAPI's keywords, without `$ref`, `additionalProperties` and `const`.

    `parametersJsonSchema` takes any JSON schema.
    https://github.com/zed-industries/zed/issues/44875 and https://github.com/openswarm-ai/openswarm/issues/24
    """
    for place, declaration in declarations(request):
        for at, schema in _schemas(as_object(declaration.get("parameters")), f"{place}.parameters"):
            for name in schema:
                if name not in SCHEMA:
                    return unknown_name(name, at)
    return None


def functions_for_the_choice(request: Request) -> Refusal | None:
    """The function calling mode is set only if there are functions.

    https://github.com/pydantic/pydantic-ai/blob/main/pydantic_ai_slim/pydantic_ai/models/google.py
    """
    config = field(as_object(field(request.body, "toolConfig")), "functionCallingConfig")
    if config and not list(declarations(request)):
        return Refusal("Function calling config is set without function_declarations.")
    return None


def _schemas(schema: Body, place: str) -> Iterator[tuple[str, Body]]:
    """Yield a schema and all schemas within it, with their path in the notation of the service."""
    yield place, schema
    for index, inner in enumerate(as_object(schema.get("properties")).values()):
        yield from _schemas(as_object(inner), f"{place}.properties[{index}].value")
    for index, inner in enumerate(as_objects(field(schema, "anyOf"))):
        yield from _schemas(inner, f"{place}.any_of[{index}]")
    if "items" in schema:
        yield from _schemas(as_object(schema["items"]), f"{place}.items")
