"""`callboard migrate`: create a store's tables, or migrate them to the newest revision."""

from ...runtime import migrate_store as migrate
from ..store import DEFAULT, Address, refuse_memory
from ..terminal.console import AsJson, out, print_json


def migrate_store(store: Address = DEFAULT, as_json: AsJson = False) -> None:
    """Create the tables of a store, or migrate them to the newest revision.

    A SQLite file is also migrated whenever it is opened. A PostgreSQL
    database is migrated only by this command, unless it is empty.
    Running it again is harmless.
    """
    refuse_memory(store)
    before, after = migrate(store)
    if as_json:
        print_json({"before": before, "after": after, "changed": before != after})
    elif before == after:
        out.print(f"The tables are already at the newest revision, {after}.")
    elif before is None:
        out.print(f"Created the tables at revision {after}.")
    else:
        out.print(f"Migrated the tables from revision {before} to {after}.")
