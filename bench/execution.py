"""Cost of a call with everything in force: record, events, retries, breaker, deadlines, statistics.

Calls are made through `session.call` with a reader that receives the bytes of every event, on this Python and, if it is
installed, on 3.12 or newer, where tasks start eagerly. Two more figures are a thousand background calls at once, and
the memory that a hundred thousand calls leave behind. As a script, this is the worker.
"""

import asyncio
import json
import os
import shutil
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from bench import environments
from bench.benchmark import Bound, Data, Options, Table, number, quartiles
from bench.harness import Batches
from bench.workloads import ADD, NESTED, WORKLOADS, Workload, add, add_later, place_order

TITLE = "Cost of a call through `session.call`"
TOGETHER = 20
"""Calls between two deliveries to the reader."""
EAGER = (3, 12)


def measure(options: Options) -> dict[str, Any]:
    """Measure on this interpreter, then on a newer one if there is one."""
    pythons = [environments.prepare_ours(options.python)]
    if options.python is None and sys.version_info < EAGER and (newer := _newer()) is not None:
        pythons.append(environments.prepare_ours(newer))
    data: dict[str, Any] = {}
    for turn in range(options.rounds):
        for python in pythons:
            print(f"round {turn + 1} of {options.rounds}: {python}", file=sys.stderr)
            found = environments.worker(
                python, "bench.execution", str(options.samples), str(options.seconds), str(int(options.quick))
            )
            kept = data.setdefault(found.pop("python"), {})
            for name, values in found.items():
                kept.setdefault(name, []).extend(values)
    return data


def report(data: Data) -> Table:
    """Make one row per interpreter."""
    columns = ["Python", *(f"{work.name}: x floor (quartiles)" for work in WORKLOADS)]
    columns += ["1,000 background calls: lost", "first event, ms", "growth after 100,000 calls, MB"]
    rows = [
        [
            python,
            *(quartiles(row[work.name]) for work in WORKLOADS),
            number(max(row["lost"])),
            number(median(row["first"]) * 1e3),
            number(median(row["growth"])),
        ]
        for python, row in data.items()
    ]
    return Table(columns, rows)


def _ratio(workload: str, eager: bool, data: Data) -> float | None:
    found = [row[workload] for python, row in data.items() if (_version(python) >= EAGER) == eager]
    return median(found[0]) if found else None


def _worst(figure: str, data: Data) -> float:
    return max(median(row[figure]) for row in data.values())


LIMITS = [
    (ADD.name, "Python 3.11", False, 16.0),
    (ADD.name, "eager tasks", True, 8.5),
    (NESTED.name, "Python 3.11", False, 3.0),
    (NESTED.name, "eager tasks", True, 2.4),
]
BOUNDS: Sequence[Bound] = [
    *(
        Bound(f"{name}: session.call ÷ floor, {on}", limit, "x", partial(_ratio, name, eager))
        for name, on, eager, limit in LIMITS
    ),
    Bound("1,000 background calls of 20 progress events: lost or out of order", 0.0, "", partial(_worst, "lost")),
    Bound("the same: until the first event, median", 0.05, "s", partial(_worst, "first")),
    Bound("memory that 100,000 calls leave behind", 2.0, "MB", partial(_worst, "growth")),
]


def _version(python: str) -> tuple[int, ...]:
    return tuple(int(part) for part in python.split(".")[:2])


def _newer() -> str | None:
    candidates = [shutil.which(f"python3.{minor}") for minor in (14, 13, 12)]
    candidates += [str(path) for path in sorted(Path.home().glob(".pyenv/versions/3.1[2-9]*/bin/python"), reverse=True)]
    for python in candidates:
        if python is not None and environments.works(python):
            return python
    return None


async def _calls(samples: int, seconds: float) -> dict[str, list[float]]:
    from callboard import Runtime, tool  # only the worker's interpreter is known to have it

    async with Runtime([tool(add), tool(flatten=False)(place_order), tool(add_later)]) as runtime:
        session = await runtime.open("bench", user_id="bench")
        received = 0

        def reader(events: Any) -> None:
            nonlocal received
            for line in events.encoded:
                received += len(line)

        def many(work: Workload) -> Any:
            name, arguments = work.tool, work.arguments.encode()

            async def unit() -> bytes:
                for _ in range(TOGETHER - 1):
                    await session.call(name, arguments)
                outcome = await session.call(name, arguments)
                await asyncio.sleep(0)
                return outcome.result_json or b""

            return unit

        def floors(work: Workload) -> Any:
            floor = work.floor()

            async def unit() -> str | bytes:
                for _ in range(TOGETHER - 1):
                    await floor()
                return await floor()

            return unit

        found: dict[str, list[float]] = {}
        with session.subscribe(reader):
            for work in WORKLOADS:
                unit = many(work)
                work.check(await unit())
                batches = await Batches.calibrated(unit, floors(work), seconds)
                found[work.name] = [(await batches.bracket()).ratio for _ in range(samples)]
        if not received:
            raise ValueError("the reader received no event")
        return found


async def _background(count: int) -> dict[str, list[float]]:
    from callboard import Runtime, ToolContext, tool

    async def work(ctx: ToolContext) -> int:
        """Work in twenty steps."""
        for step in range(20):
            await ctx.progress("working", step / 20)
            await asyncio.sleep(0)
        return 20

    async with Runtime([tool(mode="background")(work)]) as runtime:
        sessions = [await runtime.open(f"s{index}", user_id="bench") for index in range(count)]
        first: list[float] = []

        async def one(session: Any) -> bool:
            started = time.perf_counter()
            waiting = True

            def arrived(_: Sequence[Any]) -> None:
                nonlocal waiting
                if waiting:
                    first.append(time.perf_counter() - started)
                waiting = False

            session.subscribe(arrived)
            outcome = await session.call("work")
            await session.result(outcome.execution_id)
            kinds = [event.kind for event in session.board.read(0)]
            steps = [event.data["fraction"] for event in session.board.read(0) if event.kind == "tool_progress"]
            begin = ["tool_started", "tool_validating", "tool_executing"]
            return kinds == [*begin, *["tool_progress"] * 20, "tool_result"] and steps == sorted(steps)

        good = await asyncio.gather(*map(one, sessions))
        await asyncio.sleep(0)
        return {"lost": [float(count - sum(good))], "first": [median(first)]}


async def _growth(calls: int) -> dict[str, list[float]]:
    from callboard import Runtime, tool

    async with Runtime([tool(add)]) as runtime:
        session = await runtime.open("bench", user_id="bench")
        arguments = ADD.arguments.encode()

        async def make(count: int) -> None:
            for index in range(count):
                await session.call("add", arguments)
                if index % 100 == 0:
                    await asyncio.sleep(0)

        await make(30_000)  # from here on, retention keeps the number of records constant
        before = _resident()
        await make(calls)
        return {"growth": [max(0.0, _resident() - before)]}


def _resident() -> float:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def _work(samples: int, seconds: float, quick: bool) -> dict[str, Any]:
    asyncio.run(_background(10))  # a warm-up
    background = asyncio.run(_background(1_000))  # first, because garbage collections grow with what is left behind
    calls = asyncio.run(_calls(samples, seconds))
    growth = asyncio.run(_growth(10_000 if quick else 100_000))
    return {"python": ".".join(map(str, sys.version_info[:3])), **calls, **background, **growth}


if __name__ == "__main__":
    print(json.dumps(_work(int(sys.argv[1]), float(sys.argv[2]), sys.argv[3] == "1")))
