"""Roles and content of messages."""

from ...request import Refusal, Request
from .. import openai_refusals as refusals
from .conversation import messages

ROLES = ("system", "assistant", "user", "function", "tool", "developer")


def roles_known(request: Request) -> Refusal | None:
    """Roles are known. They need not alternate, and instructions may be anywhere.

    https://platform.openai.com/docs/api-reference/chat/create
    """
    for index, message in enumerate(messages(request)):
        if message.get("role") not in ROLES:
            return refusals.bad_value(f"messages[{index}].role", message.get("role"), ROLES)
    return None


def content_given(request: Request) -> Refusal | None:
    """A message has content, unless it is an assistant message with calls.

    https://github.com/docker/docker-agent/issues/63 and https://github.com/langchain-ai/langchainjs/issues/4153
    """
    for index, message in enumerate(messages(request)):
        speaks = message.get("tool_calls") or message.get("function_call") or message.get("audio")
        if message.get("content") is None and not speaks and message.get("refusal") is None:
            message = "Invalid value for 'content': expected a string, got null."
            return Refusal(message, param=f"messages.[{index}].content")
    return None
