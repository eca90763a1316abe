"""Latency for other users while a server is attacked.

Runs `tests/attacks` at full size: real servers on SQLite and PostgreSQL, an attacker, and another user, a separate
process that repeats a call of one millisecond. The figures are that user's longest call, and what the test measures
beside it: memory in MB, seconds, numbers.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from bench.benchmark import Bound, Data, Options, Table, number
from bench.environments import ROOT

TITLE = "Latency for other users during an attack"


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
    """Make one row per attack and store."""
    columns = ["attack", "store", "other user's calls", "longest, ms", "other figures"]
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
    Bound("the longest call of another user, over all attacks", 250, "ms", _longest),
    Bound("attacks that succeeded", 0, "", _failed),
]
