"""The guard: ASGI middleware that admits only authenticated requests from allowed hosts and origins.

It checks, in this order, the host name (which prevents DNS rebinding), the origin of the page, the credentials, and the
rate limit. See `identity/__init__.py` for its use.
"""

from collections.abc import Callable, Sequence

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...clock import Clock, SystemClock
from ...protocols.mount import ProtocolMount
from ...protocols.problem import Problem
from ...protocols.standard import standard_mounts
from ...storage.errors import StoreError
from ...storage.records import ApiKeyRecords
from ..exact_routes import request_path
from ..page_assets import page_routes
from ..problems import problem_of
from .addresses import Origin, client_network, is_loopback, is_same_origin
from .auth_problems import host_not_allowed, origin_not_allowed
from .authentication import Authenticator, Identity
from .config import IdentityConfig
from .cors import CorsHeaders, is_preflight
from .key_cache import LIFETIME
from .request_headers import Headers, host_of, is_cross_site, is_forwarded, origin_of, single, token_of
from .resource_metadata import ResourceMetadata

PROBES = frozenset({"/healthz", "/readyz"})
"""Paths of health checks, which any client may read under any host name."""
METRICS = "/metrics"

_SAFE = frozenset({"GET", "HEAD"})


def guard(
    app: ASGIApp,
    config: IdentityConfig,
    store: ApiKeyRecords | None = None,
    *,
    clock: Clock | None = None,
    sharing: Callable[[], int] = lambda: 1,
    mounts: Sequence[ProtocolMount] | None = None,
) -> "Guard":
    """Wrap an application so that it receives only admitted requests.

    `sharing` returns the number of servers that share the rate limits. `mounts` are the protocols of the
    application, all standard ones by default, as for `create_app`: their clients discover the authorization server
    (OAuth), and pages of other origins may use their headers.
    """
    mounts = standard_mounts() if mounts is None else mounts
    return Guard(app, config, store, clock or SystemClock(), sharing, mounts)


class Guard:
    """See `guard`."""

    def __init__(
        self,
        app: ASGIApp,
        config: IdentityConfig,
        store: ApiKeyRecords | None,
        clock: Clock,
        sharing: Callable[[], int],
        mounts: Sequence[ProtocolMount],
    ) -> None:
        self._app = app
        self._config = config
        self._clock = clock
        self._authenticator = Authenticator(config, store, clock, sharing)
        self._metadata = ResourceMetadata(config, [mount.path for mount in mounts])
        self._cors = CorsHeaders(mounts)
        self._public = {"/openapi.json", *(route.path for route in page_routes())}
        """Paths that any client may read."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._handle(scope, receive, send)
        elif scope["type"] == "websocket":  # not supported, so refused
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        else:
            await self._app(scope, receive, send)

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = request_path(scope)
        guarded = _GuardedSend(send, self._clock, varies=bool(self._config.origins))
        try:
            if origin := self._allowed_origin(scope, path):
                guarded.headers += self._cors.allow_origin(origin)
                if is_preflight(scope["method"], scope["headers"]):
                    await self._cors.preflight_response()(scope, receive, guarded.send)
                    return
            admitted = await self._authenticate(scope, path)
        except (Problem, StoreError) as error:
            response = problem_of(error).response()
            if (challenge := response.headers.get("www-authenticate")) is not None:
                response.headers["www-authenticate"] = challenge + self._metadata.challenge(scope, path)
            await response(scope, receive, guarded.send)
            return
        if admitted is None and self._metadata.is_document(path):
            await self._metadata.response(scope, path)(scope, receive, guarded.send)
            return
        guarded.watch(self._authenticator, admitted)
        try:
            await self._app(self._with_user(scope, admitted), receive, guarded.send)
        except Exception:
            if not guarded.ended:
                raise

    def _allowed_origin(self, scope: Scope, path: str) -> str | None:
        """Return the origin of a page of another origin, if it is allowed. Raises `Problem` for hosts and origins."""
        headers = scope["headers"]
        if path in PROBES and scope["method"] in _SAFE:
            return None
        host = host_of(headers)
        if not self._config.knows_host(host):
            raise host_not_allowed()
        origin: Origin | None = origin_of(headers)
        if origin is None:
            if is_cross_site(headers) and not self._is_public(scope, path):
                raise origin_not_allowed()
            return None
        if is_same_origin(origin, host, scope.get("scheme", "http")):
            return None
        if not self._config.knows_origin(origin):
            raise origin_not_allowed()
        return single(headers, b"origin")

    async def _authenticate(self, scope: Scope, path: str) -> Identity | None:
        """Return the identity of a request, or None for a public path."""
        if path in PROBES and scope["method"] in _SAFE:
            return None
        headers = scope["headers"]
        client: tuple[str, int] | None = scope.get("client")
        address = "" if client is None else client_network(client[0])
        is_local = _is_local(headers, client)
        if self._is_public(scope, path) or (path == METRICS and (is_local or self._config.open_metrics)):
            if not is_local:
                self._authenticator.count_unauthenticated(address)
            return None
        return await self._authenticator.authenticate(lambda: token_of(headers), address, is_local)

    def _is_public(self, scope: Scope, path: str) -> bool:
        return (path in self._public or self._metadata.is_document(path)) and scope["method"] in _SAFE

    def _with_user(self, scope: Scope, admitted: Identity | None) -> Scope:
        """Return the scope for the application: with the user, '' if there is none, and without credentials."""
        headers = [each for each in scope["headers"] if each[0] != b"authorization"]
        user_id = "" if admitted is None else admitted.user_id
        is_operator = admitted is not None and (admitted.is_unauthenticated or user_id in self._config.operators)
        state = {**scope.get("state", {}), "user_id": user_id, "is_operator": is_operator}
        return {**scope, "headers": headers, "state": state}


class _GuardedSend:
    """The sending side of a request: adds CORS headers, and ends a stream whose credentials become invalid."""

    __slots__ = ("_admitted", "_authenticator", "_checked", "_clock", "_send", "_varies", "ended", "headers")

    def __init__(self, send: Send, clock: Clock, *, varies: bool) -> None:
        self._send = send
        self._clock = clock
        self._authenticator: Authenticator | None = None
        self._admitted: Identity | None = None
        self._checked = 0.0
        self._varies = varies
        self.headers: list[tuple[bytes, bytes]] = []
        self.ended = False
        """Whether the stream was ended because its credentials became invalid."""

    def watch(self, authenticator: Authenticator, admitted: Identity | None) -> None:
        """Check from time to time whether an identity is still valid."""
        if admitted is not None and (admitted.key is not None or admitted.until is not None):
            self._authenticator, self._admitted, self._checked = authenticator, admitted, self._clock.monotonic()

    async def send(self, message: Message) -> None:
        if self.ended:
            raise ConnectionAbortedError
        if message["type"] == "http.response.start":
            if self._varies:
                own = [*message.get("headers", ()), (b"vary", b"origin")]  # caches must keep origins apart
                message = {**message, "headers": own + self.headers}
        elif self._admitted is not None and message.get("more_body") and await self._is_revoked():
            self.ended = True
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})
            raise ConnectionAbortedError  # as if the client had disconnected
        await self._send(message)

    async def _is_revoked(self) -> bool:
        if self._clock.monotonic() - self._checked < LIFETIME:
            return False
        assert self._authenticator is not None
        assert self._admitted is not None
        self._checked = self._clock.monotonic()
        try:
            return not await self._authenticator.still_valid(self._admitted)
        except StoreError:
            return False  # the next check decides


def _is_local(headers: Headers, client: tuple[str, int] | None) -> bool:
    """Whether a request comes from this machine directly, without a proxy."""
    if client is None or not is_loopback(client[0]) or is_forwarded(headers):
        return False
    return is_loopback(host_of(headers).name)
