"""Calls through gateway, NATS and worker, with all events and commits, beside bare JetStream and a bare SQL queue.

All parts are real and share this machine: PostgreSQL with its default durability, NATS with JetStream, gateways and
workers in processes of their own. The floor is measured in the same run: messages through a work queue of JetStream
that a client publishes, pulls and acknowledges, and rows of a PostgreSQL table that a client inserts, and another
claims and ends in transactions of 64.
"""

import asyncio
import json
import multiprocessing
import os
import secrets
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import psycopg
from nats.aio.client import Client
from nats.js.api import ConsumerConfig, RetentionPolicy, StreamConfig

from bench.benchmark import Bound, Data, Options, Table
from callboard import Registry, Runtime, ToolContext, tool
from callboard.runtime import migrate_store
from callboard.server.gc_tuning import rare_collections
from tests.nats_servers import nats_server
from tests.servers import postgres_server

TITLE = "Workers over NATS"
SESSIONS, CONCURRENCY = 64, 256
Number = Annotated[int, "A number."]


@tool(mode="background")
async def noop(n: Number) -> int:
    """Do nothing."""
    return n


@tool(mode="background", idempotent=True)
async def wait_20_ms(n: Number) -> int:
    """Wait for 20 ms."""
    await asyncio.sleep(0.02)
    return n


@tool(mode="background", idempotent=True)
async def report_progress(ctx: ToolContext, n: Number) -> int:
    """Report progress at once."""
    await ctx.progress("begun", 0.1)
    return n


@tool(mode="background", idempotent=True)
async def wait_for_cancel(ctx: ToolContext, n: Number) -> float:
    """Wait, and write down when it is cancelled."""
    await ctx.progress("waiting", 0.1)
    try:
        await asyncio.sleep(60)
    except asyncio.CancelledError:
        _note_time()
        raise
    return 0.0


def tools() -> Registry:
    return Registry([noop, wait_20_ms, report_progress, wait_for_cancel])


def _note_time() -> None:
    Path(os.environ["BENCH_NOTES"]).write_text(repr(time.time()))


def _noted_time() -> float:
    """Return the time that a handler noted, and forget it."""
    notes = Path(os.environ["BENCH_NOTES"])
    noted = float(notes.read_text())
    notes.unlink()
    return noted


def measure(options: Options) -> dict[str, Any]:
    """Measure throughput with one and two workers, latencies, and the cost of an idle worker."""
    os.environ["BENCH_NOTES"] = str(Path(tempfile.gettempdir()) / f"callboard-bench-{secrets.token_hex(4)}")
    count = 500 if options.quick else 4_000
    with postgres_server() as postgres, nats_server() as server:
        found: dict[str, Any] = {"throughput": [], "jetstream": [], "sql": [], "one": [], "two": []}
        for _ in range(options.rounds):
            found["jetstream"].append(asyncio.run(_bare_jetstream(server.url, count)))
            with postgres.database() as url:
                found["sql"].append(asyncio.run(_bare_queue(url, count)))
            with postgres.database() as url:
                migrate_store(url)
                with _workers(url, server.url, 1, CONCURRENCY):
                    found["throughput"].append(_run(_throughput(url, server.url, count)))
            for name, workers in (("one", 1), ("two", 2)):
                with postgres.database() as url:
                    migrate_store(url)
                    found[name].append(_drain(url, server.url, workers, count))
        with postgres.database() as url:
            migrate_store(url)
            with _workers(url, server.url, 1, 16) as pids:
                latencies = _run(_latencies(url, server.url, 20 if options.quick else 200))
                found |= latencies
                found["idle"] = _idle(pids[0], 2.0 if options.quick else 20.0)
    return found


@contextmanager
def _workers(store: str, engine: str, count: int, concurrency: int) -> Generator[list[int]]:
    context = multiprocessing.get_context("spawn")
    stop = context.Event()
    ready = [context.Event() for _ in range(count)]
    started = [context.Process(target=_work, args=(store, engine, concurrency, each, stop)) for each in ready]
    for process in started:
        process.start()
    try:
        for each in ready:
            assert each.wait(60)
        yield [process.pid or 0 for process in started]
    finally:
        stop.set()
        for process in started:
            process.join(30)


def _work(store: str, engine: str, concurrency: int, ready: Any, stop: Any) -> None:
    async def work() -> None:
        async with Runtime(tools(), store=store, engine=engine, queues=["default"], concurrency=concurrency) as runtime:
            assert runtime.engine is not None
            while not runtime.engine.connected:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
            ready.set()
            await asyncio.to_thread(stop.wait)

    _run(work())


def _run(work: Any) -> Any:
    """Run as `callboard serve` and `callboard worker` do."""
    import uvloop

    with rare_collections():
        return uvloop.run(work)


async def _throughput(store: str, engine: str, count: int) -> float:
    """Return no-op executions per second, from the first call to the last stored end."""
    async with Runtime(tools(), store=store, engine=engine) as runtime:
        start = await _call_often(runtime, "noop", count)
        with psycopg.connect(store, autocommit=True) as connection:
            while _unfinished(connection):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        return count // SESSIONS * SESSIONS / (time.perf_counter() - start)


def _drain(store: str, engine: str, workers: int, count: int) -> float:
    """Return executions of 20 ms per second, of workers that find all of them in their queue.

    The rate is that between the first and the last tenth: workers start and end at different moments.
    """

    async def submit() -> None:
        async with Runtime(tools(), store=store, engine=engine) as runtime:
            await _call_often(runtime, "wait_20_ms", count)

    _run(submit())
    with psycopg.connect(store, autocommit=True) as connection:
        with _workers(store, engine, workers, 16):
            while _unfinished(connection):
                time.sleep(0.2)
        ends = [row[0] for row in connection.execute("SELECT completed_at FROM executions ORDER BY completed_at")]
    first, last = len(ends) // 10, len(ends) * 9 // 10
    return (last - first) / (ends[last] - ends[first])


async def _call_often(runtime: Runtime, used: str, count: int) -> float:
    """Make calls in many sessions at once. Returns the time of the first."""
    sessions = [await runtime.open(f"s{number}", f"u{number}") for number in range(SESSIONS)]
    await asyncio.sleep(0.5)

    async def visit(number: int) -> None:
        for n in range(count // SESSIONS):
            await sessions[number].call(used, {"n": n})

    start = time.perf_counter()
    await asyncio.gather(*map(visit, range(SESSIONS)))
    return start


def _unfinished(connection: psycopg.Connection) -> bool:
    row = connection.execute("SELECT EXISTS (SELECT 1 FROM executions WHERE completed_at IS NULL)").fetchone()
    return row == (True,)


async def _latencies(store: str, engine: str, count: int) -> dict[str, list[float]]:
    """Return milliseconds from a call to its first progress at another gateway, and from a cancel to its handler."""
    progress: list[float] = []
    cancel: list[float] = []
    async with (
        Runtime(tools(), store=store, engine=engine) as calling,
        Runtime(tools(), store=store, engine=engine) as reading,
    ):
        here, there = await calling.open("s", "u"), await reading.open("s", "u")
        events = there.events()
        await asyncio.sleep(0.5)
        for n in range(count):
            start = time.perf_counter()
            await here.call("report_progress", {"n": n})
            async for event in events:
                if event.kind == "tool_progress":
                    break
            progress.append(1e3 * (time.perf_counter() - start))
            async for event in events:
                if event.kind == "tool_result":
                    break
        for n in range(count // 4):
            outcome = await here.call("wait_for_cancel", {"n": n})
            async for event in events:
                if event.kind == "tool_progress":
                    break
            asked = time.time()
            await here.cancel(outcome.execution_id)
            async for event in events:
                if event.kind == "tool_result":
                    break
            cancel.append(1e3 * (_noted_time() - asked))
    return {"progress": progress, "cancel": cancel}


def _idle(pid: int, seconds: float) -> float:
    """Return the share of a core that a process uses."""

    def spent() -> float:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    before = spent()
    time.sleep(seconds)
    return (spent() - before) / seconds


async def _bare_jetstream(url: str, count: int) -> float:
    client: Any = Client()  # its methods are typed in part
    await client.connect(url)
    js = client.jetstream()
    name = f"bench{secrets.token_hex(4)}"
    await js.add_stream(StreamConfig(name=name, subjects=[f"{name}.*"], retention=RetentionPolicy.WORK_QUEUE))
    consumer = await js.pull_subscribe(f"{name}.a", "w", config=ConsumerConfig(max_ack_pending=count))

    async def work() -> None:
        done = 0
        while done < count:
            for message in await consumer.fetch(min(256, count - done), timeout=5):
                await message.ack()
                done += 1

    start = time.perf_counter()
    working = asyncio.create_task(work())
    for first in range(0, count, 256):
        await asyncio.gather(*(js.publish(f"{name}.a", b"[]") for _ in range(min(256, count - first))))
    await working
    taken = time.perf_counter() - start
    await client.close()
    return count / taken


async def _bare_queue(url: str, count: int) -> float:
    def fill() -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            for first in range(0, count, 64):
                rows = json.dumps(list(range(first, min(count, first + 64))))
                connection.execute(
                    "INSERT INTO jobs SELECT value::int, 0 FROM jsonb_array_elements_text(%s::jsonb)", (rows,)
                )

    def work() -> None:
        done = 0
        with psycopg.connect(url, autocommit=True) as connection:
            while done < count:
                ids = [
                    row[0]
                    for row in connection.execute(
                        "UPDATE jobs SET state = 1 WHERE id IN (SELECT id FROM jobs WHERE state = 0 ORDER BY id"
                        " LIMIT 64 FOR UPDATE SKIP LOCKED) RETURNING id"
                    )
                ]
                connection.execute("UPDATE jobs SET state = 2 WHERE id = ANY(%s)", (ids,))
                done += len(ids)

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE jobs (id int PRIMARY KEY, state int NOT NULL)")
    start = time.perf_counter()
    await asyncio.gather(asyncio.to_thread(fill), asyncio.to_thread(work))
    return count / (time.perf_counter() - start)


def _percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def report(data: Data) -> Table:
    """Make one row for each figure."""
    rows = [
        ["bare JetStream, messages/s", f"{median(data['jetstream']):,.0f}"],
        ["bare SQL queue in groups of 64, jobs/s", f"{median(data['sql']):,.0f}"],
        ["no-op executions/s, one worker", f"{median(data['throughput']):,.0f}"],
        ["executions/s of 20 ms from a full queue, 16 at once, one worker", f"{median(data['one']):,.0f}"],
        ["the same, two workers", f"{median(data['two']):,.0f} ({_scaling(data):.2f}x)"],
        ["call → progress at another gateway, p50 / p99, ms", _pair(data["progress"])],
        ["cancel → handler, p50 / p99, ms", _pair(data["cancel"])],
        ["idle worker, share of a core", f"{100 * data['idle']:.2f} %"],
    ]
    return Table(["measured", "result"], rows)


def _pair(values: list[float]) -> str:
    return f"{median(values):.1f} / {_percentile(values, 0.99):.1f}"


def _scaling(data: Data) -> float:
    return median(data["two"]) / median(data["one"])


def _seconds_for_1000(data: Data) -> float:
    return 1_000 / median(data["throughput"])


def _share_of_one(data: Data) -> float:
    return 1 / _scaling(data)


def _progress(share: float, data: Data) -> float:
    return _percentile(data["progress"], share)


def _cancel(data: Data) -> float:
    return median(data["cancel"])


def _idle_share(data: Data) -> float:
    return data["idle"]


BOUNDS = [
    Bound("seconds for 1,000 no-op executions", 1.0, "s", _seconds_for_1000),
    Bound("throughput of one worker ÷ two workers", 1 / 1.8, "x", _share_of_one),
    Bound("call → progress at another gateway, p50", 15.0, "ms", partial(_progress, 0.5)),
    Bound("call → progress at another gateway, p99", 60.0, "ms", partial(_progress, 0.99)),
    Bound("cancel → handler, p50", 20.0, "ms", _cancel),
    Bound("idle worker, share of a core", 0.01, "", _idle_share),
]
