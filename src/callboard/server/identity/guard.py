"""The guard in front of the application: a request that it lets through comes from somebody, and not from a trap.

Pure ASGI. In this order: the name under which the server was asked (a page whose name was pointed at this machine is
turned away), the page that asks, who it is, and how often he comes. `identity/__init__.py` says how it is put up.
"""

from collections.abc import Collection

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...clock import Clock, SystemClock
from ...protocols.problem import Problem
from ...storage.port import Keys, StoreError
from ..exact_routes import request_path
from ..page_assets import page_routes
from ..problems import problem_of
from .addresses import Origin, client_network, is_loopback, is_same_origin
from .auth_problems import host_not_allowed, origin_not_allowed
from .authentication import Authenticator, Identity
from .config import IdentityConfig
from .cors import allowing, is_preflight, preflight_answer
from .key_cache import LIFETIME
from .request_headers import host_of, is_cross_site, is_forwarded, one, origin_of, token_of

PROBES = frozenset({"/healthz", "/readyz"})
"""What machines ask all the time, under any name: it tells nothing about anybody."""
PUBLIC = frozenset({"/", "/app.js", "/style.css", "/openapi.json"})
"""What anybody may read, beside all other files of the page: it is the same for everybody."""
METRICS = "/metrics"

_SAFE = frozenset({"GET", "HEAD"})


def guard(
    app: ASGIApp,
    config: IdentityConfig,
    store: Keys | None = None,
    *,
    clock: Clock | None = None,
    public: Collection[str] = (),
) -> "Guard":
    """An application that lets in only whom the configuration and the store's keys let in.

    `public` are more paths that anybody may read.
    """
    page = {route.path for route in page_routes()}
    return Guard(app, config, store, clock or SystemClock(), PUBLIC | page | set(public))


class Guard:
    """See `guard`."""

    def __init__(
        self, app: ASGIApp, config: IdentityConfig, store: Keys | None, clock: Clock, public: frozenset[str]
    ) -> None:
        self._app = app
        self._config = config
        self._clock = clock
        self._door = Authenticator(config, store, clock)
        self._public = public

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._answer(scope, receive, send)
        elif scope["type"] == "websocket":  # nothing here speaks it, and nothing shall by accident
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        else:
            await self._app(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = request_path(scope)
        exit_ = _Exit(send, self._clock, varies=bool(self._config.origins))
        try:
            if origin := self._page(scope, path):
                exit_.headers += allowing(origin)
                if is_preflight(scope["method"], scope["headers"]):
                    await preflight_answer()(scope, receive, exit_.send)
                    return
            admitted = await self._admit(scope, path)
        except (Problem, StoreError) as error:
            await problem_of(error).response()(scope, receive, exit_.send)
            return
        exit_.watch(self._door, admitted)
        try:
            await self._app(_handed_on(scope, admitted), receive, exit_.send)
        except Exception:
            if not exit_.ended:
                raise

    def _page(self, scope: Scope, path: str) -> str | None:
        """The origin of a page that is let in from elsewhere. Raises `Problem` for names and pages that are not."""
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
        return one(headers, b"origin")

    async def _admit(self, scope: Scope, path: str) -> Identity | None:
        """Who asks; None where nobody needs to be known."""
        if path in PROBES and scope["method"] in _SAFE:
            return None
        headers = scope["headers"]
        client: tuple[str, int] | None = scope.get("client")
        address = "" if client is None else client_network(client[0])
        here = _is_here(scope, client)
        if self._is_public(scope, path) or (path == METRICS and (here or self._config.open_metrics)):
            if not here:
                self._door.count_stranger(address)
            return None
        return await self._door.admit(lambda: token_of(headers), address, here)

    def _is_public(self, scope: Scope, path: str) -> bool:
        return path in self._public and scope["method"] in _SAFE


class _Exit:
    """What goes back to the client: what pages of other origins need, and the end of streams whose reader must go."""

    __slots__ = ("_admitted", "_checked", "_clock", "_door", "_send", "_varies", "ended", "headers")

    def __init__(self, send: Send, clock: Clock, *, varies: bool) -> None:
        self._send = send
        self._clock = clock
        self._door: Authenticator | None = None
        self._admitted: Identity | None = None
        self._checked = 0.0
        self._varies = varies
        self.headers: list[tuple[bytes, bytes]] = []
        self.ended = False
        """Whether a stream was cut off, because who reads it may not do so any more."""

    def watch(self, door: Authenticator, admitted: Identity | None) -> None:
        """Look from time to time whether who was let in may stay."""
        if admitted is not None and (admitted.key is not None or admitted.until is not None):
            self._door, self._admitted, self._checked = door, admitted, self._clock.monotonic()

    async def send(self, message: Message) -> None:
        if self.ended:
            raise ConnectionAbortedError
        if message["type"] == "http.response.start":
            if self._varies:
                own = [*message.get("headers", ()), (b"vary", b"origin")]  # no cache gives one's answer to another
                message = {**message, "headers": own + self.headers}
        elif self._admitted is not None and message.get("more_body") and await self._must_go():
            self.ended = True
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})
            raise ConnectionAbortedError  # as if the client had left
        await self._send(message)

    async def _must_go(self) -> bool:
        if self._clock.monotonic() - self._checked < LIFETIME:
            return False
        assert self._door is not None
        assert self._admitted is not None
        self._checked = self._clock.monotonic()
        try:
            return not await self._door.still_valid(self._admitted)
        except StoreError:
            return False  # it cannot be said now; he was let in, and the next look will tell


def _is_here(scope: Scope, client: tuple[str, int] | None) -> bool:
    """Whether somebody on this machine asks this machine, with nobody in between."""
    if client is None or not is_loopback(client[0]) or is_forwarded(scope["headers"]):
        return False
    return is_loopback(host_of(scope["headers"]).name)


def _handed_on(scope: Scope, admitted: Identity | None) -> Scope:
    """The request as the application sees it: with the user, without what proves him. Nobody is the user ''."""
    headers = [each for each in scope["headers"] if each[0] != b"authorization"]
    user_id = "" if admitted is None else admitted.user_id
    return {**scope, "headers": headers, "state": {**scope.get("state", {}), "user_id": user_id}}
