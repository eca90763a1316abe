"""The server's side of mounted protocols: their routes, and the services that each of them gets."""

from contextlib import AbstractAsyncContextManager

from starlette.requests import Request
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from ..protocols.mount import ProtocolMount
from ..sessions.session import Session
from .app_services import AppServices
from .endpoint import user_of


class ServerHost:
    """The server as the `ProtocolHost` of one mount."""

    def __init__(self, services: AppServices, mount: ProtocolMount) -> None:
        self._services = services
        self._mount = mount

    async def open_session(self, request: Request, session_id: str) -> Session:
        self._services.refuse_if_draining()
        session = await self._services.runtime.open(session_id, user_of(request.scope))
        self._services.chat_sessions.add(session)
        return session

    def read_body(self, request: Request) -> AbstractAsyncContextManager[bytes]:
        mount = self._mount
        user_id = user_of(request.scope)
        return self._services.bodies.reading(request, user_id, mount.max_body_bytes, mount.max_body_values)


class _Application:
    """Any ASGI app as an object, because Starlette calls a function with a request."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


def mount_routes(services: AppServices) -> list[Route]:
    """Create a route for each mounted protocol."""
    return [
        Route(mount.path, _Application(mount.application(ServerHost(services, mount))), methods=[*mount.methods])
        for mount in services.mounts
    ]
