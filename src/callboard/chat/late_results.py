"""Late results in the message history of a Pydantic AI agent. Pure functions, which never change their arguments.

They have the form of `rendering`: a call of `task_result` with its answer. The call joins the model's last response,
and its answer the request after it, because Gemini refuses a call directly after a response, and Anthropic a turn
without its thoughts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple, cast

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    RetryPromptPart,  # pyright: ignore[reportDeprecated]  # stored histories have it
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from ..errors import CallboardError
from .rendering import TASK_RESULT, late_id
from .transcript import LateResult
from .wellformed import MAX_CALLS, valid_result

FIRST_PROMPT = "(Results of earlier work follow.)"
"""Begins a history that has no messages, since providers refuse a conversation that begins with a call."""

ANSWERS = (ToolReturnPart, RetryPromptPart)  # pyright: ignore[reportDeprecated]


class AnsweredCall(NamedTuple):
    """A call of the model in a history, with its answer, if it has one."""

    response: ModelResponse
    call: ToolCallPart
    answer: ModelRequestPart | None


def calls_of(history: Sequence[ModelMessage]) -> Iterator[AnsweredCall]:
    """Iterate over the calls of a history, newest response first. An answer is in the requests after its response."""
    answers: dict[str, ModelRequestPart] = {}
    for message in reversed(history):
        if isinstance(message, ModelRequest):
            answers |= {part.tool_call_id: part for part in message.parts if isinstance(part, ANSWERS)}
        else:
            for call in message.tool_calls:
                yield AnsweredCall(message, call, answers.get(call.tool_call_id))
            answers = {}


def delivered_executions(history: Sequence[ModelMessage]) -> set[str]:
    """Return the executions whose late results are in a history: delivered ones, and those that the model fetched."""
    found: set[str] = set()
    for _, call, answer in calls_of(history):
        if call.tool_name == TASK_RESULT:
            arguments = call.args_as_dict()
            execution_id = str(arguments.get("execution_id"))
            is_late = call.tool_call_id.startswith(late_id(execution_id))
            if is_late or (not arguments.get("offset") and _is_result(answer, execution_id)):
                found.add(execution_id)
    return found


def _is_result(answer: ModelRequestPart | None, execution_id: str) -> bool:
    """Return whether an answer of `task_result` is a result, and not the status of an execution that has not ended."""
    if not isinstance(answer, ToolReturnPart) or answer.outcome != "success":
        return False
    content: object = answer.content
    status = cast("dict[str, object]", content) if isinstance(content, dict) else {}
    return status.get("execution_id") != execution_id or "status" not in status


def check_complete(history: Sequence[ModelMessage]) -> None:
    """Raise `CallboardError` if the last response has a call without an answer: no other message may come first."""
    last = next((message for message in reversed(history) if isinstance(message, ModelResponse)), None)
    waiting = [each.call.tool_name for each in calls_of(history) if each.response is last and each.answer is None]
    if waiting:
        raise CallboardError(
            f"The history ends with calls that have no results: {', '.join(waiting)}. Run the agent with their "
            "`deferred_tool_results` first; late results wait until then."
        )


def room_for(history: Sequence[ModelMessage]) -> int:
    """Return how many late results a history takes at once. OpenAI limits the number of calls in a message."""
    last = next((message for message in reversed(history) if isinstance(message, ModelResponse)), None)
    return MAX_CALLS - len(last.tool_calls) if last is not None and len(last.tool_calls) < MAX_CALLS else MAX_CALLS


def with_late_results(history: Sequence[ModelMessage], results: Sequence[LateResult]) -> list[ModelMessage]:
    """Return a history with at most `room_for` late results appended, to which the model responds next."""
    if not results:
        return list(history)
    messages: list[ModelMessage] = list(history) or [ModelRequest(parts=[UserPromptPart(FIRST_PROMPT)])]
    used = {each.call.tool_call_id for each in calls_of(messages)}
    calls: list[ToolCallPart] = []
    answers: list[ModelRequestPart] = []
    for result in results:
        call_id = late_id(result.execution_id)
        while call_id in used:  # a model chose the same id
            call_id = f"{call_id}_"
        used.add(call_id)
        calls.append(ToolCallPart(TASK_RESULT, {"execution_id": result.execution_id}, call_id))
        outcome = "failed" if result.failed else "success"
        answers.append(ToolReturnPart(TASK_RESULT, valid_result(result.content), call_id, outcome=outcome))
    places = [index for index, message in enumerate(messages) if isinstance(message, ModelResponse)]
    last = messages[places[-1]] if places else None
    if not isinstance(last, ModelResponse) or len(last.tool_calls) + len(calls) > MAX_CALLS:
        return [*messages, ModelResponse(parts=calls), ModelRequest(parts=answers)]
    # Without the provider's id, no request refers to a response on the server, which has no such call.
    messages[places[-1]] = replace(last, parts=[*last.parts, *calls], provider_response_id=None)
    if places[-1] == len(messages) - 1:
        return [*messages, ModelRequest(parts=answers)]
    following = messages[places[-1] + 1]
    assert isinstance(following, ModelRequest)
    count = max((at for at, part in enumerate(following.parts, 1) if isinstance(part, ANSWERS)), default=0)
    parts = [*following.parts[:count], *answers, *following.parts[count:]]
    messages[places[-1] + 1] = replace(following, parts=parts)
    return messages
