"""What calls of a tool cost on this machine: through the registry alone, in a session in memory, and with a store.

Each figure is measured for a number of seconds, one sample at a time, in wall-clock time: it contains the store, the
disk, and whatever else the machine does.
"""

import asyncio
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from statistics import quantiles
from time import perf_counter
from typing import Annotated, Any, NamedTuple, Self

from callboard import Outcome, Registry, Runtime, Session, Tool, ToolError, tool

from ..sessions.session import live_session

USER = "callboard-bench"
CALLERS = 50
"""Sessions that call at the same time."""
WARM_UP = 20
"""Samples that are not counted."""
BATCH = 100
"""Calls in memory that are one sample: a single one is too short for the clock, and for other tasks."""
MOST_SAMPLES = 100_000

Figures = AsyncGenerator["Figure"]


@tool(idempotent=True)
async def add(a: Annotated[int, "The first number"], b: Annotated[int, "The second number"]) -> int:
    """Add two numbers."""
    return a + b


ARGUMENTS = b'{"a": 2, "b": 3}'


class Figure(NamedTuple):
    """The times of one kind of work, in seconds."""

    name: str
    """What was measured, in a few words."""
    key: str
    """The name in JSON output."""
    median: float
    p99: float
    per_second: float
    samples: int

    @classmethod
    def of(cls, name: str, key: str, times: list[float], *, elapsed: float | None = None, parts: int = 1) -> Self:
        """Summarise samples of `parts` operations each. `elapsed` is the total time of overlapping samples."""
        cuts = quantiles(times, n=100, method="inclusive") if len(times) > 1 else [times[0]] * 99
        total = sum(times) if elapsed is None else elapsed
        return cls(name, key, cuts[49] / parts, cuts[98] / parts, len(times) * parts / total, len(times))


async def measure_in_memory(measured: Tool, arguments: bytes, seconds: float) -> Figures:
    """Measure the tool alone, and a call in a session in memory. Raises `ToolError` if a call fails."""
    registry = Registry([measured])

    async def alone() -> None:
        for _ in range(BATCH):
            await registry.call_json(measured.name, arguments)

    yield Figure.of("the tool alone, validated", "tool", await _repeat(alone, seconds), parts=BATCH)
    async with Runtime(registry) as runtime:
        session = await runtime.open("bench", user_id=USER)

        async def calls() -> None:
            for _ in range(BATCH):
                _check(await session.call(measured.name, arguments))

        yield Figure.of("a call in memory", "call_in_memory", await _repeat(calls, seconds), parts=BATCH)


async def measure_with_store(measured: Tool, arguments: bytes, seconds: float, store: str) -> Figures:
    """Measure calls, events and sessions with a store. The sessions are deleted afterwards. Raises `ToolError`."""
    async with Runtime([measured], store=store, recover=False) as runtime, _sessions(runtime) as sessions:
        first = sessions[0]
        name = measured.name

        async def call(session: Session = first) -> None:
            _check(await session.call(name, arguments))

        yield Figure.of("a call, stored", "call_stored", await _repeat(call, seconds))
        times = await _first_events(first, name, arguments, seconds)
        yield Figure.of("a call until its first event is read", "first_event", times)
        started = perf_counter()
        found = await asyncio.gather(*(_repeat(lambda each=each: call(each), seconds) for each in sessions))
        elapsed = perf_counter() - started
        overlapping = [time for times in found for time in times]
        yield Figure.of(f"{CALLERS} sessions that call at once", "calls_at_once", overlapping, elapsed=elapsed)

        async def log_out_and_in() -> None:
            await first.close()
            await runtime.open(first.id, user_id=USER)

        yield Figure.of("a logout and the next login", "logout_and_login", await _repeat(log_out_and_in, seconds))


async def _repeat(work: Callable[[], Awaitable[None]], seconds: float) -> list[float]:
    """Return the time of each sample, without those of the warm-up."""
    for _ in range(WARM_UP):
        await work()
    times: list[float] = []
    until = perf_counter() + seconds
    while ((started := perf_counter()) < until and len(times) < MOST_SAMPLES) or not times:
        await work()
        times.append(perf_counter() - started)
        await asyncio.sleep(0)  # Ctrl-C, and readers
    return times


async def _first_events(session: Session, name: str, arguments: bytes, seconds: float) -> list[float]:
    """Return the times from a call until a reader has the first event of it."""
    read = asyncio.Event()

    async def once() -> None:
        read.clear()
        calling = asyncio.ensure_future(session.call(name, arguments))
        await read.wait()
        times.append(perf_counter() - started)
        _check(await calling)

    times: list[float] = []
    with session.subscribe(lambda events: read.set()):
        until = perf_counter() + seconds
        while (started := perf_counter()) < until or not times:
            await once()
    return times


@asynccontextmanager
async def _sessions(runtime: Runtime) -> AsyncGenerator[list[Session]]:
    """Open sessions with ids of their own, and delete them."""
    prefix = f"bench-{secrets.token_hex(4)}"
    sessions = [await runtime.open(f"{prefix}-{number}", user_id=USER) for number in range(CALLERS)]
    try:
        yield sessions
    finally:
        for session in sessions:
            live: Any = live_session(session)
            await live.ledger.settle()
            runtime.sessions.delete(live)
            await runtime.store.delete(live.id, live.created_at)


def _check(outcome: Outcome) -> None:
    if outcome.status != "succeeded":
        raise outcome.error or ToolError(f"The call is {outcome.status}, and its result comes late.")
