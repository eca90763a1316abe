"""The databases to measure: SQLite in a temporary directory, and PostgreSQL if a server is available."""

import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager

SQLITE, POSTGRESQL = "SQLite", "PostgreSQL"

Database = Callable[[], AbstractContextManager[str]]
"""Creates an empty database, yields its URL, and removes it."""


@contextmanager
def sqlite_file() -> Generator[str]:
    with tempfile.TemporaryDirectory(prefix="callboard-bench-") as folder:
        yield f"sqlite:///{folder}/bench.db"


@contextmanager
def databases() -> Generator[dict[str, Database]]:
    """List the available databases, with a PostgreSQL server started for the benchmark."""
    from tests.servers import Unavailable, postgres_server  # the driver is needed only here

    with ExitStack() as stack:
        found: dict[str, Database] = {SQLITE: sqlite_file}
        try:
            found[POSTGRESQL] = stack.enter_context(postgres_server()).database
        except Unavailable as why:
            print(f"PostgreSQL is not measured: {why}", file=sys.stderr)
        yield found
