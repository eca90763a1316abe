"""OpenAI's Responses API: `POST /v1/responses`, streamed or not."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from starlette.requests import Request as HttpRequest

from .client import import_optional
from .openai import OpenAIDouble
from .reply import Chunk
from .request import Body, Request
from .rules.openai_responses import RULES
from .script import Call, Content, Pause, Script, Text, Thinking, Turn

if TYPE_CHECKING:
    from pydantic_ai.models.openai import OpenAIResponsesModel


class OpenAIResponsesDouble(OpenAIDouble):
    """A test double of OpenAI's Responses API.

    It records the reasoning that precedes each of its items, for the rules that keep them together.
    """

    path: ClassVar[str] = "/v1/responses"
    rules: ClassVar = RULES

    def __init__(self, script: Script = (), **options: Any) -> None:
        super().__init__(script, **options)
        self._reasoning: dict[str, str] = {}

    def model(self, name: str = "gpt-5", **options: Any) -> "OpenAIResponsesModel":
        """Make a Pydantic AI model that uses this double, without retries. Options are those of its class."""
        model = import_optional("pydantic_ai.models.openai").OpenAIResponsesModel
        return model(name, provider=self.provider(), **options)

    def read(self, http: HttpRequest, body: Body) -> Request:
        return replace(super().read(http, body), remembered=dict(self._reasoning))

    def message(self, request: Request, turn: Turn) -> Body:
        items = [_item(part, item_id) for part, item_id in self._with_ids(turn.content)]
        return {**self._frame(request), **_ending(turn), "output": items}

    def stream(self, request: Request, turn: Turn) -> Iterator[Chunk]:
        frame, events = self._frame(request), _Events()
        item_ids = iter(self._with_ids(turn.content))
        output: list[Body] = []
        yield events.make("response.created", response=frame)
        yield events.make("response.in_progress", response=frame)
        for part in turn.parts:
            if isinstance(part, Pause):
                yield part
                continue
            item_id, where = next(item_ids)[1], {"output_index": len(output)}
            yield events.make("response.output_item.added", **where, item=_item(part, item_id, in_progress=True))
            yield from _deltas(events, part, {**where, "item_id": item_id})
            output.append(_item(part, item_id))
            yield events.make("response.output_item.done", **where, item=output[-1])
        response = {**frame, **_ending(turn), "output": output}
        yield events.make(f"response.{response['status']}", response=response)

    def _with_ids(self, parts: tuple[Content, ...]) -> list[tuple[Content, str]]:
        """Give every item an id of its kind, and record the item that follows each reasoning."""
        found: list[tuple[Content, str]] = []
        for part in parts:
            item_id = f"{_PREFIX[type(part)]}_{self.number():024d}"
            if found and isinstance(found[-1][0], Thinking):
                self._reasoning[item_id] = found[-1][1]
            found.append((part, item_id))
        return found

    def _frame(self, request: Request) -> Body:
        return {
            "id": f"resp_{self.number():024d}",
            "object": "response",
            "created_at": 1_800_000_000,
            "model": request.model,
            "status": "in_progress",
            "output": [],
            "error": None,
            "incomplete_details": None,
            "instructions": None,
            "metadata": {},
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "temperature": 1.0,
            "top_p": 1.0,
        }


_PREFIX: dict[type[Content], str] = {Text: "msg", Call: "fc", Thinking: "rs"}


class _Events:
    """Makes the numbered events of one stream."""

    def __init__(self) -> None:
        self._number = -1

    def make(self, kind: str, **data: Any) -> bytes:
        self._number += 1
        body = {"type": kind, "sequence_number": self._number, **data}
        return f"event: {kind}\ndata: {json.dumps(body)}\n\n".encode()


def _deltas(events: _Events, part: Content, where: Body) -> Iterator[Chunk]:
    match part:
        case Text():
            where = {**where, "content_index": 0}
            yield events.make("response.content_part.added", **where, part=_output_text(""))
            for each in part.deltas:
                if isinstance(each, Pause):
                    yield each
                else:
                    yield events.make("response.output_text.delta", **where, delta=each, logprobs=[])
            yield events.make("response.output_text.done", **where, text=part.text, logprobs=[])
            yield events.make("response.content_part.done", **where, part=_output_text(part.text))
        case Thinking():
            where = {**where, "summary_index": 0}
            empty, whole = ({"type": "summary_text", "text": text} for text in ("", part.text))
            yield events.make("response.reasoning_summary_part.added", **where, part=empty)
            yield events.make("response.reasoning_summary_text.delta", **where, delta=part.text)
            yield events.make("response.reasoning_summary_text.done", **where, text=part.text)
            yield events.make("response.reasoning_summary_part.done", **where, part=whole)
        case Call():
            for delta in part.deltas:
                yield events.make("response.function_call_arguments.delta", **where, delta=delta)
            yield events.make("response.function_call_arguments.done", **where, name=part.name, arguments=part.text)


def _item(part: Content, item_id: str, *, in_progress: bool = False) -> Body:
    status = "in_progress" if in_progress else "completed"
    match part:
        case Text():
            content = [] if in_progress else [_output_text(part.text)]
            return {"id": item_id, "type": "message", "role": "assistant", "status": status, "content": content}
        case Thinking():
            summary = [] if in_progress else [{"type": "summary_text", "text": part.text}]
            return {"id": item_id, "type": "reasoning", "summary": summary, "encrypted_content": part.signature}
        case Call():
            called = {"call_id": part.id, "name": part.name, "arguments": "" if in_progress else part.text}
            return {"id": item_id, "type": "function_call", "status": status, **called}


def _output_text(text: str) -> Body:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _ending(turn: Turn) -> Body:
    given, made = turn.usage.input_tokens, turn.usage.output_tokens
    return {
        "status": "incomplete" if turn.cut_off else "completed",
        "incomplete_details": {"reason": "max_output_tokens"} if turn.cut_off else None,
        "usage": {
            "input_tokens": given,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": made,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": given + made,
        },
    }
