"""The offline model: not a language model, and it says so. It picks tools by matching phrases in the user's text.

It lets you try everything without a key or a network: inline calls, parallel calls, background work, questions to
people, and late results. `phrases` holds the phrases that it understands, `sentences` the wording of its answers.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Sequence
from typing import Any, cast

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

from .phrases import Call, Task, broken_arguments_in, calls_in, examples, unknown_tools_in
from .sentences import ACKNOWLEDGEMENTS, sentence

DISCLAIMER = "I am not a language model: I am Callboard's offline model, and I pick tools by a few phrases."
MAX_CALLS = 20
"""Calls that it makes at once, at most."""
MAX_UNKNOWN = 5
"""Unknown tool names that an answer repeats, at most."""


def offline_model(pace: float = 0.0) -> FunctionModel:
    """Make a model for Pydantic AI that needs no key and no network. It waits `pace` seconds before each word."""

    async def respond(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        text, calls = _answer(messages, [tool.name for tool in info.function_tools])
        for word in re.findall(r"[^ ]* |[^ ]+", text):
            if pace:
                await asyncio.sleep(pace)
            yield word
        for index, (name, arguments) in enumerate(calls):
            yield {index: DeltaToolCall(name, json.dumps(arguments), tool_call_id=f"offline_{len(messages)}_{index}")}

    return FunctionModel(stream_function=respond, model_name="offline")


def _answer(messages: Sequence[ModelMessage], names: Sequence[str]) -> tuple[str, list[Call]]:
    """Answer the last message: a text, and the calls to make."""
    last = messages[-1]
    parts: list[Any] = list(last.parts) if isinstance(last, ModelRequest) else []
    made, tasks = _calls_made(messages), _tasks(messages)
    sentences: list[str] = []
    for part in parts:
        if isinstance(part, ToolReturnPart):
            result = cast("ToolReturnPart[Any]", part)
            arguments = made.get(result.tool_call_id, {})
            sentences.append(sentence(result.tool_name, arguments, result.content, result.outcome != "success", tasks))
    prompts = [_text(part) for part in parts if isinstance(part, UserPromptPart)]
    prompt = " and ".join(prompts)
    calls, unknown = calls_in(prompt, names, tasks), unknown_tools_in(prompt, names)
    if unknown:
        sentences.append(f"{' '.join(f'There is no tool {name}.' for name in unknown[:MAX_UNKNOWN])} {_tools(names)}")
    broken = broken_arguments_in(prompt, names)
    sentences += [f"The arguments of {name} are not JSON: {reason}." for name, reason in broken]
    if len(calls) > MAX_CALLS:
        sentences.append(f"That is too much at once; I make the first {MAX_CALLS} calls.")
    elif prompts and not (calls or unknown or broken):
        sentences.append(_help(names))
    if not sentences and not calls:
        sentences.append("I have nothing to add.")
    return " ".join(sentences), calls[:MAX_CALLS]


def _text(prompt: UserPromptPart) -> str:
    content: Any = prompt.content
    return content if isinstance(content, str) else " ".join(each for each in content if isinstance(each, str))


def _calls_made(messages: Sequence[ModelMessage]) -> dict[str, dict[str, Any]]:
    """The arguments of the newest calls, by their ids."""
    responses = [message for message in messages[-2:] if isinstance(message, ModelResponse)]
    made: dict[str, dict[str, Any]] = {}
    for part in [part for message in responses for part in message.parts]:
        if isinstance(part, ToolCallPart):
            try:
                made[part.tool_call_id] = part.args_as_dict()
            except (ValueError, AssertionError):  # written by another model
                continue
    return made


def _tasks(messages: Sequence[ModelMessage]) -> list[Task]:
    """The background work acknowledged in this conversation, oldest first."""
    found: list[Task] = []
    for message in messages:
        for part in message.parts:
            content: Any = part.content if isinstance(part, ToolReturnPart) else None
            fields = cast("dict[str, Any]", content) if isinstance(content, dict) else {}
            if str(fields.get("status")) in ACKNOWLEDGEMENTS:
                found.append(Task(str(fields.get("execution_id")), str(fields.get("tool"))))
    return found


def _help(names: Sequence[str]) -> str:
    phrases = "".join(f"\n- {example}" for example in examples(names))
    start = f"You can write, for example:{phrases}\n\nOr write" if phrases else "Write"
    usage = f'{start} the name of a tool with its arguments, as in NAME {{"argument": "value"}}.'
    return f"{DISCLAIMER}\n{usage} {_tools(names)}"


def _tools(names: Sequence[str]) -> str:
    return f"I see these tools: {', '.join(names)}." if names else "I see no tools."
