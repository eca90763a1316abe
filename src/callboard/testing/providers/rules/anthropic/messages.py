"""Fields and messages: what is required, and which roles, order and content are valid."""

from collections.abc import Iterator

from ...request import Body, Refusal, Request
from ..json_access import names
from .conversation import blocks, content, messages, texts, thinking, tools, version

BODY = names(
    "model messages max_tokens system tools tool_choice stream temperature top_k top_p stop_sequences thinking "
    "metadata service_tier container context_management mcp_servers output_config cache_control diagnostics speed "
    "inference_geo compaction fallbacks fallback_credit_token thread user_profile_id workspace_id"
)
TOOL = names(
    "name description input_schema type cache_control strict defer_loading eager_input_streaming allowed_callers "
    "input_examples"
)
MESSAGE = names("role content output_config clear_at")
BLOCKS = {
    "text": names("type text cache_control citations"),
    "tool_use": names("type id name input cache_control caller toolset_name"),
    "tool_result": names("type tool_use_id content is_error cache_control"),
    "thinking": names("type thinking signature"),
    "redacted_thinking": names("type data"),
}
ZERO_WIDTH = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"))


def key_and_version_named(request: Request) -> Iterator[Refusal]:
    """A request has a key and the version of the API.

    https://platform.claude.com/docs/en/api/versioning
    """
    if "x-api-key" not in request.headers and "authorization" not in request.headers:
        yield Refusal("x-api-key header is required", 401)
    if "anthropic-version" not in request.headers:
        yield Refusal("anthropic-version: header is required")


def required_fields_given(request: Request) -> Iterator[Refusal]:
    """A request has a model, messages and `max_tokens`, which has no default.

    https://platform.claude.com/docs/en/api/messages/create
    """
    for name in ("model", "messages", "max_tokens"):
        if name not in request.body:
            yield Refusal(f"{name}: Field required")
    if not messages(request):
        yield Refusal("messages: at least one message is required")


def fields_known(request: Request) -> Iterator[Refusal]:
    """A request has no fields that the API does not know.

    https://github.com/anthropics/claude-code/issues/4378
    """
    yield from _check_names("", request.body, BODY)
    for index, tool in tools(request):
        yield from _check_names(f"tools.{index}.custom.", tool, TOOL)
    for index, message in enumerate(messages(request)):
        yield from _check_names(f"messages.{index}.", message, MESSAGE)
    for block in blocks(request, *BLOCKS):
        yield from _check_names(f"{block.place}.{block.kind}.", block.body, BLOCKS[block.kind])


def _check_names(place: str, given: Body, known: frozenset[str]) -> Iterator[Refusal]:
    for name in given:
        if name not in known:
            yield Refusal(f"{place}{name}: Extra inputs are not permitted")


def roles_known(request: Request) -> Iterator[Refusal]:
    """Roles are `user` and `assistant`, and from Claude 4.8 on `system` within the conversation.

    https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages
    """
    for index, message in enumerate(messages(request)):
        role = message.get("role")
        if role == "system" and version(request) < (4, 8):
            yield Refusal(f"messages.{index}: role 'system' is not supported on this model")
        if role not in ("user", "assistant", "system"):
            yield Refusal(f"messages.{index}.role: Input should be 'user', 'assistant' or 'system'")


def system_after_user(request: Request) -> Iterator[Refusal]:
    """A system message follows a user message, and precedes an assistant message or ends the conversation.

    https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages
    """
    roles = [message.get("role") for message in messages(request) if message.get("content")]
    for index, role in enumerate(roles):
        if role != "system":
            continue
        before = roles[index - 1] if index else None
        after = roles[index + 1] if index + 1 < len(roles) else None
        if before not in ("user", "system") or after == "user":
            yield Refusal(
                f"messages.{index}: a 'system' message must immediately follow a 'user' message, and precede an "
                "'assistant' message or end the conversation"
            )


def content_not_empty(request: Request) -> Iterator[Refusal]:
    """Every message has content.

    https://github.com/anthropics/claude-code/issues/6774
    """
    given = messages(request)
    for index, message in enumerate(given):
        prefill = index == len(given) - 1 and message.get("role") == "assistant"
        if not message.get("content") and not prefill and "output_config" not in message:
            yield Refusal(
                f"messages.{index}: all messages must have non-empty content except for the optional final assistant "
                "message"
            )


def text_not_empty(request: Request) -> Iterator[Refusal]:
    """A text is neither empty nor blank, also within a result. Zero-width characters count as blank.

    https://github.com/anthropics/claude-code/issues/23440, https://github.com/anthropics/claude-code/issues/59812 and
    https://github.com/zoedolan/Vybn/pull/2895
    """
    for place, text in texts(request):
        if not text:
            yield Refusal(f"{place}: text content blocks must be non-empty")
        elif not text.translate(ZERO_WIDTH).strip():
            yield Refusal(f"{place}: text content blocks must contain non-whitespace text")


def prefill_allowed(request: Request) -> Iterator[Refusal]:
    """Models from Claude 4.6 on, and all that think, refuse a prefilled answer.

    https://github.com/ericc-ch/copilot-api/pull/261 and https://platform.claude.com/docs/en/build-with-claude/thinking
    """
    new = version(request) >= (4, 6)
    if messages(request)[-1].get("role") == "assistant" and (new or thinking(request) in ("enabled", "adaptive")):
        yield Refusal(
            "This model does not support assistant message prefill. The conversation must end with a user message."
        )


def prefill_without_trailing_space(request: Request) -> Iterator[Refusal]:
    """A prefilled answer does not end with whitespace.

    https://github.com/tailcallhq/forgecode/issues/1872
    """
    last = messages(request)[-1]
    text = str(content(last)[-1].get("text", "")) if content(last) else ""
    if last.get("role") == "assistant" and text != text.rstrip():
        yield Refusal("messages: final assistant content cannot end with trailing whitespace")
