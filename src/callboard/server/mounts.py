"""The server's side of mounted protocols: their routes, and the services that each of them gets."""

from contextlib import AbstractAsyncContextManager

from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from ..protocols.mount import ProtocolMount
from ..sessions.session import Session, live_session
from ..tools.registry import Registry
from ..types import Wake
from .app_services import AppServices
from .bounded_send import BoundedSend
from .endpoint import user_of


class MountedProtocol:
    """A mount's application as an ASGI app, and its `ProtocolHost`."""

    def __init__(self, services: AppServices, mount: ProtocolMount) -> None:
        self._services = services
        self._mount = mount
        self._application = mount.application(self)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        bounded = BoundedSend(self._services, user_of(scope), scope, receive, send)
        await self._application(scope, receive, bounded)

    @property
    def registry(self) -> Registry:
        return self._services.runtime.registry

    def user_id(self, request: Request) -> str:
        return user_of(request.scope)

    async def open_session(self, request: Request, session_id: str, wake: Wake | None = None) -> Session:
        self._services.refuse_if_draining()
        session = await self._services.runtime.open(session_id, user_of(request.scope), wake=wake)
        self._services.chat_sessions.add(live_session(session))
        return session

    async def find_session(self, request: Request, session_id: str) -> Session:
        await self._services.find(session_id, user_of(request.scope))
        return await self.open_session(request, session_id)

    def read_body(self, request: Request) -> AbstractAsyncContextManager[bytes]:
        mount, user_id = self._mount, user_of(request.scope)
        return self._services.bodies.reading(request, user_id, mount.max_body_bytes, mount.max_body_values)


def mount_routes(services: AppServices) -> list[Route]:
    """Create a route for each mounted protocol."""
    return [Route(mount.path, MountedProtocol(services, mount), methods=[*mount.methods]) for mount in services.mounts]
