"""Calls of a server's tools: sent, followed and limited in time.

A call may take several requests: the server can ask for input, which a person gives, or continue as a task.
"""

from collections.abc import Callable
from typing import Any

from mcp import Client, types
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from callboard import ToolContext, ToolError

from .active_call import MAX_QUESTIONS, ActiveCall
from .connection import Connection, Sleep
from .losses import is_loss, is_session_gone
from .questions import Questions
from .raw_request import InputRequests, send_raw
from .results import bad_result, protocol_error, read_result
from .task_extension import follow_task
from .unanswered import sending_for

MAX_ROUNDS = MAX_QUESTIONS
"""Requests of one call: the response to each may ask for input."""


class Calls:
    """Carries out the calls of one server."""

    def __init__(
        self, connection: Connection, questions: Questions, *, server: str, timeout: float, max_bytes: int, sleep: Sleep
    ) -> None:
        self._connection = connection
        self._questions = questions
        self._server = server
        self._timeout = timeout
        self._max_bytes = max_bytes
        self._sleep = sleep
        self._active: dict[ActiveCall, None] = {}
        self._has_refused = False
        """Whether a question was refused, because calls of other users have no response."""

    async def call(
        self,
        tool: str,
        arguments: dict[str, Any],
        context: ToolContext,
        *,
        declared: bool,
        check: Callable[[], None],
    ) -> Any:
        """Call a tool and return its value. Cancelling it cancels the request. Raises `ToolError`.

        `check` is called once the server is connected, when its list of tools is known, and raises to stop the call.
        """
        client = await self._connection.client()
        check()
        call = ActiveCall(context, self._timeout)
        self._active[call] = None
        try:
            with call.scope:
                raw = await self._result(client, call, tool, arguments)
                return read_result(raw, server=self._server, declared=declared, max_bytes=self._max_bytes)
        except MCPError as error:
            if is_loss(error):
                self._connection.lose(client)
            if is_session_gone(error):  # of a revision with sessions, in which a call is one request
                message = f"The MCP server {self._server} was restarted. Nothing was done."
                raise ToolError(message, category="transient", retryable=True) from error
            raise protocol_error(error, self._server) from error
        except ValidationError as error:
            raise bad_result(self._server, str(error)) from None
        finally:
            call.end()
            del self._active[call]
            if self._has_refused and not self._active:
                self._has_refused = False
                if not self._connection.unanswered.is_only(call.user):  # a server need not respond to cancelled calls
                    self._connection.lose(client)
        message = f"The MCP server {self._server} did not answer within {self._timeout:g} seconds."
        raise ToolError(message, category="timeout", report=f"{self._server}: {tool} took too long")

    async def elicit(self, _: Any, params: types.ElicitRequestParams) -> types.ElicitResult | types.ErrorData:
        """Ask a person for a server that asks over the connection, without saying for which call.

        The question is for the session whose calls are running. If several sessions have some, it is not known whose
        question it is, and a person must not see another's: it is refused. The server may also be carrying out calls
        of other users that were cancelled here.
        """
        sessions = {call.context.session_id for call in self._active}
        if len(sessions) != 1:
            self._connection.log.warning("a question was refused: %d sessions have calls", len(sessions))
            return types.ElicitResult(action="cancel")
        call = next(reversed(self._active))
        if not self._connection.unanswered.is_only(call.user):
            self._connection.log.warning("a question was refused: calls of other users have no response yet")
            self._has_refused = True
            return types.ElicitResult(action="cancel")
        if not call.may_ask():
            return types.ElicitResult(action="cancel")
        return await self._questions.ask(call, params)

    async def _result(self, client: Client, call: ActiveCall, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        responses: dict[str, Any] | None = None
        state: str | None = None
        for _ in range(MAX_ROUNDS):
            params = types.CallToolRequestParams(
                name=tool, arguments=arguments, input_responses=responses, request_state=state
            )
            with sending_for(call.user):
                raw = await send_raw(client, types.CallToolRequest(params=params), call.progress)
            kind = raw.get("resultType", "complete")
            if kind == "task":
                call.pause()  # a task has no time limit: the server decides how long it takes

                async def answer(requests: InputRequests) -> dict[str, Any]:
                    return await self._answers(call, requests)

                return await follow_task(client, raw, answer=answer, report=call.report, sleep=self._sleep)
            if kind != "input_required":
                return raw
            asked: InputRequests = raw.get("inputRequests") or {}  # the SDK has checked its form
            responses = await self._answers(call, asked) if asked else None
            state = raw.get("requestState")
            if not asked:
                await self._sleep(0.25)
        raise self._asked_too_often()

    async def _answers(self, call: ActiveCall, requests: InputRequests) -> dict[str, Any]:
        """Answer the requests of a server, one after the other. Raises `ToolError` for anything but questions."""
        answers: dict[str, Any] = {}
        for key, request in requests.items():
            if request.get("method") != "elicitation/create":
                raise ToolError(f"The MCP server {self._server} asked for something that only some clients have.")
            if not call.may_ask():
                raise self._asked_too_often()
            asked = types.ElicitRequest.model_validate(request, by_name=False)
            answer = await self._questions.ask(call, asked.params)
            answers[key] = answer.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"result_type"})
        return answers

    def _asked_too_often(self) -> ToolError:
        return ToolError(f"The MCP server {self._server} asked for input more than {MAX_QUESTIONS} times.")
