"""LaunchOptions: all that `callboard serve` joins. A runtime, who may come in, what is measured, and where to listen."""

import asyncio
import signal
import socket
from collections.abc import Callable, Generator, Iterable
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any, Self

from starlette.types import ASGIApp
from uvicorn.loops.auto import auto_loop_factory

from ..errors import CallboardError
from ..runtime import Runtime
from ..telemetry import can_trace, measure, trace
from ..telemetry.log_context import follow
from ..tools.definition import Tool
from ..tools.registry import Registry
from .app import create_app
from .gc_tuning import rare_collections
from .identity import PUBLIC, IdentityConfig, guard, may_listen
from .page_assets import page_routes
from .revision_watch import stop_when_migrated
from .uvicorn_server import Server, create_server, listen


class ListeningRefused(CallboardError):
    """An address may not be listened on without anybody having to say who he is."""

    code = "listening_refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchOptions:
    """What is served, and where."""

    host: str
    port: int
    store: str
    model: Any
    tools: Registry
    workers: Iterable[Tool] = ()
    no_auth: bool = False
    """Whether everybody may come in from anywhere, where nobody has a key."""
    grace: float = 10.0
    """Seconds that running turns have to end when the server ends."""
    log_owners: bool = False
    """Whether log lines say whose they are: session, execution, tool."""


def launch(wanted: LaunchOptions, listening: Callable[[str, bool], Any]) -> None:
    """Serve until somebody ends it. `listening` is called with the address, and whether one needs a key there.

    Raises `CallboardError`: the store, the model or the address cannot be used.
    """
    _allow_many_connections()
    with asyncio.Runner(loop_factory=auto_loop_factory()) as runner:
        runner.run(_serve(wanted, listening))


async def _serve(wanted: LaunchOptions, listening: Callable[[str, bool], Any]) -> None:
    config = IdentityConfig.from_environment().listening_on(wanted.host)
    if wanted.no_auth:
        config = replace(config, insecure=True)
    runtime = Runtime(wanted.tools, model=wanted.model, store=wanted.store, workers=wanted.workers)
    with _closing(listen(wanted.host, wanted.port)) as made, _Signals() as signals:
        async with runtime:
            keys = bool(await runtime.store.keys(limit=1))
            if not may_listen(wanted.host, config, keys=keys):
                raise ListeningRefused(
                    f"Nobody has to say who he is yet, so {wanted.host} is not listened on: everybody who reaches it "
                    "could use it. Make a key first (callboard keys create --user NAME), or listen on 127.0.0.1, or "
                    "let everybody in with --no-auth."
                )
            public = PUBLIC | {route.path for route in page_routes()}

            def guarded(app: ASGIApp) -> ASGIApp:
                return guard(app, config, runtime.store, clock=runtime.clock, public=public)

            with measure(runtime) as metrics, _observed(runtime, wanted.log_owners):
                app = create_app(runtime, guard=guarded, metrics=metrics.render)
                app.state.services.streams.counted = metrics.reading
                server = signals.end(create_server(app, grace=wanted.grace))
                listening(_address(wanted.host, made), keys or config.jwks is not None)
                async with stop_when_migrated(runtime.store, runtime.clock, server.end):
                    with rare_collections():
                        await server.serve(sockets=[made])


def _allow_many_connections() -> None:
    """Raise the number of open files to what the system allows: each reader is one."""
    try:
        import resource
    except ModuleNotFoundError:  # not on this system
        return
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


@contextmanager
def _observed(runtime: Runtime, log_owners: bool) -> Generator[None]:
    """Have it traced where the process has somewhere to send spans, and its log lines say whose they are."""
    with ExitStack() as stack:
        if can_trace():
            stack.callback(trace(runtime).close)
        if log_owners:
            stack.callback(follow(runtime))
        yield


@contextmanager
def _closing(made: socket.socket) -> Generator[socket.socket]:
    try:
        yield made
    finally:
        made.close()


class _Signals:
    """What ends the server, before uvicorn listens to signals and after it has: it raises them again when it has ended.

    The runtime is to end in peace then, and nobody who wants it to end early is to be missed.
    """

    def __init__(self) -> None:
        self._server: Server | None = None
        self._seen = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._receive) for number in (signal.SIGTERM, signal.SIGINT)}
        return self

    def __exit__(self, *exc: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def end(self, server: Server) -> Server:
        """Have a server end where somebody wants that, or wanted it already."""
        self._server = server
        server.should_exit = server.should_exit or self._seen
        return server

    def _receive(self, number: int, frame: FrameType | None) -> None:
        self._seen = True
        if self._server is not None:
            self._server.should_exit = True


def _address(host: str, made: socket.socket) -> str:
    name = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104
    return f"http://{name}:{made.getsockname()[1]}"
