"""`callboard requests`: list requests to people. `answer` is in a file of its own."""

import time
from typing import Annotated

import typer
from pydantic_core import from_json
from rich.text import Text

from ...storage.rows import RequestRow
from ...storage.store import Store
from ..records import request_data, request_status
from ..store import DEFAULT, Address, find_session, use_store
from ..terminal.console import AsJson, note, out, print_json
from ..terminal.tables import Column, show_table
from ..terminal.text import compact, one_line, span

requests = typer.Typer(help="List requests to people, and answer them.", no_args_is_help=True)

MAX_REQUESTS = 10_000
"""Requests that are listed, at most."""
MAX_VALUE = 160
"""Characters of a payload or an answer that a cell shows, at most."""

_COLUMNS = (
    Column("request", "cyan"),
    Column("session"),
    Column("user"),
    Column("tool", "bold"),
    Column("status"),
    Column("age"),
    Column("payload", wraps=True),
    Column("answer", wraps=True),
)
_STYLES = {"open": "magenta", "answered": "green", "used": "green", "refused": "red"}


@requests.command("list")
def list_requests(
    session_id: Annotated[
        str | None, typer.Option("--session", help="Only requests of this session.", show_default=False)
    ] = None,
    user: Annotated[str | None, typer.Option(help="Only requests of this user.", show_default=False)] = None,
    everything: Annotated[bool, typer.Option("--all", help="Include requests that are no longer open.")] = False,
    as_json: AsJson = False,
    store: Address = DEFAULT,
) -> None:
    """List open requests to people, oldest first."""

    async def load(store: Store) -> list[RequestRow]:
        if session_id is not None:
            await find_session(store, session_id)
        status = None if everything else "open"
        return await store.requests(session_id=session_id, user_id=user, status=status, limit=MAX_REQUESTS)

    found, now = use_store(store, load), time.time()
    rows = [row for row in found if everything or request_status(row, now) == "open"]
    if as_json:
        print_json([request_data(row, now) for row in rows])
    elif rows:
        columns = _COLUMNS if everything else _COLUMNS[:-1]
        show_table(columns, [_row(row, now)[: len(columns)] for row in rows])
        if out.is_terminal and not everything:
            out.print("\n[dim]To answer: callboard requests answer REQUEST --approve, --reject, or JSON[/]")
    else:
        out.print("No requests." if everything else "No open requests.")
    if len(found) == MAX_REQUESTS:
        note(f"Only the oldest {MAX_REQUESTS:,} requests are listed. Filter with --session or --user.")


def _row(row: RequestRow, now: float) -> tuple[str | Text, ...]:
    status = request_status(row, now)
    expiry = f", expires in {span(row.expires_at - now)}" if status == "open" and row.expires_at is not None else ""
    return (
        row.id,
        one_line(row.session_id),
        one_line(row.user_id),
        one_line(row.tool),
        Text(status + expiry, _STYLES.get(status, "dim")),
        span(now - row.created_at),
        compact(from_json(row.payload), MAX_VALUE),
        "" if row.answer is None else compact(from_json(row.answer), MAX_VALUE),
    )
