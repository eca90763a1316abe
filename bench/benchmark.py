"""The interface of a benchmark: its options, tables and bounds.

A benchmark is a module of `bench` with four names: `TITLE`, `BOUNDS`, `measure(options)`, which returns JSON data, and
`report(data)`, which makes a table from the data. `bench/__main__.py` lists the benchmarks.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from bench.harness import summarise

Data = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Options:
    """Options of a run: peers, rounds, thoroughness, and the Python for Callboard's own part."""

    peers: Sequence[str] = ()
    rounds: int = 5
    quick: bool = False
    python: str | None = None

    @property
    def samples(self) -> int:
        """Bracketed samples per round."""
        return 3 if self.quick else 7

    @property
    def seconds(self) -> float:
        """The CPU time of one batch."""
        return 0.01 if self.quick else 0.05


class Table(NamedTuple):
    """Rows of text with column names."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


class Bound(NamedTuple):
    """An upper bound, and a function that finds its figure in the data (None if it was not measured)."""

    figure: str
    limit: float
    unit: str
    measured: Callable[[Data], float | None]


class Benchmark(Protocol):
    """The interface of a benchmark's module."""

    @property
    def TITLE(self) -> str: ...

    @property
    def BOUNDS(self) -> Sequence[Bound]: ...

    def measure(self, options: Options) -> dict[str, Any]: ...

    def report(self, data: Data) -> Table: ...


def number(value: float) -> str:
    """Format a figure with its significant digits."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def quartiles(values: Sequence[float]) -> str:
    """Format the median with the quartiles."""
    low, median, high = map(number, summarise(values))
    return f"{median} ({low} to {high})"
