"""Sessions and requests in numbers that would take long to make through the API: copies of one in the store."""

import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def copy_sessions(database: Path, session_id: str, count: int) -> None:
    """Add copies of a session, each a second older than the one before, with numbered titles."""

    now = time.time()

    def change(row: Row, number: int) -> Row:
        title = f"Talk {number:05}"
        names = {"auto_title": title, "auto_title_folded": title.casefold()}
        return {**row, **names, "id": f"copy-{number:05}", "active_at": now - 60 - number}

    _copy(database, "sessions", "id", session_id, count, change)
    _copy(
        database,
        "session_tool_state",
        "session_id",
        session_id,
        count,
        lambda row, number: {**row, "session_id": f"copy-{number:05}"},
    )


def copy_requests(database: Path, request_id: str, count: int) -> None:
    """Add copies of a request, each a second newer than the one before."""

    def change(row: Row, number: int) -> Row:
        ids = {"id": f"copy-{number:05}", "execution_id": f"copied-{number:05}", "place": row["place"] + 1 + number}
        return {**row, **ids, "created_at": row["created_at"] + 1 + number}

    _copy(database, "requests", "id", request_id, count, change)


def _copy(database: Path, table: str, column: str, value: str, count: int, change: Callable[[Row, int], Row]) -> None:
    with closing(sqlite3.connect(database, timeout=90)) as connection, connection:
        connection.row_factory = sqlite3.Row
        row = dict(connection.execute(f"SELECT * FROM {table} WHERE {column} = ?", (value,)).fetchone())
        columns, places = ", ".join(row), ", ".join("?" * len(row))
        copies = [tuple(change(row, number).values()) for number in range(count)]
        connection.executemany(f"INSERT INTO {table} ({columns}) VALUES ({places})", copies)
