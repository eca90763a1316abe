"""`tools/call` and `tools/list` of our MCP server, beside FastMCP and the SDK's own server, in both eras.

All servers run at the same time, on the same HTTP server and event loop, and are called in turn with the tool that
awaits once. Ours has sessions, records, events, limits and identity; the others have none of these.
"""

import json
import random
import sys
import tempfile
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median
from subprocess import DEVNULL, PIPE, Popen
from typing import Any

from bench import environments
from bench.benchmark import Bound, Data, Options, Table, quartiles
from bench.mcp_host import SLOWLY, add_slowly
from bench.mcp_load import HANDSHAKE, STATELESS, Load, call_with_sdk, crowd
from bench.workloads import AWAITING

TITLE = "Calls over MCP"
OURS, STORED, SDK, FASTMCP = "callboard", "callboard, SQLite", "mcp_sdk", "fastmcp"
SDK_ROWS, SDK_RECORDS = "mcp_sdk, bare rows", "mcp_sdk, records"
"""The SDK's server with a tool that commits before and after its work: a small row, or the records of our server."""
COMMITTING = (STORED, SDK_ROWS, SDK_RECORDS)
ERAS = (HANDSHAKE, STATELESS)
SLOW = replace(AWAITING, name="add_slowly", function=add_slowly)
TOOLS = 1_000
"""The number of tools that are listed."""
CLIENTS = 8
FIGURES = {
    "cpu": "CPU time of the server, µs",
    "wall": "a bare client's time, µs",
    "commits": "of which waits for commits, µs",
    "rest": "the rest of this time, µs",
    "client": "CPU time of the server and the SDK's client, µs",
    "crowd": f"{CLIENTS} clients at once, time per call, µs",
    "slow": f"a call of {SLOWLY} s, CPU time of the server, µs",
    "memory": "in memory, with the SDK's client, CPU time, µs",
    "list": f"{TOOLS:,} tools listed, CPU time of the server, ms",
}


def measure(options: Options) -> dict[str, Any]:
    """Measure calls over HTTP, calls in memory, and listings, in every round."""
    calls, batches = (50, 2) if options.quick else (300, 5)
    found: dict[str, dict[str, list[float]]] = {}
    for turn in range(options.rounds):
        print(f"round {turn + 1} of {options.rounds}", file=sys.stderr)
        for era in ERAS:
            _call(found, era, calls, batches, 2 if options.quick else 12)
            _list(found, era, 2 if options.quick else 10)
            _call_in_memory(found, era, calls // 2, 2 if options.quick else 20)
    return found


def _call(found: dict[str, dict[str, list[float]]], era: str, calls: int, batches: int, slow_calls: int) -> None:
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        stores = dict.fromkeys((OURS, SDK, FASTMCP), "memory://")
        stores |= {name: f"sqlite:///{Path(folder) / name}.db" for name in COMMITTING}
        ports = {name: stack.enter_context(_serving(name, store, 2)) for name, store in stores.items()}
        loads = {name: Load(port, era) for name, port in ports.items()}
        for load in loads.values():
            load.call(AWAITING, calls)  # fills caches
        for _ in range(batches):
            for name in random.sample(list(loads), len(loads)):
                cost = loads[name].call(AWAITING, calls)
                _keep(found, era, "cpu", name, [cost.cpu])
                _keep(found, era, "wall", name, [cost.wall])
                if name not in (SDK_ROWS, SDK_RECORDS):
                    _keep(found, era, "client", name, [call_with_sdk(ports[name], era, AWAITING, calls // 3)])
                if name in COMMITTING:
                    _keep(found, era, "commits", name, [cost.commits])
                    _keep(found, era, "rest", name, [cost.wall - cost.commits])
        for name in random.sample(list(ports), len(ports)):
            with crowd(ports[name], era, AWAITING, CLIENTS) as clients:
                clients.call(20)
                _keep(found, era, "crowd", name, [clients.call(calls // 5) for _ in range(batches)])
        for load in loads.values():
            load.call(SLOW, 1)
        for name in random.sample(list(loads), len(loads)):
            _keep(found, era, "slow", name, [loads[name].call(SLOW, slow_calls).cpu])
        for load in loads.values():
            load.close()


def _call_in_memory(found: dict[str, dict[str, list[float]]], era: str, calls: int, batches: int) -> None:
    mode = "legacy" if era == HANDSHAKE else era
    with ExitStack() as stack:
        batch = {name: stack.enter_context(_client_in_memory(name, mode)) for name in (OURS, SDK, FASTMCP)}
        for run in batch.values():
            run(calls)  # fills caches
        for _ in range(batches):
            for name in random.sample(list(batch), len(batch)):
                _keep(found, era, "memory", name, [batch[name](calls)])


@contextmanager
def _client_in_memory(name: str, mode: str) -> Generator[Callable[[int], float]]:
    """Run a server with its client. Yields a function that makes calls, and returns the CPU seconds of one."""
    command = [_python(name), "-m", "bench.mcp_host", "memory", _module(name), mode]
    with _process(command) as process:

        def run(calls: int) -> float:
            print(calls, file=process.stdin, flush=True)
            return float(process.stdout.readline())

        yield run


def _list(found: dict[str, dict[str, list[float]]], era: str, times: int) -> None:
    with ExitStack() as stack:
        names = (OURS, SDK, FASTMCP)
        loads = {name: Load(stack.enter_context(_serving(name, "memory://", TOOLS)), era) for name in names}
        for load in loads.values():
            load.list(1, TOOLS)  # makes the schemas
        for name in random.sample(names, len(names)):
            _keep(found, era, "list", name, [loads[name].list(times, TOOLS).cpu])


@contextmanager
def _serving(name: str, store: str, count: int) -> Generator[int]:
    """Run a server. Yields its port."""
    commits = {SDK_ROWS: ["rows"], SDK_RECORDS: ["records"]}.get(name, [])
    command = [_python(name), "-m", "bench.mcp_host", "serve", _module(name), store, str(count), *commits]
    with _process(command) as process:
        said = process.stdout.readline()
        if not said:
            raise RuntimeError(f"the server of {name} did not start")
        yield json.loads(said)["port"]


@contextmanager
def _process(command: list[str]) -> Generator[Any]:
    environment = environments.environment()
    process = Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, cwd=environments.ROOT, env=environment, text=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _module(name: str) -> str:
    return "callboard_" if name in (OURS, STORED) else name.partition(",")[0]


def _python(name: str) -> str:
    return sys.executable if name in (OURS, STORED, SDK_RECORDS) else environments.prepare(_module(name))


def _keep(found: dict[str, dict[str, list[float]]], era: str, figure: str, name: str, values: list[float]) -> None:
    found.setdefault(f"{era} {figure}", {}).setdefault(name, []).extend(values)


def report(data: Data) -> Table:
    """Make one row per figure and era, with ratios."""
    rows: list[list[str]] = []
    for figure, text in FIGURES.items():
        scale = 1e3 if figure == "list" else 1e6
        for era in ERAS:
            values: Mapping[str, list[float]] = data[f"{era} {figure}"]
            shown = [
                quartiles([each * scale for each in values[name]]) if name in values else ""
                for name in (OURS, STORED, SDK, SDK_ROWS, SDK_RECORDS, FASTMCP)
            ]
            ratios = [f"{each:.2f}" if (each := _ratio(figure, era, peer, data)) else "" for peer in (SDK, FASTMCP)]
            rows.append([text, era, *shown, *ratios])
    servers = [OURS, STORED, "SDK", "SDK, bare rows", "SDK, records", "FastMCP"]
    return Table(["figure", "era", *servers, "ours ÷ SDK", "ours ÷ FastMCP"], rows)


def _ratio(figure: str, era: str, peer: str, data: Data) -> float | None:
    values = data.get(f"{era} {figure}", {})
    return _paired(values[OURS], values[peer]) if OURS in values and peer in values else None


def _paired(ours: list[float], theirs: list[float]) -> float:
    """Return the median ratio of batches that were measured one after the other: the speed of a machine varies."""
    return median(one / other for one, other in zip(ours, theirs, strict=True))


def _on_sqlite(figure: str, era: str, peer: str, data: Data) -> float | None:
    """Return a figure of our server on SQLite, as a multiple of that of the SDK's with a tool that commits."""
    values = data.get(f"{era} {figure}", {})
    return _paired(values[STORED], values[peer]) if peer in values else None


BOUNDS = [
    bound
    for era in ERAS
    for bound in (
        Bound(f"{era}: server and client, ours ÷ SDK", 1.15, "x", partial(_ratio, "client", era, SDK)),
        Bound(f"{era}: the server alone, ours ÷ SDK", 1.15, "x", partial(_ratio, "cpu", era, SDK)),
        Bound(f"{era}: the server alone, ours ÷ FastMCP", 1.0, "x", partial(_ratio, "cpu", era, FASTMCP)),
        Bound(f"{era}: on SQLite without commits, records", 1.15, "x", partial(_on_sqlite, "rest", era, SDK_RECORDS)),
        Bound(f"{era}: on SQLite without commits, bare rows", 1.15, "x", partial(_on_sqlite, "rest", era, SDK_ROWS)),
        Bound(f"{era}: {CLIENTS} clients on SQLite, bare rows", 1.15, "x", partial(_on_sqlite, "crowd", era, SDK_ROWS)),
        Bound(f"{era}: in memory, ours ÷ SDK", 1.15, "x", partial(_ratio, "memory", era, SDK)),
        Bound(f"{era}: in memory, ours ÷ FastMCP", 1.0, "x", partial(_ratio, "memory", era, FASTMCP)),
        Bound(f"{era}: {TOOLS:,} tools listed, ours ÷ FastMCP", 1.0, "x", partial(_ratio, "list", era, FASTMCP)),
    )
]
