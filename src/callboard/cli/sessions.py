"""`callboard sessions`: which there are, how one stands, and closing one from outside."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated

import typer
from pydantic_core import from_json
from rich.text import Text

from ..storage.change import Change
from ..storage.errors import Conflict
from ..storage.rows import ExecutionRow, OwnerRow, RequestRow, SessionRow
from ..storage.store import Store
from ..tools.registry import Registry
from ..types import Logout
from .console import AsJson, err, out, print_json, print_line
from .loading import load_registry
from .records import is_asked, request_status, session_data
from .session_status import MOST, SessionStatus, holder, look_at, process_name, status_data, unfinished_data
from .store import DEFAULT, Address, visit
from .tables import Column, Row, show_table
from .text import compact, one_line, span, when, why

sessions = typer.Typer(help="List sessions, show how one stands, and close one.", no_args_is_help=True)

PAGE = 1_000
SHORT = 120
"""How many characters of arguments and results are shown."""

SessionId = Annotated[str, typer.Argument(metavar="SESSION", help="The session's id.", show_default=False)]

_LISTED = (
    Column("session", "cyan"),
    Column("user"),
    Column("state"),
    Column("events"),
    Column("asked"),
    Column("results"),
    Column("last activity", "dim"),
)
_UNFINISHED = (
    Column("execution", "cyan"),
    Column("tool", "bold"),
    Column("status"),
    Column("attempt"),
    Column("age"),
    Column("held by", "dim"),
    Column("arguments", wraps=True),
)
_ASKED = (
    Column("request", "cyan"),
    Column("tool", "bold"),
    Column("age"),
    Column("expires"),
    Column("asked", wraps=True),
)
_RESULTS = (Column("execution", "cyan"), Column("tool", "bold"), Column("status"), Column("result", wraps=True))


@sessions.command("list")
def list_sessions(
    user: Annotated[str | None, typer.Option(help="Only this user's.", show_default=False)] = None,
    as_json: AsJson = False,
    store: Address = DEFAULT,
) -> None:
    """List the sessions: open or closed, events, open requests to people, results not taken, and last activity."""

    async def look(store: Store) -> tuple[list[SessionRow], Counter[str]]:
        rows: list[SessionRow] = []
        while page := await store.sessions(user, after=rows[-1].id if rows else "", limit=PAGE):
            rows += page
        now = time.time()
        asked = await store.requests(user_id=user, status="open", limit=100 * MOST)
        return rows, Counter(row.session_id for row in asked if request_status(row, now) == "open")

    rows, asked = visit(store, look)
    if as_json:
        print_json([{**session_data(row), "open_requests": asked[row.id]} for row in rows])
    elif rows:
        now = time.time()
        show_table(_LISTED, [_listed(row, asked[row.id], now) for row in rows])
    else:
        out.print("No sessions.")


@sessions.command("show")
def show_session(session_id: SessionId, as_json: AsJson = False, store: Address = DEFAULT) -> None:
    """Show how a session stands: what runs in it, what people are asked, and which results nobody has taken."""
    status = visit(store, lambda store: look_at(store, session_id))
    if as_json:
        print_json(status_data(status))
    else:
        _show(status)


@sessions.command("close")
def close_session(
    session_id: SessionId,
    source: Annotated[
        str | None,
        typer.Option(
            "--tools",
            metavar="PACKAGE.MODULE:REGISTRY",
            help="Whose tools; then those that are to stop with their session are asked to.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
    store: Address = DEFAULT,
) -> None:
    """Close a session from outside, as a logout does, and say what still runs in it.

    Nothing is waited for, and nothing is lost: what runs elsewhere goes
    on, requests to people stay open, and results wait for the next
    login. With --tools, executions whose tools say `cancel_on_logout`
    are asked to stop, wherever they run.
    """
    registry = None if source is None else load_registry(source)

    async def close(store: Store) -> tuple[SessionStatus, list[ExecutionRow]]:
        status = await look_at(store, session_id)
        stopped = [] if registry is None else _to_stop(registry, status.executions)
        closed = replace(status.session, open=False, updated_at=time.time())
        change = Change(session_id, session=closed, cancel=[row.id for row in stopped])
        [result] = await store.commit([change])
        if isinstance(result, Conflict):
            raise result
        return status, stopped

    status, stopped = visit(store, close)
    ids = {row.id for row in stopped}
    left = [row for row in status.executions if row.id not in ids]
    if as_json:
        print_json(
            {
                "id": session_id,
                "was_open": status.session.open,
                "asked_to_stop": unfinished_data(status, stopped),
                "unfinished": unfinished_data(status, left),
            }
        )
        return
    said = "is closed" if status.session.open else "was closed already"
    print_line(Text(one_line(f"{session_id} of {status.session.user_id} {said}.")))
    _part("Asked to stop", _UNFINISHED, _unfinished(status, stopped))
    _part("Goes on", _UNFINISHED, _unfinished(status, left))
    if left and registry is None:
        err.print("[dim]Those of them that are to stop with their session are known with --tools.[/]")


def _to_stop(registry: Registry, rows: Sequence[ExecutionRow]) -> list[ExecutionRow]:
    tools = [(row, registry.get(row.tool)) for row in rows if row.kind == "tool" and not row.cancelling]
    return [row for row, tool in tools if tool is not None and tool.logout is Logout.CANCEL]


# What is printed


def _listed(row: SessionRow, asked: int, now: float) -> tuple[str | Text, ...]:
    counts = (f"{number:,}" if number else "" for number in (row.last_seq, asked, len(row.unconsumed)))
    return one_line(row.id), one_line(row.user_id), _state(row), *counts, f"{span(now - row.last_activity)} ago"


def _state(row: SessionRow) -> Text:
    return Text("open", "green") if row.open else Text("closed", "dim")


def _show(status: SessionStatus) -> None:
    row, now = status.session, time.time()
    kept = "" if row.first_seq == 1 else f", kept from {row.first_seq:,}"
    facts = {
        "session": row.id,
        "user": row.user_id,
        "state": _state(row),
        "namespaces": _names(row.namespaces, "all"),
        "channel": row.channel or "any",
        **({} if row.allow is None else {"only": _names(row.allow, "")}),
        "created": f"{when(row.created_at)}, {span(now - row.created_at)} ago",
        "changed": f"{when(row.updated_at)}, {span(now - row.updated_at)} ago",
        "active": f"{when(row.last_activity)}, {span(now - row.last_activity)} ago",
        "last event": f"{row.last_seq:,}{kept}" if row.last_seq else "none",
    }
    for name, value in facts.items():
        print_line(Text.assemble((f"{name:<12}", "dim"), value if isinstance(value, Text) else one_line(value)))
    _part("Unfinished", _UNFINISHED, _unfinished(status, status.executions))
    _part("Asked", _ASKED, [_request(row, now) for row in status.requests])
    _part("Results that nobody has taken", _RESULTS, [_result(row) for row in status.results])
    if not (status.executions or status.requests or status.results):
        out.print("\nNothing runs, waits or is left to be taken.")


def _part(title: str, columns: Sequence[Column], rows: Sequence[Row]) -> None:
    if rows:
        print_line(Text(f"\n{title}", "bold underline"))
        show_table(columns, rows)
    if len(rows) == MOST:
        out.print(f"There may be more than {MOST:,}.")


def _unfinished(status: SessionStatus, rows: Sequence[ExecutionRow]) -> list[tuple[str | Text, ...]]:
    now = time.time()
    return [
        (
            row.id,
            one_line(row.tool),
            _status(row, status.requests),
            f"{row.attempt} of {row.max_attempts}",
            span(now - row.queued_at),
            _held_by(row, status.owners),
            compact(from_json(row.shown), SHORT),
        )
        for row in rows
    ]


def _status(row: ExecutionRow, requests: list[RequestRow]) -> Text:
    if row.cancelling:
        return Text(f"{row.status}, asked to stop", "yellow")
    return Text("waits for a person", "magenta") if is_asked(row, requests) else Text(row.status)


def _held_by(row: ExecutionRow, owners: Mapping[str, OwnerRow]) -> str:
    if row.owner is None:
        return "nobody"
    return process_name(row.owner) + ("" if holder(row, owners) else " (gone)")


def _request(row: RequestRow, now: float) -> tuple[str, ...]:
    expires = "" if row.expires_at is None else f"in {span(row.expires_at - now)}"
    return row.id, one_line(row.tool), span(now - row.created_at), expires, compact(from_json(row.payload), SHORT)


def _result(row: ExecutionRow) -> tuple[str | Text, ...]:
    if row.error is not None:
        style = "yellow" if row.status == "cancelled" else "red"
        return row.id, one_line(row.tool), Text(row.status, style), why(row.status, from_json(row.error))
    value = "" if row.value is None else compact(from_json(row.value), SHORT)
    return row.id, one_line(row.tool), Text(row.status, "green"), value


def _names(names: tuple[str, ...] | None, none: str) -> str:
    return none if names is None else ", ".join(names) or "none"
