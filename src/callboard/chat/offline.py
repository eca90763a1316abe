"""The offline model: no language model at all, and it says so. It picks tools by what the user wrote.

It is there so that everything can be tried without a key and without a network: inline calls, several at once, work in
the background, questions to people, and results that come late. What it understands is in `phrases`, how it speaks of
results in `sentences`.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Sequence
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

from .phrases import Call, Task, calls_in, examples, strangers_in
from .sentences import sentence

WHAT_I_AM = "I am not a language model: I am Callboard's offline model, and pick tools by a few phrases."
MOST = 20
"""How many calls it makes at once."""
NAMED = 5
"""How many names that are no tool's it repeats."""


def offline_model(pace: float = 0.0) -> FunctionModel:
    """A model for Pydantic AI that needs nothing. It takes `pace` seconds for each word, as if it had to think."""

    async def respond(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
        said, calls = _answer(messages, [tool.name for tool in info.function_tools])
        for word in _words(said):
            if pace:
                await asyncio.sleep(pace)
            yield word
        for index, (name, arguments) in enumerate(calls):
            yield {index: DeltaToolCall(name, json.dumps(arguments), tool_call_id=f"offline_{len(messages)}_{index}")}

    return FunctionModel(stream_function=respond, model_name="offline")


def _answer(messages: Sequence[ModelMessage], names: Sequence[str]) -> tuple[str, list[Call]]:
    """What it says to the last message, and the calls that it makes."""
    last = messages[-1]
    parts: list[Any] = list(last.parts) if isinstance(last, ModelRequest) else []
    made, tasks = _calls_made(messages), _tasks(messages)
    said: list[str] = []
    for part in parts:
        if isinstance(part, ToolReturnPart):
            result = cast("ToolReturnPart[Any]", part)
            arguments = made.get(result.tool_call_id, {})
            said.append(sentence(result.tool_name, arguments, result.content, result.outcome != "success", tasks))
    prompts = [_text(part) for part in parts if isinstance(part, UserPromptPart)]
    asked = " and ".join(prompts)
    calls, strangers = calls_in(asked, names, tasks), strangers_in(asked, names)
    if strangers:
        said.append(f"{' '.join(f'There is no tool {name}.' for name in strangers[:NAMED])} {_tools(names)}")
    if len(calls) > MOST:
        said.append(f"That is too much at once; I make the first {MOST} calls.")
    elif prompts and not calls and not strangers:
        said.append(_help(names))
    if not said and not calls:
        said.append("I have nothing to add.")
    return " ".join(said), calls[:MOST]


def _text(prompt: UserPromptPart) -> str:
    content: Any = prompt.content
    return content if isinstance(content, str) else " ".join(each for each in content if isinstance(each, str))


def _calls_made(messages: Sequence[ModelMessage]) -> dict[str, dict[str, Any]]:
    """The arguments of the newest calls, by their ids."""
    said = [message for message in messages[-2:] if isinstance(message, ModelResponse)]
    made: dict[str, dict[str, Any]] = {}
    for part in [part for message in said for part in message.parts]:
        if isinstance(part, ToolCallPart):
            try:
                made[part.tool_call_id] = part.args_as_dict()
            except (ValueError, AssertionError):  # another model may have said anything
                continue
    return made


def _tasks(messages: Sequence[ModelMessage]) -> list[Task]:
    """The work that was acknowledged in this conversation, oldest first."""
    found: list[Task] = []
    for message in messages:
        for part in message.parts:
            content: Any = part.content if isinstance(part, ToolReturnPart) else None
            fields = cast("dict[str, Any]", content) if isinstance(content, dict) else {}
            if fields.get("status") in ("started", "queued", "waiting"):
                found.append(Task(str(fields.get("execution_id")), str(fields.get("tool"))))
    return found


def _help(names: Sequence[str]) -> str:
    phrases = "".join(f"\n- {example}" for example in examples(names))
    known = f"You can write, for example:{phrases}\nOr write" if phrases else "Write"
    how = f'{known} the name of a tool with its arguments, as in NAME {{"argument": "value"}}.'
    return f"{WHAT_I_AM}\n{how} {_tools(names)}"


def _tools(names: Sequence[str]) -> str:
    return f"I see these tools: {', '.join(names)}." if names else "I see no tools."


def _words(text: str) -> Iterator[str]:
    """A text in the pieces in which it is said."""
    words = text.split(" ")
    for index, word in enumerate(words):
        if piece := word + (" " if index < len(words) - 1 else ""):
            yield piece
