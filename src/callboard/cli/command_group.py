"""The commands of `callboard`, each loaded when it is run: the help and the version need none of them."""

from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup

from ..errors import MissingExtraError
from .process import loading


class CommandSource(NamedTuple):
    """The place of a command, and its line in the list of commands."""

    module: str
    """A module of `commands`."""
    name: str
    """The function, or the `Typer` with sub-commands, in that module."""
    summary: str


COMMANDS = {
    "tools": CommandSource("tools", "tools", "List tools, show their schemas, and run them."),
    "sessions": CommandSource("sessions", "sessions", "List sessions, show the state of one, and close one."),
    "events": CommandSource("events", "show_events", "Print the events of a session."),
    "requests": CommandSource("requests", "requests", "List requests to people, and answer them."),
    "keys": CommandSource("keys", "keys", "Create, list and revoke API keys for the users of a server."),
    "migrate": CommandSource("store", "migrate", "Create or migrate the tables of a store."),
    "demo": CommandSource("demo", "run_demo", "Chat with a model that uses tools, offline, without an API key."),
    "serve": CommandSource("serve", "serve", "Start the server, and print its address."),
    "worker": CommandSource("worker", "worker", "Carry out the calls of queues, for other servers."),
    "workers": CommandSource("workers", "workers", "List workers, what they run, and what waits for them."),
    "mcp": CommandSource("mcp", "mcp", "Serve tools to an MCP client over standard input and output."),
    "bench": CommandSource("bench", "run_bench", "Measure what calls cost on this machine."),
    "doctor": CommandSource("doctor", "run_doctor", "Check whether a server can start here."),
}


class CommandGroup(TyperGroup):
    """Lists the commands by their summaries, and loads a command when it is resolved."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        for name, source in COMMANDS.items():
            self.add_command(TyperCommand(name, help=source.summary))

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, listed, rest = super().resolve_command(ctx, args)
        return name, listed if name is None else load_command(name), rest


def load_command(name: str) -> Any:
    """Import a command. Raises `MissingExtraError`."""
    source = COMMANDS[name]
    with loading():
        try:
            found = getattr(import_module(f".commands.{source.module}", __package__), source.name)
        except ModuleNotFoundError as missing:
            if (missing.name or "").startswith("callboard"):
                raise
            raise MissingExtraError(f"callboard {name}", "cli") from missing
    group = typer.Typer(callback=lambda: None, rich_markup_mode=None)
    if isinstance(found, typer.Typer):
        group.add_typer(found, name=name)
    else:
        group.command(name)(found)
    return typer.main.get_group(group).commands[name]
