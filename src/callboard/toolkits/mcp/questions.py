"""Questions of a server to a person (elicitation), as requests of the session whose call is running."""

import json
from typing import Annotated, Any
from urllib.parse import urlsplit

from mcp import types
from pydantic import AfterValidator, WithJsonSchema

from callboard import CallboardError, Tool, ToolError, dynamic_tool, tool

from .active_call import ActiveCall

MAX_MESSAGE = 4_000
MAX_SCHEMA_BYTES = 32 * 1024
_DECLINED = frozenset({"permission"})
_CONSENT = {
    "type": "object",
    "properties": {"opened": {"type": "boolean", "description": "Whether you have opened the page and finished there"}},
    "required": ["opened"],
}


class Questions:
    """Asks the person of a session. If no answer can be obtained, the result is a refusal, never an error."""

    def __init__(self, namespace: str, server: str) -> None:
        self._namespace = namespace
        self._server = server

    async def ask(self, call: ActiveCall, params: types.ElicitRequestParams) -> types.ElicitResult:
        """Ask, and wait for the answer. The time limit of the call stops meanwhile."""
        message = params.message[:MAX_MESSAGE]
        is_form = isinstance(params, types.ElicitRequestFormParams)
        arguments = {"server": self._server, "message": message}
        try:
            if isinstance(params, types.ElicitRequestFormParams):
                question = self._question(params.requested_schema)
            else:
                if urlsplit(params.url).scheme not in ("https", "http"):
                    return types.ElicitResult(action="decline")
                arguments["url"] = params.url[:MAX_MESSAGE]
                question = self._question(_CONSENT)
        except CallboardError:
            return types.ElicitResult(action="decline")
        call.pause()
        try:
            answer = await call.context.call(question, arguments)
        except ToolError as error:
            return types.ElicitResult(action="decline" if error.category in _DECLINED else "cancel")
        finally:
            call.resume()
        if not is_form:
            return types.ElicitResult(action="accept" if answer.get("opened") else "decline")
        return types.ElicitResult(action="accept", content=answer)

    def _question(self, schema: dict[str, Any]) -> Tool:
        """Make a human tool whose answer fits the schema of a server. Raises `CallboardError` for a bad schema."""
        if len(json.dumps(schema)) > MAX_SCHEMA_BYTES:
            raise CallboardError("the schema is too large")
        checked = dynamic_tool("answer", schema, _unused, description="The schema of an answer.")

        def check(answer: dict[str, Any]) -> dict[str, Any]:
            try:
                return checked.arguments.parse("answer", json.dumps(answer).encode())
            except ToolError as error:
                raise ValueError(error.message) from None

        form: Any = Annotated[dict[str, Any], AfterValidator(check), WithJsonSchema(checked.input_schema)]

        @tool(name=f"{self._namespace}_question", answer=form, namespace=self._namespace)
        async def question(
            server: Annotated[str, "The MCP server that asks"],
            message: Annotated[str, "The question"],
            url: Annotated[str | None, "A page to open"] = None,
        ) -> None:
            """Answer a question of an MCP server."""

        return question


async def _unused(arguments: dict[str, Any]) -> None: ...
