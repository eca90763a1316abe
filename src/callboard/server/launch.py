"""The start of a server process: `callboard serve` joins a runtime, identity, telemetry and a listening socket here."""

import asyncio
import signal
import socket
from collections.abc import Callable, Generator, Iterable
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from types import FrameType
from typing import Any, Self

from starlette.types import ASGIApp
from uvicorn.loops.auto import auto_loop_factory

from ..errors import CallboardError
from ..protocols.standard import standard_mounts
from ..runtime import Runtime
from ..telemetry import can_trace, measure, trace
from ..telemetry.log_context import attach_log_context
from ..tools.definition import Tool
from ..tools.registry import Registry
from .app import create_app
from .app_services import AppServices
from .gc_tuning import rare_collections
from .heap import trimmed_heap
from .identity import IdentityConfig, guard, may_listen
from .revision_watch import stop_when_migrated
from .uvicorn_server import Server, create_server, listen


class ListeningRefused(CallboardError):
    """Listening on an address that other machines reach is refused, because no authentication is set up."""

    code = "listening_refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchOptions:
    """The options of `callboard serve`."""

    host: str
    port: int
    store: str
    model: Any
    tools: Registry
    engine: str | None = None
    """The address of the engine that sends calls to workers; None: this process carries them out."""
    workers: Iterable[Tool] = ()
    instructions: str | None = None
    """The instructions for the model."""
    keep_for: float | None = None
    """Seconds after which events are deleted; None: they are kept."""
    keep_events: int | None = None
    """Events of a session that are kept; None: all."""
    no_auth: bool = False
    """Whether to accept all requests from any machine while no API key exists."""
    grace: float = 10.0
    """Seconds that running turns get at the shutdown."""
    log_owners: bool = False
    """Whether log lines carry their session, execution and tool."""


def launch(options: LaunchOptions, listening: Callable[[str, bool], Any]) -> None:
    """Serve until a signal ends the process. Calls `listening` with the URL, and whether clients need a key.

    Raises `CallboardError` if the store, the model or the address cannot be used.
    """
    _raise_file_limit()
    with asyncio.Runner(loop_factory=auto_loop_factory()) as runner:
        runner.run(_serve(options, listening))


async def _serve(options: LaunchOptions, listening: Callable[[str, bool], Any]) -> None:
    config = IdentityConfig.from_environment().listening_on(options.host)
    if options.no_auth:
        config = replace(config, insecure=True)
    runtime = Runtime(
        options.tools,
        workers=options.workers,
        model=options.model,
        instructions=options.instructions,
        store=options.store,
        engine=options.engine,
        keep_for=options.keep_for,
        keep_events=options.keep_events,
    )
    with closing(listen(options.host, options.port)) as listener, _Signals() as signals:
        async with runtime:
            keys = bool(await runtime.store.keys(limit=1))
            if not may_listen(options.host, config, keys=keys):
                raise ListeningRefused(
                    f"The server does not listen on {options.host}, because it has no API keys and any client that "
                    "reaches it could use it. Create an API key first (callboard keys create --user NAME), listen on "
                    "127.0.0.1, or allow unauthenticated access with --no-auth."
                )

            mounts = standard_mounts()

            def guarded(app: ASGIApp) -> ASGIApp:
                clock = runtime.clock
                return guard(app, config, runtime.store, clock=clock, sharing=lambda: runtime.gateways, mounts=mounts)

            with measure(runtime) as metrics, _observed(runtime, options.log_owners):
                app = create_app(runtime, guard=guarded, metrics=metrics.render, mounts=mounts)
                services: AppServices = app.state.services
                services.streams.counted = metrics.reading
                server = signals.attach(create_server(app, grace=options.grace))
                listening(_address(options.host, listener), keys or config.jwks is not None)
                async with (
                    stop_when_migrated(runtime.store, runtime.clock, server.stop),
                    trimmed_heap(runtime.clock, lambda: services.held),
                ):
                    with rare_collections():
                        await server.serve(sockets=[listener])


def _raise_file_limit() -> None:
    """Raise the limit of open files as far as the system allows: each stream needs one."""
    try:
        import resource
    except ModuleNotFoundError:  # not on this system
        return
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


@contextmanager
def _observed(runtime: Runtime, log_owners: bool) -> Generator[None]:
    """Trace the runtime if the process exports spans, and add its context to log lines."""
    with ExitStack() as stack:
        if can_trace():
            stack.callback(trace(runtime).close)
        if log_owners:
            stack.callback(attach_log_context(runtime))
        yield


class _Signals:
    """Signal handlers for the time before and after uvicorn's own: uvicorn raises its signals again when it has ended.

    An early signal is not lost, and a repeated one does not interrupt the runtime's shutdown.
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

    def attach(self, server: Server) -> Server:
        """Stop a server at the next signal, or now if there was one."""
        self._server = server
        server.should_exit = server.should_exit or self._seen
        return server

    def _receive(self, number: int, frame: FrameType | None) -> None:
        self._seen = True
        if self._server is not None:
            self._server.should_exit = True


def _address(host: str, listener: socket.socket) -> str:
    name = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, f"[{host}]" if ":" in host else host)  # noqa: S104
    return f"http://{name}:{listener.getsockname()[1]}"
