"""The offline model: no language model at all, and it says so. It picks tools by what the user wrote.

It is there so that everything can be tried without a key and without a network: inline calls, several at once, work in
the background, questions to people, and results that come late. It understands:

| what one writes | what it does |
| --- | --- |
| `what time is it`, `time in Asia/Tokyo` | `get_current_time`; several zones are several calls at once |
| `think about …` | `think` |
| `fetch https://…` | `http_fetch` |
| `list tasks`, `status of x1`, `result of x1`, `cancel x1` | the `task_…` tools |
| `NAME {"argument": …}` | any tool that the session sees, by its name |
| `help` | what it can do |

Sentences joined by `and` or `;` are carried out together.
"""

import json
import re
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, cast

from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, DeltaToolCalls, FunctionModel

WHAT_I_AM = "I am not a language model: I am Callboard's offline model, and pick tools by a few phrases."

Call = tuple[str, dict[str, Any]]

_ZONE = re.compile(r"\b([A-Z][A-Za-z]+/[A-Z][A-Za-z_]+(?:/[A-Z][A-Za-z_]+)?|UTC)\b")
_ADDRESS = re.compile(r"https?://\S+")
_TASK = re.compile(r"\b(status|result|cancel)(?: of)? (x[0-9a-f]+-\d+)", re.IGNORECASE)


def offline_model() -> FunctionModel:
    """A model for Pydantic AI that needs nothing."""
    return FunctionModel(stream_function=_respond, model_name="offline")


async def _respond(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str | DeltaToolCalls]:
    last = messages[-1]
    parts: list[Any] = list(last.parts) if isinstance(last, ModelRequest) else []
    results = [cast("ToolReturnPart[Any]", part) for part in parts if isinstance(part, ToolReturnPart)]
    prompts = [str(part.content) for part in parts if isinstance(part, UserPromptPart)]
    for result in results:
        yield _report(result)
    if not prompts:
        return
    names = [tool.name for tool in info.function_tools]
    calls = _calls(" and ".join(prompts), names)
    if not calls:
        yield _help(names)
    for index, (name, arguments) in enumerate(calls):
        yield {index: DeltaToolCall(name, json.dumps(arguments), tool_call_id=f"offline_{len(messages)}_{index}")}


def _calls(text: str, names: Sequence[str]) -> list[Call]:
    """What a text asks for, as far as there are tools for it."""
    found: list[Call] = []
    if (named := re.fullmatch(r"\s*([\w-]+)\s*(\{.*\})\s*", text, re.DOTALL)) and named[1] in names:
        try:
            return [(named[1], json.loads(named[2]))]
        except ValueError:
            return []
    for sentence in re.split(r"\s+and\s+|;", text):
        found += next((calls for phrase in _PHRASES if (calls := phrase(sentence))), list[Call]())
        if sentence.strip() in names:
            found.append((sentence.strip(), {}))
    return [call for call in found if call[0] in names]


def _time(sentence: str) -> list[Call]:
    zones = _ZONE.findall(sentence)
    if (
        not re.search(r"\btime\b|\bclock\b|\bdate\b", sentence, re.IGNORECASE)
        and _ZONE.fullmatch(sentence.strip()) is None
    ):
        return []
    return [("get_current_time", {"timezone": zone}) for zone in zones or ["UTC"]]


def _think(sentence: str) -> list[Call]:
    about = re.search(r"\bthink (?:about|of)\s+(.+)", sentence, re.IGNORECASE | re.DOTALL)
    return [("think", {"thought": about[1].strip()})] if about else []


def _fetch(sentence: str) -> list[Call]:
    return [("http_fetch", {"url": address}) for address in _ADDRESS.findall(sentence)]


def _tasks(sentence: str) -> list[Call]:
    if named := _TASK.findall(sentence):
        tools = {"status": "task_status", "result": "task_result", "cancel": "cancel_task"}
        return [(tools[what.lower()], {"execution_id": which}) for what, which in named]
    return [("task_list", {})] if re.search(r"\b(list|my|open|running) tasks?\b", sentence, re.IGNORECASE) else []


_PHRASES: tuple[Callable[[str], list[Call]], ...] = (_tasks, _fetch, _think, _time)


def _report(result: "ToolReturnPart[Any]") -> str:
    content: Any = result.content
    told = content if isinstance(content, str) else json.dumps(content, default=str)
    state: dict[str, Any] = cast("dict[str, Any]", content) if isinstance(content, dict) else {}
    if state.get("status") in ("started", "waiting"):
        how = "waits for a person" if state["status"] == "waiting" else "is running"
        return f"{result.tool_name} {how} (execution {state.get('execution_id')}); I will report. "
    if result.tool_name == "task_result":
        return f"A result came in: {told} "
    return f"{result.tool_name} failed: {told} " if result.outcome == "failed" else f"{result.tool_name}: {told} "


def _help(names: Sequence[str]) -> str:
    return (
        f"{WHAT_I_AM} Try 'what time is it in Asia/Tokyo and Europe/Paris', 'list tasks', or the name of a tool with "
        f'its arguments, such as get_current_time {{"timezone": "UTC"}}. There are: {", ".join(names) or "no tools"}.'
    )
