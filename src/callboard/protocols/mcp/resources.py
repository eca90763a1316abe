"""Resources that a client reads: the session's board, whole results of calls, and the results of tools with a URI.

A tool with `resource` is called through the session like any other; variables of its URI template are its arguments.
"""

from typing import Any, cast

from mcp import types
from mcp.shared.exceptions import MCPError
from mcp.shared.uri_template import UriTemplate

from ...content import BinaryResource, TextResource
from ...errors import ToolError
from ...execution.outcome import Outcome
from ...schemas.dialects import mcp_icons
from ...sessions.session import Session, live_session
from ...shortening import shorten
from ...tools.definition import Tool
from .call_results import raise_error
from .cancellations import Cancellations
from .connections import Connections, Context
from .paging import page_of
from .tool_call import ToolCall
from .tool_list import UNCACHED

BOARD = "callboard://board"
RESULTS = "callboard://results/{execution_id}"
MAX_EVENTS = 500
"""The number of events of the board in one reading, the newest."""

_BOARD: dict[str, Any] = {
    "uri": BOARD,
    "name": "board",
    "title": "Board",
    "description": "The newest events of this session: calls, progress, requests to people, and results.",
    "mimeType": "application/x-ndjson",
}
_RESULTS: dict[str, Any] = {
    "uriTemplate": RESULTS,
    "name": "results",
    "title": "Results",
    "description": "The whole result of a call of this session, also if its text was cut.",
    "mimeType": "application/json",
}


class Resources:
    """Handles `resources/list`, `resources/templates/list` and `resources/read`."""

    def __init__(self, connections: Connections, cancellations: Cancellations) -> None:
        self._connections = connections
        self._cancellations = cancellations

    async def list(self, ctx: Context, params: types.PaginatedRequestParams) -> dict[str, Any]:
        """List the resources that the session sees, without templates."""
        tools = _offered(await self._connections.session(ctx))
        own = [{"uri": uri, **_described(tool)} for uri, tool in tools.items() if not UriTemplate.is_template(uri)]
        page, following = page_of([_BOARD, *own], params.cursor, lambda each: each["uri"])
        return {**UNCACHED, "resources": page, **following}

    async def list_templates(self, ctx: Context, params: types.PaginatedRequestParams) -> dict[str, Any]:
        """List the templates of resources that the session sees."""
        tools = _offered(await self._connections.session(ctx))
        own = [{"uriTemplate": uri, **_described(tool)} for uri, tool in tools.items() if UriTemplate.is_template(uri)]
        page, following = page_of([_RESULTS, *own], params.cursor, lambda each: each["uriTemplate"])
        return {**UNCACHED, "resourceTemplates": page, **following}

    async def read(self, ctx: Context, params: types.ReadResourceRequestParams) -> dict[str, Any]:
        """Read a resource. Raises `MCPError` if there is none, or its tool fails."""
        session, uri = await self._connections.session(ctx), str(params.uri)
        if uri == BOARD:
            return _contents([TextResource(uri=uri, mime_type=_BOARD["mimeType"], text=await _board(session))])
        if (variables := _match(RESULTS, uri)) is not None:
            return _contents([await _result(session, uri, str(variables["execution_id"]))])
        for template, tool in _offered(session).items():
            if (variables := _match(template, uri)) is not None:
                return await self._call(ctx, session, tool, uri, variables, params.request_state)
        raise _not_found(uri)

    async def _call(
        self, ctx: Context, session: Session, tool: Tool, uri: str, variables: dict[str, Any], state: str | None
    ) -> dict[str, Any]:
        def finish(outcome: Outcome) -> dict[str, Any]:
            raise_error(outcome)
            return _contents([_as_resource(tool, uri, outcome)])

        return await ToolCall(ctx, session, tool, self._connections, self._cancellations, finish).run(variables, state)


def _described(tool: Tool) -> dict[str, Any]:
    described = {"name": tool.name, "title": tool.title, "description": tool.description, **mcp_icons(tool)}
    return described if tool.mime_type is None else {**described, "mimeType": tool.mime_type}


def _offered(session: Session) -> dict[str, Tool]:
    """Return the tools that are resources, by their URIs."""
    return {tool.resource: tool for tool in session.tools() if tool.resource is not None}


def _match(template: str, uri: str) -> dict[str, Any] | None:
    """Return the variables of a URI; None if it does not match."""
    if not UriTemplate.is_template(template):
        return {} if uri == template else None
    return cast("dict[str, Any] | None", UriTemplate.parse(template).match(uri))


async def _board(session: Session) -> str:
    live = live_session(session)
    await live.catch_up()
    events = await live.board.kept_page(max(0, live.board.last_seq - MAX_EVENTS))
    return "\n".join(event.line.decode() for event in events)


async def _result(session: Session, uri: str, execution_id: str) -> TextResource:
    try:
        outcome = await session.result(execution_id, timeout=0)
    except ToolError:
        raise _not_found(uri) from None
    if outcome.error is not None or not outcome.done:
        raise _not_found(uri)
    return TextResource(uri=uri, mime_type="application/json", text=(outcome.result_json or b"null").decode())


def _as_resource(tool: Tool, uri: str, outcome: Outcome) -> TextResource | BinaryResource:
    """Return a result as the content of a resource: as it is, if the tool returns a resource, else as text."""
    value = outcome.value
    if tool.output_model is BinaryResource:
        return BinaryResource.model_validate({**value, "uri": uri})
    if tool.output_model is TextResource:
        return TextResource.model_validate({**value, "uri": uri})
    if isinstance(value, str):
        return TextResource(uri=uri, mime_type=tool.mime_type or "text/plain", text=value)
    text = (outcome.result_json or b"null").decode()
    return TextResource(uri=uri, mime_type=tool.mime_type or "application/json", text=text)


def _contents(resources: "list[TextResource | BinaryResource]") -> dict[str, Any]:
    return {**UNCACHED, "contents": [each.model_dump(by_alias=True) for each in resources]}


def _not_found(uri: str) -> MCPError:
    return MCPError(types.INVALID_PARAMS, f"Resource not found: {shorten(uri, 200)}", {"uri": shorten(uri, 2_000)})
