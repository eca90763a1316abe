"""Stored measurements (JSON below `bench/.results`), and the page `bench/RESULTS.md` that is generated from them."""

import json
import os
import platform
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import NamedTuple

from bench import environments
from bench.benchmark import Benchmark, Bound, Data, Options, Table, number

KEPT = environments.ROOT / "bench" / ".results"
PAGE = environments.ROOT / "bench" / "RESULTS.md"


class Verdict(NamedTuple):
    """A bound with its measured figure, or None if it was not measured."""

    bound: Bound
    measured: float | None

    @property
    def failed(self) -> bool:
        return self.measured is not None and self.measured > self.bound.limit


def judge(benchmark: Benchmark, data: Data) -> list[Verdict]:
    """Compare each bound of a benchmark with its data."""
    return [Verdict(bound, bound.measured(data)) for bound in benchmark.BOUNDS]


def verdict_table(verdicts: Sequence[Verdict]) -> Table:
    """Make the table of bounds."""
    rows = [
        [
            verdict.bound.figure,
            f"≤ {number(verdict.bound.limit)} {verdict.bound.unit}",
            "" if verdict.measured is None else f"{number(verdict.measured)} {verdict.bound.unit}",
            "not measured" if verdict.measured is None else "FAIL" if verdict.failed else "pass",
        ]
        for verdict in verdicts
    ]
    return Table(["figure", "bound", "measured", "verdict"], rows)


def plain(table: Table) -> str:
    """Format a table for the terminal."""
    lines = [table.columns, *table.rows]
    widths = [max(len(cell) for cell in column) for column in zip(*lines, strict=True)]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)


def markdown(table: Table) -> str:
    """Format a table as Markdown."""
    lines = [table.columns, ["---"] * len(table.columns), *table.rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def save(name: str, data: Data, options: Options) -> None:
    """Store a benchmark's data with the machine and the time of the measurement."""
    KEPT.mkdir(exist_ok=True)
    (KEPT / f"{name}.json").write_text(json.dumps({"taken": _circumstances(options), "data": data}, indent=1))


def write(benchmarks: Mapping[str, Benchmark], page: Path = PAGE) -> None:
    """Write the page from all stored data. Sections without stored data stay unchanged."""
    parts = ["# Results", "Written by `python -m bench`; the method is in `README.md`. Medians, with quartiles."]
    before = _sections(page.read_text()) if page.exists() else {}
    for name, benchmark in benchmarks.items():
        if (KEPT / f"{name}.json").exists():
            kept = json.loads((KEPT / f"{name}.json").read_text())
            tables = benchmark.report(kept["data"]), verdict_table(judge(benchmark, kept["data"]))
            parts += [f"## {benchmark.TITLE}", kept["taken"], *map(markdown, tables)]
        elif benchmark.TITLE in before:
            parts += [f"## {benchmark.TITLE}", before[benchmark.TITLE]]
    page.write_text("\n\n".join(parts) + "\n")


def _sections(text: str) -> dict[str, str]:
    """Split a page into sections by title."""
    return {title: rest.strip() for title, _, rest in (part.partition("\n") for part in text.split("\n## ")[1:])}


def _circumstances(options: Options) -> str:
    python = environments.prepare_ours(options.python)
    version = environments.run(python, "-c", "import platform; print(platform.python_version())").strip()
    packages = [f"{name} {environments.version(python, name)}" for name in ("callboard", "pydantic", "anyio")]
    facts = (str(date.today()), _processor(), f"{os.cpu_count()} cores", platform.system(), f"Python {version}")
    rounds = f"{options.rounds} round{'' if options.rounds == 1 else 's'}"
    return ", ".join((*facts, *packages, rounds)) + "."


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine())
