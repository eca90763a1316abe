"""What does another user notice while a server is attacked?

Runs `tests/attacks` at full size: real servers on SQLite and PostgreSQL, an attacker, and a bystander, a process of its
own that makes a call of one millisecond again and again. The figures are the bystander's longest call, and what the
test measures beside it: memory in MB, seconds, numbers.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from bench.environments import ROOT
from bench.question import Bound, Data, Options, Table, number

TITLE = "What another user notices of an attack"


def measure(options: Options) -> dict[str, Any]:
    """Run the attacks and collect their reports."""
    with tempfile.TemporaryDirectory() as folder:
        figures, tests = Path(folder) / "figures", Path(folder) / "tests"
        figures.touch()
        flags = [] if options.quick else ["--slow"]
        subprocess.run(
            [sys.executable, "-m", "pytest", "tests/attacks", "-q", f"--junit-xml={tests}", *flags],
            cwd=ROOT,
            env={**os.environ, "CALLBOARD_ATTACKS_REPORT": str(figures)},
            check=False,
        )
        [suite] = ElementTree.parse(tests).getroot()
        failed = int(suite.attrib["failures"]) + int(suite.attrib["errors"])
        return {"attacks": [json.loads(line) for line in figures.read_text().splitlines()], "failed": failed}


def report(data: Data) -> Table:
    """One row per attack and store."""
    columns = ["attack", "store", "bystander's calls", "longest, ms", "what else was measured"]
    rows = [
        [row["attack"], row["store"], f"{row['calls']:,}", number(row["worst"] * 1e3), _others(row)]
        for row in sorted(data["attacks"], key=lambda row: (row["attack"].lower(), row["store"]))
    ]
    return Table(columns, rows)


def _others(row: Data) -> str:
    known = ("attack", "store", "calls", "worst")
    return ", ".join(f"{name} {number(value)}" for name, value in row.items() if name not in known)


def _longest(data: Data) -> float | None:
    return max((row["worst"] * 1e3 for row in data["attacks"]), default=None)


def _failed(data: Data) -> float | None:
    return float(data["failed"])


BOUNDS = [
    Bound("a bystander's call at its longest, over all attacks", 250, "ms", _longest),
    Bound("attacks that succeeded, of those that were tried", 0, "", _failed),
]
