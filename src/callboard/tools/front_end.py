"""Front-end tools: a client declares them for its session, and executes their calls itself.

The server treats such a tool as a human tool without a handler: its call is an open request, and the client's answer is
its result. The schema comes from an untrusted client, so its size is limited and its references are never fetched.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, cast

from pydantic import WithJsonSchema
from pydantic_core import from_json, to_json

from ..errors import RegistrationError
from ..shortening import shorten
from ..types import JSONSchema, Mode
from .definition import Tool
from .result import Result
from .schema_arguments import SchemaArguments

MAX_TOOLS = 64
MAX_SCHEMA_BYTES = 32 * 1024
MAX_SCHEMA_PARTS = 500
"""Schemas within a schema, with its references inlined: each part takes up to 40 µs."""
MAX_PATTERNS = 16
MAX_PATTERN_BYTES = 100_000
"""Regular expressions within a schema, and bytes of the compiled form of each: each takes up to 5 ms."""
MAX_DESCRIPTION = 4_000
MAX_KNOWN = 128
"""Tools that are kept: a client sends the same definitions again and again."""

_NO_ARGUMENTS: JSONSchema = {"type": "object", "properties": {}}
_SCHEMA = {"title": "Result of the page's tool", "description": "What the page made of the call; any JSON value."}

PageAnswer = Annotated[Any, WithJsonSchema(_SCHEMA)]
"""An answer of a page, which may be any JSON value."""


class FrontEndToolsRefused(RegistrationError):
    """The list of a client's tools is too long, has a name twice, or has a tool that is too large."""


@dataclass(frozen=True, slots=True)
class FrontEndTool:
    """The definition of a tool, as a client sends it."""

    name: str
    description: str
    parameters: Any = None
    """The JSON schema of the arguments; None for a tool without arguments."""


def front_end_tools(given: Sequence[FrontEndTool]) -> list[Tool]:
    """Return the tools of a client. Raises `FrontEndToolsRefused`, or `RegistrationError` for an invalid tool."""
    check_list(given)
    return [known_tool(each) or make_tool(each) for each in given]


def check_list(given: Sequence[FrontEndTool]) -> None:
    """Check the length of a client's list, and its names. Raises `FrontEndToolsRefused`."""
    if len(given) > MAX_TOOLS:
        raise FrontEndToolsRefused(f"A client may have at most {MAX_TOOLS} tools, and this one has {len(given)}.")
    names = [tool.name for tool in given]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise FrontEndToolsRefused(f"Two tools of the client have the same name: {shorten(', '.join(twice))}.")


def known_tool(given: FrontEndTool) -> Tool | None:
    """Return the tool of a definition if it was made lately."""
    key = _key(given)
    if (tool := _known.get(key)) is not None:
        _known.move_to_end(key)
    return tool


def make_tool(given: FrontEndTool) -> Tool:
    """Make the tool of a definition. Raises `FrontEndToolsRefused`, or `RegistrationError` for an invalid one.

    It takes up to 20 milliseconds, which belong to the event loop.
    """
    key = _key(given)
    tool = _known[key] = _tool(*key)
    while len(_known) > MAX_KNOWN:
        _known.popitem(last=False)
    return tool


_known: OrderedDict[tuple[str, str, bytes], Tool] = OrderedDict()


def _key(given: FrontEndTool) -> tuple[str, str, bytes]:
    """Return what a definition consists of. Raises `FrontEndToolsRefused` if it is too large."""
    parameters = to_json(_NO_ARGUMENTS if given.parameters is None else given.parameters)
    if len(parameters) > MAX_SCHEMA_BYTES or len(given.description) > MAX_DESCRIPTION:
        raise FrontEndToolsRefused(
            f"The tool {shorten(given.name, 80)} is too large: its parameters may have at most {MAX_SCHEMA_BYTES:,} "
            f"bytes of JSON, its description {MAX_DESCRIPTION:,} characters."
        )
    return given.name, given.description, parameters


def _count_patterns(schema: Any) -> int:
    """Return an upper bound of the regular expressions in a schema."""
    count, rest = 0, [schema]
    while rest:
        part = rest.pop()
        if isinstance(part, dict):
            fields = cast("dict[str, Any]", part)
            named = fields.get("patternProperties")
            count += ("pattern" in fields) + (len(cast("Any", named)) if isinstance(named, dict) else 0)
            rest += fields.values()
        elif isinstance(part, list):
            rest += cast("list[Any]", part)
    return count


def _tool(name: str, description: str, parameters: bytes) -> Tool:
    schema = from_json(parameters) or _NO_ARGUMENTS
    if _count_patterns(schema) > MAX_PATTERNS:
        raise FrontEndToolsRefused(f"The tool {shorten(name, 80)} has more than {MAX_PATTERNS} regular expressions.")
    limits = {"max_parts": MAX_SCHEMA_PARTS, "max_pattern_bytes": MAX_PATTERN_BYTES}
    return Tool(
        name=name,
        description=description,
        arguments=SchemaArguments(schema, lax=True, **limits),
        result=Result(),
        handler=None,
        answer=PageAnswer,
        front_end=True,
        mode=Mode.HUMAN,
        namespace="front_end",
        tags=("front_end",),
    )
