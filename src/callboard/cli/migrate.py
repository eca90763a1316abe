"""`callboard migrate`: bring a store's tables to the newest revision."""

from ..runtime import migrate_store as migrate
from .console import AsJson, out, print_json
from .store import DEFAULT, Address, refuse_memory


def migrate_store(store: Address = DEFAULT, as_json: AsJson = False) -> None:
    """Make the tables of a store, or bring them to the newest revision.

    A SQLite file is also brought there whenever it is opened; a
    PostgreSQL database only by this command, unless it is empty.
    Doing it twice does no harm.
    """
    refuse_memory(store)
    before, after = migrate(store)
    if as_json:
        print_json({"before": before, "after": after, "changed": before != after})
    elif before == after:
        out.print(f"The tables are at the newest revision already: {after}.")
    elif before is None:
        out.print(f"The tables were made, at revision {after}.")
    else:
        out.print(f"The tables were brought from revision {before} to {after}.")
