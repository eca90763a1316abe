"""A conversation as plain values, for people and protocols: what was said, called and answered, in order.

It is made of the transcript's entries, not of what a provider is sent. An entry's place in the transcript is the id of
its message, so that a part of a conversation reads the same as the whole, however much came before it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart

from .rendering import TASK_RESULT, late_id
from .transcript import Answered, Began, Entry, Input, Late, Noted, Said


class Placed(NamedTuple):
    """An entry, and its place in the transcript, the first being at 1."""

    place: int
    entry: Entry


def said_id(place: int) -> str:
    """The id of a message of the model or the user, by its place; also while the model still says it."""
    return f"m{place}"


def shown(entries: Iterable[Placed]) -> list[dict[str, Any]]:
    """Messages of the user, of the assistant with its calls, and of tools. A call that goes on has no result yet."""
    return [message for exchange in exchanges(entries) for message in exchange.messages()]


@dataclass(slots=True)
class Exchange:
    """Something that the model said, the results of its calls, and what the user wrote after that."""

    place: int
    """That of its first entry."""
    said: dict[str, Any] | None = None
    calls: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    results: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    prompts: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def messages(self) -> list[dict[str, Any]]:
        said = [] if self.said is None else [self.said]
        results = [self.results[call["call_id"]] for call in self.calls if call["call_id"] in self.results]
        return [*said, *results, *self.prompts]

    @property
    def count(self) -> int:
        """How many messages it has."""
        return (self.said is not None) + len(self.results) + len(self.prompts)


def exchanges(entries: Iterable[Placed]) -> list[Exchange]:
    """The exchanges that entries make up. The first may lack what the model said."""
    found: list[Exchange] = []
    seen: dict[str, Exchange] = {}
    early: list[Placed] = []
    """Results of work that was begun before anything was said: no conversation begins with them."""
    for place, entry in entries:
        if not found:
            found.append(Exchange(place))
        current = found[-1]
        match entry:
            case Input(text=text) | Noted(text=text):
                current.prompts.append({"id": said_id(place), "role": "user", "text": text})
                for late in early:
                    _add_late(late, found, seen)
                early.clear()
            case Said(response=response):
                found.append(made := Exchange(place, _said(place, response)))
                made.calls = [call for call in _calls(response) if call["call_id"] not in seen]
                made.said = {**_said(place, response), "calls": made.calls}
                seen.update({call["call_id"]: made for call in made.calls})
            case Answered(call_id=call_id):
                if (exchange := seen.get(call_id)) is not None and call_id not in exchange.results:
                    exchange.results[call_id] = _result(call_id, entry.tool, entry.content, entry.failed)
            case Late():
                if current.said is None and not current.prompts:
                    early.append(Placed(place, entry))
                else:
                    _add_late(Placed(place, entry), found, seen)
            case Began():
                pass
    return found


def _add_late(late: Placed, found: list[Exchange], seen: dict[str, Exchange]) -> None:
    """A result that came late reads as a call of `task_result`, which joins what was said last."""
    assert isinstance(late.entry, Late)
    call_id = late_id(late.entry.execution_id)
    if call_id in seen:
        return
    current = found[-1]
    if current.said is None:
        current = Exchange(late.place)
        current.said = {"id": said_id(late.place), "role": "assistant", "text": "", "calls": current.calls}
        found.append(current)
    seen[call_id] = current
    current.calls.append(
        {"call_id": call_id, "tool": TASK_RESULT, "arguments": {"execution_id": late.entry.execution_id}}
    )
    current.results[call_id] = _result(call_id, TASK_RESULT, late.entry.content, late.entry.failed)


def _said(place: int, response: ModelResponse) -> dict[str, Any]:
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    return {"id": said_id(place), "role": "assistant", "text": text}


def _calls(response: ModelResponse) -> Sequence[dict[str, Any]]:
    return [
        {"call_id": part.tool_call_id, "tool": part.tool_name, "arguments": part.args_as_dict()}
        for part in response.parts
        if isinstance(part, ToolCallPart)
    ]


def _result(call_id: str, tool: str, content: Any, failed: bool) -> dict[str, Any]:
    return {"id": f"r{call_id}", "role": "tool", "call_id": call_id, "tool": tool, "content": content, "failed": failed}
