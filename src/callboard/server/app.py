"""The ASGI app: the composition root of the server, which joins a runtime, the routes, the protocols and middleware."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import cache
from itertools import groupby
from operator import attrgetter
from typing import Any, cast

from pydantic_core import to_json

from ..errors import CallboardError, MissingExtraError
from ..runtime import Runtime

try:
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.middleware import Middleware
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute, Route
    from starlette.types import ASGIApp

    from ..protocols.mount import ProtocolMount
    from ..protocols.standard import standard_mounts
    from .app_services import AppServices
    from .body_limits import BodyLimitMiddleware, BodyLimits
    from .endpoint import JSON, Resource
    from .exact_routes import ExactRoutes
    from .internal_errors import InternalErrors
    from .mounts import mount_routes
    from .openapi import openapi
    from .page_assets import page_routes
    from .problems import problem_of
    from .routes import chat, events, executions, operations, process_state, requests, sessions, tools
    from .security_headers import SecurityHeaders
    from .store_timeout import StoreTimeout
    from .streams import Streams
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
    *process_state.ENDPOINTS,
]
"""The endpoints of the API, without mounted protocols."""


def create_app(
    runtime: Runtime,
    *,
    guard: Callable[[ASGIApp], ASGIApp] | None = None,
    metrics: Callable[[], bytes] | None = None,
    limits: BodyLimits | None = None,
    streams: Streams | None = None,
    mounts: Sequence[ProtocolMount] | None = None,
    begin_runtime: bool = False,
) -> Starlette:
    """Create an ASGI app for a runtime.

    `guard` wraps all routes: it authenticates a request and sets `scope["state"]["user_id"]`, or refuses it. Without a
    guard, all requests come from one user. `metrics` renders the response of `/metrics`. `mounts` are the protocols to
    serve beside the API, all standard ones by default. The runtime must run while the app serves; with `begin_runtime`
    the app starts and stops it.
    """
    mounts = standard_mounts() if mounts is None else mounts
    services = AppServices(runtime, Streams(runtime.clock) if streams is None else streams, metrics, mounts)
    services.started_at = runtime.clock.time()
    runtime.sessions.watch(services.turns)
    runtime.sessions.on_delete(lambda session: services.streams.end(session.id))
    sizes = {mount.path: mount.max_body_bytes for mount in mounts}
    middleware = [
        Middleware(SecurityHeaders, [mount.path for mount in mounts]),
        Middleware(BodyLimitMiddleware, replace(limits or BodyLimits(), sizes=sizes)),
        Middleware(StoreTimeout),
    ]
    if guard is not None:
        middleware.append(Middleware(cast("Any", guard)))
    middleware.append(Middleware(InternalErrors))
    app = Starlette(
        routes=_routes(services),
        middleware=middleware,
        exception_handlers=dict.fromkeys((HTTPException, CallboardError, Exception), _problem_response),
        lifespan=_lifespan(services, begin_runtime),
    )
    app.router.redirect_slashes = False
    app.state.services = services
    return app


def _routes(services: AppServices) -> list[BaseRoute]:
    # longer paths come first, so that the most specific route matches
    ordered = sorted(ENDPOINTS, key=lambda each: (-each.path.count("/"), each.path))
    resources = {path: Resource(services, [*each]) for path, each in groupby(ordered, attrgetter("path"))}
    exact = ExactRoutes({path: each for path, each in resources.items() if "{" not in path})
    patterns = [_route(path, each) for path, each in resources.items() if "{" in path]
    described = Route("/openapi.json", _get_document, methods=["GET"])
    return [exact, *mount_routes(services), *patterns, described, *page_routes()]


async def _get_document(request: Request) -> Response:
    return Response(_document(), media_type=JSON)


@cache
def _document() -> bytes:
    """Return the OpenAPI document, generated for the first request: a server starts faster without it."""
    return to_json(openapi(ENDPOINTS))


def _route(path: str, resource: Resource) -> Route:
    """Create the route of a path with parameters.

    An id may end like the path of an action (`/logout`). So an action matches only its own methods, and any other
    request is about the session with this id.
    """
    return Route(path, resource, methods=resource.methods if ":path}/" in path else None)


def _lifespan(services: AppServices, begin_runtime: bool) -> Callable[[Starlette], Any]:
    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None]:
        async with AsyncExitStack() as stack:
            if begin_runtime:
                await stack.enter_async_context(services.runtime)
            for mount in services.mounts:
                await stack.enter_async_context(mount.running())
            yield
        services.drain()

    return lifespan


async def _problem_response(request: Request, error: Exception) -> Response:
    return problem_of(error).response()
