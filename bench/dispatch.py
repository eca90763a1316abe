"""Cost of one call, from the JSON that a model emits to the JSON that it receives, as a multiple of the floor.

Each round measures all frameworks in a new order, each in its own environment. As a script, with the name of a module
of `bench.peers`, this is the worker: it measures that module's cases and prints them as JSON.
"""

import asyncio
import json
import random
import sys
from contextlib import AsyncExitStack
from functools import partial
from importlib import import_module
from statistics import median
from typing import Any

from bench import environments
from bench.benchmark import Bound, Data, Options, Table, quartiles
from bench.environments import OURS
from bench.harness import Batches
from bench.workloads import ADD, AWAITING, NESTED, WORKLOADS

TITLE = "Cost of a call, compared with other frameworks"


def measure(options: Options) -> dict[str, Any]:
    """Measure Callboard and its peers in interleaved rounds. Failures of a peer are reported, our own are raised."""
    pythons = {peer: environments.prepare(peer, options.python) for peer in options.peers}
    pythons[OURS] = environments.prepare_ours(options.python)
    rows: dict[tuple[str, str, str], dict[str, Any]] = {}
    failed: dict[str, str] = {}
    for turn in range(options.rounds):
        for name in random.sample(list(pythons), len(pythons)):
            print(f"round {turn + 1} of {options.rounds}: {name}", file=sys.stderr)
            arguments = ("callboard_" if name == OURS else name, str(options.samples), str(options.seconds))
            try:
                measured = environments.worker(pythons[name], "bench.dispatch", *arguments)
            except RuntimeError as error:
                if name == OURS:
                    raise
                failed[name] = str(error).splitlines()[-1]
                continue
            for path, workload, ratio, seconds in measured:
                new: dict[str, Any] = {
                    "contestant": name,
                    "path": path,
                    "workload": workload,
                    "ratios": [],
                    "seconds": [],
                }
                row = rows.setdefault((name, path, workload), new)
                row["ratios"].append(ratio)
                row["seconds"].append(seconds)
    versions = {name: environments.version(python, name) for name, python in pythons.items()}
    eager = environments.run(pythons[OURS], "-c", "import sys; print(sys.version_info >= (3, 12))").strip() == "True"
    return {"rows": list(rows.values()), "failed": failed, "versions": versions, "eager": eager}


def report(data: Data) -> Table:
    """Make one row per path, the cheapest first."""
    columns = ["framework", "path"]
    for work in WORKLOADS:
        columns += [f"{work.name}: x floor (quartiles)", f"{work.name}: µs"]
    lines: dict[tuple[str, str], list[str]] = {}
    order = [work.name for work in WORKLOADS]
    for row in sorted(data["rows"], key=lambda row: (order.index(row["workload"]), median(row["ratios"]))):
        name, path = row["contestant"], row["path"]
        line = lines.setdefault((name, path), [f"{name} {data['versions'][name]}", path])
        line += [quartiles(row["ratios"]), f"{median(row['seconds']) * 1e6:,.1f}"]
    failures = [[name, f"failed: {reason}", *[""] * 2 * len(WORKLOADS)] for name, reason in data["failed"].items()]
    return Table(columns, [*lines.values(), *failures])


def _against_cheapest_peer(workload: str, data: Data) -> float | None:
    if data["failed"]:  # the cheapest might be among them
        return None
    rows = [row for row in data["rows"] if row["workload"] == workload]
    ours = [median(row["ratios"]) for row in rows if _is_ours(row)]
    theirs = [median(row["ratios"]) for row in rows if row["contestant"] != OURS]
    return min(ours) / min(theirs) if theirs else None


def _ours(workload: str, data: Data) -> float:
    return min(median(row["ratios"]) for row in data["rows"] if _is_ours(row) and row["workload"] == workload)


def _is_ours(row: Data) -> bool:
    return row["contestant"] == OURS and row["path"] == "Registry.call_json"


def _awaiting(path: str, eager: bool, data: Data) -> float | None:
    """Our cost of a tool that awaits, as a multiple of a peer's; None for another interpreter or without the peer."""
    if data["eager"] is not eager:
        return None
    costs = {row["path"]: median(row["ratios"]) for row in data["rows"] if row["workload"] == AWAITING.name}
    return costs["session.call"] / costs[path] if path in costs else None


LIMITS = {ADD.name: 4.0, NESTED.name: 1.5}
BOUNDS = [
    *(Bound(f"{name}: Registry.call_json ÷ floor", limit, "x", partial(_ours, name)) for name, limit in LIMITS.items()),
    *(
        Bound(f"{name}: our cost ÷ the cheapest peer's", 1.0, "x", partial(_against_cheapest_peer, name))
        for name in (*LIMITS, AWAITING.name)
    ),
    *(
        Bound(f"{AWAITING.name}: session.call ÷ {path}{on}", limit, "x", partial(_awaiting, path, eager))
        for path, on, eager, limit in (
            ("FunctionToolset.call_tool", ", Python 3.11", False, 3.6),
            ("FunctionToolset.call_tool", ", eager tasks", True, 3.0),
            ("ToolManager.handle_call", ", eager tasks", True, 1.0),
            ("FunctionTool.on_invoke_tool", ", eager tasks", True, 1.0),
        )
    ),
]


async def _work(module: str, samples: int, seconds: float) -> list[tuple[str, str, float, float]]:
    async with AsyncExitStack() as stack:
        batches: list[tuple[str, str, Batches]] = []
        for path, unit_for in (await import_module(f"bench.peers.{module}").cases(stack)).items():
            for work in WORKLOADS:
                unit = unit_for(work)
                work.check(await unit())
                batches.append((path, work.name, await Batches.calibrated(unit, work.floor(), seconds)))
        measured: list[tuple[str, str, float, float]] = []
        for _ in range(samples):
            for path, workload, batch in random.sample(batches, len(batches)):
                sample = await batch.bracket()
                measured.append((path, workload, sample.ratio, sample.case))
        return measured


if __name__ == "__main__":
    print(json.dumps(asyncio.run(_work(sys.argv[1], int(sys.argv[2]), float(sys.argv[3])))))
