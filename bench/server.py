"""Throughput and latency of the server: streams, stored requests, idle readers, reconnecting clients.

One server process runs on one core, and the load on another, over loopback. A bare Starlette application on the same
uvicorn gets the same load. `server_parts` and `server_soak` measure; this module runs them and reports.
"""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from statistics import median
from typing import Any, NamedTuple

from bench import environments
from bench.benchmark import Bound, Data, Options, Table, quartiles

TITLE = "Throughput and latency of the server"
HEARTBEAT = 16.0
"""Seconds in which every idle reader receives one heartbeat."""


class Figure(NamedTuple):
    """A row of the report: key, label and factor of the values."""

    name: str
    text: str
    scale: float = 1.0


FIGURES = [
    Figure("delivered", "1,000 sessions with a reader each: events delivered per CPU second, in memory"),
    Figure("delivered_sqlite", "the same, each stored by SQLite first"),
    Figure("delivered_floor", "floor, a bare Starlette app: events per CPU second"),
    Figure("delivered_ratio", "in memory ÷ floor"),
    Figure("stored_ratio", "SQLite ÷ floor, which stores nothing"),
    Figure("delivered_wrong", "the same: events missing, duplicated or out of order"),
    Figure(
        "steady_p50",
        "the same at 1,000 events/s, SQLite: from posting to the reader, with the commit, p50, ms",
        1e3,
    ),
    Figure("steady_p99", "the same: p99, ms", 1e3),
    Figure("steady_floor_p50", "floor: p50, ms", 1e3),
    Figure("steady_floor_p99", "floor: p99, ms", 1e3),
    Figure("crowd", "one session, 500 readers, 20 events/s: events delivered per CPU second"),
    Figure("crowd_p50", "the same: from posting to each reader, p50, ms", 1e3),
    Figure("crowd_p99", "the same: p99, ms", 1e3),
    Figure("crowd_floor", "floor: events delivered per CPU second"),
    Figure("crowd_floor_p50", "floor: p50, ms", 1e3),
    Figure("crowd_floor_p99", "floor: p99, ms", 1e3),
    Figure("crowd_wrong", "the same: events missing, duplicated or out of order"),
    Figure("posts", "`POST /api/system/event`, answered after the commit to SQLite: requests/s"),
    Figure("posts_cpu", "the same: requests per CPU second"),
    Figure("posts_floor", "floor, which reads the body and answers: requests per CPU second"),
    Figure("posts_ratio", "ours ÷ floor"),
    Figure("posts_lost", "the same: events that were acknowledged and are missing"),
    Figure("call_p50", "a call over HTTP until its first event is read, p50, ms", 1e3),
    Figure("call_p99", "the same: p99, ms", 1e3),
    Figure("commit", "a commit of the store during the call, ms", 1e3),
    Figure("idle", "10,000 sessions with a waiting reader each: memory of the server, MB", 1e-6),
    Figure("idle_reader", "the same: memory per reader, KB", 1e-3),
    Figure("soak_seconds", "soak: 400 readers of 50 sessions that disconnect and resume, seconds"),
    Figure("soak_events", "the same: events read"),
    Figure("soak_visits", "the same: connections"),
    Figure("soak_wrong", "the same: events missing, duplicated or out of order"),
    Figure("soak_memory", "the same: memory of the server at the end, MB", 1e-6),
    Figure("soak_growth", "the same: memory at the end ÷ after the warm-up"),
]


def measure(options: Options) -> dict[str, Any]:
    """Measure every part in every round, in separate processes, and the soak once."""
    if options.python is not None:
        print("the server is measured only with the Python that has its libraries", file=sys.stderr)
        return {}
    if len(os.sched_getaffinity(0)) < 2:
        print(
            "the server is measured only where there are two cores: one for the server, one for the load",
            file=sys.stderr,
        )
        return {}
    seconds, samples = (0.5, 2) if options.quick else (2.0, 5)
    parts: list[tuple[str, Sequence[float]]] = [
        ("deliver", (samples, seconds)),
        ("crowd", (samples, seconds)),
        ("accept", (samples, seconds)),
        ("call", (50 if options.quick else 500,)),
        ("wait", (1_000, 0.0) if options.quick else (10_000, HEARTBEAT)),
    ]
    data: dict[str, list[float]] = {}
    for turn in range(options.rounds):
        for part, arguments in parts:
            print(f"round {turn + 1} of {options.rounds}: {part}", file=sys.stderr)
            _keep(data, _worker("bench.server_parts", part, arguments))
    if options.quick:
        del data["idle"]  # of fewer readers
    print("soak", file=sys.stderr)
    _keep(data, _worker("bench.server_soak", "soak", (20.0 if options.quick else 600.0,)))
    return data


def report(data: Data) -> Table:
    """Make one row per figure."""
    rows = [
        [figure.text, quartiles([value * figure.scale for value in data[figure.name]])]
        for figure in FIGURES
        if figure.name in data
    ]
    return Table(["figure", "median (quartiles)"], rows)


def _worker(module: str, part: str, arguments: Sequence[float]) -> Mapping[str, list[float]]:
    return environments.worker(sys.executable, module, part, json.dumps(arguments))


def _keep(kept: dict[str, list[float]], found: Mapping[str, list[float]]) -> None:
    for name, values in found.items():
        kept.setdefault(name, []).extend(values)


def _median(name: str, scale: float, data: Data) -> float | None:
    return median(data[name]) * scale if data.get(name) else None


def _slower(name: str, data: Data) -> float | None:
    """Return how many times slower than the floor a figure is."""
    ratio = _median(name, 1.0, data)
    return 1.0 / ratio if ratio else None


def _worst(name: str, data: Data) -> float | None:
    return max(data[name]) if data.get(name) else None


def _beyond_commit(data: Data) -> float | None:
    waited, commit = _median("call_p50", 1e3, data), _median("commit", 1e3, data)
    return None if waited is None or commit is None else waited - commit


BOUNDS: Sequence[Bound] = [
    Bound("CPU time per delivered event, in memory ÷ floor", 2.5, "×", partial(_slower, "delivered_ratio")),
    Bound("1,000 readers: wrong events", 0.0, "", partial(_worst, "delivered_wrong")),
    Bound("1,000 events/s: from posting to the reader, p50", 5.0, "ms", partial(_median, "steady_p50", 1e3)),
    Bound("the same, p99", 50.0, "ms", partial(_median, "steady_p99", 1e3)),
    Bound("500 readers of one session: wrong events", 0.0, "", partial(_worst, "crowd_wrong")),
    Bound("CPU time per stored request ÷ floor", 3.33, "×", partial(_slower, "posts_ratio")),
    Bound("requests that were acknowledged and not stored", 0.0, "", partial(_worst, "posts_lost")),
    Bound("a call until its first event is read, p50, minus a commit", 3.0, "ms", _beyond_commit),
    Bound("the same with the commit, p99", 15.0, "ms", partial(_median, "call_p99", 1e3)),
    Bound("10,000 waiting readers: memory", 600.0, "MB", partial(_median, "idle", 1e-6)),
    Bound("soak: wrong events", 0.0, "", partial(_worst, "soak_wrong")),
    Bound("soak: memory at the end ÷ after the warm-up", 1.05, "×", partial(_worst, "soak_growth")),
]
