"""Time of `import callboard`, as a multiple of `import asyncio, pydantic`, beside the imports of the peers.

Each sample is a fresh process between two fresh processes of the baseline, with the same interpreter and with cached
byte code. Only the CPU time of the statement counts, not the start of Python.
"""

import random
from functools import partial
from statistics import median
from typing import Any

from bench import environments
from bench.benchmark import Bound, Data, Options, Table, quartiles
from bench.harness import bracket

TITLE = "Import time"
BASELINE = "import asyncio, pydantic"
OURS = ("import callboard", "from callboard import Registry, tool")
MODELS = "import asyncio; from pydantic import BaseModel, TypeAdapter"  # the baseline loads these lazily


def measure(options: Options) -> dict[str, Any]:
    """Measure the import statements of Callboard and of the chosen peers in interleaved rounds."""
    ours = environments.prepare_ours(options.python)
    subjects = [(ours, statement) for statement in (*OURS, MODELS)]
    subjects += [(environments.prepare(peer), environments.PEERS[peer].statement) for peer in options.peers]
    data: dict[str, Any] = {statement: {"ratios": [], "seconds": []} for _, statement in subjects}
    for python, statement in subjects:  # to write the byte code, and to read the files into memory
        _seconds(python, statement)
    for _ in range(options.rounds * 3):
        for python, statement in random.sample(subjects, len(subjects)):
            sample = bracket(partial(_seconds, python, statement), partial(_seconds, python, BASELINE))
            data[statement]["ratios"].append(sample.ratio)
            data[statement]["seconds"].append(sample.case)
    return data


def report(data: Data) -> Table:
    """Make one row per statement, the cheapest first."""
    lines = [
        [f"`{statement}`", quartiles(row["ratios"]), f"{median(row['seconds']) * 1e3:.0f}"]
        for statement, row in sorted(data.items(), key=lambda item: median(item[1]["ratios"]))
    ]
    return Table(["statement", "x baseline (quartiles)", "ms"], lines)


def _ratio(statement: str, data: Data) -> float:
    return median(data[statement]["ratios"])


BOUNDS = [Bound(f"`{statement}` ÷ baseline", 1.5, "x", partial(_ratio, statement)) for statement in OURS]


def _seconds(python: str, statement: str) -> float:
    script = f"import time; started = time.process_time(); {statement}; print(time.process_time() - started)"
    return float(environments.run(python, "-c", script))
