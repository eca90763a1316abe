"""`callboard mcp`: serve tools over standard input and output to an MCP client, and configure the client."""

import asyncio
import logging
from importlib import import_module
from typing import Annotated, Any

import typer

from ...addresses import passwords
from ...errors import MissingExtraError
from ...runtime import Runtime
from ...telemetry.logs import configure
from ..mcp_approvals import approve_tools
from ..mcp_clients import ClientName, client_file, server_entry, write_entry
from ..mcp_servers import ServerFiles, Servers, add_servers
from ..options import Source
from ..process import Exit, exit_on_interrupt
from ..terminal.console import note, print_json
from ..tool_source import load_registry
from .store import Address

MEMORY = "memory://"

mcp = typer.Typer(help="Serve tools to an MCP client over standard input and output.")


@mcp.callback(invoke_without_command=True)
def serve_mcp(
    context: typer.Context,
    store: Address = MEMORY,
    source: Source = None,
    servers: Servers = None,
    server_files: ServerFiles = None,
    user: Annotated[str, typer.Option(metavar="NAME", help="The user whose sessions the client uses.")] = "local",
    session_id: Annotated[
        str | None,
        typer.Option("--session", metavar="ID", help="The session to use. Default: a new one for each connection."),
    ] = None,
) -> None:
    """Serve tools to an MCP client, such as a desktop application, until it closes standard input.

    The client starts this command. Logs go to standard error. By default,
    all data is in memory and lost at the end; with --store, results of
    background tools and requests to people are kept.
    """
    if context.invoked_subcommand is not None:
        return
    try:
        stdio: Any = import_module("callboard.protocols.mcp.stdio")
    except ModuleNotFoundError as missing:
        raise MissingExtraError("MCP", "mcp") from missing
    configure(level=logging.WARNING, secrets=passwords(store))
    runtime = Runtime(add_servers(load_registry(source), servers, server_files), store=store)
    exit_on_interrupt(Exit.INTERRUPTED)  # a thread reads standard input and cannot be cancelled

    async def serve() -> None:
        async with runtime:
            await stdio.serve_stdio(runtime, user, session_id)

    asyncio.run(serve())


@mcp.command("approve")
def approve(
    files: Annotated[list[str], typer.Option("--mcp-config", metavar="FILE", help="A file of MCP servers.")],
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SERVER.TOOL]...", help="The tools to approve. Without any, changed tools are shown."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Approve all changed tools.")] = False,
) -> None:
    """Approve tools of MCP servers that were changed after their approval.

    Such tools are hidden. Without names, this command shows their present
    definitions, as JSON. Only servers with the option pins keep approvals.
    A server that is running with the same file shows approved tools again
    within seconds. The exit code is 1 if a server does not answer.
    """
    raise typer.Exit(approve_tools(files, frozenset(names or ()), every=every))


@mcp.command("install")
def install(
    client: Annotated[ClientName, typer.Option("--client", help="The client to configure.")],
    name: Annotated[str, typer.Option(help="The name of the server in the client.")] = "callboard",
    store: Annotated[
        str | None, typer.Option("--store", metavar="URL", help="The store that the server uses.", show_default=False)
    ] = None,
    source: Source = None,
    user: Annotated[
        str | None, typer.Option(metavar="NAME", help="The user of the server.", show_default=False)
    ] = None,
    only_print: Annotated[bool, typer.Option("--print", help="Print the configuration, and write nothing.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace another server of this name.")] = False,
) -> None:
    """Write the configuration of an MCP client, so that it starts this server.

    The files of claude-desktop and cursor are yours, those of claude-code
    and vscode belong to the project in the current folder. Other servers
    in the file are kept.
    """
    load_registry(source)  # raises now, not in the client
    file = client_file(client)
    entry = server_entry({"--tools": source, "--store": store, "--user": user}, is_typed=file.is_typed)
    if only_print:
        print_json({file.section: {name: entry}})
    elif write_entry(file, name, entry, replace=force):
        note(f"{file.path} has the server {name!r} now. Restart the client to use it.")
    else:
        note(f"{file.path} has the server {name!r} already.")
