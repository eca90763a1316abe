"""`callboard keys`: who may use a server, and with which key."""

import time
from typing import Annotated

import typer
from rich.text import Text

from ..runtime import open_store
from ..storage.keys import PREFIX, key_state, new_key, read_key
from ..storage.rows import KeyRow
from ..storage.store import Store
from .console import AsJson, err, fail, out, print_json, print_line
from .exits import Exit
from .records import key_data
from .store import DEFAULT, Address, missing_file, refuse_memory, say, visit, visit_opened
from .tables import Column, show_table
from .text import one_line, span

keys = typer.Typer(help="Make API keys for a server's users, list them, and revoke them.", no_args_is_help=True)

DAY = 86_400.0
MOST = 10_000
"""How many keys are listed."""

_COLUMNS = (
    Column("key", "cyan"),
    Column("user", "bold"),
    Column("name"),
    Column("state"),
    Column("made"),
    Column("expires"),
    Column("last used"),
)
_STYLES = {"active": "green", "revoked": "red", "expired": "yellow"}


@keys.command("create")
def create_key(
    user: Annotated[str, typer.Option(help="Whose key it is. Sessions belong to users.", show_default=False)],
    name: Annotated[str | None, typer.Option(help="What it is for.", show_default=False)] = None,
    days: Annotated[
        int | None,
        typer.Option(
            "--expires", metavar="DAYS", min=1, max=36_500, help="After how many days it ends.", show_default="never"
        ),
    ] = None,
    as_json: AsJson = False,
    store: Address = DEFAULT,
) -> None:
    """Make a key, and print it. It is shown this once: the store has only its hash.

    From the first key on, a server of this store lets nobody in without
    one, on this machine either. A store that is not there yet is made.
    """
    now = time.time()
    row, text = new_key(user, now, name=name, expires_at=None if days is None else now + days * DAY)

    async def add(store: Store) -> bool:
        first = not await store.keys(limit=1)
        await store.add_key(row)
        return first

    refuse_memory(store)
    missing = missing_file(store)
    first = visit_opened(open_store(store), add)
    if missing:
        say(f"There was no file {missing}; it was made.")
    if as_json:
        print_json({**key_data(row, now), "key": text})
        return
    out.file.write(f"{text}\n")  # alone on its line, so that a script can take it
    out.file.flush()
    ends = "" if days is None else f" It ends in {span(days * DAY)}."
    err.print(Text(f"This is the key of {one_line(user)}. Keep it now; it is not shown again.{ends}"), soft_wrap=True)
    err.print(Text("Send it in the header: Authorization: Bearer KEY", "dim"), soft_wrap=True)
    if first:
        say("It is the first key of this store: from now on its servers let nobody in without one.")


@keys.command("list")
def list_keys(
    user: Annotated[str | None, typer.Option(help="Only this user's.", show_default=False)] = None,
    as_json: AsJson = False,
    store: Address = DEFAULT,
) -> None:
    """List all keys that were ever made, oldest first. The keys themselves are not known."""
    rows, now = visit(store, lambda store: store.keys(user, limit=MOST)), time.time()
    if as_json:
        print_json([key_data(row, now) for row in rows])
    elif rows:
        show_table(_COLUMNS, [_row(row, now) for row in rows])
    else:
        out.print("No keys.")
    if len(rows) == MOST:
        say(f"Only the oldest {MOST:,} are shown. Narrow it with --user.")


@keys.command("revoke")
def revoke_key(
    key_id: Annotated[
        str, typer.Argument(metavar="ID", help="The key's id, as listed, or the whole key.", show_default=False)
    ],
    as_json: AsJson = False,
    store: Address = DEFAULT,
) -> None:
    """End a key. Servers refuse it within a few seconds, and end the streams that were begun with it."""
    whole = read_key(key_id)
    found = key_id if whole is None else whole.id
    now = time.time()
    row = visit(store, lambda store: store.revoke_key(found, now))
    if row is None:
        named = one_line(found.removeprefix(PREFIX).partition("_")[0][:40])  # never a part of a secret
        raise typer.Exit(fail(f"There is no key {named}. See: callboard keys list", Exit.NOT_FOUND))
    if as_json:
        print_json(key_data(row, now))
    else:
        said = "is revoked" if row.revoked_at == now else "was revoked before"
        print_line(Text(f"The key {row.id} of {one_line(row.user_id)} {said}."))


def _row(row: KeyRow, now: float) -> tuple[str | Text, ...]:
    state = key_state(row, now)
    expires = "never" if row.expires_at is None else f"in {span(row.expires_at - now)}"
    return (
        row.id,
        one_line(row.user_id),
        one_line(row.name or ""),
        Text(state, _STYLES[state]),
        f"{span(now - row.created_at)} ago",
        expires if state == "active" else "",
        "never" if row.last_used_at is None else f"{span(now - row.last_used_at)} ago",
    )
