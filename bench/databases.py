"""The databases that are measured: SQLite in a folder of its own, and PostgreSQL where a server can be had."""

import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager

SQLITE, POSTGRESQL = "SQLite", "PostgreSQL"

Database = Callable[[], AbstractContextManager[str]]
"""Makes an empty one, as a URL, and removes it."""


@contextmanager
def sqlite_file() -> Generator[str]:
    with tempfile.TemporaryDirectory(prefix="callboard-bench-") as folder:
        yield f"sqlite:///{folder}/bench.db"


@contextmanager
def databases() -> Generator[dict[str, Database]]:
    """All that can be had, with a PostgreSQL server of our own."""
    from tests.servers import Unavailable, postgres_server  # its driver is needed for nothing else

    with ExitStack() as stack:
        found: dict[str, Database] = {SQLITE: sqlite_file}
        try:
            found[POSTGRESQL] = stack.enter_context(postgres_server()).database
        except Unavailable as why:
            print(f"PostgreSQL is not measured: {why}", file=sys.stderr)
        yield found
