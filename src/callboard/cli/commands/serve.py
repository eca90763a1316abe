"""`callboard serve`: start the server and its chat page."""

import logging
from collections.abc import Iterable
from importlib import import_module
from typing import Annotated

import typer
from rich.padding import Padding
from rich.table import Table

import callboard

from ...addresses import passwords, without_password
from ...errors import MissingExtraError
from ...runtime import Reach, store_address
from ...telemetry.logs import configure
from ...tools.definition import RESERVED_NAMESPACE, Tool
from ..mcp_servers import ServerFiles, Servers, add_servers
from ..model_keys import check_key
from ..options import EngineAddress, ServedSource, read_text
from ..process import loading
from ..terminal.console import out
from ..tool_source import load_served_registry
from .store import DEFAULT, Address

log = logging.getLogger("callboard.server")

DAY = 86_400.0


def serve(
    host: Annotated[str, typer.Option(envvar="CALLBOARD_HOST", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(envvar="CALLBOARD_PORT", min=0, max=65_535, help="The port to listen on; 0 picks a free one.")
    ] = 8000,
    store: Address = DEFAULT,
    model: Annotated[
        str,
        typer.Option(
            metavar="NAME", envvar="CALLBOARD_MODEL", help="A model of Pydantic AI, or offline, which needs no API key."
        ),
    ] = "offline",
    base_url: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            envvar="CALLBOARD_BASE_URL",
            help="The server of the model, if it speaks OpenAI's protocol: http://localhost:11434/v1 for Ollama.",
            show_default=False,
        ),
    ] = None,
    instructions: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Instructions for the model: text, or @FILE.", show_default=False),
    ] = None,
    engine: EngineAddress = None,
    source: ServedSource = None,
    mcp: Servers = None,
    mcp_config: ServerFiles = None,
    no_auth: Annotated[
        bool, typer.Option("--no-auth", help="Allow requests without an API key from anywhere, while there are none.")
    ] = False,
    keep_days: Annotated[
        float | None,
        typer.Option(
            metavar="DAYS", envvar="CALLBOARD_KEEP_DAYS", min=0.01, help="Delete events that are older. Default: never."
        ),
    ] = None,
    keep_events: Annotated[
        int | None,
        typer.Option(
            metavar="COUNT",
            envvar="CALLBOARD_KEEP_EVENTS",
            min=1,
            help="Delete the oldest events of a session beyond so many. Default: never.",
        ),
    ] = None,
    grace: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, max=600, help="Time for running turns to finish at shutdown.")
    ] = 10.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print logs as lines of JSON, and nothing else.")] = False,
) -> None:
    """Start the server, and print its address.

    All data is kept in the store, by default callboard.db in this folder.
    By default, only this machine can reach it. To serve other machines,
    create an API key (callboard keys create) and set --host.

    Ctrl-C or SIGTERM stops the server: running turns get a grace period,
    streams end after their last event, and clients resume later.
    """
    if base_url is None:
        check_key(model)
    with loading():
        try:
            from ...server import launch
        except ModuleNotFoundError as missing:
            raise MissingExtraError("The server", "server") from missing
    secrets = passwords(store, *(engine or "").split(","))
    configure(json=as_json, level=logging.INFO if as_json else logging.WARNING, secrets=secrets)
    tools = load_served_registry(source, demo=not (mcp or mcp_config))
    add_servers(tools, mcp, mcp_config)
    prompt = None if instructions is None else read_text(instructions, "--instructions")
    used = model if base_url is None else import_module("callboard.chat.model").compatible_model(model, base_url)

    def listening(address: str, needs_key: bool) -> None:
        if as_json:
            log.info("listening", extra={"address": address, "store": _location(store), "model": model})
        else:
            listed = sum(tool.namespace != RESERVED_NAMESPACE for tool in tools)  # as `callboard tools list` does
            _welcome(address, store, model, listed, needs_key)

    launch.launch(
        launch.LaunchOptions(
            host=host,
            port=port,
            store=store,
            engine=engine,
            model=used,
            instructions=prompt,
            tools=tools,
            workers=_workers(),
            keep_for=None if keep_days is None else keep_days * DAY,
            keep_events=keep_events,
            no_auth=no_auth,
            grace=grace,
            log_owners=as_json,
        ),
        listening,
    )


def _workers() -> Iterable[Tool]:
    """The built-in workers, if the extra that they need is installed."""
    try:
        return import_module("callboard.toolkits.gas").workers
    except ModuleNotFoundError:
        return ()


def _welcome(address: str, store: str, model: str, tools: int, needs_key: bool) -> None:
    facts = Table.grid(padding=(0, 2))
    facts.add_row("[dim]data[/]", _location(store))
    facts.add_row("[dim]model[/]", "offline (not a language model; see --model)" if model == "offline" else model)
    facts.add_row("[dim]tools[/]", str(tools))
    facts.add_row("[dim]access[/]", "with an API key" if needs_key else "without an API key, as one user")
    out.print(f"\n  [bold]callboard[/] {callboard.__version__}  [bold cyan]{address}[/]\n")
    out.print(Padding(facts, (0, 2)))
    out.print("\n  [dim]Press Ctrl-C to stop.[/]\n")
    out.file.flush()


def _location(store: str) -> str:
    """The location of the data, without a password."""
    address = store_address(store)
    if address.file is not None:
        return str(address.file.absolute())
    return "in memory, lost when the server stops" if address.reach is Reach.PROCESS else without_password(store)
