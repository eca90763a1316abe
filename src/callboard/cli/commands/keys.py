"""`callboard keys`: create, list and revoke API keys of a server."""

import time
from typing import Annotated

import typer
from rich.text import Text

from ...runtime import open_store
from ...storage.api_keys import PREFIX, key_state, new_key, read_key
from ...storage.rows import KeyRow
from ...storage.store import Store
from ..process import CommandError, Exit
from ..terminal.console import AsJson, Column, err, note, out, print_json, print_line, show_table
from ..terminal.text import one_line, span
from .store import DEFAULT, Address, key_data, missing_file, only_match, refuse_memory, use_opened, use_store

keys = typer.Typer(help="Create, list and revoke API keys for the users of a server.", no_args_is_help=True)

DAY = 86_400.0
MAX_KEYS = 10_000
"""Keys that are listed, at most."""

_COLUMNS = (
    Column("key", "cyan"),
    Column("user", "bold"),
    Column("name"),
    Column("state"),
    Column("created"),
    Column("expires"),
    Column("last used"),
)
_STYLES = {"active": "green", "revoked": "red", "expired": "yellow"}


@keys.command("create")
def create_key(
    user: Annotated[str, typer.Option(help="The user who owns the API key and its sessions.", show_default=False)],
    name: Annotated[
        str | None, typer.Option(help="A name for the API key, such as a device.", show_default=False)
    ] = None,
    days: Annotated[
        int | None,
        typer.Option(
            "--expires", metavar="DAYS", min=1, max=36_500, help="Days until the API key expires.", show_default="never"
        ),
    ] = None,
    as_json: AsJson = False,
    store: Address = DEFAULT,
) -> None:
    """Create an API key and print it, once: the store keeps only its hash.

    From the first key on, servers on this store refuse requests without
    one, also from this machine. The store is created if it does not exist.
    """
    now = time.time()
    row, text = new_key(user, now, name=name, expires_at=None if days is None else now + days * DAY)

    async def add(store: Store) -> bool:
        first = not await store.keys(limit=1)
        await store.add_key(row)
        return first

    refuse_memory(store)
    missing = missing_file(store)
    first = use_opened(open_store(store), add)
    if missing:
        note(f"Created the store {missing}, which did not exist.")
    if as_json:
        print_json({**key_data(row, now), "key": text})
        return
    out.file.write(f"{text}\n")  # alone on standard output, for scripts
    out.file.flush()
    expiry = "" if days is None else f" It expires in {span(days * DAY)}."
    err.print(
        Text(f"This is the API key of {one_line(user)}. Save it now: it is not shown again.{expiry}"), soft_wrap=True
    )
    err.print(Text("Send it in the header: Authorization: Bearer KEY", "dim"), soft_wrap=True)
    if first:
        note("It is the first API key of this store: from now on, its servers refuse requests without one.")


@keys.command("list")
def list_keys(
    user: Annotated[str | None, typer.Option(help="Only API keys of this user.", show_default=False)] = None,
    as_json: AsJson = False,
    store: Address = DEFAULT,
) -> None:
    """List all API keys, oldest first, also revoked and expired ones. Their secrets are not stored."""
    rows, now = use_store(store, lambda store: store.keys(user, limit=MAX_KEYS)), time.time()
    if as_json:
        print_json([key_data(row, now) for row in rows])
    elif rows:
        show_table(_COLUMNS, [_row(row, now) for row in rows])
    else:
        out.print("No API keys.")
    if len(rows) == MAX_KEYS:
        note(f"Only the oldest {MAX_KEYS:,} keys are listed. Filter with --user.")


@keys.command("revoke")
def revoke_key(
    key_id: Annotated[
        str,
        typer.Argument(metavar="ID", help="The id of the API key or its beginning, or the key.", show_default=False),
    ],
    as_json: AsJson = False,
    store: Address = DEFAULT,
) -> None:
    """Revoke an API key. Servers refuse it within seconds, and end the streams that it opened."""
    key = read_key(key_id)
    found = key_id if key is None else key.id
    now = time.time()

    async def revoke(store: Store) -> KeyRow | None:
        if (row := await store.revoke_key(found, now)) is not None or key is not None:
            return row
        match = only_match(found, await store.keys(limit=MAX_KEYS), "API keys")
        return None if match is None else await store.revoke_key(match.id, now)

    row = use_store(store, revoke)
    if row is None:
        named = one_line(found.removeprefix(PREFIX).partition("_")[0][:40])  # without the secret
        raise CommandError(f"There is no API key {named}. See: callboard keys list", Exit.NOT_FOUND)
    if as_json:
        print_json(key_data(row, now))
    else:
        status = "is revoked" if row.revoked_at == now else "was already revoked"
        print_line(Text(f"The API key {row.id} of {one_line(row.user_id)} {status}."))


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
