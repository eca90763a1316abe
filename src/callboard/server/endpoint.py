"""An endpoint: one method of one path, with the models of what goes in and what comes out.

The same models validate requests, write answers and make the OpenAPI document, so that these cannot disagree. A
`Resource` is all endpoints of one path, as an ASGI app.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic, TypeVar
from urllib.parse import parse_qsl

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import from_json
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from ..jsonrules.depth import exceeds_depth
from ..jsonrules.value_count import MAX_VALUES
from .answer import JSON, Answer
from .app_services import AppServices
from .problems import MAX_ERRORS, Problem, invalid, too_many_errors

MAX_DEPTH = 100
"""How deep lists and objects may lie in each other in a body."""

MANY_ERRORS = 200
"""How many errors are looked at: each costs more than the field that it is about."""
MAX_FIELDS = 20
"""How many fields a query may have."""

SMALL_BODY = 16_384
"""Bytes of a body that has a few short fields."""
LARGE_BODY = 1_048_576
"""Bytes of a body that holds what a person or a program wrote: a message, arguments, an answer."""

B = TypeVar("B", bound=BaseModel)
Q = TypeVar("Q", bound=BaseModel)


class Nothing(BaseModel):
    """No fields at all."""

    model_config = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True)
class Call(Generic[B, Q]):
    """A request that has been understood."""

    services: AppServices
    user_id: str
    body: B
    query: Q
    path: Mapping[str, str]
    request: Request


@dataclass(frozen=True, slots=True)
class Endpoint:
    """What is done for a method at a path. Made by `endpoint`, which checks that the parts fit."""

    method: str
    path: str
    handler: Callable[[Any], Awaitable[BaseModel | ASGIApp]]
    summary: str
    body: type[BaseModel]
    query: type[BaseModel]
    answer: type[BaseModel] | None
    status: int
    problems: tuple[int, ...]
    media_type: str
    """Of the answer, where it is not JSON."""
    max_body: int
    """Bytes."""
    expensive: bool
    """Whether only a few of them are answered at once for a user."""

    async def answer_to(self, services: AppServices, request: Request) -> ASGIApp:
        """Carry out a request. Raises `Problem`, and whatever the handler raises."""
        query = _query(self.query, request.scope["query_string"])
        user_id = user_of(request.scope)
        body = Nothing() if self.body is Nothing else await self._body(services, user_id, request)
        call = Call(services, user_id, body, query, request.path_params, request)
        if self.expensive:
            async with services.lanes.of(user_id):
                return await self._answer(call)
        return await self._answer(call)

    async def _answer(self, call: Call[Any, Any]) -> ASGIApp:
        said = await self.handler(call)
        if isinstance(said, BaseModel):
            return Answer(said.__pydantic_serializer__.to_json(said), self.status, call.services.unsent, call.user_id)
        return said

    async def _body(self, services: AppServices, user_id: str, request: Request) -> BaseModel:
        if services.bodies.is_small(request):  # as nearly all are
            return self._read(request, await request.body())
        async with services.bodies.taking(request, user_id, self.max_body, MAX_VALUES) as content:
            return self._read(request, content)

    def _read(self, request: Request, content: bytes) -> BaseModel:
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if not content and _may_be_empty(self.body):
            content = b"{}"
        elif kind != JSON:
            detail = f"The body must be {JSON}, and its content-type must say so."
            raise Problem(415, "media_type", "Not understood", detail)
        return _read(self.body, content)


def endpoint(
    method: str,
    path: str,
    handler: Callable[[Call[B, Q]], Awaitable[BaseModel | ASGIApp]],
    summary: str,
    *,
    body: type[B] = Nothing,
    query: type[Q] = Nothing,
    answer: type[BaseModel] | None = None,
    status: int = 200,
    problems: tuple[int, ...] = (),
    media_type: str = JSON,
    max_body: int = SMALL_BODY,
    expensive: bool = False,
) -> Endpoint:
    """An endpoint whose handler takes these models."""
    return Endpoint(
        method, path, handler, summary, body, query, answer, status, problems, media_type, max_body, expensive
    )


class Resource:
    """All endpoints of one path. Any other method is refused, with the list of those that there are."""

    def __init__(self, services: AppServices, endpoints: Sequence[Endpoint]) -> None:
        self._services = services
        self._endpoints = {each.method: each for each in endpoints}
        if "GET" in self._endpoints:
            self._endpoints.setdefault("HEAD", self._endpoints["GET"])

    @property
    def methods(self) -> list[str]:
        """The methods that it takes."""
        return list(self._endpoints)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        endpoint = self._endpoints.get(scope["method"])
        if endpoint is None:
            allowed = ", ".join(sorted(self._endpoints))
            detail = f"This address takes: {allowed}."
            raise Problem(405, "method_not_allowed", "Not allowed here", detail, {"allow": allowed})
        response = await endpoint.answer_to(self._services, Request(scope, receive))
        await response(scope, receive, send)


def user_of(scope: Scope) -> str:
    """Whose request it is. Only the guard in front says so; where there is none, it is the one person of this host."""
    return scope.get("state", {}).get("user_id", "local")


def _may_be_empty(model: type[BaseModel]) -> bool:
    """Whether a body need not say anything, and so may be left out."""
    return bool(model.model_fields) and not any(field.is_required() for field in model.model_fields.values())


def _read(model: type[B], content: bytes) -> B:
    try:
        read = model.model_validate_json(content)
    except ValidationError as error:
        raise _refusal(model, content, error) from None
    if exceeds_depth(content, MAX_DEPTH):
        detail = f"The body is nested too deeply: at most {MAX_DEPTH} lists and objects may lie in each other."
        raise Problem(422, "too_deep", "Not valid", detail)
    return read


def _refusal(model: type[BaseModel], content: bytes, error: ValidationError) -> Problem:
    """What is wrong with a body. Of one with many errors, most of its unknown fields are left out first."""
    if error.error_count() <= MANY_ERRORS:
        return invalid(error, "body")
    given: dict[str, Any] = from_json(content)
    known = {name: given.pop(name) for name in model.model_fields if name in given}
    try:
        model.model_validate({**known, **dict(islice(given.items(), MAX_ERRORS))})
    except ValidationError as fewer:
        if fewer.error_count() <= MANY_ERRORS:
            return invalid(fewer, "body")
    return too_many_errors("body")


def _query(model: type[Q], query: bytes) -> Q:
    try:
        text = query.decode("latin-1")
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_FIELDS) if text else []
    except ValueError:
        raise Problem(422, "invalid", "Not valid", f"A query has at most {MAX_FIELDS} fields.") from None
    given = dict(pairs)
    if len(given) < len(pairs):
        raise Problem(422, "invalid", "Not valid", "A field of the query is given more than once.")
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise invalid(error, "query") from None
