"""Requests to people in the form in which a client asks its user or its model, and the answers.

Only some requests can be asked by a client: those with a form, calls to approve that can be shown as a whole, and those
of `client_tools`. All others wait for an answer on the page or the command line.
"""

from collections.abc import Collection, Mapping
from enum import Enum
from typing import Any, NamedTuple, cast

from pydantic_core import to_json

from ...errors import ToolError
from ...sessions.answers import AnswerInvalid, ArgumentsMismatch
from ...sessions.open_request import OpenRequest
from ...sessions.requests import RequestClosed
from ...sessions.session import Session
from ...shortening import shorten
from ...tools.definition import Tool
from ...types import RequestPurpose
from .client_tools import ROOTS, SAMPLING
from .connections import Context, is_modern
from .forms import APPROVAL, form_of

MAX_MESSAGE = 4_000
"""Characters of a message. Arguments that do not fit into it are approved on the page, which shows them whole."""
ELICIT, SAMPLE, LIST_ROOTS = "elicitation/create", "sampling/createMessage", "roots/list"
_MESSAGES = ("message", "question", "prompt")
"""The arguments of a human tool that are its message, if one of them is given."""


class ClientInput(NamedTuple):
    """A request that a client can carry out: usually a form for its user."""

    request: OpenRequest
    method: str
    params: dict[str, Any]

    def to_wire(self, problem: str | None = None) -> dict[str, Any]:
        """Return it as an input request, with the problem of an earlier answer."""
        if problem is None or "message" not in self.params:
            return {"method": self.method, "params": self.params}
        return {"method": self.method, "params": {**self.params, "message": f"{problem}\n\n{self.params['message']}"}}


class Reply(Enum):
    """The effect of a user's answer."""

    ANSWERED = "answered"
    """The request is closed: by this answer, by a refusal, or by another answer before it."""
    DISMISSED = "dismissed"
    """The user did not decide. The request is still open."""


def methods_of(ctx: Context) -> frozenset[str]:
    """Return the methods that the client of a request can carry out."""
    capabilities = ctx.session.client_capabilities
    if capabilities is None or not (is_modern(ctx) or ctx.session.can_send_request):
        return frozenset()
    elicitation = capabilities.elicitation
    found = {
        ELICIT: elicitation is not None and (elicitation.form is not None or elicitation.url is None),
        SAMPLE: capabilities.sampling is not None,
        LIST_ROOTS: capabilities.roots is not None,
    }
    return frozenset(method for method, is_declared in found.items() if is_declared)


def client_input(request: OpenRequest, tool: Tool | None, methods: Collection[str]) -> ClientInput | None:
    """Return a request as a client with these methods can carry it out; None if it cannot."""
    made = _client_input(request, tool)
    return None if made is None or made.method not in methods else made


def _client_input(request: OpenRequest, tool: Tool | None) -> ClientInput | None:
    if request.purpose is RequestPurpose.APPROVAL:
        form = APPROVAL
        message = f"Allow this call? {_title(request, tool)}\n\n{_arguments(request)}"
    elif request.purpose is RequestPurpose.QUESTION:
        if tool is not None and SAMPLING in tool.tags:
            said = {"role": "user", "content": {"type": "text", "text": request.payload["prompt"]}}
            return ClientInput(request, SAMPLE, {"messages": [said], "maxTokens": request.payload["max_tokens"]})
        if tool is not None and ROOTS in tool.tags:
            return ClientInput(request, LIST_ROOTS, {})
        form, message = form_of(request.answer_schema), _question(request, tool)
    else:
        return None
    if form is None or len(message) > MAX_MESSAGE:
        return None
    return ClientInput(request, ELICIT, {"mode": "form", "message": message, "requestedSchema": form})


async def deliver_answer(session: Session, asked: ClientInput, result: Mapping[str, Any]) -> Reply:
    """Answer a request with the result of the client. Raises `AnswerInvalid`; the request is still open then."""
    request = asked.request
    action, content = ("accept", result) if asked.method != ELICIT else (result.get("action"), result.get("content"))
    if action not in ("accept", "decline"):
        return Reply.DISMISSED
    try:
        if request.purpose is not RequestPurpose.APPROVAL:
            if action == "decline":
                await session.cancel(request.execution_id)
            else:
                await session.answer(request.id, content or {}, arguments_hash=request.arguments_hash)
        else:
            fields = cast("dict[str, Any]", content) if isinstance(content, dict) and action == "accept" else {}
            answer: dict[str, Any] = {"approved": action == "accept" and fields.get("approved") is True}
            if isinstance(reason := fields.get("reason"), str) and reason:
                answer["reason"] = reason
            await session.answer(request.id, answer, arguments_hash=request.arguments_hash)
    except (RequestClosed, ToolError, ArgumentsMismatch):
        pass  # closed in the same moment
    return Reply.ANSWERED


def problem_text(error: AnswerInvalid) -> str:
    """Return the problems of an answer as text for the person."""
    found = [f"{each.get('path') or 'answer'}: {each.get('message')}" for each in error.problems]
    return shorten("\n".join([str(error), *found]), 1_000)


def _title(request: OpenRequest, tool: Tool | None) -> str:
    return request.tool if tool is None else f"{tool.title}: {tool.description}"


def _arguments(request: OpenRequest) -> str:
    return to_json(request.payload, indent=2).decode()


def _question(request: OpenRequest, tool: Tool | None) -> str:
    payload: Any = request.payload
    fields = cast("dict[str, Any]", payload) if isinstance(payload, dict) else {}
    for name in _MESSAGES:
        if isinstance(message := fields.get(name), str) and message:
            return message
    return f"{_title(request, tool)}\n\n{_arguments(request)}" if fields else _title(request, tool)
