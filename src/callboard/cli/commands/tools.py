"""`callboard tools`: list tools, show their schemas, and run them."""

import asyncio
import contextlib
import math
import sys
import warnings
from collections.abc import AsyncGenerator, Callable
from typing import Annotated, BinaryIO

import typer
from rich.text import Text

from ...errors import CallboardError, ErrorCategory
from ...events.board import CursorExpired
from ...events.kinds import EventKind
from ...execution.outcome import Outcome
from ...execution.record import ExecutionRecord
from ...runtime import Runtime
from ...schemas.dialects import DIALECTS
from ...sessions.session import Session, live_session
from ...settings import GATE_PREFIX
from ...tools.definition import Tool
from ...tools.gates import gate_label, is_open
from ...tools.registry import Registry
from ...types import Mode
from ..interrupts import Interrupts, alongside, exit_after
from ..mcp_servers import ServerFiles, Servers, add_servers, list_servers
from ..options import ServedSource, find_tool, read_document, repeat_options
from ..process import CommandError, Exit
from ..terminal.call_view import CallView, JsonView, LiveView, exit_code, print_outcome
from ..terminal.console import AsJson, Column, describe, err, is_interactive, out, print_json, print_logs, show_table
from ..terminal.line_answers import LineAnswers
from ..terminal.text import one_line
from ..tool_source import load_served_registry

tools = typer.Typer(help="List tools, show their schemas, and run them.", no_args_is_help=True)

_COLUMNS = (Column("tool", "cyan"), Column("namespace", "dim"), Column("mode"), Column("description", wraps=True))
_STYLES = {Mode.BACKGROUND: "yellow", Mode.HUMAN: "magenta"}

SESSION = "command-line"
"""The id of the session in which a tool runs, and of its user."""
CALL = "call-1"
"""The call id of the tool that is run; nested calls have others."""
KEEP_EVENTS = 100_000
"""Events that a handler may post ahead of the display."""
EXIT_GRACE = 2.0
"""Seconds that threads and tasks of abandoned attempts may delay the exit."""


@tools.command("list")
def list_tools(
    source: ServedSource = None,
    namespace: Annotated[str | None, typer.Option(help="Only tools of this namespace.")] = None,
    tag: Annotated[str | None, typer.Option(help="Only tools with this tag.")] = None,
    as_json: AsJson = False,
    mcp: Servers = None,
    mcp_config: ServerFiles = None,
) -> None:
    """List the tools."""
    registry = list_servers(_served(source, mcp, mcp_config), mcp, mcp_config)
    chosen = [
        tool
        for tool in registry
        if (namespace is None or tool.namespace == namespace) and (tag is None or tag in tool.tags)
    ]
    if as_json:
        print_json(
            [
                {
                    "name": t.name,
                    "namespace": t.namespace,
                    "mode": t.mode,
                    "placement": t.placement,
                    "queue": t.queue,
                    "description": t.description,
                }
                for t in chosen
            ]
        )
    elif chosen:
        show_table(_COLUMNS, [_row(registry, tool) for tool in chosen])
    else:
        out.print("No tools.")


@tools.command("schema")
def show_schema(
    name: Annotated[str, typer.Argument(metavar="TOOL", help="The name of the tool.", show_default=False)],
    dialect: Annotated[str, typer.Option(help=f"One of: {', '.join(DIALECTS)}.")] = "claude",
    source: ServedSource = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, which is the only format.")] = True,
    mcp: Servers = None,
    mcp_config: ServerFiles = None,
) -> None:
    """Print a tool's schema in a dialect, as JSON."""
    registry = list_servers(_served(source, mcp, mcp_config), mcp, mcp_config)
    print_json(find_tool(registry, name, repeat_options(source, mcp, mcp_config)).schema(dialect))


@tools.command("manifest")
def show_manifest(
    source: ServedSource = None,
    dialect: Annotated[
        list[str] | None, typer.Option(help="Include the schemas in this dialect. Can be repeated.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, which is the only format.")] = True,
    mcp: Servers = None,
    mcp_config: ServerFiles = None,
) -> None:
    """Print the full definitions of all tools, as JSON."""
    print_json(list_servers(_served(source, mcp, mcp_config), mcp, mcp_config).manifest(dialect or ()))


def _served(source: str | None, mcp: list[str] | None, mcp_config: list[str] | None) -> Registry:
    """Load the tools that a server with these options has, without those of MCP servers."""
    return load_served_registry(source, demo=not (mcp or mcp_config))


def _row(registry: Registry, tool: Tool) -> tuple[str | Text, ...]:
    summary = one_line(tool.description.partition("\n")[0])
    place = tool.queue or (None if tool.placement is None else tool.placement.value)
    mode = Text(tool.mode if place is None else f"{tool.mode} ({place})", style=_STYLES.get(tool.mode, ""))
    if tool.gate is None or is_open(tool.gate, registry.settings.gates):
        return tool.name, tool.namespace, mode, summary
    return tool.name, tool.namespace, mode, Text(f"{summary} (hidden: {gate_label(tool.gate)} is off)", style="dim")


# Running a tool


@tools.command("run")
def run_tool(
    name: Annotated[str, typer.Argument(metavar="TOOL", help="The name of the tool.", show_default=False)],
    arguments: Annotated[
        str | None,
        typer.Option(
            "--args",
            metavar="JSON",
            help="The arguments: JSON text, @FILE for a file, - for standard input. Default: none.",
            show_default=False,
        ),
    ] = None,
    source: ServedSource = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print each event as a line of JSON; the last is tool_result.")
    ] = False,
    timeout: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Stop after this time, with retries. The tool's timeouts apply too."),
    ] = None,
    mcp: Servers = None,
    mcp_config: ServerFiles = None,
) -> None:
    """Run a tool, and show its progress.

    The result goes to standard output, everything else to standard error.
    If the tool asks a person, you are asked: type the answer, or pipe it,
    as in: echo yes | callboard tools run send_payment --args '…'

    Ctrl-C cancels the call and waits for its clean-up; a second Ctrl-C
    exits at once.

    Exit codes:

    \b
      0  succeeded
      1  failed
      2  the command line is not valid
      3  the arguments are not JSON or not valid
      4  there is no such tool
    124  timed out
    130  stopped by Ctrl-C
    """  # noqa: D301  # \b keeps the lines of a paragraph apart
    if timeout is not None and not (math.isfinite(timeout) and timeout > 0):
        raise CommandError("--timeout must be a number of seconds above 0.", Exit.USAGE)
    document = b"{}" if arguments is None else read_document(arguments, "--args", hint="For no arguments, use {}.")
    registry = add_servers(_served(source, mcp, mcp_config), mcp, mcp_config)
    options = repeat_options(source, mcp, mcp_config)
    output = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):  # standard output is for the result
        view = _view(output.buffer if as_json else None)

        def show(outcome: Outcome, record: ExecutionRecord) -> None:
            if not as_json:
                with contextlib.redirect_stdout(output):
                    print_outcome(outcome, record, options)

        code = asyncio.run(_run(registry, name, options, document, timeout, view, show))
    raise typer.Exit(code)


def _view(stream: BinaryIO | None) -> CallView:
    if stream is not None:
        return JsonView(CALL, stream)
    return LiveView(CALL, err) if is_interactive(err) else CallView(CALL)


async def _run(
    registry: Registry,
    name: str,
    options: str,
    document: bytes,
    timeout: float | None,
    view: CallView,
    show: Callable[[Outcome, ExecutionRecord], None],
) -> Exit:
    """Make the call, show its events up to the result, and print the outcome before the toolsets are closed."""
    task = asyncio.current_task()
    assert task is not None
    abandoned = False
    with Interrupts(task.cancel, view.abandon) as interrupts, print_logs(view.note):
        try:
            async with _runtime(registry, view) as runtime:
                tool = _runnable(registry, name, options)
                if timeout is not None:
                    _limit(registry, tool, timeout)
                session = await runtime.open(SESSION, user_id=SESSION)

                def stop() -> None:
                    if (execution := live_session(session).index.by_call(CALL)) is None:
                        task.cancel()
                    elif runtime.manager.cancel(execution):  # false if it has ended
                        view.note("Cancelling, and waiting for the clean-up. Press Ctrl-C again to exit at once.")

                with view:
                    interrupts.on_first = stop
                    await _call(session, tool.name, document, view)
                [record] = [each for each in session.executions() if each.call_id == CALL]
                outcome = await session.result(record.id)
                show(outcome, record)
                interrupts.on_first = task.cancel
                interrupts.exit_code = exit_code(outcome, interrupts.interrupted)
                categories = [error["category"] for error in record.previous_errors]
                if outcome.error is not None:
                    categories.append(outcome.error.category)
                abandoned = not _ABANDONING.isdisjoint(categories)
        except asyncio.CancelledError:
            if interrupts.exit_code is None:
                raise
            view.note("The toolsets were not closed cleanly: stopped.")
    code = Exit(interrupts.exit_code)
    if abandoned:
        exit_after(EXIT_GRACE, code)
    return code


async def _call(session: Session, tool: str, document: bytes, view: CallView) -> None:
    """Call the tool, and show all events up to its result."""
    cursor, answers = 0, LineAnswers(session, view)
    async with alongside(view.wait_for_closed()), alongside(session.call(tool, document, call_id=CALL)):
        while True:
            await session.board.wait(cursor)
            try:
                events = session.board.read(cursor)
            except CursorExpired as expired:
                view.note(f"{expired.first - 1 - cursor:,} events came too fast and are not shown.")
                cursor = expired.first - 1
                continue
            for event in events:
                cursor = event.seq
                view.show(event)
                if event.kind in (EventKind.HUMAN_REQUEST, EventKind.WALLET_TX_REQUEST):
                    await answers.ask(event.data["request_id"], event.data["execution_id"])
                if event.kind == EventKind.TOOL_RESULT and event.data["call_id"] == CALL:
                    return


def _runnable(registry: Registry, name: str, options: str) -> Tool:
    """Find a tool that the command line can run. Raises `CommandError`."""
    tool = find_tool(registry, name, options)
    if tool.gate is not None and not is_open(tool.gate, registry.settings.gates):
        label = gate_label(tool.gate) or ""
        how = f" Turn it on with {GATE_PREFIX}{label.upper()}=1." if label == tool.gate and ":" not in label else ""
        raise CommandError(f"The tool {name!r} is hidden: {label} is off.{how}", Exit.NOT_FOUND)
    return tool


def _limit(registry: Registry, tool: Tool, seconds: float) -> None:
    """Limit the total time of a tool, retries included."""
    limited = tool.with_(total_timeout=min(seconds, tool.total_timeout or seconds))
    with warnings.catch_warnings(action="ignore"):  # given when the tool was first registered
        registry.register(limited, replace=True, strict=False)


_ABANDONING = frozenset({ErrorCategory.CANCELLED, ErrorCategory.TIMEOUT})
"""Errors of attempts whose handler may still run: threads cannot be stopped, and coroutines can resist."""


@contextlib.asynccontextmanager
async def _runtime(registry: Registry, view: CallView) -> AsyncGenerator[Runtime, None]:
    """A started runtime. Toolsets may raise anything when they are started and closed."""
    runtime = Runtime(registry, store="memory://", keep_events=KEEP_EVENTS)
    try:
        await runtime.__aenter__()
    except CallboardError:
        raise
    except Exception as error:
        raise CommandError(f"The toolsets cannot be started: {describe(error)}.") from error
    try:
        yield runtime
    finally:
        try:
            await runtime.__aexit__(*sys.exc_info())
        except Exception as error:
            view.note(f"The toolsets were not closed cleanly: {describe(error)}.")
