"""`callboard tools`: which tools there are, and how a model sees them."""

import difflib
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from ..errors import ToolError
from ..schemas.dialects import DIALECTS
from ..tools.definition import Tool
from ..tools.gates import gate_label, is_open
from ..tools.registry import Registry
from .console import out, print_json
from .loading import load_registry

tools = typer.Typer(help="List tools, and show their schemas.", no_args_is_help=True)

Source = Annotated[
    str | None,
    typer.Option("--tools", metavar="PACKAGE.MODULE:REGISTRY", help="Whose tools; the built-in toolkits by default."),
]
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
    elif chosen:
        out.print(_table(registry, chosen))
    else:
        out.print("No tools.")


@tools.command("schema")
def show_schema(
    name: Annotated[str, typer.Argument(help="The tool's name.")],
    dialect: Annotated[str, typer.Option(help=f"One of: {', '.join(DIALECTS)}.")] = "claude",
    source: Source = None,
) -> None:
    """Show a tool's schema in a dialect, as JSON."""
    print_json(_find(load_registry(source), name).schema(dialect))


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


def _find(registry: Registry, name: str) -> Tool:
    if (found := registry.get(name)) is not None:
        return found
    similar = difflib.get_close_matches(name, registry.names(), n=3)
    hint = f" Did you mean {', '.join(similar)}?" if similar else " See: callboard tools list"
    raise ToolError(f"There is no tool {name!r}.{hint}", category="not_found")


def _table(registry: Registry, chosen: list[Tool]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("tool", style="cyan", no_wrap=True)
    table.add_column("namespace", no_wrap=True)
    table.add_column("mode", no_wrap=True)
    table.add_column("what it does", overflow="fold")
    for each in chosen:
        summary = escape(each.description.partition("\n")[0])
        if each.gate is not None and not is_open(each.gate, registry.settings.gates):
            summary = f"[dim]{summary} (hidden: {escape(str(gate_label(each.gate)))} is off)[/]"
        table.add_row(escape(each.name), escape(each.namespace), each.mode, summary)
    return table
