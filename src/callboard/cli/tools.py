"""`callboard tools`: which tools there are, how a model sees them, and running one."""

from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from ..schemas.dialects import DIALECTS
from ..tools.definition import Tool
from ..tools.gates import gate_label, is_open
from ..tools.registry import Registry
from ..types import Mode
from .console import out, print_json, print_text
from .loading import Source, find_tool, load_registry
from .run import run_tool
from .words import one_line

tools = typer.Typer(help="List tools, show their schemas, and run them.", no_args_is_help=True)

AsJson = Annotated[bool, typer.Option("--json", help="JSON for programs.")]


@tools.command("list")
def list_tools(
    source: Source = None,
    namespace: Annotated[str | None, typer.Option(help="Only this namespace.")] = None,
    tag: Annotated[str | None, typer.Option(help="Only tools with this tag.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the tools."""
    registry = load_registry(source)
    chosen = [
        each
        for each in registry
        if (namespace is None or each.namespace == namespace) and (tag is None or tag in each.tags)
    ]
    if as_json:
        print_json(
            [{"name": t.name, "namespace": t.namespace, "mode": t.mode, "description": t.description} for t in chosen]
        )
    elif chosen and out.is_terminal:
        out.print(_table(registry, chosen))
    elif chosen:
        _print_lines(registry, chosen)
    else:
        out.print("No tools.")


@tools.command("schema")
def show_schema(
    name: Annotated[str, typer.Argument(help="The tool's name.")],
    dialect: Annotated[str, typer.Option(help=f"One of: {', '.join(DIALECTS)}.")] = "claude",
    source: Source = None,
) -> None:
    """Show a tool's schema in a dialect, as JSON."""
    print_json(find_tool(load_registry(source), name).schema(dialect))


tools.command("run")(run_tool)


@tools.command("manifest")
def show_manifest(
    source: Source = None,
    dialect: Annotated[
        list[str] | None, typer.Option(help="Also the schemas in this dialect; may be repeated.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON, which is the only form it has.")] = True,
) -> None:
    """Show everything about all tools, as JSON."""
    print_json(load_registry(source).manifest(dialect or ()))


HEADER = ("tool", "namespace", "mode", "what it does")


def _table(registry: Registry, chosen: list[Tool]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for title, style in zip(HEADER, ("cyan", "dim", None, None), strict=True):
        table.add_column(title, style=style, no_wrap=title != HEADER[-1], overflow="fold")
    for each in chosen:
        mode = Text(each.mode, style={Mode.BACKGROUND: "yellow", Mode.HUMAN: "magenta"}.get(each.mode, ""))
        hidden = _hidden(registry, each)
        table.add_row(
            escape(each.name), Text(each.namespace), mode, Text(_summary(each) + hidden, style="dim" if hidden else "")
        )
    return table


def _print_lines(registry: Registry, chosen: list[Tool]) -> None:
    """The table for a file or another program: one line per tool, however long."""
    rows = [HEADER] + [(t.name, t.namespace, t.mode.value, _summary(t) + _hidden(registry, t)) for t in chosen]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for *short, summary in rows:
        print_text("  ".join(text.ljust(width) for text, width in zip(short, widths, strict=True)) + f"  {summary}")


def _summary(tool: Tool) -> str:
    return one_line(tool.description.partition("\n")[0])


def _hidden(registry: Registry, tool: Tool) -> str:
    closed = tool.gate is not None and not is_open(tool.gate, registry.settings.gates)
    return f" (hidden: {gate_label(tool.gate)} is off)" if closed else ""
