"""Front-end tools: a client declares them for its session, and executes their calls itself.

The server treats such a tool as a human tool without a handler: its call is an open request, and the client's answer is
its result. The schema comes from an untrusted client, so its size is limited and its references are never fetched.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any

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
MAX_DESCRIPTION = 4_000

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
    if len(given) > MAX_TOOLS:
        raise FrontEndToolsRefused(f"A client may have at most {MAX_TOOLS} tools, and this one has {len(given)}.")
    names = [tool.name for tool in given]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise FrontEndToolsRefused(f"Two tools of the client have the same name: {shorten(', '.join(twice))}.")
    return [_checked(each) for each in given]


def _checked(given: FrontEndTool) -> Tool:
    parameters = to_json(_NO_ARGUMENTS if given.parameters is None else given.parameters)
    if len(parameters) > MAX_SCHEMA_BYTES or len(given.description) > MAX_DESCRIPTION:
        raise FrontEndToolsRefused(
            f"The tool {shorten(given.name, 80)} is too large: its parameters may have at most {MAX_SCHEMA_BYTES:,} "
            f"bytes of JSON, its description {MAX_DESCRIPTION:,} characters."
        )
    return _tool(given.name, given.description, parameters)


@lru_cache(maxsize=128)
def _tool(name: str, description: str, parameters: bytes) -> Tool:
    """Make a tool. A client sends the same definitions again and again, and each takes a millisecond or two."""
    return Tool(
        name=name,
        description=description,
        arguments=SchemaArguments(from_json(parameters) or _NO_ARGUMENTS, lax=True),
        result=Result(),
        handler=None,
        answer=PageAnswer,
        front_end=True,
        mode=Mode.HUMAN,
        namespace="front_end",
        tags=("front_end",),
    )
