"""A conversation as plain values, for people and protocols: the same history that the model sees."""

from collections.abc import Sequence
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart


def shown(messages: Sequence[ModelMessage]) -> list[dict[str, Any]]:
    """Messages of the user, of the assistant with its calls, and of tools. Their ids stay as the conversation grows."""
    found: list[dict[str, Any]] = []
    for number, message in enumerate(messages):
        if isinstance(message, ModelResponse):
            found.append({"id": said_id(number), "role": "assistant", **_said(message)})
            continue
        for place, part in enumerate(message.parts):
            if isinstance(part, UserPromptPart):
                found.append({"id": f"m{number}.{place}", "role": "user", "text": str(part.content)})
            elif isinstance(part, ToolReturnPart):
                failed = part.outcome != "success"
                found.append(
                    {
                        "id": f"r{part.tool_call_id}",
                        "role": "tool",
                        "call_id": part.tool_call_id,
                        "tool": part.tool_name,
                        "content": part.content,
                        "failed": failed,
                    }
                )
    return found


def said_id(number: int) -> str:
    """The id of what the model says with so many rendered messages before it, also while it says it."""
    return f"m{number}"


def _said(message: ModelResponse) -> dict[str, Any]:
    calls = [
        {"call_id": part.tool_call_id, "tool": part.tool_name, "arguments": part.args_as_dict()}
        for part in message.parts
        if isinstance(part, ToolCallPart)
    ]
    return {"text": "".join(part.content for part in message.parts if isinstance(part, TextPart)), "calls": calls}
