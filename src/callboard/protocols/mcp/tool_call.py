"""`tools/call`: one call through the session, followed until it has ended, or a client is told how it continues.

If a call waits for a person, the client asks its user where it can: in the handshake era while the request is open, and
from 2026-07-28 on between two requests, the second of which has the answers.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping
from itertools import count
from typing import Any, TypeVar, cast

from anyio import CancelScope
from mcp import types
from mcp.server.streamable_http import REQUEST_CANCELLED
from mcp.shared.exceptions import MCPError

from ...errors import ToolError
from ...events.event import Event
from ...events.kinds import EventKind
from ...execution.outcome import Outcome
from ...sessions.answers import AnswerInvalid
from ...sessions.call_arguments import encode_arguments
from ...sessions.open_request import OpenRequest
from ...sessions.session import Session, live_session
from ...shortening import shorten
from ...tools.definition import Tool
from ...types import Mode, RequestPurpose
from .call_events import CallEvents, is_within
from .call_reports import DEFAULT_LEVEL, CallReports
from .call_results import acknowledgement_result, call_result
from .cancellations import Cancellations, WatchedRequest
from .capabilities import check_capabilities
from .client_inputs import ClientInput, Reply, client_input, deliver_answer, methods_of, problem_text
from .connections import Connections, Context, is_modern, supports_tasks
from .elicitation import Elicitations
from .head_start import GOES_ON, head_start_of
from .request_state import RequestState, invalid_state, keyed
from .tasks import created_task

SETTLE = 0.02
"""Seconds to wait for more requests of a call, so that its user is asked for all of them at once."""

QUICK = 0.25
"""Seconds of a head start. A client that leaves meanwhile is noticed afterwards."""

POLLED = "mcp-polled"
"""The tag of a tool whose clients of the handshake era are disconnected after its budget, and resume the response."""

_ASKED = (EventKind.HUMAN_REQUEST, EventKind.WALLET_TX_REQUEST)

_PROCESS, _CALLS = secrets.token_hex(10), count(1)
"""The parts of the ids of calls: that of this process, and the number of the call."""

_T = TypeVar("_T")


class ToolCalls:
    """Handles `tools/call`."""

    def __init__(self, connections: Connections, cancellations: Cancellations) -> None:
        self._connections = connections
        self._cancellations = cancellations

    async def __call__(self, ctx: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
        start = head_start_of(ctx)
        if start is not None and start.call is not None:
            start.is_taken_over = True
            return await start.call.go_on(ctx)
        session = await self._connections.session(ctx)
        try:
            tool = live_session(session).find(params.name)
        except ToolError:
            await session.call(params.name, params.arguments or {})  # records it
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {shorten(params.name, 80)}") from None
        check_capabilities(ctx, tool)
        if start is None and params.request_state is None and _is_quiet(tool):
            return await self._call_quietly(ctx, session, tool, params.arguments or {})
        call = ToolCall(ctx, session, tool, self._connections, self._cancellations)
        if start is None:
            return await call.run(params.arguments or {}, params.request_state)
        result = await call.run_quickly(params.arguments or {})
        if result is not None:
            return result
        start.call = call
        return GOES_ON

    async def _call_quietly(
        self, ctx: Context, session: Session, tool: Tool, arguments: dict[str, Any]
    ) -> dict[str, Any]:
        """Call a quiet tool. Nearly every such call ends within its budget, and needs nothing but its outcome."""
        live = live_session(session)
        events = CallEvents(live, _new_call_id())
        try:
            outcome = await session.call(tool.name, arguments, call_id=events.call_id)
        except asyncio.CancelledError:
            with CancelScope(shield=True):
                await session.cancel_call(events.call_id)
            raise
        if outcome.done and not events.has_new:  # such as its retries
            return call_result(outcome, tool, live, supports_tasks(ctx))
        call = ToolCall(ctx, session, tool, self._connections, self._cancellations, events=events)
        return await call.follow(outcome)


class ToolCall:
    """One request to call a tool. If the client cancels the request, the call is cancelled.

    If the connection ends, the call is cancelled too, unless it waits for a person.

    `finish` makes the response of another kind of request from the outcome, which must not be acknowledged.
    """

    def __init__(
        self,
        ctx: Context,
        session: Session,
        tool: Tool,
        connections: Connections,
        cancellations: Cancellations,
        finish: Callable[[Outcome], dict[str, Any]] | None = None,
        *,
        events: CallEvents | None = None,
    ) -> None:
        self._ctx = ctx
        self._session = session
        self._live = live_session(session)
        self._tool = tool
        self._connections = connections
        self._cancellations = cancellations
        self._finish = finish
        self._tasks = supports_tasks(ctx) and finish is None
        self._reports: CallReports | None = None
        self._given = dict(cast("Mapping[str, Any]", (ctx.params or {}).get("inputResponses") or {}))
        """Responses of the client that are not used yet, by their keys."""
        self._problems: dict[str, str] = {}
        """Why an answer was not valid, by request."""
        self._dismissed: set[str] = set()
        """Requests that the user did not decide."""
        self._events = events or CallEvents(self._live, _new_call_id())
        self._watched: WatchedRequest | None = None
        """The request, while it is watched for a cancellation."""
        self._unreported: list[Event] = []
        """Events that were read, and not yet reported."""
        self._pending: asyncio.Future[Outcome] | None = None
        """The outcome that is waited for."""

    async def run(self, arguments: dict[str, Any], state: str | None) -> dict[str, Any]:
        """Carry the call out, or continue the one that waits for answers, as its state says."""
        if state is None:
            return await self._attended(self._run(arguments))
        self._events = CallEvents(self._live, await self._continued(RequestState.parse(state), arguments))
        self._events.notify()  # requests may be open already
        self._watch(self._session.call(self._tool.name, arguments, call_id=self._events.call_id))
        return await self._attended(self._follow(is_continued=True))

    async def follow(self, outcome: Outcome) -> dict[str, Any]:
        """Continue a call that was already made, from its outcome."""
        self._pending = asyncio.get_running_loop().create_future()
        self._pending.set_result(outcome)
        self._events.notify()
        return await self._attended(self._follow())

    async def run_quickly(self, arguments: dict[str, Any]) -> dict[str, Any] | None:
        """Carry the call out. Returns None if it takes long or has to tell the client something: use `go_on` then."""
        self._watch(self._session.call(self._tool.name, arguments, call_id=self._events.call_id))
        watched = self._watched = self._cancellations.watch(self._ctx, self._events.notify)
        try:
            result = await self._unless_cancelled(self._ended_quickly())
        except BaseException:
            self._cancellations.forget(watched)
            raise
        if result is not None:
            self._cancellations.forget(watched)
        return result

    async def go_on(self, ctx: Context) -> dict[str, Any]:
        """Go on with a call after its head start, for the same request."""
        self._ctx = ctx
        self._events.notify()
        return await self._attended(self._follow())

    async def abandon(self) -> None:
        """End a call after its head start, because no transport continues with it."""
        if self._watched is not None:
            self._cancellations.forget(self._watched)
        if not await self._events.open_requests():
            await self._session.cancel_call(self._events.call_id)

    async def _attended(self, work: Awaitable[dict[str, Any]]) -> dict[str, Any]:
        """Await the end of the call, whose client may cancel it meanwhile."""
        watched = self._watched = self._cancellations.watch(self._ctx, self._events.notify)
        try:
            return await self._unless_cancelled(work)
        finally:
            self._cancellations.forget(watched)

    async def _unless_cancelled(self, work: Awaitable[_T]) -> _T:
        """Await work. If it is cancelled, cancel the call too, unless it waits for a person."""
        try:
            return await work
        except asyncio.CancelledError:
            with CancelScope(shield=True):
                is_by_client = self._watched is not None and await self._watched.is_by_client()
                if is_by_client or not await self._events.open_requests():
                    await self._session.cancel_call(self._events.call_id)
            self._end_wait()
            raise

    async def _run(self, arguments: dict[str, Any]) -> dict[str, Any]:
        self._watch(self._session.call(self._tool.name, arguments, call_id=self._events.call_id))
        return await self._follow()

    async def _ended_quickly(self) -> dict[str, Any] | None:
        """Wait for the end of the call, or of its head start. Returns its result if there is nothing else to tell."""
        timer = asyncio.get_running_loop().call_later(QUICK, self._events.notify)
        try:
            if _is_quiet(self._tool):
                await self._events.wait()
            else:
                with self._events.reading(refresh=False):
                    await self._events.wait()
        finally:
            timer.cancel()
        await self._check_cancelled()
        if self._events.has_new:
            self._unreported = await self._events.read()
        if self._unreported or self._pending is None or not self._pending.done():
            return None
        outcome = self._pending.result()
        return self._result(outcome) if outcome.done else None

    async def _check_cancelled(self) -> None:
        """Raise `MCPError` if the client cancelled the request during its head start, which the SDK does not know."""
        if self._watched is not None and self._watched.is_cancelled:
            await self._session.cancel_call(self._events.call_id)
            self._end_wait()
            raise MCPError(REQUEST_CANCELLED, "Request cancelled")

    def _end_wait(self) -> None:
        if self._pending is not None:
            self._pending.cancel()
            self._pending = None

    async def _continued(self, state: RequestState, arguments: dict[str, Any]) -> str:
        """Deliver the answers of another round. Returns the id of the call that waits for them.

        Raises `MCPError` if the state is not that of a call of this tool with these arguments.
        """
        try:
            document = encode_arguments(arguments)
        except ToolError:
            raise invalid_state() from None
        if not await self._live.calls.matches(state.call_id, self._tool.name, document):
            raise invalid_state()
        for request_id in state.requests.values():
            row = await self._live.services.store.request(request_id)
            if row is None or row.session_id != self._session.id:
                raise invalid_state()
            if not await is_within(self._live, row.execution_id, state.call_id):
                raise invalid_state()
        responses = {state.requests[key]: self._given.pop(key) for key in state.requests if key in self._given}
        for request in await self._session.requests():
            if request.id in responses and (asked := self._input(request)) is not None:
                await self._deliver(asked, responses[request.id])
        return state.call_id

    async def _deliver(self, asked: ClientInput, response: Any) -> None:
        """Deliver a response to a request, which is asked again if the response is not valid."""
        if not isinstance(response, Mapping):
            return
        try:
            reply = await deliver_answer(self._session, asked, cast("Mapping[str, Any]", response))
        except AnswerInvalid as error:
            self._problems[asked.request.id] = problem_text(error)
        else:
            if reply is Reply.DISMISSED:
                self._dismissed.add(asked.request.id)

    async def _follow(self, *, is_continued: bool = False) -> dict[str, Any]:
        """Report the events of the call, and ask for what it waits for, until there is a result for the client."""
        elicitations = Elicitations(self._ctx, self._session, self._events.notify)
        try:
            await self._check_cancelled()
            with self._events.reading(refresh=is_continued):
                return await self._followed(elicitations, is_continued)
        finally:
            self._end_wait()
            if elicitations.has_asked:
                with CancelScope(shield=True):
                    await elicitations.close()

    async def _followed(self, elicitations: Elicitations, is_continued: bool) -> dict[str, Any]:
        asked = is_continued
        has_waited = self._tool.mode is Mode.INLINE and not is_continued  # for its budget, if it is acknowledged
        while True:
            await self._events.wait()
            outcome = self._pending.result() if self._pending is not None and self._pending.done() else None
            found, self._unreported = [*self._unreported, *await self._events.read()], []
            await self._report(found)
            asked = asked or any(event.kind in _ASKED for event in found)
            if outcome is not None and outcome.done:
                return self._result(outcome)
            if outcome is not None and self._tool.mode is Mode.BACKGROUND:
                return await self._go_on(outcome, [])
            if asked or (outcome is not None and self._tool.mode is Mode.HUMAN):
                asked = True
                answer = await self._ask(elicitations)
                if answer is not None:
                    return answer
            if outcome is not None:
                if self._tasks and has_waited:
                    return await self._go_on(outcome, [])
                if POLLED in self._tool.tags and self._ctx.close_sse_stream is not None:
                    await self._ctx.close_sse_stream()
                budget, has_waited = self._tool.inline_budget if self._tasks else None, True
                self._watch(self._session.result(outcome.execution_id, budget))

    async def _report(self, events: list[Event]) -> None:
        """Tell the client about events of the call."""
        if events and self._reports is None:
            level = self._connections.log_levels.get(self._live, DEFAULT_LEVEL)
            self._reports = CallReports(self._ctx, level)
        for event in events:
            await cast("CallReports", self._reports).send(event)

    def _result(self, outcome: Outcome) -> dict[str, Any]:
        if self._finish is not None:
            return self._finish(outcome)
        return call_result(outcome, self._tool, self._live, self._tasks)

    async def _ask(self, elicitations: Elicitations) -> dict[str, Any] | None:
        """Ask the client's user for what the call waits for. Returns the result if the client does not wait for it."""
        if is_modern(self._ctx) and methods_of(self._ctx):
            await self._live.services.clock.sleep(SETTLE)
        requests = await self._events.open_requests()
        elicitations.keep({each.id for each in requests})
        if not requests:
            return None
        dismissed = self._dismissed | elicitations.dismissed
        inputs = [each for request in requests if request.id not in dismissed and (each := self._input(request))]
        if not inputs:
            waiting = await self._live.calls.outcome(self._events.call_id)
            return None if waiting is None or waiting.done else await self._go_on(waiting, requests)
        if is_modern(self._ctx):
            if not await self._use_given(inputs):
                return self._input_required(inputs)
            self._events.notify()
            return None
        for each in inputs:
            elicitations.ask(each)
        return None

    async def _use_given(self, inputs: list[ClientInput]) -> bool:
        """Deliver responses that the client gave before it was asked. Calls are approved only after they were shown."""
        questions = [each for each in inputs if each.request.purpose is RequestPurpose.QUESTION]
        given = {key: each for key, each in keyed(questions).items() if key in self._given}
        for key, each in given.items():
            await self._deliver(each, self._given.pop(key))
        return bool(given)

    def _input(self, request: OpenRequest) -> ClientInput | None:
        tool = self._live.own_tool(request.tool) or self._connections.registry.get(request.tool)
        return client_input(request, tool, methods_of(self._ctx))

    def _input_required(self, inputs: list[ClientInput]) -> dict[str, Any]:
        asked = keyed(inputs)
        state = RequestState(self._events.call_id, {key: each.request.id for key, each in asked.items()})
        return {
            "resultType": "input_required",
            "inputRequests": {key: each.to_wire(self._problems.get(each.request.id)) for key, each in asked.items()},
            "requestState": state.encode(),
        }

    async def _go_on(self, outcome: Outcome, requests: list[OpenRequest]) -> dict[str, Any]:
        """Return the result for a call that continues without its client: a task, or an acknowledgement."""
        if self._tasks:
            return await created_task(self._session, outcome.execution_id)
        if self._finish is not None:
            how = self._connections.how_to_answer(requests)
            raise MCPError(types.INTERNAL_ERROR, f"It waits for a person, and the client cannot ask. {how}".strip())
        return acknowledgement_result(outcome, self._tool, self._connections.how_to_answer(requests))

    def _watch(self, call: Awaitable[Outcome]) -> None:
        """Wait for an outcome in a task of its own, whose end wakes the call."""
        self._pending = asyncio.ensure_future(call)
        self._pending.add_done_callback(self._events.notify)


def _is_quiet(tool: Tool) -> bool:
    """Return whether the handler of a tool has no context, so that it can neither report nor ask while it runs."""
    return tool.mode is Mode.INLINE and tool.handler is not None and tool.handler.plain


def _new_call_id() -> str:
    return f"mcp-{_PROCESS}-{next(_CALLS)}"
