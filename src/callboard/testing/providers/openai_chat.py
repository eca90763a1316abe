"""OpenAI's Chat Completions API: `POST /v1/chat/completions`, streamed or not."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from .client import import_optional
from .openai import OpenAIDouble
from .reply import Chunk
from .request import Body, Request
from .rules.json_access import as_object
from .rules.openai_chat import RULES
from .script import Call, Pause, Text, Thinking, Turn

if TYPE_CHECKING:
    from pydantic_ai.models.openai import OpenAIChatModel


class OpenAIChatDouble(OpenAIDouble):
    """A test double of OpenAI's Chat Completions API, which does not return reasoning."""

    path: ClassVar[str] = "/v1/chat/completions"
    rules: ClassVar = RULES

    def model(self, name: str = "gpt-4.1", **options: Any) -> "OpenAIChatModel":
        """Make a Pydantic AI model that uses this double, without retries. Options are those of its class."""
        model = import_optional("pydantic_ai.models.openai").OpenAIChatModel
        return model(name, provider=self.provider(), **options)

    def message(self, request: Request, turn: Turn) -> Body:
        text = "".join(part.text for part in turn.content if isinstance(part, Text))
        message: Body = {"role": "assistant", "content": text or None, "refusal": None}
        if turn.calls:
            message["tool_calls"] = [_call(call, call.text) for call in turn.calls]
        choice = {"index": 0, "message": message, "finish_reason": _finish(turn), "logprobs": None}
        return {**self._frame(request, "chat.completion"), "choices": [choice], "usage": _usage(turn)}

    def stream(self, request: Request, turn: Turn) -> Iterator[Chunk]:
        frame = self._frame(request, "chat.completion.chunk")
        yield _chunk(frame, {"role": "assistant", "content": None if turn.calls else ""})
        index = 0
        for part in turn.parts:
            match part:
                case Text():
                    for each in part.deltas:
                        yield each if isinstance(each, Pause) else _chunk(frame, {"content": each})
                case Call():
                    yield _chunk(frame, {"tool_calls": [{"index": index, **_call(part, "")}]})
                    for delta in part.deltas:
                        chunk = {"index": index, "function": {"arguments": delta}}
                        yield _chunk(frame, {"tool_calls": [chunk]})
                    index += 1
                case Thinking():
                    pass
                case _:
                    yield part
        yield _chunk(frame, {}, _finish(turn))
        if as_object(request.body.get("stream_options")).get("include_usage"):
            yield _data({**frame, "choices": [], "usage": _usage(turn)})
        yield b"data: [DONE]\n\n"

    def _frame(self, request: Request, kind: str) -> Body:
        number = self.number()
        return {"id": f"chatcmpl-{number:024d}", "object": kind, "created": 1_800_000_000, "model": request.model}


def _call(call: Call, arguments: str) -> Body:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _finish(turn: Turn) -> str:
    return "length" if turn.cut_off else "tool_calls" if turn.calls else "stop"


def _usage(turn: Turn) -> Body:
    given, made = turn.usage.input_tokens, turn.usage.output_tokens
    return {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made}


def _chunk(frame: Body, delta: Body, finish: str | None = None) -> bytes:
    return _data({**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": finish, "logprobs": None}]})


def _data(body: Body) -> bytes:
    return f"data: {json.dumps(body)}\n\n".encode()
