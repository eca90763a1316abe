"""How long does `import callboard` take, against `import asyncio, pydantic` and the imports of the peers?

Each sample is a fresh process between two fresh processes of the baseline, with the same interpreter and with byte code
cached. Counted is the CPU time of the statement alone; the start of Python is excluded.
"""

import random
from functools import partial
from statistics import median
from typing import Any

from bench import environments
from bench.harness import bracket
from bench.question import Bound, Data, Options, Table, quartiles

TITLE = "What an import costs, as a multiple of `import asyncio, pydantic`"
BASELINE = "import asyncio, pydantic"
OURS = ("import callboard", "from callboard import Registry, tool")
MODELS = "import asyncio; from pydantic import BaseModel, TypeAdapter"  # The baseline itself loads these lazily.


def measure(options: Options) -> dict[str, Any]:
    """Measure the import statements of Callboard and of the chosen peers in interleaved rounds."""
    ours = environments.prepare_ours(options.python)
    subjects = [(ours, statement) for statement in (*OURS, MODELS)]
    subjects += [(environments.prepare(peer), environments.PEERS[peer].statement) for peer in options.peers]
    data: dict[str, Any] = {statement: {"ratios": [], "seconds": []} for _, statement in subjects}
    for python, statement in subjects:  # Byte code is written and the files are in memory.
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
