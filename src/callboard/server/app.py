"""The app: the composition root of the server. It joins a runtime, the routes and what stands in front of them."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import groupby
from typing import Any, cast

from pydantic_core import to_json

from ..errors import CallboardError, MissingExtraError
from ..runtime import Runtime
from ..sessions.session import Session, live_session

try:
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.middleware import Middleware
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute, Route
    from starlette.types import ASGIApp

    from ..protocols import agui
    from .app_services import AppServices
    from .endpoint import JSON, Resource, user_of
    from .fixed import FixedRoutes
    from .headers import SafeHeaders
    from .limits import BodyLimits, LimitBodies
    from .openapi import openapi
    from .page import page_routes
    from .problems import problem_of
    from .routes import chat, events, executions, operations, requests, sessions, tools
    from .streams import Streams
    from .waiting import StorePatience
except ModuleNotFoundError as missing:
    raise MissingExtraError("The server", "server") from missing

ENDPOINTS = [
    *sessions.ENDPOINTS,
    *chat.ENDPOINTS,
    *events.ENDPOINTS,
    *requests.ENDPOINTS,
    *tools.ENDPOINTS,
    *executions.ENDPOINTS,
    *operations.ENDPOINTS,
]
"""Everything that the server answers, the protocols aside."""


def create_app(
    runtime: Runtime,
    *,
    guard: Callable[[ASGIApp], ASGIApp] | None = None,
    metrics: Callable[[], bytes] | None = None,
    limits: BodyLimits | None = None,
    streams: Streams | None = None,
    begin_runtime: bool = False,
) -> Starlette:
    """An ASGI app for a runtime.

    `guard` is put in front of all routes: it says whose request it is, in `scope["state"]["user_id"]`, or refuses it.
    Without one, everybody who reaches the server is the same user. `metrics` gives what `/metrics` answers. The runtime
    must be running while the app serves; with `begin_runtime` it begins and ends with the app.
    """
    services = AppServices(runtime, Streams(runtime.clock) if streams is None else streams, metrics)
    runtime.sessions.on_delete(lambda session: services.streams.end(session.id))
    middleware = [Middleware(SafeHeaders), Middleware(LimitBodies, limits or BodyLimits()), Middleware(StorePatience)]
    if guard is not None:
        middleware.append(Middleware(cast("Any", _guarded), guard))
    app = Starlette(
        routes=_routes(services),
        middleware=middleware,
        exception_handlers={HTTPException: _explained, CallboardError: _explained, Exception: _explained},
        lifespan=_lifespan(services, begin_runtime),
    )
    app.router.redirect_slashes = False
    app.state.services = services
    return app


def _routes(services: AppServices) -> list[BaseRoute]:
    def by_path(each: Any) -> str:
        return each.path

    document = to_json(openapi(ENDPOINTS))

    async def described(request: Request) -> Response:
        return Response(document, media_type=JSON)

    # the sort is stable, and addresses of more parts come first: what is most special is asked first
    ordered = sorted(ENDPOINTS, key=lambda each: (-each.path.count("/"), each.path))
    resources = {path: Resource(services, [*each]) for path, each in groupby(ordered, by_path)}
    fixed = FixedRoutes({path: each for path, each in resources.items() if "{" not in path})
    made = [_route(path, each) for path, each in resources.items() if "{" in path]
    return [fixed, *made, Route("/openapi.json", described, methods=["GET"]), *_protocols(services), *page_routes()]


def _route(path: str, resource: Resource) -> Route:
    """A route of an address with parameters.

    An id may end like the address of an action (`/logout`). So an action takes only its own methods, and any other
    request is about the session that has this id.
    """
    return Route(path, resource, methods=resource.methods if ":path}/" in path else None)


def _protocols(services: AppServices) -> Sequence[BaseRoute]:
    """Other protocols for the same sessions."""

    async def open_session(request: Request, session_id: str) -> Session:
        services.refuse_if_draining()
        session = await services.runtime.open(session_id, user_of(request.scope))
        services.talking.add(live_session(session))
        return session

    def take_body(request: Request) -> AbstractAsyncContextManager[bytes]:
        return services.bodies.taking(request, user_of(request.scope), agui.MAX_BODY_BYTES, agui.MAX_VALUES)

    return [Route("/ag-ui", agui.endpoint(open_session, services.runs, take_body), methods=["POST"])]


def _guarded(app: ASGIApp, guard: Callable[[ASGIApp], ASGIApp]) -> ASGIApp:
    return guard(app)


def _lifespan(services: AppServices, begin_runtime: bool) -> Callable[[Starlette], Any]:
    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None]:
        if begin_runtime:
            async with services.runtime:
                yield
        else:
            yield
        services.drain()

    return lifespan


async def _explained(request: Request, error: Exception) -> Response:
    return problem_of(error).response()
