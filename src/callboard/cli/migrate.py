"""`callboard migrate`: bring a store's tables to the newest revision."""

from importlib import import_module

from ..adapters.stores import open_store
from .console import AsJson, out, print_json
from .store import DEFAULT, Address, refuse_memory


def migrate_store(store: Address = DEFAULT, as_json: AsJson = False) -> None:
    """Make the tables of a store, or bring them to the newest revision.

    A SQLite file is also brought there whenever it is opened; a
    PostgreSQL database only by this command, unless it is empty.
    Doing it twice does no harm.
    """
    refuse_memory(store)
    open_store(store)  # refuses an address that cannot be one, and says which optional part is missing
    before, after = import_module("callboard.adapters.stores.sql").migrate(store)
    if as_json:
        print_json({"before": before, "after": after, "changed": before != after})
    elif before == after:
        out.print(f"The tables are at the newest revision already: {after}.")
    elif before is None:
        out.print(f"The tables were made, at revision {after}.")
    else:
        out.print(f"The tables were brought from revision {before} to {after}.")
