"""Who says something, and that it is something."""

from ...request import Refusal, Request
from .. import openai_words as words
from .conversation import messages

ROLES = ("system", "assistant", "user", "function", "tool", "developer")


def roles_known(request: Request) -> Refusal | None:
    """Only these roles speak. They need not take turns, and instructions may stand anywhere.

    https://platform.openai.com/docs/api-reference/chat/create
    """
    for index, message in enumerate(messages(request)):
        if message.get("role") not in ROLES:
            return words.bad_value(f"messages[{index}].role", message.get("role"), ROLES)
    return None


def content_given(request: Request) -> Refusal | None:
    """A message has content; only an assistant that calls a tool may have none.

    https://github.com/docker/docker-agent/issues/63 and https://github.com/langchain-ai/langchainjs/issues/4153
    """
    for index, message in enumerate(messages(request)):
        speaks = message.get("tool_calls") or message.get("function_call") or message.get("audio")
        if message.get("content") is None and not speaks and message.get("refusal") is None:
            message = "Invalid value for 'content': expected a string, got null."
            return Refusal(message, param=f"messages.[{index}].content")
    return None
