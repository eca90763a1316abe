"""`callboard worker`: carry out the calls of queues."""

import asyncio
import logging
import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Annotated, Any

import typer
from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from ...addresses import passwords
from ...background_tasks import BackgroundTasks
from ...errors import MissingExtraError, ToolError
from ...execution.execution import Execution
from ...runtime import Runtime
from ...server.gc_tuning import rare_collections
from ...sessions.queue_worker import QueueWorker
from ...telemetry.logs import configure
from ..options import EngineAddress, ServedSource
from ..process import CommandError, Exit, loading
from ..terminal.console import is_interactive, out
from ..terminal.text import span
from ..tool_source import load_served_registry
from .store import DEFAULT, Address

log = logging.getLogger("callboard.worker")


def worker(
    store: Address = DEFAULT,
    engine: EngineAddress = None,
    source: ServedSource = None,
    queues: Annotated[str, typer.Option(metavar="NAMES", help="The queues to serve, separated by commas.")] = "default",
    concurrency: Annotated[int, typer.Option(min=1, max=10_000, help="Calls to carry out at once.")] = 16,
    grace: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, max=3_600, help="Time for running calls to end at shutdown.")
    ] = 30.0,
    port: Annotated[
        int | None, typer.Option(min=0, max=65_535, help="Serve /healthz and /metrics on this port; 0 picks one.")
    ] = None,
    host: Annotated[str, typer.Option(help="The address for /healthz and /metrics.")] = "127.0.0.1",
    as_json: Annotated[bool, typer.Option("--json", help="Print logs as lines of JSON, and nothing else.")] = False,
) -> None:
    """Carry out the calls of queues, for other servers.

    It has the store and the engine of these servers, and their tools, or those
    of its queues. Ctrl-C or SIGTERM stops it: it takes no more calls, and those
    that run may end within the grace time. What has not ended then is left to
    other workers, if it may run again.
    """
    if engine is None:
        raise CommandError("A worker needs an engine: --engine nats://host:4222, or CALLBOARD_ENGINE.", Exit.USAGE)
    configure(json=as_json, level=logging.INFO, secrets=passwords(store, *engine.split(",")))
    names = [name.strip() for name in queues.split(",") if name.strip()]
    tools = load_served_registry(source)
    runtime = Runtime(tools, store=store, engine=engine, queues=names or ("",), concurrency=concurrency, grace=grace)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_work(runtime, grace, host, port, show_table=not as_json and is_interactive(out)))


async def _work(runtime: Runtime, grace: float, host: str, port: int | None, *, show_table: bool) -> None:
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, _stop, stopping, number)
    async with runtime, AsyncExitStack() as stack:
        served = runtime.worker
        assert served is not None
        stack.callback(runtime.manager.observe(_Lines(served)))
        if port is not None:
            address = await stack.enter_async_context(_health(runtime, host, port))
            log.info("health and metrics at %s", address)
        log.info("serving %s, %d calls at once", ", ".join(served.queues), served.concurrency)
        if show_table:
            await stack.enter_async_context(_live_table(served))
        stack.enter_context(rare_collections())
        await stopping.wait()
        log.info("stopping; %d calls are running", len(served.running))
        with suppress(TimeoutError):
            async with asyncio.timeout(grace):
                await served.drain()


def _stop(stopping: asyncio.Event, number: int) -> None:
    """Stop at the first signal; at the second, end at once."""
    if stopping.is_set():
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)
    stopping.set()


class _Lines:
    """Logs a line for each execution that ends."""

    def __init__(self, served: QueueWorker) -> None:
        self._worker = served

    def called(self, execution: Execution) -> None: ...

    def attempting(self, execution: Execution) -> None: ...

    def attempted(self, execution: Execution, failure: ToolError) -> None: ...

    def ended(self, execution: Execution) -> None:
        if not execution.queue or execution.ended is None:
            return
        seconds = execution.ended - (execution.started or execution.ended)
        status = "left to another process" if execution.lost else execution.status.value
        log.info(
            "%s %s in %.2f s",
            execution.name,
            status,
            seconds,
            extra={"execution_id": execution.id, "session_id": execution.scope.id, "seconds": round(seconds, 3)},
        )


@asynccontextmanager
async def _live_table(served: QueueWorker) -> AsyncGenerator[None]:
    """Show what runs below the log, on a terminal."""

    async def refresh() -> None:
        while True:
            live.update(_table(served), refresh=True)
            await asyncio.sleep(1.0 if served.running else 5.0)

    with Live(_table(served), console=out, auto_refresh=False, transient=True) as live:
        async with BackgroundTasks() as tasks:
            tasks.run(refresh())
            yield


def _table(served: QueueWorker) -> Group:
    status = served.describe()
    running = Table.grid(padding=(0, 2))
    for call in status.running[:20]:
        running.add_row(
            Text(call["tool"], "bold"), Text(call["execution_id"], "cyan"), Text(span(call["seconds"]), "dim")
        )
    head = f"{len(status.running)} of {status.concurrency} running, {status.done} done, from {', '.join(status.queues)}"
    return Group(Text(head, "dim"), running)


@asynccontextmanager
async def _health(runtime: Runtime, host: str, port: int) -> AsyncGenerator[str]:
    with loading():
        try:
            from ...server.worker_health import serve_health
        except ModuleNotFoundError as missing:
            raise MissingExtraError("--port", "server") from missing
    async with serve_health(runtime, host, port) as address:
        yield address


def _loop_factory() -> Callable[[], Any] | None:
    try:
        from uvicorn.loops.auto import auto_loop_factory
    except ModuleNotFoundError:
        return None
    return auto_loop_factory()
