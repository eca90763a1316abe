"""Front-end tools: a client sends them with a run, and executes their calls itself.

The server treats such a tool as a human tool without a handler: its call is an open request, and the client's answer is
its result. The schema comes from an untrusted client, so its size is limited and its references are never fetched.
"""

from collections.abc import Sequence
from typing import Annotated, Any

from ag_ui.core import Tool as PageTool
from pydantic import WithJsonSchema
from pydantic_core import from_json, to_json

from ...shortening import shorten
from ...storage.rows import RequestRow
from ...tools.definition import Tool
from ...tools.result import Result
from ...tools.schema_arguments import SchemaArguments
from ...types import Mode, RequestPurpose
from .run_refused import RunRefused

MAX_TOOLS = 64
MAX_SCHEMA_BYTES = 32 * 1024
MAX_DESCRIPTION = 4_000

_SCHEMA = {"title": "Result of the page's tool", "description": "What the page made of the call; any JSON value."}

PageAnswer = Annotated[Any, WithJsonSchema(_SCHEMA)]
"""An answer of a page, which may be any JSON value."""


def page_tools(given: Sequence[PageTool]) -> list[Tool]:
    """Return the tools of a client's run. Raises `RunRefused` or `RegistrationError`."""
    if len(given) > MAX_TOOLS:
        raise RunRefused(f"A run may have at most {MAX_TOOLS} tools, and this one has {len(given)}.")
    names = [tool.name for tool in given]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise RunRefused(f"Two tools of the run have the same name: {shorten(', '.join(twice))}.")
    return [_tool(each) for each in given]


def _tool(given: PageTool) -> Tool:
    parameters: Any = {"type": "object", "properties": {}} if given.parameters is None else given.parameters
    if len(to_json(parameters)) > MAX_SCHEMA_BYTES or len(given.description) > MAX_DESCRIPTION:
        raise RunRefused(
            f"The tool {shorten(given.name, 80)} is too large: its parameters may have at most {MAX_SCHEMA_BYTES:,} "
            f"bytes of JSON, its description {MAX_DESCRIPTION:,} characters."
        )
    return Tool(
        name=given.name,
        description=given.description,
        arguments=SchemaArguments(parameters or {"type": "object", "properties": {}}, lax=True),
        result=Result(),
        handler=None,
        answer=PageAnswer,
        front_end=True,
        mode=Mode.HUMAN,
        namespace="front_end",
        tags=("front_end",),
    )


def is_for_page(row: RequestRow) -> bool:
    """Whether a request is to a page, and not to a person."""
    return row.purpose == RequestPurpose.FRONT_END_TOOL


def page_answer(content: str, error: str | None) -> Any:
    """Return a page's result of a call for the model. JSON content is parsed."""
    value: Any = content
    if content[:1] in '{["0123456789-tfn':
        try:
            value = from_json(content, allow_inf_nan=False)
        except ValueError:
            value = content
    return value if error is None else {"error": error, "content": value}
