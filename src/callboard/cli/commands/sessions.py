"""`callboard sessions`: list sessions, show the state of one, and close one."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, NamedTuple

import typer
from pydantic_core import from_json
from rich.text import Text

from ...execution.lifecycle import Status
from ...storage.change import Change
from ...storage.errors import Conflict
from ...storage.rows import ExecutionRow, OwnerRow, RequestRow, SessionRow
from ...storage.store import Store
from ...tools.registry import Registry
from ...types import Logout
from ..terminal.console import AsJson, Column, Row, err, out, print_json, print_line, show_table
from ..terminal.text import compact, error_beside_status, one_line, span, when
from ..tool_source import load_registry
from .store import (
    DEFAULT,
    Address,
    SessionId,
    execution_data,
    find_session,
    owner_of,
    process_name,
    request_data,
    request_status,
    result_data,
    session_data,
    use_store,
)

sessions = typer.Typer(help="List sessions, show the state of one, and close one.", no_args_is_help=True)

PAGE = 1_000
MAX_ROWS = 1_000
"""Executions or requests of a session that are read, at most."""
MAX_VALUE = 120
"""Characters of arguments and results that a cell shows, at most."""

_LISTED = (
    Column("session", "cyan"),
    Column("user"),
    Column("state"),
    Column("events"),
    Column("requests"),
    Column("results"),
    Column("last activity", "dim"),
    Column("title", wraps=True),
)
_UNFINISHED = (
    Column("execution", "cyan"),
    Column("tool", "bold"),
    Column("status"),
    Column("attempt"),
    Column("age"),
    Column("process", "dim"),
    Column("arguments", wraps=True),
)
_REQUESTS = (
    Column("request", "cyan"),
    Column("tool", "bold"),
    Column("age"),
    Column("expires"),
    Column("payload", wraps=True),
)
_RESULTS = (Column("execution", "cyan"), Column("tool", "bold"), Column("status"), Column("result", wraps=True))


class SessionStatus(NamedTuple):
    """A session, and everything unfinished in it."""

    session: SessionRow
    executions: list[ExecutionRow]
    """Unfinished executions."""
    requests: list[RequestRow]
    """Open requests."""
    results: list[ExecutionRow]
    """Ended executions whose results were not read."""
    owners: Mapping[str, OwnerRow]
    """The known processes, by their ids."""

    def data(self) -> dict[str, Any]:
        """The status as JSON data."""
        now = time.time()
        return {
            **session_data(self.session),
            "unfinished": self.unfinished_data(self.executions),
            "open_requests": [request_data(row, now) for row in self.requests],
            "results": [result_data(row) for row in self.results],
        }

    def unfinished_data(self, rows: Sequence[ExecutionRow]) -> list[dict[str, Any]]:
        """Some of the executions as JSON data, each with the live process that runs it."""
        return [{**execution_data(row), "held_by": owner_of(row, self.owners)} for row in rows]


async def load_status(store: Store, session_id: str) -> SessionStatus:
    """Load the status of a session. Raises `SessionNotFound`."""
    row = await find_session(store, session_id)
    now = time.time()
    requests = await store.requests(session_id=row.id, status="open", limit=MAX_ROWS)
    return SessionStatus(
        row,
        await store.executions(row.id, unfinished=True, limit=MAX_ROWS),
        [request for request in requests if request_status(request, now) == "open"],
        await store.executions(row.id, ids=row.unconsumed, limit=MAX_ROWS) if row.unconsumed else [],
        {owner.id: owner for owner in await store.owners()},
    )


@sessions.command("list")
def list_sessions(
    user: Annotated[str | None, typer.Option(help="Only sessions of this user.", show_default=False)] = None,
    as_json: AsJson = False,
    store: Address = DEFAULT,
) -> None:
    """List the sessions, the last active first.

    Columns: state, events, open requests, unread results, last activity,
    and title.
    """

    async def load(store: Store) -> tuple[list[SessionRow], Counter[str]]:
        rows: list[SessionRow] = []
        while page := await store.sessions(user, after=rows[-1].id if rows else "", limit=PAGE):
            rows += page
        rows.sort(key=lambda row: (-row.last_activity, row.id))
        now = time.time()
        requests = await store.requests(user_id=user, status="open", limit=100 * MAX_ROWS)
        return rows, Counter(row.session_id for row in requests if request_status(row, now) == "open")

    rows, requests = use_store(store, load)
    if as_json:
        print_json([{**session_data(row), "open_requests": requests[row.id]} for row in rows])
    elif rows:
        now = time.time()
        show_table(_LISTED, [_listed(row, requests[row.id], now) for row in rows])
    else:
        out.print("No sessions.")


@sessions.command("show")
def show_session(session_id: SessionId, as_json: AsJson = False, store: Address = DEFAULT) -> None:
    """Show a session: running calls, open requests, and unread results."""
    status = use_store(store, lambda store: load_status(store, session_id))
    if as_json:
        print_json(status.data())
    else:
        _print_status(status)


@sessions.command("close")
def close_session(
    session_id: SessionId,
    source: Annotated[
        str | None,
        typer.Option(
            "--tools",
            metavar="MODULE:NAME",
            help="The tools to use: those with cancel_on_logout are cancelled.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
    store: Address = DEFAULT,
) -> None:
    """Close a session, as a logout does.

    The command does not wait, and nothing is lost: calls in other
    processes keep running, requests stay open, and results are kept for
    the next login. The calls that keep running are listed. With --tools,
    calls of tools with `cancel_on_logout` are cancelled in any process.
    """
    registry = None if source is None else load_registry(source)

    async def close(store: Store) -> tuple[SessionStatus, list[ExecutionRow]]:
        status = await load_status(store, session_id)
        cancelled = [] if registry is None else _to_cancel(registry, status.executions)
        closed = replace(status.session, open=False, updated_at=time.time())
        change = Change(closed.id, session=closed, cancel=[row.id for row in cancelled])
        [result] = await store.commit([change])
        if isinstance(result, Conflict):
            raise result
        return status, cancelled

    status, cancelled = use_store(store, close)
    ids = {row.id for row in cancelled}
    running = [row for row in status.executions if row.id not in ids]
    if as_json:
        print_json(
            {
                "id": status.session.id,
                "was_open": status.session.open,
                "asked_to_stop": status.unfinished_data(cancelled),
                "unfinished": status.unfinished_data(running),
            }
        )
        return
    result = "is closed" if status.session.open else "was already closed"
    print_line(Text(one_line(f"{status.session.id} of {status.session.user_id} {result}.")))
    _print_part("Cancelling", _UNFINISHED, _unfinished(status, cancelled))
    _print_part("Still running", _UNFINISHED, _unfinished(status, running))
    if running and registry is None:
        err.print("[dim]To cancel the calls whose tools end with the session, name the tools with --tools.[/]")


def _to_cancel(registry: Registry, rows: Sequence[ExecutionRow]) -> list[ExecutionRow]:
    tools = [(row, registry.get(row.tool)) for row in rows if row.kind == "tool" and not row.cancelling]
    return [row for row, tool in tools if tool is not None and tool.logout is Logout.CANCEL]


# Printing


def _listed(row: SessionRow, requests: int, now: float) -> tuple[str | Text, ...]:
    counts = (f"{number:,}" if number else "" for number in (row.last_seq, requests, len(row.unconsumed)))
    names, activity = (one_line(row.id), one_line(row.user_id)), f"{span(now - row.last_activity)} ago"
    return *names, _state(row), *counts, activity, one_line(row.title or "")


def _state(row: SessionRow) -> Text:
    return Text("open", "green") if row.open else Text("closed", "dim")


def _print_status(status: SessionStatus) -> None:
    row, now = status.session, time.time()
    kept = "" if row.first_seq == 1 else f", kept from {row.first_seq:,} on"
    facts = {
        "session": row.id,
        "user": row.user_id,
        "state": _state(row),
        "namespaces": _names(row.namespaces, "all"),
        "channel": row.channel or "any",
        **({} if row.allow is None else {"allowed": _names(row.allow, "")}),
        "created": f"{when(row.created_at)}, {span(now - row.created_at)} ago",
        "changed": f"{when(row.updated_at)}, {span(now - row.updated_at)} ago",
        "active": f"{when(row.last_activity)}, {span(now - row.last_activity)} ago",
        "last event": f"{row.last_seq:,}{kept}" if row.last_seq else "none",
    }
    for name, value in facts.items():
        print_line(Text.assemble((f"{name:<12}", "dim"), value if isinstance(value, Text) else one_line(value)))
    _print_part("Unfinished", _UNFINISHED, _unfinished(status, status.executions))
    _print_part("Open requests", _REQUESTS, [_request(row, now) for row in status.requests])
    _print_part("Unread results", _RESULTS, [_result(row) for row in status.results])
    if not (status.executions or status.requests or status.results):
        out.print("\nNo running calls, no open requests, no unread results.")


def _print_part(title: str, columns: Sequence[Column], rows: Sequence[Row]) -> None:
    if rows:
        print_line(Text(f"\n{title}", "bold underline"))
        show_table(columns, rows)
    if len(rows) == MAX_ROWS:
        out.print(f"There may be more than these {MAX_ROWS:,}.")


def _unfinished(status: SessionStatus, rows: Sequence[ExecutionRow]) -> list[tuple[str | Text, ...]]:
    now = time.time()
    return [
        (
            row.id,
            one_line(row.tool),
            _status(row, status.requests),
            f"{row.attempt} of {row.max_attempts}",
            span(now - row.queued_at),
            _process(row, status.owners),
            compact(from_json(row.display_arguments), MAX_VALUE),
        )
        for row in rows
    ]


def _status(row: ExecutionRow, requests: list[RequestRow]) -> Text:
    if row.cancelling:
        return Text("cancelling", "yellow")
    if row.status == Status.WAITING and any(request.execution_id == row.id for request in requests):
        return Text("waiting for a person", "magenta")
    return Text(row.status)


def _process(row: ExecutionRow, owners: Mapping[str, OwnerRow]) -> str:
    if row.owner is None:
        return "none"
    return process_name(row.owner) + ("" if owner_of(row, owners) else " (gone)")


def _request(row: RequestRow, now: float) -> tuple[str, ...]:
    expires = "" if row.expires_at is None else f"in {span(row.expires_at - now)}"
    return row.id, one_line(row.tool), span(now - row.created_at), expires, compact(from_json(row.payload), MAX_VALUE)


def _result(row: ExecutionRow) -> tuple[str | Text, ...]:
    if row.error is not None:
        style = "yellow" if row.status == "cancelled" else "red"
        error = error_beside_status(row.status, from_json(row.error))
        return row.id, one_line(row.tool), Text(row.status, style), error
    value = "" if row.value is None else compact(from_json(row.value), MAX_VALUE)
    return row.id, one_line(row.tool), Text(row.status, "green"), value


def _names(names: tuple[str, ...] | None, none: str) -> str:
    return none if names is None else ", ".join(names) or "none"
