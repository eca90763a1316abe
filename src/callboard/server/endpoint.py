"""Endpoints: one method of one path, with the models of its request and its response.

The same models validate requests, serialize responses and describe the API in the OpenAPI document. A `Resource`
combines the endpoints of one path into an ASGI app.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic, TypeVar, get_args, get_type_hints
from urllib.parse import parse_qsl

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import from_json
from starlette.requests import Request
from starlette.types import ASGIApp, Receive, Scope, Send

from ..jsonrules.depth import exceeds_depth
from ..jsonrules.value_count import MAX_VALUES
from ..protocols.problem import MAX_ERRORS, Problem, invalid, media_type_not_json
from .app_services import AppServices
from .json_response import JSON, JsonResponse

MAX_DEPTH = 100
"""Nesting levels of arrays and objects in a body."""

MANY_ERRORS = 200
"""Validation errors that are processed: each costs more than its field."""
MAX_FIELDS = 20
"""Fields of a query string."""

SMALL_BODY = 16_384
"""Bytes of a body with a few short fields."""
LARGE_BODY = 1_048_576
"""Bytes of a body with free content: a message, arguments, an answer."""

WRITES = (400, 404, 409)
"""The problems of an endpoint that changes a session."""

B = TypeVar("B", bound=BaseModel)
Q = TypeVar("Q", bound=BaseModel)


class Nothing(BaseModel):
    """A body or query without fields."""

    model_config = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True)
class ApiCall(Generic[B, Q]):
    """A validated request."""

    services: AppServices
    user_id: str
    body: B
    query: Q
    path: Mapping[str, str]
    request: Request


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A method of a path and its handler. Created by `endpoint`."""

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
    """The media type of the response."""
    max_body: int
    """The largest number of bytes of a body."""
    expensive: bool
    """Whether requests of one user need a query slot."""

    async def handle(self, services: AppServices, request: Request) -> ASGIApp:
        """Validate a request and call the handler. Raises `Problem`, and any error of the handler."""
        query = _parsed_query(self.query, request.scope["query_string"])
        user_id = user_of(request.scope)
        body = Nothing() if self.body is Nothing else await self._read_body(services, user_id, request)
        call = ApiCall(services, user_id, body, query, request.path_params, request)
        if self.expensive:
            async with services.query_slots.of(user_id):
                return await self._respond(call)
        return await self._respond(call)

    async def _respond(self, call: ApiCall[Any, Any]) -> ASGIApp:
        answer = await self.handler(call)
        if not isinstance(answer, BaseModel):
            return answer
        content = answer.__pydantic_serializer__.to_json(answer)
        return JsonResponse(content, self.status, call.services.unsent_responses, call.user_id)

    async def _read_body(self, services: AppServices, user_id: str, request: Request) -> BaseModel:
        if services.bodies.is_small(request):  # the common case, without a context manager
            return self._parse(request, await request.body())
        async with services.bodies.reading(request, user_id, self.max_body, MAX_VALUES) as content:
            return self._parse(request, content)

    def _parse(self, request: Request, content: bytes) -> BaseModel:
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if not content and _may_be_empty(self.body):
            content = b"{}"
        elif kind != JSON:
            raise media_type_not_json()
        return _validated(self.body, content)


def endpoint(
    method: str,
    path: str,
    handler: Callable[[ApiCall[B, Q]], Awaitable[BaseModel | ASGIApp]],
    *,
    status: int = 200,
    problems: tuple[int, ...] = (),
    media_type: str = JSON,
    max_body: int = SMALL_BODY,
    expensive: bool = False,
) -> Endpoint:
    """Create an endpoint from a handler: its annotations name the models, its docstring starts with the summary."""
    hints = get_type_hints(handler)
    body, query = get_args(hints["call"])
    response = hints["return"]
    answer = response if isinstance(response, type) and issubclass(response, BaseModel) else None
    summary = (handler.__doc__ or "").partition(".")[0]
    return Endpoint(
        method, path, handler, summary, body, query, answer, status, problems, media_type, max_body, expensive
    )


class Resource:
    """The endpoints of one path as an ASGI app. Any other method gets 405, with the list of allowed methods."""

    def __init__(self, services: AppServices, endpoints: Sequence[Endpoint]) -> None:
        self._services = services
        self._endpoints = {each.method: each for each in endpoints}
        if "GET" in self._endpoints:
            self._endpoints.setdefault("HEAD", self._endpoints["GET"])

    @property
    def methods(self) -> list[str]:
        return list(self._endpoints)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        endpoint = self._endpoints.get(scope["method"])
        if endpoint is None:
            allowed = ", ".join(sorted(self._endpoints))
            detail = f"This path supports: {allowed}."
            raise Problem(405, "method_not_allowed", "Method not allowed", detail, {"allow": allowed})
        response = await endpoint.handle(self._services, Request(scope, receive))
        await response(scope, receive, send)


def user_of(scope: Scope) -> str:
    """Return the user that the guard has authenticated, or the local user if the app has no guard."""
    return scope.get("state", {}).get("user_id", "local")


def is_operator(scope: Scope) -> bool:
    """Return whether the user may see the numbers of the whole process. The local user of an app without a guard may.

    A guard that does not set `is_operator` makes no user an operator.
    """
    state = scope.get("state", {})
    return state.get("is_operator", "user_id" not in state)


def _may_be_empty(model: type[BaseModel]) -> bool:
    """Whether all fields of a body are optional, so that the body may be missing."""
    return bool(model.model_fields) and not any(field.is_required() for field in model.model_fields.values())


def _validated(model: type[B], content: bytes) -> B:
    try:
        read = model.model_validate_json(content)
    except ValidationError as error:
        raise _refusal(model, content, error) from None
    if exceeds_depth(content, MAX_DEPTH):
        detail = f"The body is nested too deeply: at most {MAX_DEPTH} levels of arrays and objects are allowed."
        raise Problem(422, "too_deep", "Not valid", detail)
    return read


def _refusal(model: type[BaseModel], content: bytes, error: ValidationError) -> Problem:
    """Return the problem of an invalid body. If it has many errors, most unknown fields are dropped first."""
    if error.error_count() <= MANY_ERRORS:
        return invalid(error, "body")
    given: dict[str, Any] = from_json(content)
    known = {name: given.pop(name) for name in model.model_fields if name in given}
    try:
        model.model_validate({**known, **dict(islice(given.items(), MAX_ERRORS))})
    except ValidationError as fewer:
        if fewer.error_count() <= MANY_ERRORS:
            return invalid(fewer, "body")
    return Problem(422, "invalid", "Not valid", "The body has too many errors to list.")


def _parsed_query(model: type[Q], query: bytes) -> Q:
    try:
        text = query.decode("latin-1")
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_FIELDS) if text else []
    except ValueError:
        raise Problem(422, "invalid", "Not valid", f"A query may have at most {MAX_FIELDS} fields.") from None
    given = dict(pairs)
    if len(given) < len(pairs):
        raise Problem(422, "invalid", "Not valid", "A field of the query was sent more than once.")
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise invalid(error, "query") from None
