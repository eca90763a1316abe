"""Required fields and unknown fields."""

from ...request import Refusal, Request
from .. import openai_refusals as refusals
from ..json_access import names
from .conversation import items

BODY = names(
    "access_programs background context_management conversation image include input instructions max_output_tokens "
    "max_tool_calls metadata model moderation parallel_tool_calls previous_response_id prompt prompt_cache_key "
    "prompt_cache_options prompt_cache_retention reasoning safety_identifier service_tier store stream stream_options "
    "temperature text tool_choice tools top_logprobs top_p truncation user"
)
ITEMS = {
    "message": frozenset({"type", "role", "content", "id", "status", "phase"}),
    "function_call": frozenset({"type", "call_id", "name", "arguments", "id", "status", "namespace", "caller"}),
    "function_call_output": frozenset({"type", "call_id", "output", "id", "status", "caller"}),
    "reasoning": frozenset({"type", "id", "summary", "content", "encrypted_content"}),
}


def key_named(request: Request) -> Refusal | None:
    """A request has a key.

    https://platform.openai.com/docs/api-reference/authentication
    """
    return refusals.no_key(request.headers)


def fields_known(request: Request) -> Refusal | None:
    """Neither the request nor an item has unknown fields.

    https://github.com/BerriAI/litellm/issues/13420 and https://github.com/pydantic/pydantic-ai/issues/3653
    """
    unknown = [name for name in request.body if name not in BODY]
    for item in items(request):
        known = ITEMS.get(item.kind)
        unknown += [f"{item.place}.{name}" for name in item.body if known is not None and name not in known]
    if not unknown:
        return None
    return Refusal(f"Unknown parameter: '{unknown[0]}'.", param=unknown[0], code="unknown_parameter")


def required_fields_given(request: Request) -> Refusal | None:
    """A request has a model and an input.

    https://platform.openai.com/docs/api-reference/responses/create
    """
    if not request.model:
        return refusals.missing("model")
    return None if request.body.get("input") else refusals.missing("input")
