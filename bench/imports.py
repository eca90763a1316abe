"""Time to start: `import callboard` beside the imports of the peers, the command line, and a server's first answers.

An import is a multiple of `import asyncio, pydantic`. Each sample is a fresh process between two fresh processes of the
baseline, with the same interpreter and with cached byte code. Only the CPU time of the statement counts, not the start
of Python. For commands and the server, all CPU time of the process counts.
"""

import random
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from bench import environments
from bench.benchmark import Bound, Data, Options, Table, quartiles
from bench.harness import bracket
from bench.start_process import command_seconds, server_start

TITLE = "Start time"
BASELINE = "import asyncio, pydantic"
OURS = ("import callboard", "from callboard import Registry, tool")
FIRST_TOOL = "from callboard import Registry, tool; Registry([tool(name='now', description='Now')(lambda: 0)])"
MODELS = "import asyncio; from pydantic import BaseModel, TypeAdapter"  # the baseline loads these lazily
OPTIONS = ("--version", "--help")
FIRST_REQUEST = "callboard serve: until the first request is answered"
FIRST_TURN = "callboard serve: until the first turn has finished"


def measure(options: Options) -> dict[str, Any]:
    """Measure the import statements of Callboard and of the chosen peers in interleaved rounds, then the processes."""
    ours = environments.prepare_ours(options.python)
    subjects = [(ours, statement) for statement in (*OURS, FIRST_TOOL, MODELS)]
    subjects += [(environments.prepare(peer), environments.PEERS[peer].statement) for peer in options.peers]
    data: dict[str, Any] = {statement: {"ratios": [], "seconds": []} for _, statement in subjects}
    for python, statement in subjects:  # to write the byte code, and to read the files into memory
        _seconds(python, statement)
    for _ in range(options.rounds * 3):
        for python, statement in random.sample(subjects, len(subjects)):
            sample = bracket(partial(_seconds, python, statement), partial(_seconds, python, BASELINE))
            data[statement]["ratios"].append(sample.ratio)
            data[statement]["seconds"].append(sample.case)
    return data if options.python else data | _measure_processes(options.rounds)


def _measure_processes(rounds: int) -> dict[str, Any]:
    """Measure the command line and the server, each after a first run that writes the byte code and the store."""
    data: dict[str, Any] = {f"callboard {option}": {"seconds": []} for option in OPTIONS}
    data |= {FIRST_REQUEST: {"seconds": []}, FIRST_TURN: {"seconds": []}}
    with TemporaryDirectory() as folder:
        server_start(Path(folder))
        for _ in range(rounds):
            for option in OPTIONS:
                data[f"callboard {option}"]["seconds"].append(command_seconds(option))
            start = server_start(Path(folder))
            data[FIRST_REQUEST]["seconds"].append(start.request)
            data[FIRST_TURN]["seconds"].append(start.turn)
    return data


def report(data: Data) -> Table:
    """Make one row per statement or process, the fastest first."""
    lines = [
        [
            f"`{name}`" if name not in (FIRST_REQUEST, FIRST_TURN) else name,
            quartiles(row["ratios"]) if "ratios" in row else "",
            f"{median(row['seconds']) * 1e3:.0f}",
        ]
        for name, row in sorted(data.items(), key=lambda item: median(item[1]["seconds"]))
    ]
    return Table(["statement or process", "x baseline (quartiles)", "ms"], lines)


def _ratio(statement: str, data: Data) -> float:
    return median(data[statement]["ratios"])


def _process(name: str, data: Data) -> float | None:
    return median(data[name]["seconds"]) if name in data else None


BOUNDS = [
    *(Bound(f"`{statement}` ÷ baseline", 1.5, "x", partial(_ratio, statement)) for statement in OURS),
    *(Bound(f"`callboard {each}`, CPU", 0.3, "s", partial(_process, f"callboard {each}")) for each in OPTIONS),
    Bound(f"{FIRST_REQUEST}, CPU", 2.0, "s", partial(_process, FIRST_REQUEST)),
]


def _seconds(python: str, statement: str) -> float:
    script = f"import time; started = time.process_time(); {statement}; print(time.process_time() - started)"
    return float(environments.run(python, "-c", script))
