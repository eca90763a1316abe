"""Options of commands that use the tools of MCP servers."""

import asyncio
import re
from importlib import import_module
from typing import Annotated, Any

import typer

from callboard import Registry
from callboard.errors import MissingExtraError

from .terminal.console import err

Servers = Annotated[
    list[str] | None,
    typer.Option(
        "--mcp",
        metavar="[NAME=]SERVER",
        help="Add the tools of an MCP server: a URL, or a command in quotes. Can be repeated.",
    ),
]
ServerFiles = Annotated[
    list[str] | None,
    typer.Option(
        "--mcp-config", metavar="FILE", help="Add the tools of the MCP servers in a file, in the form mcpServers."
    ),
]

_NAMED = re.compile(r"([A-Za-z_][A-Za-z0-9_-]*)=(.+)", re.DOTALL)


def add_servers(registry: Registry, servers: list[str] | None, files: list[str] | None) -> Registry:
    """Add the toolsets of MCP servers to a registry, which connects them when it is entered.

    Raises `RegistrationError` for a server that cannot be used, and `MissingExtraError`.
    """
    if not servers and not files:
        return registry
    toolkit = load_toolkit()
    for given in servers or ():
        named = _NAMED.fullmatch(given)
        name, server = named.groups() if named is not None else (None, given)
        registry.include(toolkit.mcp_toolset(server, namespace=name))
    for file in files or ():
        for toolset in toolkit.mcp_toolsets(file):
            registry.include(toolset)
    return registry


def load_toolkit() -> Any:
    """Import the toolkit of MCP servers. Raises `MissingExtraError`."""
    try:
        return import_module("callboard.toolkits.mcp")
    except ModuleNotFoundError as missing:
        raise MissingExtraError("The tools of MCP servers", "mcp") from missing


def list_servers(registry: Registry, servers: list[str] | None, files: list[str] | None) -> Registry:
    """Add the tools of MCP servers to a registry, for a command that does not call them."""
    if servers or files:
        with err.status("Connecting to the MCP servers"):
            asyncio.run(_connect(add_servers(registry, servers, files)))
    return registry


async def _connect(registry: Registry) -> None:
    async with registry:
        pass
