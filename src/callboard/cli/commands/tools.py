"""`callboard tools`: list tools, and show their schemas. `run` is in a file of its own."""

from typing import Annotated

import typer
from rich.text import Text

from ...schemas.dialects import DIALECTS
from ...tools.definition import Tool
from ...tools.gates import gate_label, is_open
from ...tools.registry import Registry
from ...types import Mode
from ..options import Source, find_tool, load_registry
from ..terminal.console import AsJson, out, print_json
from ..terminal.tables import Column, show_table
from ..terminal.text import one_line

tools = typer.Typer(help="List tools, show their schemas, and run them.", no_args_is_help=True)

COLUMNS = (Column("tool", "cyan"), Column("namespace", "dim"), Column("mode"), Column("description", wraps=True))
_STYLES = {Mode.BACKGROUND: "yellow", Mode.HUMAN: "magenta"}


@tools.command("list")
def list_tools(
    source: Source = None,
    namespace: Annotated[str | None, typer.Option(help="Only tools of this namespace.")] = None,
    tag: Annotated[str | None, typer.Option(help="Only tools with this tag.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the tools."""
    registry = load_registry(source)
    chosen = [
        tool
        for tool in registry
        if (namespace is None or tool.namespace == namespace) and (tag is None or tag in tool.tags)
    ]
    if as_json:
        print_json(
            [{"name": t.name, "namespace": t.namespace, "mode": t.mode, "description": t.description} for t in chosen]
        )
    elif chosen:
        show_table(COLUMNS, [_row(registry, tool) for tool in chosen])
    else:
        out.print("No tools.")


@tools.command("schema")
def show_schema(
    name: Annotated[str, typer.Argument(help="The name of the tool.")],
    dialect: Annotated[str, typer.Option(help=f"One of: {', '.join(DIALECTS)}.")] = "claude",
    source: Source = None,
) -> None:
    """Print a tool's schema in a dialect, as JSON."""
    print_json(find_tool(load_registry(source), name).schema(dialect))


@tools.command("manifest")
def show_manifest(
    source: Source = None,
    dialect: Annotated[
        list[str] | None, typer.Option(help="Include the schemas in this dialect. Can be repeated.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, which is the only format.")] = True,
) -> None:
    """Print the full definitions of all tools, as JSON."""
    print_json(load_registry(source).manifest(dialect or ()))


def _row(registry: Registry, tool: Tool) -> tuple[str | Text, ...]:
    summary = one_line(tool.description.partition("\n")[0])
    mode = Text(tool.mode, style=_STYLES.get(tool.mode, ""))
    if tool.gate is None or is_open(tool.gate, registry.settings.gates):
        return tool.name, tool.namespace, mode, summary
    return tool.name, tool.namespace, mode, Text(f"{summary} (hidden: {gate_label(tool.gate)} is off)", style="dim")
