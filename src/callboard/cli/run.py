"""`callboard tools run`: carry one call out in a session of its own, and show it while it runs."""

import asyncio
import contextlib
import math
import sys
import warnings
from collections.abc import AsyncGenerator, Callable, Iterator
from typing import Annotated, BinaryIO

import typer

from ..errors import CallboardError, ErrorCategory, ToolError
from ..events.board import CursorExpired
from ..events.kinds import EventKind
from ..execution.outcome import Outcome
from ..execution.record import ExecutionRecord
from ..runtime import Runtime
from ..sessions.session import Session, live_session
from ..settings import GATE_PREFIX
from ..tools.definition import Tool
from ..tools.gates import gate_label, is_open
from ..tools.registry import Registry
from ..types import Mode
from .arguments import ArgumentsError, read_arguments
from .console import err, fail, is_interactive
from .exits import Exit
from .interrupts import Interrupts, leave_after
from .lines import JsonWatcher, LineWatcher, Watcher
from .loading import Source, find_tool, load_registry
from .logs import described, logs_said
from .progress import LiveWatcher
from .report import exit_of, report

WHO = "command-line"
"""The session and the user of a call that is made here."""
CALL = "call-1"
"""The call's id, by which it is told from those that its handler makes."""
KEPT_EVENTS = 100_000
"""How far a handler may run ahead of what is shown."""
LINGER = 2.0
"""Seconds for threads and tasks that outlive their attempt, once all is said."""


class StartError(CallboardError):
    """What holds the tools cannot be started."""

    code = "start"


def run_tool(
    name: Annotated[str, typer.Argument(help="The tool's name.", show_default=False)],
    arguments: Annotated[
        str | None,
        typer.Option(
            "--args",
            metavar="JSON",
            help="The arguments: JSON text, @FILE for a file, - for standard input. None by default.",
            show_default=False,
        ),
    ] = None,
    source: Source = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Every event of the board as a line of JSON; the last is tool_result.")
    ] = False,
    timeout: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", help="Stop after this long, retries included. The tool's own limits hold too."),
    ] = None,
) -> None:
    """Run a tool, and show what it does.

    The result goes to standard output, all else to standard error.
    Ctrl-C cancels the call and waits for its clean-up; a second Ctrl-C
    leaves at once.

    Exit codes:

      0  it succeeded
      1  it failed
      2  the command was not understood
      3  the arguments are not JSON, or not what the tool takes
      4  there is no such tool
    124  it took too long
    130  it was stopped by Ctrl-C
    """
    if timeout is not None and not (math.isfinite(timeout) and timeout > 0):
        raise typer.Exit(fail("--timeout must be a number of seconds above 0.", Exit.USAGE))
    try:
        document = read_arguments(arguments)
    except ArgumentsError as error:
        raise typer.Exit(fail(str(error), error.exit_code)) from error
    registry = load_registry(source)
    output = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):  # what tools print is not the result
        watcher = _watcher(output.buffer if as_json else None)

        def show(outcome: Outcome, record: ExecutionRecord) -> None:
            if not as_json:
                with contextlib.redirect_stdout(output):
                    report(outcome, record)

        try:
            code = asyncio.run(_carry_out(registry, name, document, timeout, watcher, show))
        except asyncio.CancelledError:  # by Ctrl-C, while there was no call
            code = fail("stopped", Exit.INTERRUPTED)
    raise typer.Exit(code)


def _watcher(stream: BinaryIO | None) -> Watcher:
    if stream is not None:
        return JsonWatcher(CALL, stream)
    return LiveWatcher(CALL, err) if is_interactive(err) else LineWatcher(CALL)


async def _carry_out(
    registry: Registry,
    name: str,
    document: bytes,
    timeout: float | None,
    watcher: Watcher,
    show: Callable[[Outcome, ExecutionRecord], None],
) -> Exit:
    """Make the call, follow it to its end, and show how it ended before what held the tools is ended too."""
    task = asyncio.current_task()
    assert task is not None
    forgotten = False
    with Interrupts(task.cancel, watcher.abandon) as interrupts, logs_said(watcher.say):
        try:
            async with _started(registry, watcher) as runtime:
                tool = _runnable(registry, name)
                if timeout is not None:
                    _limit(registry, tool, timeout)
                session = await runtime.open(WHO, user_id=WHO)

                def stop() -> None:
                    if (execution := live_session(session).index.by_call(CALL)) is None:
                        task.cancel()
                    elif runtime.manager.cancel(execution):  # else it has ended, and how is about to be shown
                        watcher.say("Cancelling, and waiting for the clean-up. Ctrl-C again leaves at once.")

                with watcher:
                    interrupts.first = stop
                    await _follow(session, tool.name, document, watcher)
                [record] = [each for each in session.executions() if each.call_id == CALL]
                outcome = await session.result(record.id)
                show(outcome, record)
                interrupts.first = task.cancel
                interrupts.code = exit_of(outcome, interrupts.seen)
                forgotten = not _FORGOTTEN.isdisjoint(_categories(outcome, record))
        except asyncio.CancelledError:
            if interrupts.code is None:
                raise
            watcher.say("The tools were not ended cleanly: stopped.")
    code = Exit(interrupts.code)
    if forgotten:
        leave_after(LINGER, code)
    return code


async def _follow(session: Session, tool: str, document: bytes, watcher: Watcher) -> None:
    """Call the tool, and show every event up to the one that ends the call."""
    calling = asyncio.ensure_future(session.call(tool, document, call_id=CALL))
    seen = 0
    try:
        while True:
            await session.board.wait(seen)
            try:
                events = session.board.read(seen)
            except CursorExpired as expired:
                watcher.say(f"{expired.first - 1 - seen:,} events came too fast, and are not shown.")
                seen = expired.first - 1
                continue
            for event in events:
                seen = event.seq
                watcher.show(event)
                if event.kind == EventKind.TOOL_RESULT and event.data["call_id"] == CALL:
                    return
    finally:
        calling.cancel()
        await asyncio.wait([calling])


def _runnable(registry: Registry, name: str) -> Tool:
    """The tool of that name, if it can be run from here. Raises `ToolError`."""
    tool = find_tool(registry, name)
    if tool.gate is not None and not is_open(tool.gate, registry.settings.gates):
        label = gate_label(tool.gate) or ""
        how = f" Open it with {GATE_PREFIX}{label.upper()}=1." if label == tool.gate and ":" not in label else ""
        raise ToolError(f"The tool {name!r} is hidden: {label} is off.{how}", category=ErrorCategory.NOT_FOUND)
    if tool.mode is Mode.HUMAN:
        raise ToolError(
            f"The tool {name!r} asks a person, which needs a session with people in it. It cannot be run from the "
            "command line yet.",
            category=ErrorCategory.CONFIGURATION,
        )
    return tool


def _limit(registry: Registry, tool: Tool, seconds: float) -> None:
    """Let the whole execution of a tool take so long at most."""
    limited = tool.with_(total_timeout=min(seconds, tool.total_timeout or seconds))
    with warnings.catch_warnings(action="ignore"):  # it has been registered before, and was accepted or warned about
        registry.register(limited, replace=True, strict=False)


_FORGOTTEN = frozenset({ErrorCategory.CANCELLED, ErrorCategory.TIMEOUT})
"""How attempts end whose handler may go on: a thread cannot be stopped, and a coroutine may not want to be."""


def _categories(outcome: Outcome, record: ExecutionRecord) -> Iterator[ErrorCategory]:
    if outcome.error is not None:
        yield outcome.error.category
    for error in record.previous_errors:
        yield ErrorCategory(error["category"])


@contextlib.asynccontextmanager
async def _started(registry: Registry, watcher: Watcher) -> AsyncGenerator[Runtime, None]:
    """A runtime for the tools. What they hold may fail in any way when it is started and ended."""
    runtime = Runtime(registry, store="memory://", keep_events=KEPT_EVENTS)
    try:
        await runtime.__aenter__()
    except CallboardError:
        raise
    except Exception as error:
        raise StartError(f"The tools cannot be started: {described(error)}.") from error
    try:
        yield runtime
    finally:
        try:
            await runtime.__aexit__(*sys.exc_info())
        except Exception as error:
            watcher.say(f"The tools were not ended cleanly: {described(error)}.")
