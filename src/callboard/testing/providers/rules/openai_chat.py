"""Rules of OpenAI's Chat Completions API. Every call has one result, directly after the message with the calls."""

from collections.abc import Iterator
from typing import Any

from ..request import Body, Refusal, Request, Rule
from . import openai
from .json_access import as_list, as_object, as_objects, names

BODY = names(
    "messages model audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens "
    "max_tokens metadata modalities moderation n parallel_tool_calls prediction presence_penalty prompt_cache_key "
    "prompt_cache_options prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier "
    "stop store stream stream_options temperature tool_choice tools top_logprobs top_p user verbosity "
    "web_search_options"
)
ROLES = ("system", "assistant", "user", "function", "tool", "developer")
CALLS_LIMIT = TOOLS_LIMIT = 128


# Fields and messages


def fields_known(request: Request) -> Iterator[Refusal]:
    """A request has no fields that the API does not know.

    https://github.com/davidmigloz/langchain_dart/issues/712
    """
    for name in request.body:
        if name not in BODY:
            yield Refusal(f"Unrecognized request argument supplied: {name}")


def required_fields_given(request: Request) -> Iterator[Refusal]:
    """A request has a model and messages.

    https://platform.openai.com/docs/api-reference/chat/create
    """
    if not request.model:
        yield Refusal("you must provide a model parameter")
    if "messages" not in request.body:
        yield openai.missing("messages")


def arrays_not_empty(request: Request) -> Iterator[Refusal]:
    """Messages, tools and the calls of a message are not empty arrays.

    https://github.com/openai/openai-node/pull/1341 and https://github.com/CopilotKit/CopilotKit/pull/224
    """
    for name in ("messages", "tools"):
        if request.body.get(name) == []:
            yield openai.empty_array(name)
    for index, message in enumerate(_messages(request)):
        if message.get("tool_calls") == []:
            yield openai.empty_array(f"messages[{index}].tool_calls")


def roles_known(request: Request) -> Iterator[Refusal]:
    """Roles are known. They need not alternate, and instructions may be anywhere.

    https://platform.openai.com/docs/api-reference/chat/create
    """
    for index, message in enumerate(_messages(request)):
        if message.get("role") not in ROLES:
            yield openai.bad_value(f"messages[{index}].role", message.get("role"), ROLES)


def content_given(request: Request) -> Iterator[Refusal]:
    """A message has content, unless it is an assistant message with calls.

    https://github.com/docker/docker-agent/issues/63 and https://github.com/langchain-ai/langchainjs/issues/4153
    """
    for index, message in enumerate(_messages(request)):
        replaced = message.get("tool_calls") or message.get("function_call") or message.get("audio")
        if message.get("content") is None and not replaced and message.get("refusal") is None:
            text = "Invalid value for 'content': expected a string, got null."
            yield Refusal(text, param=f"messages.[{index}].content")


# Calls and their results


def arguments_are_texts(request: Request) -> Iterator[Refusal]:
    """The arguments of a call are a string, not an object.

    https://platform.openai.com/docs/api-reference/chat/create
    """
    for place, call in _all_calls(request):
        if not isinstance(as_object(call.get("function")).get("arguments"), str):
            param = f"{place}.function.arguments"
            message = f"Invalid type for '{param}': expected a string, but got an object instead."
            yield Refusal(message, param=param, code="invalid_type")


def ids_short(request: Request) -> Iterator[Refusal]:
    """The id of a call has at most 64 characters (40 in older deployments).

    https://github.com/jin-bo/agentao/pull/321 and, for the 40, https://github.com/agno-agi/agno/issues/5382
    """
    for place, call in _all_calls(request):
        yield from openai.check_length(f"{place}.id", str(call.get("id")))


def names_in_history_well_formed(request: Request) -> Iterator[Refusal]:
    """The name in a call is a valid tool name.

    https://github.com/mcp-use/mcp-use/issues/90
    """
    for place, call in _all_calls(request):
        yield from openai.check_name(f"{place}.function.name", as_object(call.get("function")))


def at_most_128_calls(request: Request) -> Iterator[Refusal]:
    """A message has at most 128 calls.

    https://github.com/gptscript-ai/gptscript/issues/547 and https://github.com/openai/openai-dotnet/issues/317
    """
    for index, message in enumerate(_messages(request)):
        if (count := len(_calls(message))) > CALLS_LIMIT:
            yield openai.array_too_long(f"messages[{index}].tool_calls", count, CALLS_LIMIT)


def one_result_per_call(request: Request) -> Iterator[Refusal]:
    """No call has two results.

    https://github.com/agno-agi/agno/issues/5116
    """
    for _, _, answers in _groups(request):
        seen: dict[str, int] = {}
        for index, call in answers:
            if call in seen:
                yield Refusal(
                    f"Invalid parameter: Duplicate value for 'tool_call_id' of '{call}', in messages[{seen[call]}] and "
                    f"messages[{index}].",
                    param=f"messages.[{index}].tool_call_id",
                )
            seen[call] = index


def results_have_calls(request: Request) -> Iterator[Refusal]:
    """A result belongs to a call of the message before the results.

    https://github.com/simonw/llm/issues/937
    """
    for _, called, answers in _groups(request):
        for index, call in answers:
            if call not in called:
                yield Refusal(
                    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with "
                    "'tool_calls'.",
                    param=f"messages.[{index}].role",
                )


def results_follow_calls(request: Request) -> Iterator[Refusal]:
    """Every call has its result directly after the message with the calls, before other messages.

    https://github.com/tensorzero/tensorzero/issues/4880 and https://github.com/BerriAI/litellm/issues/10083
    """
    for index, called, answers in _groups(request):
        answered = [call for _, call in answers]
        if missing := [str(call) for call in called if str(call) not in answered]:
            yield Refusal(
                "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
                f"'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(missing)}",
                param=f"messages.[{index + len(answers) + 1}].role",
            )


# Tools


def at_most_128_tools(request: Request) -> Iterator[Refusal]:
    """A request has at most 128 tools.

    https://github.com/0x4m4/hexstrike-ai/issues/29
    """
    if (count := len(as_list(request.body.get("tools")))) > TOOLS_LIMIT:
        yield openai.array_too_long("tools", count, TOOLS_LIMIT)


def tool_names_well_formed(request: Request) -> Iterator[Refusal]:
    """The name of a tool is made of 1 to 64 letters, digits, `_` and `-`.

    https://github.com/brekkylab/ailoy/pull/109 and https://platform.openai.com/docs/api-reference/chat/create
    """
    for place, function in _functions(request):
        yield from openai.check_name(f"{place}.name", function)


def schemas_supported(request: Request) -> Iterator[Refusal]:
    """A schema is an object without a union at its root, and its arrays have `items`.

    Strict ones are closed, have nothing optional, and know fewer keywords; `$ref` stands alone in them.
    https://github.com/nspady/google-calendar-mcp/issues/39, https://github.com/streamnative/streamnative-mcp-server/issues/26,
    https://github.com/anomalyco/opencode/issues/13737, https://github.com/camel-ai/camel/issues/3001 and
    https://platform.openai.com/docs/guides/structured-outputs
    """
    for place, function in _functions(request):
        if "parameters" in function:
            yield from openai.check_schema(f"{place}.parameters", function)


# Access to the parts of a request


def _messages(request: Request) -> list[Body]:
    return as_objects(request.body.get("messages"))


def _calls(message: Body) -> list[Body]:
    return as_objects(message.get("tool_calls"))


def _all_calls(request: Request) -> Iterator[tuple[str, Body]]:
    """Yield every call of the conversation with its path."""
    for index, message in enumerate(_messages(request)):
        for position, call in enumerate(_calls(message)):
            yield f"messages[{index}].tool_calls[{position}]", call


def _functions(request: Request) -> Iterator[tuple[str, Body]]:
    """Yield every function with its path."""
    for index, tool in enumerate(as_objects(request.body.get("tools"))):
        if tool.get("type") == "function":
            yield f"tools[{index}].function", as_object(tool.get("function"))


def _groups(request: Request) -> Iterator[tuple[int, list[Any], list[tuple[int, str]]]]:
    """Yield the index of every message that is not a result, the ids of its calls, and the results after it.

    Results at the beginning come with the index -1.
    """
    begin, called, answers = -1, list[Any](), list[tuple[int, str]]()
    for index, message in enumerate(_messages(request)):
        if message.get("role") == "tool":
            answers.append((index, str(message.get("tool_call_id"))))
        else:
            yield begin, called, answers
            begin, called, answers = index, [call.get("id") for call in _calls(message)], []
    yield begin, called, answers


RULES: tuple[Rule, ...] = (
    openai.key_named,
    fields_known,
    required_fields_given,
    arrays_not_empty,
    roles_known,
    content_given,
    arguments_are_texts,
    ids_short,
    names_in_history_well_formed,
    at_most_128_calls,
    one_result_per_call,
    results_have_calls,
    results_follow_calls,
    at_most_128_tools,
    tool_names_well_formed,
    schemas_supported,
)
"""All rules in the order in which they are applied. Later rules rely on earlier ones."""
