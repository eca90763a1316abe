"""Statements for PostgreSQL: rows are sent as one JSON document per statement, and several statements as one.

Every value in a document is a string or a number, also JSON, so that no content can be mistaken for structure.
"""

from base64 import b64encode
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic_core import to_json
from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    Text,
    bindparam,
    cast,
    column,
    func,
    literal_column,
    select,
    true,
    tuple_,
)
from sqlalchemy.dialects.postgresql import JSONB

from ..statements import Batch, Key, Row, driver, key_document, read_statements
from .jsonb import is_wrapped, storable, wrapped
from .tsvector import tsvector_text

Encoder = Callable[[Any, bool], str]
"""Encodes a value for a document, given whether the write is careful."""


class PostgresStatements:
    """Runs the statements of `statements.sql`."""

    def execute(self, connection: Connection, name: str, keys: Iterable[Key], **parameters: str) -> Any:
        return driver(connection).execute(TEXTS[name], {"keys": key_document(keys), **parameters})

    def read_all(self, connection: Connection, keys: Mapping[str, Collection[Key]]) -> dict[str, Sequence[Row]]:
        # One after the other, and not as a pipeline: between the messages of a pipeline, the server does not end the
        # transaction of a process that was stopped, and others would wait for its locks.
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
        document = to_json(self._encoded(name, rows, careful)).decode()
        if batch is None:
            driver(connection).execute(TEXTS[name], {name: document})
        else:
            batch[name] = document

    def _encoded(self, name: str, rows: Sequence[Row], careful: bool) -> Sequence[Sequence[Any]]:
        encoders = ENCODERS.get(name)
        if encoders is None:
            return rows
        encoded = [list(row) for row in rows]
        for values in encoded:
            for place, encode in encoders.items():
                if values[place] is not None:
                    values[place] = encode(values[place], careful)
        return encoded


def key_filter(*columns: ColumnElement[Any]) -> ColumnElement[bool]:
    """Return the condition that these columns equal one of the keys in the parameter `keys`."""
    return tuple_(*columns).in_(select(*_listed(columns)))


def select_listed(wanted: Select[*tuple[Any, ...]], *key: ColumnElement[Any]) -> Select[*tuple[Any, ...]]:
    """Return a query for the wanted rows with the keys in the parameter `keys`, in the order of the keys.

    The rows are looked up one by one: see `statements.sql`.
    """
    values = [value.label(f"key_{place}") for place, value in enumerate(_listed(key))]
    order = (value.collate("C") if isinstance(value.type, Text) else value for value in values)
    listed = select(*values).order_by(*order).subquery("listed_keys")
    same = (column == value for column, value in zip(key, listed.c, strict=True))
    found = wanted.where(*same).offset(0).lateral("found")
    return select(*found.c).join_from(listed, found, true())


def _listed(columns: Sequence[ColumnElement[Any]]) -> list[ColumnElement[Any]]:
    """Return the values for these columns in the keys of the parameter `keys`."""
    document = cast(bindparam("keys", type_=Text()), JSONB)
    listed = func.jsonb_array_elements(document).table_valued(column("value", JSONB), name="listed")
    values: list[ColumnElement[Any]] = []
    for place, each in enumerate(columns):
        text = listed.c.value.op("->>", return_type=Text())(literal_column(str(place)))
        values.append(text if isinstance(each.type, Text) else cast(text, each.type))
    return values


def _json(value: str, careful: bool) -> str:
    return wrapped(value) if careful else storable(value)


def _exact_json(value: str, careful: bool) -> str:
    return wrapped(value) if careful or is_wrapped(value) else value


def _binary(value: bytes, careful: bool) -> str:
    return b64encode(value).decode()


def _tsvector(value: str, careful: bool) -> str:
    return tsvector_text(value)


TEXTS = read_statements(Path(__file__).with_suffix(".sql"))

ENCODERS: Mapping[str, Mapping[int, Encoder]] = {
    "update_sessions": {2: _json},
    "write_states": {2: _json, 3: _json, 4: _json},
    "update_unconsumed": {1: _json},
    "write_executions": {20: _binary, 21: _json, 22: _json, 23: _json, 24: _json},
    "write_requests": {12: _json, 13: _json, 14: _json},
    "write_turns": {7: _json},
    "insert_transcript": {2: _exact_json},
    "insert_memory_entries": {5: _tsvector},
    "insert_events": {4: _json},
}
"""The values that are encoded, by the names of statements: those that `statements.sql` decodes, or casts to `jsonb`,
`json` or `tsvector`, by their positions."""
