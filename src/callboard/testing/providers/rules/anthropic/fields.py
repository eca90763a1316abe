"""Required fields and unknown fields."""

from collections.abc import Iterator

from ...request import Body, Refusal, Request
from ..json_access import names
from .conversation import blocks, messages, tools

BODY = names(
    "model messages max_tokens system tools tool_choice stream temperature top_k top_p stop_sequences thinking "
    "metadata service_tier container context_management mcp_servers output_config cache_control diagnostics speed "
    "inference_geo compaction fallbacks fallback_credit_token thread user_profile_id workspace_id"
)
TOOL = names(
    "name description input_schema type cache_control strict defer_loading eager_input_streaming allowed_callers "
    "input_examples"
)
MESSAGE = frozenset({"role", "content", "output_config", "clear_at"})
BLOCKS = {
    "text": frozenset({"type", "text", "cache_control", "citations"}),
    "tool_use": frozenset({"type", "id", "name", "input", "cache_control", "caller", "toolset_name"}),
    "tool_result": frozenset({"type", "tool_use_id", "content", "is_error", "cache_control"}),
    "thinking": frozenset({"type", "thinking", "signature"}),
    "redacted_thinking": frozenset({"type", "data"}),
}


def key_and_version_named(request: Request) -> Refusal | None:
    """A request has a key and the version of the API.

    https://platform.claude.com/docs/en/api/versioning
    """
    if "x-api-key" not in request.headers and "authorization" not in request.headers:
        return Refusal("x-api-key header is required", 401)
    if "anthropic-version" not in request.headers:
        return Refusal("anthropic-version: header is required")
    return None


def required_fields_given(request: Request) -> Refusal | None:
    """A request has a model, messages and `max_tokens`, which has no default.

    https://platform.claude.com/docs/en/api/messages/create
    """
    for name in ("model", "messages", "max_tokens"):
        if name not in request.body:
            return Refusal(f"{name}: Field required")
    return None if messages(request) else Refusal("messages: at least one message is required")


def fields_known(request: Request) -> Refusal | None:
    """A request has no fields that the API does not know.

    https://github.com/anthropics/claude-code/issues/4378
    """
    for place, given, known in _objects(request):
        for name in given:
            if name not in known:
                return Refusal(f"{place}{name}: Extra inputs are not permitted")
    return None


def _objects(request: Request) -> Iterator[tuple[str, Body, frozenset[str]]]:
    """Yield the objects of a request whose fields are known, with their path."""
    yield "", request.body, BODY
    for index, tool in tools(request):
        yield f"tools.{index}.custom.", tool, TOOL
    for index, message in enumerate(messages(request)):
        yield f"messages.{index}.", message, MESSAGE
    for block in blocks(request):
        if block.kind in BLOCKS:
            yield f"{block.place}.{block.kind}.", block.body, BLOCKS[block.kind]
