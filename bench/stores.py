"""Throughput and latency of the stores: durable appends, delivery, sessions in memory, logout and login, two processes.

Everything goes through the runtime's own path, and an operation ends with its commit, with `fsync` on. Wall-clock and
CPU time are measured. The floor writes the same rows in groups of the same size with the bare driver, one commit per
group. As a script, this is the worker.
"""

import asyncio
import gc
import json
import os
import random
import sqlite3
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median, quantiles
from typing import Any, NamedTuple

from bench import environments
from bench.benchmark import Bound, Data, Options, Table, quartiles
from bench.databases import POSTGRESQL, SQLITE, databases, sqlite_file
from bench.workloads import add

TITLE = "Throughput and latency of the stores"
SESSIONS = 100
"""Sessions that append at once."""
OFFERED = 10_000
"""Events per second of the steady load, which every store must sustain."""
MODERATE = 200
"""Events per second during the measurement of delivery."""
LATE = 100
"""Late results that wait in a session for its next login."""
SHARED = 1
"""Sessions that two processes write to at once."""

Found = dict[str, list[float]]
"""Values by the names of their figures; times in seconds, memory in bytes."""


class Figure(NamedTuple):
    """A row of the report: key, label and factor of the values."""

    name: str
    text: str
    scale: float = 1.0


FIGURES = [
    Figure("rate", f"{SESSIONS} sessions append, each waiting for its commit: events/s"),
    Figure("wait_p50", "the same: until stored, p50, ms", 1e3),
    Figure("wait_p99", "the same: until stored, p99, ms", 1e3),
    Figure("cpu", "the same: CPU per event, µs", 1e6),
    Figure("server", "the same: CPU of the server per event, µs", 1e6),
    Figure("floor_rate", "floor, the bare driver: events/s"),
    Figure("floor_cpu", "floor: CPU per event, µs", 1e6),
    Figure("floor_server", "floor: CPU of the server per event, µs", 1e6),
    Figure("ratio", "append ÷ floor, wall-clock"),
    Figure("steady_p50", f"{OFFERED:,} events/s offered: from when due until stored, p50, ms", 1e3),
    Figure("steady_p99", "the same: p99, ms", 1e3),
    Figure("background", f"{SESSIONS} sessions with background calls of 20 progress events: events/s"),
    Figure("background_cpu", "the same: CPU per event, µs", 1e6),
    Figure("delivered_p50", f"{MODERATE} events/s: from posting to a live reader, p50, ms", 1e3),
    Figure("delivered_p99", "the same: p99, ms", 1e3),
    Figure("committing_p50", "the same: in the store's commit, p50, ms", 1e3),
    Figure("after_commit_p50", "the same: from the commit to the reader, p50, ms", 1e3),
    Figure("elsewhere_p50", "the same: from posting to a reader of another runtime, p50, ms", 1e3),
    Figure("bare_commit", "a bare commit of one event, measured in between, ms", 1e3),
    Figure("close", "close of a session, ms", 1e3),
    Figure("close_beyond", "the same, minus a bare commit, ms", 1e3),
    Figure("restore", f"login to a closed session with {LATE} late results, ms", 1e3),
    Figure("take", "taking those results, ms", 1e3),
    Figure("live", "memory per live session, KB", 1e-3),
    Figure("evicted", "memory not returned per evicted session, KB", 1e-3),
    Figure("again", "growth per session when as many others are opened, KB", 1e-3),
    Figure("shared_rate", "two processes on one session: events/s together"),
    Figure("shared_wrong", "the same: events missing, duplicated or out of order"),
    Figure("shared_deadlocks", "the same: deadlocks"),
    Figure("shared_longest", "the same: longest wait for a commit, ms", 1e3),
    Figure("shared_heard", "the same: until read by the other process, p50, ms", 1e3),
]


def measure(options: Options) -> dict[str, Any]:
    """Measure the stores in rounds, each in another order, with a new database and process for each part."""
    if options.python is not None:
        print("stores are measured only with the Python that has their drivers", file=sys.stderr)
        return {}
    seconds = 0.2 if options.quick else 1.0
    with ExitStack() as stack:
        stores = stack.enter_context(databases())
        data: dict[str, Found] = {store: {} for store in stores}
        for turn in range(options.rounds):
            for store, database in random.sample(list(stores.items()), len(stores)):
                print(f"round {turn + 1} of {options.rounds}: {store}", file=sys.stderr)
                for part in (append, deliver, log_in):
                    with database() as url:
                        _keep(data[store], _part(part, url, options.samples, seconds))
            with sqlite_file() as url:
                _keep(data[SQLITE], _part(live_in_memory, url, 1_000 if options.quick else 10_000))
        if POSTGRESQL in stores:
            with stores[POSTGRESQL]() as url:
                _keep(data[POSTGRESQL], _together(url, 3.0 if options.quick else 60.0))
    return data


def report(data: Data) -> Table:
    """Make one row per figure and one column per store."""
    rows = [
        [figure.text, *(_cell(row.get(figure.name), figure.scale) for row in data.values())]
        for figure in FIGURES
        if any(figure.name in row for row in data.values())
    ]
    return Table(["figure (quartiles)", *data], rows)


def _cell(values: Sequence[float] | None, scale: float) -> str:
    return quartiles([value * scale for value in values]) if values else ""


def _median(store: str, figure: str, scale: float, data: Data) -> float | None:
    values = data.get(store, {}).get(figure)
    return median(values) * scale if values else None


def _per_event(store: str, data: Data) -> float | None:
    rate = _median(store, "rate", 1.0, data)
    return 1e6 / rate if rate else None


def _bounds_of(store: str) -> list[Bound]:
    return [
        Bound(f"{store}: time per appended event, for {OFFERED:,} events/s", 100.0, "µs", partial(_per_event, store)),
        Bound(f"{store}: the same, until stored, p99", 50.0, "ms", partial(_median, store, "wait_p99", 1e3)),
        Bound(
            f"{store}: {OFFERED:,} events/s offered, until stored, p99",
            *(50.0, "ms", partial(_median, store, "steady_p99", 1e3)),
        ),
        Bound(
            f"{store}: from posting to a live reader, p50",
            *(2.0, "ms", partial(_median, store, "delivered_p50", 1e3)),
        ),
    ]


BOUNDS: Sequence[Bound] = [
    *_bounds_of(SQLITE),
    *_bounds_of(POSTGRESQL),
    Bound("SQLite: memory per live session", 20.0, "KB", partial(_median, SQLITE, "live", 1e-3)),
    Bound("SQLite: memory per evicted session", 20.0, "KB", partial(_median, SQLITE, "evicted", 1e-3)),
    Bound("SQLite: close, minus a bare commit", 1.0, "ms", partial(_median, SQLITE, "close_beyond", 1e3)),
    Bound(f"SQLite: login with {LATE} late results", 5.0, "ms", partial(_median, SQLITE, "restore", 1e3)),
    Bound("two processes: wrong events", 0.0, "", partial(_median, POSTGRESQL, "shared_wrong", 1.0)),
    Bound("two processes: deadlocks", 0.0, "", partial(_median, POSTGRESQL, "shared_deadlocks", 1.0)),
]


# Databases and processes


def _part(part: Callable[..., object], *arguments: Any) -> Found:
    """Run a part in a new process and return its figures."""
    return environments.worker(sys.executable, "bench.stores", part.__name__, json.dumps(arguments))


def _keep(kept: Found, found: Found) -> None:
    for name, values in found.items():
        kept.setdefault(name, []).extend(values)


def _together(url: str, seconds: float) -> Found:
    """Run two processes that write to the same sessions, and count the deadlocks."""
    import psycopg

    _part(prepare, url)
    with ThreadPoolExecutor(2) as threads:
        one, other = [threads.submit(_part, share, url, who, seconds) for who in ("one", "other")]
        found, others = one.result(), other.result()
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()").fetchone()
    assert row is not None
    _keep(found, others)
    return {
        "shared_rate": [sum(found["shared_rate"])],
        "shared_wrong": [sum(found["shared_wrong"])],
        "shared_deadlocks": [float(row[0])],
        "shared_longest": [max(found["shared_longest"])],
        "shared_heard": found["shared_heard"],
    }


class Cost(NamedTuple):
    """Seconds per event."""

    wall: float
    cpu: float
    server: float


class Meter:
    """A timer for wall-clock time, CPU time of this process, and CPU time of the server."""

    def __init__(self, server: Callable[[], float]) -> None:
        self._server = server
        self._started = self._now()

    def per(self, events: int) -> Cost:
        return Cost(*((now - then) / events for now, then in zip(self._now(), self._started, strict=True)))

    def _now(self) -> tuple[float, float, float]:
        return time.perf_counter(), time.process_time(), self._server()


class Floor:
    """The bare driver: events as rows, the sessions' counters, one transaction per group."""

    def __init__(self, url: str, session_ids: Sequence[str], body: bytes) -> None:
        self._session_ids = session_ids
        self._body = body.decode()
        self._numbers = count(1)
        self.seconds_of_server: Callable[[], float] = float
        mark, document = "?", "?"
        if url.startswith("sqlite"):
            connection: Any = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None, timeout=30.0)
            connection.execute("PRAGMA synchronous=FULL")
            self._begin = "BEGIN IMMEDIATE"
        else:
            import psycopg

            connection = psycopg.connect(url, autocommit=True)
            mark, document = "%s", "%s::jsonb"
            self._begin = "BEGIN"
            self.seconds_of_server = partial(_seconds_of_server, connection.info.backend_pid)
        self._insert = (
            f"INSERT INTO events (session_id, seq, kind, at, body) VALUES ({mark}, {mark}, {mark}, {mark}, {document})"
        )
        self._update = f"UPDATE sessions SET last_seq = {mark} WHERE id = {mark}"
        self._connection = connection

    def close(self) -> None:
        self._connection.close()

    def commit(self, size: int = 1) -> float:
        """Write a group, one event per session. Returns the duration."""
        started, number, now = time.perf_counter(), next(self._numbers), time.time()
        cursor, written = self._connection.cursor(), self._session_ids[:size]
        cursor.execute(self._begin)
        cursor.executemany(self._insert, [(each, number, "system_notice", now, self._body) for each in written])
        cursor.executemany(self._update, [(number, each) for each in written])
        cursor.execute("COMMIT")
        return time.perf_counter() - started

    def run(self, seconds: float) -> Cost:
        """Write groups, each of one event per session, for some time."""
        meter, until, events = Meter(self.seconds_of_server), time.perf_counter() + seconds, 0
        while time.perf_counter() < until:
            self.commit(len(self._session_ids))
            events += len(self._session_ids)
        return meter.per(events)


def _seconds_of_server(backend: int) -> float:
    """Return the CPU time of all processes of a local server."""
    first = _stat(backend)[1]
    children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
    ticks = sum(sum(map(int, _stat(each)[11:13])) for each in (first, *children))
    return ticks / os.sysconf("SC_CLK_TCK")


def _stat(pid: int | str) -> list[str]:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:  # it has ended
        return ["0"] * 50


def _resident() -> float:
    gc.collect()
    with open("/proc/self/statm") as file:
        return float(int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE"))


# Worker


async def _opened(runtime: Any, name: str, number: int) -> list[Any]:
    return list(await asyncio.gather(*(runtime.open(f"{name}{index}", user_id="bench") for index in range(number))))


def _notice(session: Any) -> Awaitable[int]:
    return session.notice("The price of gas has changed.", gwei=17, chain="mainnet")


async def _floor(runtime: Any, url: str) -> Floor:
    sessions = await _opened(runtime, "floor", SESSIONS)
    example = await runtime.open("example", user_id="bench")
    await _notice(example)
    return Floor(url, [session.id for session in sessions], example.board.read(0).encoded[0])


async def append(url: str, samples: int, seconds: float) -> Found:
    """Measure events of many sessions: at full speed, at a steady rate, and from background calls."""
    from callboard import Runtime, ToolContext, tool

    async def work(ctx: ToolContext) -> int:
        """Work in twenty steps."""
        for step in range(20):
            await ctx.progress("working", step / 20)
            await asyncio.sleep(0)
        return 20

    async with Runtime([tool(mode="background")(work)], store=url) as runtime:
        sessions = await _opened(runtime, "s", SESSIONS)
        found: Found = {name: [] for name in ("rate", "floor_rate", "cpu", "floor_cpu", "ratio")}
        if not url.startswith("sqlite"):
            found |= {"server": [], "floor_server": []}
        with closing(await _floor(runtime, url)) as floor:
            waits: list[float] = []
            for sample in range(-1, samples):
                gc.collect()
                before = floor.run(seconds / 2)
                case = await _posting(sessions, seconds, waits, floor.seconds_of_server)
                after = floor.run(seconds / 2)
                bare = Cost(*((one + other) / 2 for one, other in zip(before, after, strict=True)))
                if sample < 0:  # to warm up
                    waits.clear()
                    continue
                values = {"rate": 1 / case.wall, "cpu": case.cpu, "server": case.server, "ratio": case.wall / bare.wall}
                values |= {"floor_rate": 1 / bare.wall, "floor_cpu": bare.cpu, "floor_server": bare.server}
                for name, kept in found.items():
                    kept.append(values[name])
            found |= _percentiles("wait", waits)
            found |= _percentiles("steady", await _steady(sessions, OFFERED, 3 * seconds, _notice))
            meter, head = Meter(floor.seconds_of_server), sum(session.board.last_seq for session in sessions)
            until = time.perf_counter() + 2 * seconds
            await asyncio.gather(*(_working(session, until) for session in sessions))
            cost = meter.per(sum(session.board.last_seq for session in sessions) - head)
            return found | {"background": [1 / cost.wall], "background_cpu": [cost.cpu]}


async def _posting(sessions: Sequence[Any], seconds: float, waits: list[float], server: Callable[[], float]) -> Cost:
    """Let every session post, wait until the event is stored, and post again."""
    already, until = len(waits), time.perf_counter() + seconds

    async def post(session: Any) -> None:
        while (started := time.perf_counter()) < until:
            await _notice(session)
            waits.append(time.perf_counter() - started)

    meter = Meter(server)
    await asyncio.gather(*map(post, sessions))
    return meter.per(len(waits) - already)


async def _steady(
    sessions: Sequence[Any], rate: int, seconds: float, post: Callable[[Any], Awaitable[object]]
) -> list[float]:
    """Post events at a steady rate, without waiting for earlier ones. Delays count from the scheduled time."""
    waits: list[float] = []

    async def one(session: Any, due: float) -> None:
        await post(session)
        waits.append(time.perf_counter() - due)

    started, sent, total = time.perf_counter(), 0, round(rate * seconds)
    async with asyncio.TaskGroup() as tasks:
        while sent < total:
            due = min(total, int((time.perf_counter() - started) * rate) + 1)
            for number in range(sent, due):
                tasks.create_task(one(sessions[number % len(sessions)], started + number / rate))
            sent = due
            await asyncio.sleep(0.001)
    return waits


async def _working(session: Any, until: float) -> None:
    while time.perf_counter() < until:
        outcome = await session.call("work")
        await session.result(outcome.execution_id)


def _percentiles(name: str, values: Sequence[float]) -> Found:
    cut = quantiles(values, n=100, method="inclusive")
    return {f"{name}_p50": [cut[49]], f"{name}_p99": [cut[98]]}


class Readers:
    """Subscribers, and the age of the events that they receive."""

    def __init__(self, sessions: Sequence[Any], commits: "Commits | None" = None) -> None:
        self.waits: list[float] = []
        self.after_commit: list[float] = []
        self._commits = commits
        self._more = asyncio.Event()
        for session in sessions:
            session.subscribe(self._read)

    def _read(self, events: Any) -> None:
        now = time.perf_counter()
        self.waits.extend(now - event.data["handed"] for event in events)
        if self._commits is not None:
            self.after_commit.extend(now - self._commits.last for _ in events)
        self._more.set()

    async def have(self, number: int) -> None:
        """Wait until the subscribers have received that many events."""
        async with asyncio.timeout(30.0):
            while len(self.waits) < number:
                self._more.clear()
                await self._more.wait()


class Commits:
    """A wrapper of a store that records the duration of each commit and the end of the last one."""

    def __init__(self, store: Any) -> None:
        self.seconds: list[float] = []
        self.last = 0.0
        self._commit: Callable[[Sequence[Any]], Awaitable[list[Any]]] = store.commit
        store.commit = self

    async def __call__(self, changes: Sequence[Any]) -> list[Any]:
        started = time.perf_counter()
        results = await self._commit(changes)
        self.last = time.perf_counter()
        self.seconds.append(self.last - started)
        return results


async def deliver(url: str, samples: int, seconds: float) -> Found:
    """Measure the delay from posting to delivery, in the same runtime and in another one on the same store."""
    from callboard import Runtime

    def post(session: Any) -> Awaitable[int]:
        return session.notice("The price of gas has changed.", handed=time.perf_counter())

    async with Runtime(store=url) as runtime:
        sessions = await _opened(runtime, "s", 20)
        with closing(await _floor(runtime, url)) as floor:
            await _steady(sessions, MODERATE, seconds, post)  # to warm up
            commits, bare = Commits(runtime.store), list[float]()
            readers, posted = Readers(sessions, commits), 0
            for _ in range(samples):
                posted += len(await _steady(sessions, MODERATE, seconds / 2, post))
                await readers.have(posted)
                bare += [floor.commit() for _ in range(10)]
        found = _percentiles("delivered", readers.waits) | {"bare_commit": bare}
        found["committing_p50"] = [median(commits.seconds)]
        found["after_commit_p50"] = [median(readers.after_commit)]
        async with Runtime(store=url, recover=False) as other:
            others = Readers(await _opened(other, "s", len(sessions)))
            await others.have(len(await _steady(sessions, MODERATE, 3 * seconds, post)))
            return found | {"elsewhere_p50": [median(others.waits)]}


async def log_in(url: str, samples: int, _seconds: float) -> Found:
    """Close sessions with late results, and open them again in a new runtime."""
    from callboard import Runtime, tool

    async def work(number: int) -> int:
        """Work.

        Args:
            number: The result.
        """
        return number

    tools, found = [tool(mode="background")(work)], Found(close=[], close_beyond=[], restore=[], take=[])
    names = [f"s{index}" for index in range(3 * samples)]
    async with Runtime(tools, store=url) as runtime:
        with closing(await _floor(runtime, url)) as floor:
            for name in names:
                session = await runtime.open(name, user_id="bench")
                calls = [await session.call("work", {"number": number}) for number in range(LATE)]
                for call in calls:
                    await session.result(call.execution_id)
                before = floor.commit()
                started = time.perf_counter()
                await session.close()
                elapsed = time.perf_counter() - started
                found["close"].append(elapsed)
                found["close_beyond"].append(elapsed - (before + floor.commit()) / 2)
    async with Runtime(tools, store=url) as runtime:
        for name in names:
            gc.collect()
            started = time.perf_counter()
            session = await runtime.open(name, user_id="bench")
            waiting = session.has_pending_work
            known = time.perf_counter()
            results = await session.take_results()
            taken = time.perf_counter()
            if not waiting or [outcome.value for outcome in results] != list(range(LATE)) or session.has_pending_work:
                raise ValueError(f"the late results of {name} did not come back, once and in order")
            found["restore"].append(known - started)
            found["take"].append(taken - known)
    return found


async def live_in_memory(url: str, number: int) -> Found:
    """Measure the memory of sessions, half of them with 20 events and three executions."""
    from callboard import Runtime, tool
    from callboard.testing import ManualClock

    async def use(session: Any) -> None:
        for _ in range(3):
            await session.call("add", b'{"a": 1, "b": 2}')
        while session.board.last_seq < 20:
            await _notice(session)

    async def enter(runtime: Any, name: str, number: int) -> None:
        for start in range(0, number, 500):
            sessions = await _opened(runtime, f"{name}{start}-", min(500, number - start))
            await asyncio.gather(*map(use, sessions[::2]))

    clock, idle_after = ManualClock(), 300.0
    async with Runtime([tool(add)], store=url, clock=clock, idle_after=idle_after) as runtime:

        async def live(name: str) -> float:
            await enter(runtime, name, number)
            if len(runtime.sessions) != number:
                raise ValueError(f"{len(runtime.sessions)} of {number} sessions are live")
            return _resident()

        async def evicted() -> float:
            await clock.advance(2 * idle_after)
            if len(runtime.sessions):
                raise ValueError(f"{len(runtime.sessions)} sessions were not evicted")
            return _resident()

        await enter(runtime, "warm", 20)
        before = await evicted()
        memory = [await live("first"), await evicted(), await live("second")]
        return {
            "live": [(memory[0] - before) / number],
            "evicted": [(memory[1] - before) / number],
            "again": [(memory[2] - memory[0]) / number],
        }


async def prepare(url: str) -> Found:
    """Create the tables."""
    from callboard import Runtime

    async with Runtime(store=url):
        return {}


async def share(url: str, who: str, seconds: float) -> Found:
    """Write to sessions concurrently with another process, and read all events of both."""
    from callboard import Runtime

    heard: list[float] = []
    waits: list[float] = []
    wrong = 0

    async def write(session: Any, own: dict[int, int], numbers: Any, until: float) -> None:
        while (started := time.perf_counter()) < until:
            number = next(numbers)
            seq = await session.notice("Both write.", who=who, number=number, at=time.time())
            own[seq] = number
            waits.append(time.perf_counter() - started)

    async def read(session: Any, own: dict[int, int]) -> None:
        """Check every event until both processes have finished."""
        nonlocal wrong
        seen: set[tuple[str, int]] = set()
        mine: dict[int, int] = {}
        done, expected = 0, 1
        async for event in session.events(0):
            now, data = time.time(), event.data
            wrong += event.seq != expected
            expected = event.seq + 1
            if data.get("done"):
                done += 1
                if done == 2:
                    break
                continue
            key = (data["who"], data["number"])
            wrong += key in seen
            seen.add(key)
            if data["who"] == who:
                mine[event.seq] = data["number"]
            else:
                heard.append(now - data["at"])
        wrong += len(mine.items() ^ own.items())

    async def both(session: Any, until: float) -> None:
        own: dict[int, int] = {}
        numbers = count()
        reading = asyncio.create_task(read(session, own))
        await asyncio.gather(*(write(session, own, numbers, until) for _ in range(5)))
        await session.notice("Done.", done=True)
        await reading

    async with Runtime(store=url) as runtime:
        sessions = await _opened(runtime, "shared", SHARED)
        random.shuffle(sessions)
        until = time.perf_counter() + seconds
        async with asyncio.timeout(seconds + 60.0):
            await asyncio.gather(*(both(session, until) for session in sessions))
    return {
        "shared_rate": [len(waits) / seconds],
        "shared_wrong": [float(wrong)],
        "shared_longest": [max(waits)],
        "shared_heard": [median(heard)],
    }


PARTS = {part.__name__: part for part in (append, deliver, log_in, live_in_memory, prepare, share)}


if __name__ == "__main__":
    from callboard.server.gc_tuning import rare_collections

    with rare_collections():  # as in `callboard serve`
        print(json.dumps(asyncio.run(PARTS[sys.argv[1]](*json.loads(sys.argv[2])))))
