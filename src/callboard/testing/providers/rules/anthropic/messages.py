"""Roles, order and content of messages."""

from ...request import Refusal, Request
from .conversation import content, messages, texts, thinking, version

ZERO_WIDTH = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"))


def roles_known(request: Request) -> Refusal | None:
    """Roles are `user` and `assistant`, and from Claude 4.8 on `system` within the conversation.

    https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages
    """
    for index, message in enumerate(messages(request)):
        role = message.get("role")
        if role == "system" and version(request) < (4, 8):
            return Refusal(f"messages.{index}: role 'system' is not supported on this model")
        if role not in ("user", "assistant", "system"):
            return Refusal(f"messages.{index}.role: Input should be 'user', 'assistant' or 'system'")
    return None


def system_after_user(request: Request) -> Refusal | None:
    """A system message follows a user message, and precedes an assistant message or ends the conversation.

    https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages
    """
    spoken = [message for message in messages(request) if message.get("content")]
    for index, message in enumerate(spoken):
        if message.get("role") != "system":
            continue
        before = spoken[index - 1].get("role") if index else None
        after = spoken[index + 1].get("role") if index + 1 < len(spoken) else None
        if before not in ("user", "system") or after == "user":
            return Refusal(
                f"messages.{index}: a 'system' message must immediately follow a 'user' message, and precede an "
                "'assistant' message or end the conversation"
            )
    return None


def content_not_empty(request: Request) -> Refusal | None:
    """Every message has content.

    https://github.com/anthropics/claude-code/issues/6774
    """
    given = messages(request)
    for index, message in enumerate(given):
        beginning = index == len(given) - 1 and message.get("role") == "assistant"
        if not message.get("content") and not beginning and "output_config" not in message:
            return Refusal(
                f"messages.{index}: all messages must have non-empty content except for the optional final assistant "
                "message"
            )
    return None


def text_not_empty(request: Request) -> Refusal | None:
    """A text is neither empty nor blank, also within a result. Zero-width characters count as blank.

    https://github.com/anthropics/claude-code/issues/23440, https://github.com/anthropics/claude-code/issues/59812 and
    https://github.com/zoedolan/Vybn/pull/2895
    """
    for place, text in texts(request):
        if not text:
            return Refusal(f"{place}: text content blocks must be non-empty")
        if not text.translate(ZERO_WIDTH).strip():
            return Refusal(f"{place}: text content blocks must contain non-whitespace text")
    return None


def prefill_allowed(request: Request) -> Refusal | None:
    """Models from Claude 4.6 on, and all that think, refuse a prefilled answer.

    https://github.com/ericc-ch/copilot-api/pull/261 and https://platform.claude.com/docs/en/build-with-claude/thinking
    """
    new = version(request) >= (4, 6)
    if messages(request)[-1].get("role") == "assistant" and (new or thinking(request) in ("enabled", "adaptive")):
        return Refusal(
            "This model does not support assistant message prefill. The conversation must end with a user message."
        )
    return None


def prefill_without_trailing_space(request: Request) -> Refusal | None:
    """A prefilled answer does not end with whitespace.

    https://github.com/tailcallhq/forgecode/issues/1872
    """
    last = messages(request)[-1]
    text = str(content(last)[-1].get("text", "")) if content(last) else ""
    if last.get("role") == "assistant" and text != text.rstrip():
        return Refusal("messages: final assistant content cannot end with trailing whitespace")
    return None
