"""`callboard workers`: list the workers of a deployment, and what waits for them."""

import asyncio
import time
from typing import Annotated, Any

import typer
from rich.text import Text

from ...execution.engine import WorkerStatus
from ...runtime import open_engine, open_store
from ...storage.queues import QueueDepth
from ..options import EngineAddress
from ..process import CommandError, Exit
from ..terminal.console import AsJson, Column, out, print_json, show_table
from ..terminal.text import span
from .store import DEFAULT, Address, ignore_write

workers = typer.Typer(help="List workers, what they run, and what waits for them.", no_args_is_help=True)

_WORKERS = (
    Column("worker", "cyan"),
    Column("process", "dim"),
    Column("queues"),
    Column("running"),
    Column("done"),
    Column("tools", wraps=True),
)
_QUEUES = (Column("queue", "bold"), Column("waiting"), Column("oldest"), Column("workers"))


@workers.command("list")
def list_workers(
    store: Address = DEFAULT,
    engine: EngineAddress = None,
    wait: Annotated[float, typer.Option(metavar="SECONDS", min=0.1, max=30, help="Time for workers to answer.")] = 1.0,
    as_json: AsJson = False,
) -> None:
    """List the workers that answer, what they run, and what waits in each queue."""
    if engine is None:
        raise CommandError("Name the engine: --engine nats://host:4222, or CALLBOARD_ENGINE.", Exit.USAGE)
    found, depths = asyncio.run(_look(store, engine, wait))
    if as_json:
        print_json(
            {"workers": [_worker_data(each) for each in found], "queues": [_queue_data(each) for each in depths]}
        )
        return
    if not found:
        out.print("No worker answers.")
    else:
        show_table(_WORKERS, [_row(each) for each in found])
    served = {queue: sum(queue in each.queues for each in found) for each in found for queue in each.queues}
    names = {depth.queue: depth for depth in depths}
    rows = [_queue_row(queue, names.get(queue), served.get(queue, 0)) for queue in sorted({*names, *served})]
    if rows:
        out.print()
        show_table(_QUEUES, rows)


async def _look(store: str, engine: str, wait: float) -> tuple[list[WorkerStatus], list[QueueDepth]]:
    opened, connected = open_engine(engine), asyncio.Event()
    records = open_store(store)
    await records.open(ignore_write)
    try:
        depths = await records.queue_depths()
        await opened.open(connected.set)
        try:
            async with asyncio.timeout(5.0 + wait):
                await connected.wait()
                return await opened.workers(wait), depths
        except TimeoutError:
            raise CommandError("NATS does not answer. Check --engine, and run: callboard doctor") from None
        finally:
            await opened.close()
    finally:
        await records.close()


def _row(worker: WorkerStatus) -> tuple[str | Text, ...]:
    tools: dict[str, int] = {}
    for call in worker.running:
        tools[call["tool"]] = tools.get(call["tool"], 0) + 1
    return (
        worker.host,
        str(worker.pid),
        ", ".join(worker.queues),
        f"{len(worker.running)} of {worker.concurrency}",
        str(worker.done),
        ", ".join(f"{name} ×{count}" if count > 1 else name for name, count in sorted(tools.items())),
    )


def _queue_row(queue: str, depth: QueueDepth | None, served: int) -> tuple[str | Text, ...]:
    waiting = 0 if depth is None else depth.waiting
    oldest = "" if depth is None else span(max(0.0, time.time() - depth.oldest_at))
    alone = waiting > 0 and not served
    return queue, str(waiting), oldest, Text(str(served) if served else "none", "red" if alone else "")


def _worker_data(worker: WorkerStatus) -> dict[str, Any]:
    return {
        "id": worker.id,
        "host": worker.host,
        "pid": worker.pid,
        "queues": list(worker.queues),
        "concurrency": worker.concurrency,
        "done": worker.done,
        "running": [dict(call) for call in worker.running],
    }


def _queue_data(depth: QueueDepth) -> dict[str, Any]:
    return {"queue": depth.queue, "waiting": depth.waiting, "oldest_seconds": round(time.time() - depth.oldest_at, 1)}
