"""Requests to people as deferred calls of a Pydantic AI agent.

A call that must be approved raises `ApprovalRequired`, and a question to a person `CallDeferred`. The request is open
in the session meanwhile, so it can be answered there or with the agent's `DeferredToolResults`, whichever comes first.
Wallets and pages answer their requests themselves: such calls are never deferred.
"""

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC
from hashlib import sha256
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, ModelRetry, ToolFailed
from pydantic_ai.messages import ModelMessage, ToolReturnPart
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults, ToolDenied

from ..execution.outcome import Outcome, OutcomeStatus
from ..sessions.answers import REJECTED, AnswerInvalid
from ..sessions.open_request import OpenRequest
from ..sessions.requests import RequestClosed
from ..sessions.session import Session, live_session
from ..tools.definition import Tool
from ..types import Mode, RequestPurpose
from .late_results import AnsweredCall, calls_of
from .returned_values import returned_value

_APPROVAL, _QUESTION = RequestPurpose.APPROVAL, RequestPurpose.QUESTION
MAX_REASON = 10_000
"""The most characters of a reason for a refusal, as in an answer."""


def is_deferrable(tool: Tool | None) -> bool:
    """Whether calls of a tool wait for a decision or an answer that a program can pass on."""
    return tool is not None and tool.mode is Mode.HUMAN and tool.request_purpose in (_APPROVAL, _QUESTION)


class DeferredCalls:
    """The deferred calls of one session."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._live = live_session(session)

    async def call(self, tool: Tool, arguments: dict[str, Any], ctx: RunContext[Any]) -> Outcome:
        """Call a tool that asks a person. Raises `ApprovalRequired` or `CallDeferred` until it is answered.

        A call that the agent approved runs once, whichever way it was approved first.
        """
        made = next((each for each in calls_of(ctx.messages) if each.call.tool_call_id == ctx.tool_call_id), None)
        call_id = None if made is None else deferred_call_id(made)
        known = await self._known(call_id, ctx) if ctx.tool_call_approved else None
        outcome = known or await self._session.call(tool.name, arguments, call_id=call_id)
        if outcome.status is OutcomeStatus.WAITING and not ctx.tool_call_approved:
            raise await self._deferral(outcome)
        if outcome.status is OutcomeStatus.WAITING:
            edited = known is not None and made is not None and made.call.args_as_dict() != arguments
            await self._approve(outcome, arguments if edited else None)
        if not outcome.done:
            outcome = await self._session.result(outcome.execution_id, tool.inline_budget)
        if outcome.done and outcome.execution_id:
            await self._live.results.consume((outcome.execution_id,))
        return outcome

    async def _known(self, call_id: str | None, ctx: RunContext[Any]) -> Outcome | None:
        """Find the call that a run deferred: by its metadata, if they are passed on, or by its response."""
        metadata: dict[str, Any] = ctx.tool_call_metadata or {}
        if metadata.get("session_id") == self._session.id:
            return await self._session.result(metadata["execution_id"], timeout=0)
        return None if call_id is None else await self._live.calls.outcome(call_id)

    async def _deferral(self, outcome: Outcome) -> ApprovalRequired | CallDeferred:
        request_id = outcome.value["request_id"]
        requests = {each.id: each for each in await self._session.requests()}
        if (request := requests.get(request_id)) is None:  # it was answered in this moment
            return ApprovalRequired({"session_id": self._session.id, "execution_id": outcome.execution_id})
        metadata = {
            "session_id": self._session.id,
            "execution_id": request.execution_id,
            "request_id": request.id,
            "answer_schema": request.answer_schema,
            "arguments_hash": request.arguments_hash,
            "expires_at": None if request.expires_at is None else request.expires_at.astimezone(UTC).isoformat(),
        }
        return ApprovalRequired(metadata) if request.purpose is _APPROVAL else CallDeferred(metadata)

    async def _approve(self, outcome: Outcome, edited: dict[str, Any] | None) -> None:
        answer = {"approved": True} if edited is None else {"approved": True, "arguments": edited}
        try:
            await self._session.answer(outcome.value["request_id"], answer)
        except RequestClosed:  # it was answered in the session
            pass
        except AnswerInvalid as error:
            await self._end(outcome.execution_id, cancel=True)
            raise ModelRetry(str(error)) from error

    async def _end(self, execution_id: str, *, cancel: bool = False) -> Outcome:
        """Wait for the end of an execution, whose result reaches the agent in another way than as a late result."""
        if cancel:
            await self._session.cancel(execution_id)
        outcome = await self._session.result(execution_id)
        await self._live.results.consume((execution_id,))
        return outcome

    async def close_answered(self, history: Sequence[ModelMessage]) -> None:
        """Close the open requests of calls that have an answer in a history: the agent did not make them again."""
        requests = [each for each in await self._session.requests() if each.purpose in (_APPROVAL, _QUESTION)]
        if not requests:
            return
        answers = {deferred_call_id(each): each.answer for each in calls_of(history) if each.answer is not None}
        call_ids = await self._live.calls.call_ids([each.execution_id for each in requests])
        for request in requests:
            if (answer := answers.get(call_ids.get(request.execution_id, ""))) is not None:
                await self._close(request, answer)

    async def _close(self, request: OpenRequest, answer: Any) -> None:
        given: Any = None
        outcome = answer.outcome if isinstance(answer, ToolReturnPart) else "failed"
        if request.purpose is _APPROVAL and outcome == "denied":
            given = {"approved": False, "reason": str(answer.content)[:MAX_REASON]}
        elif request.purpose is _QUESTION and outcome == "success":
            given = answer.content
        is_answered = False
        if given is not None:
            with suppress(AnswerInvalid, RequestClosed):  # the model has it already
                await self._session.answer(request.id, given)
                is_answered = True
        await self._end(request.execution_id, cancel=not is_answered)

    async def results(self, requests: DeferredToolRequests) -> DeferredToolResults:
        """Wait until people have answered requests in the session. Calls of other toolsets are left out."""
        results = DeferredToolResults()
        for call in requests.approvals:
            if (execution_id := self._execution_of(requests, call.tool_call_id)) is not None:
                outcome = await self._session.result(execution_id)
                results.approvals[call.tool_call_id] = True
                if outcome.error is not None and outcome.error.details == {"decision": REJECTED}:
                    await self._live.results.consume((execution_id,))
                    results.approvals[call.tool_call_id] = ToolDenied(outcome.error.message)
        for call in requests.calls:
            if (execution_id := self._execution_of(requests, call.tool_call_id)) is not None:
                outcome = await self._end(execution_id)
                failure = None if outcome.error is None else ToolFailed(outcome.error.message)
                results.calls[call.tool_call_id] = failure or returned_value(self._live, outcome)
        return results

    def _execution_of(self, requests: DeferredToolRequests, tool_call_id: str) -> str | None:
        metadata = requests.metadata.get(tool_call_id, {})
        return metadata.get("execution_id") if metadata.get("session_id") == self._session.id else None


def deferred_call_id(made: AnsweredCall) -> str:
    """Return the id of a deferred call in its session.

    The run that defers a call is not the run that completes it, so the id is made of the response that has the call.
    """
    at = made.response.timestamp.astimezone(UTC).isoformat()
    named = "\n".join((str(made.response.run_id), at, made.call.tool_call_id))
    return f"deferred_{sha256(named.encode(errors='surrogatepass')).hexdigest()[:32]}"
