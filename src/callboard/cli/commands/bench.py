"""`callboard bench`: measure what calls cost on this machine, with your store and your tool."""

import asyncio
import tempfile
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TextColumn

from ...errors import ErrorCategory, ToolError
from ...runtime import file_address
from ...tools.definition import Tool
from ...types import Mode
from ..interrupts import Interrupts
from ..measurements import ARGUMENTS, Figure, add, measure_in_memory, measure_with_store
from ..options import Source, find_tool, read_document, repeat_options
from ..process import CommandError, Exit
from ..terminal.console import AsJson, Column, err, is_interactive, note, out, print_json, print_logs, show_table
from ..tool_source import load_registry
from .store import require_store

FIGURES = 6
_COLUMNS = (Column("measured", "cyan"), Column("median"), Column("99th percentile"), Column("per second"))


def run_bench(
    tool: Annotated[str | None, typer.Argument(help="The tool to call. Default: one that adds two numbers.")] = None,
    args: Annotated[str, typer.Option(help="Its arguments as JSON, @FILE, or - for standard input.")] = "{}",
    source: Source = None,
    store: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            envvar="CALLBOARD_STORE",
            help="The store: sqlite:///file.db or postgresql://host/name. Default: a temporary SQLite file.",
        ),
    ] = None,
    seconds: Annotated[float, typer.Option(min=0.05, max=600, help="Seconds for each figure.")] = 1.0,
    as_json: AsJson = False,
) -> None:
    """Measure what calls cost on this machine.

    A tool of yours is called thousands of times, so it must be inline,
    and idempotent or read-only. Sessions that this command opens in a
    store are deleted when it ends.
    """
    measured, arguments = (add, ARGUMENTS) if tool is None else (_find(tool, source), read_document(args, "--args"))
    if store is not None:
        require_store(store)
    with tempfile.TemporaryDirectory(prefix="callboard-bench-") as folder:
        figures = asyncio.run(_run(measured, arguments, seconds, store or file_address(Path(folder) / "bench.db")))
    where = "a temporary SQLite file" if store is None else store.partition("://")[0]
    if as_json:
        print_json({"tool": measured.name, "store": where, "figures": {each.key: _data(each) for each in figures}})
        return
    show_table(
        _COLUMNS, [(each.name, _time(each.median), _time(each.p99), f"{each.per_second:,.0f}") for each in figures]
    )
    out.print(f"\nThe tool {measured.name}, and {where} as the store.", style="dim")


def _find(name: str, source: str | None) -> Tool:
    found = find_tool(load_registry(source), name, repeat_options(source))
    if found.mode is not Mode.INLINE:
        raise CommandError(f"{name} is a {found.mode} tool. Measure an inline tool.", Exit.USAGE)
    if not (found.idempotent or found.read_only):
        raise CommandError(
            f"{name} is called thousands of times, so it must be declared with idempotent=True or read_only=True.",
            Exit.USAGE,
        )
    return found


async def _run(measured: Tool, arguments: bytes, seconds: float, store: str) -> list[Figure]:
    """Measure all figures. Ctrl-C stops, and deletes the sessions."""
    task = asyncio.current_task()
    assert task is not None
    figures: list[Figure] = []
    columns = TextColumn("[dim]measuring[/]"), BarColumn(24), TextColumn("[dim]{task.completed} of {task.total}[/]")
    bar = Progress(*columns, console=err, transient=True, disable=not is_interactive(err))
    with Interrupts(task.cancel), print_logs(note), bar:
        shown = bar.add_task("", total=FIGURES)
        try:
            async for figure in _all(measured, arguments, seconds, store):
                figures.append(figure)
                bar.advance(shown)
        except ToolError as error:
            code = Exit.INVALID if error.category is ErrorCategory.VALIDATION else Exit.FAILED
            raise CommandError(f"{measured.name} was not measured: {error.message}", code) from None
    return figures


async def _all(measured: Tool, arguments: bytes, seconds: float, store: str) -> AsyncGenerator[Figure]:
    async for figure in measure_in_memory(measured, arguments, seconds):
        yield figure
    async for figure in measure_with_store(measured, arguments, seconds, store):
        yield figure


def _time(seconds: float) -> str:
    return f"{seconds * 1e6:,.1f} µs" if seconds < 1e-3 else f"{seconds * 1e3:,.2f} ms"


def _data(figure: Figure) -> dict[str, Any]:
    return {
        "median_seconds": figure.median,
        "p99_seconds": figure.p99,
        "per_second": figure.per_second,
        "samples": figure.samples,
    }
