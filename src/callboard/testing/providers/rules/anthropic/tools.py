"""Names and schemas of tools."""

import re
from collections.abc import Iterator

from ...request import Refusal, Request
from ..json_access import as_object, as_objects, subschemas
from .conversation import tools

NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")


def tool_names_well_formed(request: Request) -> Iterator[Refusal]:
    """The name of a tool is made of 1 to 128 letters, digits, `_` and `-`.

    https://github.com/microsoft/wassette/issues/56
    """
    for index, tool in tools(request):
        if not NAME.fullmatch(str(tool.get("name", ""))):
            yield Refusal(f"tools.{index}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'")


def tool_names_unique(request: Request) -> Iterator[Refusal]:
    """Tool names are unique.

    https://github.com/danny-avila/LibreChat/issues/13162
    """
    names = [tool.get("name") for tool in as_objects(request.body.get("tools"))]
    if len(set(names)) < len(names):
        yield Refusal("tools: Tool names must be unique.")


def schemas_are_objects(request: Request) -> Iterator[Refusal]:
    """A schema is an object without a union at its root. `$ref` and `$defs` are allowed.

    https://github.com/anthropics/claude-code/issues/40075 and
    https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools
    """
    for index, tool in tools(request):
        place, schema = f"tools.{index}.custom.input_schema", as_object(tool.get("input_schema"))
        if "type" not in schema:
            yield Refusal(f"{place}.type: Field required")
        elif schema["type"] != "object":
            yield Refusal(f"{place}.type: Input should be 'object'")
        if {"oneOf", "allOf", "anyOf"} & schema.keys():
            yield Refusal(f"{place}: input_schema does not support oneOf, allOf, or anyOf at the top level")
        if any(not PROPERTY.fullmatch(name) for name in as_object(schema.get("properties"))):
            yield Refusal(f"{place}.properties: Property keys should match pattern '^[a-zA-Z0-9_.-]{{1,64}}$'")


def strict_schemas_closed(request: Request) -> Iterator[Refusal]:
    """Every object in the schema of a strict tool is closed.

    https://github.com/vercel/ai/issues/20681
    """
    for index, tool in tools(request):
        if tool.get("strict") is True:
            for _, schema in subschemas(as_object(tool.get("input_schema"))):
                if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
                    message = "For 'object' type, 'additionalProperties' must be explicitly set to false"
                    yield Refusal(f"tools.{index}.custom: {message}")
