"""`callboard tools`: which tools there are, how a model sees them, and running one."""

from typing import Annotated

import typer
from rich.text import Text

from ..schemas.dialects import DIALECTS
from ..tools.definition import Tool
from ..tools.gates import gate_label, is_open
from ..tools.registry import Registry
from ..types import Mode
from .console import AsJson, out, print_json
from .loading import Source, find_tool, load_registry
from .run import run_tool
from .tables import Column, show_table
from .text import one_line

tools = typer.Typer(help="List tools, show their schemas, and run them.", no_args_is_help=True)

COLUMNS = (Column("tool", "cyan"), Column("namespace", "dim"), Column("mode"), Column("what it does", wraps=True))
_STYLES = {Mode.BACKGROUND: "yellow", Mode.HUMAN: "magenta"}


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
    elif chosen:
        show_table(COLUMNS, [_row(registry, each) for each in chosen])
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


def _row(registry: Registry, tool: Tool) -> tuple[str | Text, ...]:
    hidden = _hidden(registry, tool)
    mode = Text(tool.mode, style=_STYLES.get(tool.mode, ""))
    return tool.name, tool.namespace, mode, Text(_summary(tool) + hidden, style="dim" if hidden else "")


def _summary(tool: Tool) -> str:
    return one_line(tool.description.partition("\n")[0])


def _hidden(registry: Registry, tool: Tool) -> str:
    closed = tool.gate is not None and not is_open(tool.gate, registry.settings.gates)
    return f" (hidden: {gate_label(tool.gate)} is off)" if closed else ""
