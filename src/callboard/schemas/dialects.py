"""The dialects: pure functions from a tool to the schema that a provider or protocol requires.

`DIALECTS` lists all of them.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeAlias, cast

from ..errors import SchemaError
from ..types import JSONSchema
from .gemini import gemini
from .strict import strict
from .walk import LISTED, as_schema


class Describable(Protocol):
    """The properties of a tool that a dialect uses."""

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def prompt(self) -> str:
        """The description that the model reads."""
        ...

    @property
    def icons(self) -> Sequence[str]: ...
    @property
    def idempotent(self) -> bool: ...
    @property
    def read_only(self) -> bool | None: ...
    @property
    def destructive(self) -> bool | None: ...
    @property
    def open_world(self) -> bool | None: ...
    @property
    def input_schema(self) -> JSONSchema:
        """The cleaned schema of the arguments."""
        ...

    @property
    def output_schema(self) -> JSONSchema | None:
        """The cleaned schema of the result, or None if none is declared."""
        ...


_NOT_AT_ROOT = frozenset({"anyOf", "allOf", "not", "enum", "const", "if", "then", "else"})

_PROPERTY = re.compile(r"[a-zA-Z0-9_.-]{1,64}")
"""Names of the arguments of a tool that Anthropic accepts. Below the arguments, every name is accepted."""

Dialect: TypeAlias = Callable[[Describable], JSONSchema]


def claude(tool: Describable) -> JSONSchema:
    """Anthropic's Messages API. It refuses a whole request for a property with another name than `_PROPERTY` allows."""
    schema = flatten_root(tool.input_schema)
    for name in schema["properties"]:
        if not _PROPERTY.fullmatch(name):
            raise SchemaError(
                f"Claude cannot express the name of the property {name!r}: it accepts up to 64 ASCII letters, digits, "
                "'_', '.' and '-'. Rename the property, or use an alias.",
                path=name,
                dialect="claude",
            )
    return {"name": tool.name, "description": tool.prompt, "input_schema": schema}


def openai(tool: Describable) -> JSONSchema:
    """OpenAI's Chat Completions API."""
    function = {"name": tool.name, "description": tool.prompt, "parameters": flatten_root(tool.input_schema)}
    return {"type": "function", "function": function}


def openai_responses(tool: Describable) -> JSONSchema:
    """OpenAI's Responses API. `strict` is explicit because this API enables it by default."""
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.prompt,
        "parameters": flatten_root(tool.input_schema),
        "strict": False,
    }


def openai_strict(tool: Describable) -> JSONSchema:
    """OpenAI's Chat Completions API with structured outputs."""
    parameters = strict(flatten_root(tool.input_schema))
    function = {"name": tool.name, "description": tool.prompt, "parameters": parameters, "strict": True}
    return {"type": "function", "function": function}


def gemini_declaration(tool: Describable) -> JSONSchema:
    """A function declaration of Gemini. Empty `parameters` are invalid there and are left out."""
    declaration: JSONSchema = {"name": tool.name, "description": tool.prompt}
    parameters = flatten_root(tool.input_schema)
    if parameters.get("properties"):
        declaration["parameters"] = gemini(parameters)
    return declaration


def flatten_root(schema: JSONSchema) -> JSONSchema:
    """Remove unions at the root of an input schema, which providers refuse.

    Properties of branches become optional; the tool's own validation still enforces the union.
    """
    if not (unions := _NOT_AT_ROOT & schema.keys()):
        return schema
    branches = [branch for keyword in sorted(unions & LISTED) for branch in cast("list[JSONSchema]", schema[keyword])]
    definitions = as_schema(schema.get("$defs")) or {}
    properties: JSONSchema = {}
    for part in (*branches, schema):
        target = as_schema(definitions.get(str(part.get("$ref", "")).rpartition("/")[2])) or part
        properties |= as_schema(target.get("properties")) or {}
    made = {k: v for k, v in schema.items() if k not in _NOT_AT_ROOT and k != "unevaluatedProperties"}
    return {**made, "properties": properties, "additionalProperties": schema.get("additionalProperties", False)}


def mcp(tool: Describable) -> JSONSchema:
    """A tool of the Model Context Protocol. An output schema that is not an object is wrapped in `result`."""
    made: JSONSchema = {
        "name": tool.name,
        "title": tool.title,
        "description": tool.prompt,
        "inputSchema": tool.input_schema,
    }
    if (output := tool.output_schema) is not None:
        made["outputSchema"] = output if output.get("type") == "object" else wrapped_result(output)
    hints = {
        "readOnlyHint": tool.read_only,
        "destructiveHint": tool.destructive,
        "idempotentHint": tool.idempotent,
        "openWorldHint": tool.open_world,
    }
    stated = {name: value for name, value in hints.items() if value is not None}
    made["annotations"] = {"title": tool.title, **stated}
    return {**made, **mcp_icons(tool)}


def mcp_icons(tool: Describable) -> JSONSchema:
    """Return the icons of a tool as the Model Context Protocol describes them, if it has any."""
    return {"icons": [{"src": icon} for icon in tool.icons]} if tool.icons else {}


def wrapped_result(output: JSONSchema) -> JSONSchema:
    """Wrap an output schema in an object. Definitions stay at the root, where references point."""
    definitions = as_schema(output.get("$defs"))
    inner = {keyword: value for keyword, value in output.items() if keyword != "$defs"}
    made: JSONSchema = {"type": "object", "properties": {"result": inner}, "required": ["result"]}
    return {**made, "$defs": definitions} if definitions else made


def ag_ui(tool: Describable) -> JSONSchema:
    """A tool of the AG-UI protocol."""
    return {"name": tool.name, "description": tool.prompt, "parameters": tool.input_schema}


DIALECTS: Mapping[str, Dialect] = {
    "claude": claude,
    "openai": openai,
    "openai-responses": openai_responses,
    "openai-strict": openai_strict,
    "gemini": gemini_declaration,
    "mcp": mcp,
    "ag-ui": ag_ui,
}
"""All dialects by their public name."""


def dialect(name: str) -> Dialect:
    """Return the dialect of that name. Raises `SchemaError` with the list of names."""
    try:
        return DIALECTS[name]
    except KeyError:
        raise SchemaError(f"There is no dialect {name!r}. Dialects: {', '.join(DIALECTS)}.") from None
