"""The Gemini API: `POST /v1beta/models/{model}:generateContent`, and `:streamGenerateContent` for streams."""

import base64
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from starlette.requests import Request as HttpRequest

from .client import import_optional
from .double import Double
from .reply import Chunk
from .request import Body, Refusal, Request
from .rules.gemini import RULES, SIGNED_SINCE, generation
from .script import Call, Content, Pause, Text, Thinking, Turn

if TYPE_CHECKING:
    from pydantic_ai.models.google import GoogleModel

STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
"""https://ai.google.dev/gemini-api/docs/troubleshooting"""


class GeminiDouble(Double):
    """A test double of the Gemini API."""

    path: ClassVar[str] = "/{version}/models/{call}"
    rules: ClassVar = RULES
    call_id: ClassVar[str] = "call{:06d}"

    def model(self, name: str = "gemini-3-pro-preview", **options: Any) -> "GoogleModel":
        """Make a Pydantic AI model that uses this double, without retries. Options are those of its class."""
        provider = import_optional("pydantic_ai.providers.google").GoogleProvider(
            api_key="none", base_url=self.url, http_client=self.http_client()
        )
        return import_optional("pydantic_ai.models.google").GoogleModel(name, provider=provider, **options)

    def read(self, http: HttpRequest, body: Body) -> Request:
        model, _, method = http.path_params["call"].partition(":")
        return Request(model, body, method == "streamGenerateContent", dict(http.headers), http.url.path)

    def message(self, request: Request, turn: Turn) -> Body:
        signed = _Signed(request)
        parts = [signed.part(part, part.text if isinstance(part, Text) else "") for part in turn.content]
        return {**self._frame(request), "candidates": [_candidate(parts, _finish(turn))], "usageMetadata": _usage(turn)}

    def stream(self, request: Request, turn: Turn) -> Iterator[Chunk]:
        frame, signed = self._frame(request), _Signed(request)
        for part in turn.parts:
            if isinstance(part, Pause):
                yield part
                continue
            for each in part.deltas if isinstance(part, Text) else ("",):
                if isinstance(each, Pause):
                    yield each
                else:
                    yield _data({**frame, "candidates": [_candidate([signed.part(part, each)])]})
        yield _data({**frame, "candidates": [_candidate([], _finish(turn))], "usageMetadata": _usage(turn)})

    def error(self, refusal: Refusal) -> Body:
        kind = refusal.kind or STATUSES.get(refusal.status, "UNKNOWN")
        return {"error": {"code": refusal.status, "message": refusal.message, "status": kind}}

    def _frame(self, request: Request) -> Body:
        return {"modelVersion": request.model, "responseId": f"response{self.number():06d}"}


class _Signed:
    """Makes the parts of one answer. From Gemini 3 on, the first call of an answer has a signature."""

    def __init__(self, request: Request) -> None:
        self._sign = generation(request) >= SIGNED_SINCE

    def part(self, part: Content, text: str) -> Body:
        match part:
            case Text():
                return {"text": text}
            case Thinking():
                return {"text": part.text, "thought": True}
            case Call():
                made: Body = {"functionCall": {"id": part.id, "name": part.name, "args": json.loads(part.text)}}
                if self._sign:
                    self._sign = False
                    made["thoughtSignature"] = base64.b64encode(
                        f"signed {part.id}".encode(errors="surrogatepass")
                    ).decode()
                return made


def _candidate(parts: list[Body], finish: str | None = None) -> Body:
    candidate: Body = {"content": {"role": "model", "parts": parts}, "index": 0}
    return {**candidate, "finishReason": finish} if finish else candidate


def _finish(turn: Turn) -> str:
    return "MAX_TOKENS" if turn.cut_off else "STOP"


def _usage(turn: Turn) -> Body:
    given, made = turn.usage.input_tokens, turn.usage.output_tokens
    return {"promptTokenCount": given, "candidatesTokenCount": made, "totalTokenCount": given + made}


def _data(body: Body) -> bytes:
    return f"data: {json.dumps(body)}\r\n\r\n".encode()
