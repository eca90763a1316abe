"""Named SQL statements. Each database has a file of them, `statements.sql`, and a class that runs them."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from pydantic_core import to_json
from sqlalchemy import Connection

Row = tuple[Any, ...]
"""Values in the order of a statement's columns; JSON as text."""

Key = Sequence[str | int]
"""Values in the order of the columns that a statement compares them with."""

Batch = dict[str, str]
"""Documents of rows by the names of the statements that write them: they are sent together with a later statement."""

_NAMED = re.compile(r"^-- (\w+): .+\n((?:(?!^-- ).*\n?)+)", re.MULTILINE)


class Statements(Protocol):
    """The written statements of one kind of database."""

    def execute(self, connection: Connection, name: str, keys: Iterable[Key], **parameters: str) -> Any:
        """Run a statement for these keys, with its other parameters by name, and return the driver's cursor."""
        ...

    def read_all(self, connection: Connection, keys: Mapping[str, Collection[Key]]) -> dict[str, Sequence[Row]]:
        """Run statements that read or lock, in their order, each for its keys. Returns the rows of each.

        A statement without keys is not run.
        """
        ...

    def write(
        self,
        connection: Connection,
        name: str,
        rows: Sequence[Row],
        *,
        careful: bool = False,
        batch: Batch | None = None,
    ) -> None:
        """Write rows, at least one. A database that sends statements together adds them to `batch` instead.

        `careful` stores JSON in a form that the database accepts whatever it contains.
        """
        ...


def read_statements(file: Path) -> dict[str, str]:
    """Read the statements of a file by their names. Each begins with `-- name: sentence` and ends with a semicolon."""
    return {name: text.strip().removesuffix(";") for name, text in _NAMED.findall(file.read_text())}


def key_document(keys: Iterable[Key]) -> str:
    """Encode keys, each a sequence of as many values as the statement compares columns."""
    return to_json(list(keys)).decode()


def driver(connection: Connection) -> Any:
    """Return the driver's own connection: through SQLAlchemy a small statement costs twice as much."""
    return connection.connection.driver_connection
