"""The front-end tools of a run, and the results that the client sends for their calls."""

import json
from collections.abc import Sequence
from typing import Any

from ag_ui.core import Tool as PageTool
from pydantic_core import from_json

from ...jsonrules.depth import MAX_DEPTH, exceeds_depth
from ...sessions.client_tools import make_client_tools
from ...sessions.live_session import LiveSession
from ...storage.rows import RequestRow
from ...tools.definition import Tool
from ...tools.front_end import FrontEndTool, FrontEndToolsRefused
from ...types import RequestPurpose
from .run_refused import RunRefused


async def page_tools(session: LiveSession, given: Sequence[PageTool]) -> list[Tool]:
    """Return the tools of a client's run. Raises `RunRefused`, `RegistrationError` or `TooManyDefinitions`."""
    try:
        definitions = [FrontEndTool(each.name, each.description, each.parameters) for each in given]
        return await make_client_tools(session, definitions)
    except FrontEndToolsRefused as error:
        raise RunRefused(str(error)) from None


def is_for_page(row: RequestRow) -> bool:
    """Whether a request is to a page, and not to a person."""
    return row.purpose == RequestPurpose.FRONT_END_TOOL


def page_answer(content: str, error: str | None) -> Any:
    """Return a page's result of a call for the model. JSON content is parsed, unless its value cannot be stored."""
    value = _parsed(content) if content[:1] in '{["0123456789-tfn' else content
    return value if error is None else {"error": error, "content": value}


def _parsed(content: str) -> Any:
    try:
        value = from_json(content, allow_inf_nan=False)
        written = json.dumps(value, allow_nan=False).encode()  # a number such as 1e999 is read as an infinite one
    except ValueError:
        return content
    return content if exceeds_depth(written, MAX_DEPTH - 1) else value
