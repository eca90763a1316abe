"""`callboard requests`: what people are asked, in whichever process."""

import time
from typing import Annotated

import typer
from pydantic_core import from_json
from rich.text import Text

from ..storage.rows import RequestRow
from ..storage.store import Store
from .answer import answer_request
from .console import AsJson, out, print_json
from .records import request_data, request_status
from .session_status import find_session
from .store import DEFAULT, Address, say, visit
from .tables import Column, show_table
from .text import compact, one_line, span

requests = typer.Typer(help="List what people are asked, and answer it.", no_args_is_help=True)

MOST = 10_000
"""How many requests are listed."""
SHORT = 160

_COLUMNS = (
    Column("request", "cyan"),
    Column("session"),
    Column("user"),
    Column("tool", "bold"),
    Column("status"),
    Column("age"),
    Column("asked", wraps=True),
    Column("answer", wraps=True),
)
_STYLES = {"open": "magenta", "answered": "green", "used": "green", "refused": "red"}


@requests.command("list")
def list_requests(
    session_id: Annotated[
        str | None, typer.Option("--session", help="Only this session's.", show_default=False)
    ] = None,
    user: Annotated[str | None, typer.Option(help="Only this user's.", show_default=False)] = None,
    everything: Annotated[bool, typer.Option("--all", help="Also those that are not open any more.")] = False,
    as_json: AsJson = False,
    store: Address = DEFAULT,
) -> None:
    """List what people are asked and have not answered, oldest first."""

    async def look(store: Store) -> list[RequestRow]:
        if session_id is not None:
            await find_session(store, session_id)
        status = None if everything else "open"
        return await store.requests(session_id=session_id, user_id=user, status=status, limit=MOST)

    found, now = visit(store, look), time.time()
    rows = [row for row in found if everything or request_status(row, now) == "open"]
    if as_json:
        print_json([request_data(row, now) for row in rows])
    elif rows:
        columns = _COLUMNS if everything else _COLUMNS[:-1]
        show_table(columns, [_row(row, now)[: len(columns)] for row in rows])
        if out.is_terminal and not everything:
            out.print("\n[dim]Answer one with: callboard requests answer REQUEST --approve, --reject, or JSON[/]")
    else:
        out.print("No requests." if everything else "No open requests.")
    if len(found) == MOST:
        say(f"Only the oldest {MOST:,} are shown. Narrow it with --session or --user.")


requests.command("answer")(answer_request)


def _row(row: RequestRow, now: float) -> tuple[str | Text, ...]:
    status = request_status(row, now)
    said = status
    if status == "open" and row.expires_at is not None:
        said = f"open, expires in {span(row.expires_at - now)}"
    return (
        row.id,
        one_line(row.session_id),
        one_line(row.user_id),
        one_line(row.tool),
        Text(said, _STYLES.get(status, "dim")),
        span(now - row.created_at),
        compact(from_json(row.payload), SHORT),
        "" if row.answer is None else compact(from_json(row.answer), SHORT),
    )
