"""What does another user notice while a server is attacked?

Runs `tests/attacks` at full size: real servers on SQLite and PostgreSQL, an attacker, and a bystander, a process of its
own that makes a call of one millisecond again and again. The figures are the bystander's longest call, and the memory
of the server before the attack, at its worst, and after it.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.environments import ROOT
from bench.question import Bound, Data, Options, Table, number

TITLE = "What another user notices of an attack"


def measure(options: Options) -> dict[str, Any]:
    """Run the attacks, and collect what they report. A run in which a test fails has no figures."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report"
        report.touch()
        flags = [] if options.quick else ["--slow"]
        subprocess.run(
            [sys.executable, "-m", "pytest", "tests/attacks", "-q", *flags],
            cwd=ROOT,
            env={**os.environ, "CALLBOARD_ATTACKS_REPORT": str(report)},
            check=True,
        )
        return {"attacks": [json.loads(line) for line in report.read_text().splitlines()]}


def report(data: Data) -> Table:
    """One row per attack and store."""
    columns = ["attack", "store", "bystander's calls", "longest, ms", "memory before, MB", "peak", "after"]
    rows = [
        [row["attack"], row["store"], number(row["calls"]), number(row["worst"] * 1e3)]
        + [number(row[name]) if name in row else "" for name in ("before", "peak", "after")]
        for row in data["attacks"]
    ]
    return Table(columns, rows)


def _longest(data: Data) -> float | None:
    return max((row["worst"] * 1e3 for row in data["attacks"]), default=None)


BOUNDS = [Bound("a bystander's call at its longest, over all attacks", 250, "ms", _longest)]
