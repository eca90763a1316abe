"""Histories with late results, made of Pydantic AI's messages by pure functions, which never change their arguments."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pydantic_ai import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart, UserPromptPart

ACKNOWLEDGED = {"status": "started", "execution_id": "x7", "tool": "run_plan", "message": "It runs."}
WAITING = {"status": "waiting", "execution_id": "x8", "tool": "sign", "message": "A person was asked."}


def pair(*executions: str) -> list[ModelMessage]:
    """The calls of `task_result` that the runtime makes in the model's name, and their results."""
    calls = [ToolCallPart("task_result", {"execution_id": each}, f"late_{each}") for each in executions]
    results = [ToolReturnPart("task_result", {"done": each}, f"late_{each}") for each in executions]
    return [ModelResponse(parts=calls), ModelRequest(parts=results)]


def answered(history: Sequence[ModelMessage], result: Any) -> list[ModelMessage]:
    """Answer all calls of the last message."""
    last = history[-1]
    assert isinstance(last, ModelResponse)
    results = [ToolReturnPart(call.tool_name, result, call.tool_call_id) for call in last.tool_calls]
    return [*history, ModelRequest(parts=results)]


def asked(history: Sequence[ModelMessage], text: str) -> list[ModelMessage]:
    """Append an input of the user."""
    return [*history, ModelRequest(parts=[UserPromptPart(text)])]


def joined(history: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Merge the model's answer and the messages added in its name directly after it.

    The parts stay in their order, so that the history still only grows at its end.
    """
    messages: list[ModelMessage] = []
    for message in history:
        last = messages[-1] if messages else None
        if isinstance(message, ModelResponse) and isinstance(last, ModelResponse):
            messages[-1] = replace(last, parts=[*last.parts, *message.parts])
        else:
            messages.append(message)
    return messages
