"""Required fields and unknown fields."""

from ...request import Refusal, Request
from .. import openai_refusals as refusals
from ..json_access import names
from .conversation import messages

BODY = names(
    "messages model audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens "
    "max_tokens metadata modalities moderation n parallel_tool_calls prediction presence_penalty prompt_cache_key "
    "prompt_cache_options prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier "
    "stop store stream stream_options temperature tool_choice tools top_logprobs top_p user verbosity "
    "web_search_options"
)


def key_named(request: Request) -> Refusal | None:
    """A request has a key.

    https://platform.openai.com/docs/api-reference/authentication
    """
    return refusals.no_key(request.headers)


def fields_known(request: Request) -> Refusal | None:
    """A request has no fields that the API does not know.

    https://github.com/davidmigloz/langchain_dart/issues/712
    """
    for name in request.body:
        if name not in BODY:
            return Refusal(f"Unrecognized request argument supplied: {name}")
    return None


def required_fields_given(request: Request) -> Refusal | None:
    """A request has a model and messages.

    https://platform.openai.com/docs/api-reference/chat/create
    """
    if not request.model:
        return Refusal("you must provide a model parameter")
    return None if "messages" in request.body else refusals.missing("messages")


def arrays_not_empty(request: Request) -> Refusal | None:
    """Messages, tools and the calls of a message are not empty arrays.

    https://github.com/openai/openai-node/pull/1341 and https://github.com/CopilotKit/CopilotKit/pull/224
    """
    for name in ("messages", "tools"):
        if request.body.get(name) == []:
            return refusals.empty_array(name)
    for index, message in enumerate(messages(request)):
        if message.get("tool_calls") == []:
            return refusals.empty_array(f"messages[{index}].tool_calls")
    return None
