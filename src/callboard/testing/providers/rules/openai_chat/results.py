"""Calls and their results: one result per call, directly after the message with the calls."""

from collections.abc import Iterator

from ...request import Refusal, Request
from .. import openai_refusals as refusals
from ..json_access import as_object
from .conversation import all_calls, calls, messages

ID_LIMIT = 64
CALLS_LIMIT = 128


def arguments_are_texts(request: Request) -> Refusal | None:
    """The arguments of a call are a string, not an object.

    https://platform.openai.com/docs/api-reference/chat/create
    """
    for place, call in all_calls(request):
        if not isinstance(as_object(call.get("function")).get("arguments"), str):
            param = f"{place}.function.arguments"
            message = f"Invalid type for '{param}': expected a string, but got an object instead."
            return Refusal(message, param=param, code="invalid_type")
    return None


def ids_short(request: Request) -> Refusal | None:
    """The id of a call has at most 64 characters (40 in older deployments).

    https://github.com/jin-bo/agentao/pull/321 and, for the 40, https://github.com/agno-agi/agno/issues/5382
    """
    for place, call in all_calls(request):
        if len(str(call.get("id"))) > ID_LIMIT:
            return refusals.too_long(f"{place}.id", str(call.get("id")), ID_LIMIT)
    return None


def names_in_history_well_formed(request: Request) -> Refusal | None:
    """The name in a call is a valid tool name.

    https://github.com/mcp-use/mcp-use/issues/90
    """
    for place, call in all_calls(request):
        name = str(as_object(call.get("function")).get("name", ""))
        if (refusal := refusals.bad_name(f"{place}.function.name", name)) is not None:
            return refusal
    return None


def at_most_128_calls(request: Request) -> Refusal | None:
    """A message has at most 128 calls.

    https://github.com/gptscript-ai/gptscript/issues/547 and https://github.com/openai/openai-dotnet/issues/317
    """
    for index, message in enumerate(messages(request)):
        if len(calls(message)) > CALLS_LIMIT:
            return refusals.array_too_long(f"messages[{index}].tool_calls", len(calls(message)), CALLS_LIMIT)
    return None


def one_result_per_call(request: Request) -> Refusal | None:
    """No call has two results.

    https://github.com/agno-agi/agno/issues/5116
    """
    for _, answers in _groups(request):
        seen: dict[str, int] = {}
        for index, call in answers:
            if call in seen:
                return Refusal(
                    f"Invalid parameter: Duplicate value for 'tool_call_id' of '{call}', in messages[{seen[call]}] and "
                    f"messages[{index}].",
                    param=f"messages.[{index}].tool_call_id",
                )
            seen[call] = index
    return None


def results_have_calls(request: Request) -> Refusal | None:
    """A result belongs to a call of the message before the results.

    https://github.com/simonw/llm/issues/937
    """
    for index, answers in _groups(request):
        called = [call.get("id") for call in calls(messages(request)[index])] if index >= 0 else []
        for place, call in answers:
            if call not in called:
                return Refusal(
                    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
                    "'tool_calls'.",
                    param=f"messages.[{place}].role",
                )
    return None


def results_follow_calls(request: Request) -> Refusal | None:
    """Every call has its result directly after the message with the calls, before other messages.

    https://github.com/tensorzero/tensorzero/issues/4880 and https://github.com/BerriAI/litellm/issues/10083
    """
    for index, answers in _groups(request):
        called = [str(call.get("id")) for call in calls(messages(request)[index])] if index >= 0 else []
        answered = [call for _, call in answers]
        if missing := [call for call in called if call not in answered]:
            return Refusal(
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
                f"'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(missing)}",
                param=f"messages.[{index + len(answers) + 1}].role",
            )
    return None


def _groups(request: Request) -> Iterator[tuple[int, list[tuple[int, str]]]]:
    """Yield the index of every message that is not a result, with the results after it; -1 for leading results."""
    begin, answers = -1, list[tuple[int, str]]()
    for index, message in enumerate(messages(request)):
        if message.get("role") == "tool":
            answers.append((index, str(message.get("tool_call_id"))))
        else:
            yield begin, answers
            begin, answers = index, []
    yield begin, answers
