"""Statements for SQLite: rows are written by the driver's `executemany`."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, Text, bindparam, func, select, tuple_

from ..statements import Batch, Key, Row, driver, key_document, read_statements

TEXTS = read_statements(Path(__file__).with_suffix(".sql"))


class SqliteStatements:
    """Runs the statements of `statements.sql`."""

    def execute(self, connection: Connection, name: str, keys: Iterable[Key], **parameters: str) -> Any:
        return driver(connection).execute(TEXTS[name], {"keys": key_document(keys), **parameters})

    def read_all(self, connection: Connection, keys: Mapping[str, Collection[Key]]) -> dict[str, Sequence[Row]]:
        return {name: self.execute(connection, name, of).fetchall() if of else () for name, of in keys.items()}

    def write(
        self,
        connection: Connection,
        name: str,
        rows: Sequence[Row],
        *,
        careful: bool = False,
        batch: Batch | None = None,
    ) -> None:
        driver(connection).executemany(TEXTS[name], rows)


def key_filter(*columns: ColumnElement[Any]) -> ColumnElement[bool]:
    """Return the condition that these columns equal one of the keys in the parameter `keys`."""
    listed = func.json_each(bindparam("keys", type_=Text())).table_valued("value", name="listed")
    values = [func.json_extract(listed.c.value, f"$[{place}]") for place in range(len(columns))]
    return tuple_(*columns).in_(select(*values))


def select_listed(wanted: Select[*tuple[Any, ...]], *key: ColumnElement[Any]) -> Select[*tuple[Any, ...]]:
    """Return a query for the wanted rows with the keys in the parameter `keys`, in the order of the keys."""
    return wanted.where(key_filter(*key)).order_by(*key)
