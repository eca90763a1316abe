"""Statements that take many rows or keys at once: one text each, whatever their number.

SQLite takes rows by the driver's `executemany`. To PostgreSQL they travel as one JSON document, which the server takes
apart; that is far cheaper than a message or an array element per value. Every value in the document is a string or a
number of its own, also JSON, so that no content can be taken for structure. Keys travel so to both.
"""

from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any, Literal

from pydantic_core import to_json
from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Dialect,
    LargeBinary,
    Table,
    TableValuedAlias,
    Text,
    bindparam,
    cast,
    column,
    func,
    literal_column,
    select,
    tuple_,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.dialects.postgresql import JSON, JSONB

from .documents import JsonText, is_wrapped, storable, wrapped

Row = tuple[Any, ...]
"""Values in the order of a sheet's columns; JSON as text."""

Verb = Literal["insert", "ensure", "replace", "update"]
"""New rows; new rows, where those that are there stay; rows as they are now; parts of rows that are there."""


def among(dialect: Dialect, *columns: ColumnElement[Any]) -> ColumnElement[bool]:
    """Whether these columns are one of the keys in the parameter `keys`, which `keys` makes."""
    document = bindparam("keys", type_=Text())
    if dialect.name == "postgresql":
        source = _elements(document)
        listed = [_typed(each, _text(source, place)) for place, each in enumerate(columns)]
    else:
        source = func.json_each(document).table_valued("value", name="listed")
        listed = [func.json_extract(source.c.value, f"$[{place}]") for place in range(len(columns))]
    return tuple_(*columns).in_(select(*listed))


def keys(rows: Iterable[Sequence[str | int]]) -> str:
    """Keys, each of as many values as there are columns, as a parameter."""
    return to_json(list(rows)).decode()


class BulkStatement:
    """Writes rows of one table."""

    def __init__(
        self, dialect: Dialect, verb: Verb, table: Table, *names: str, key: Sequence[str] = (), kept: Sequence[str] = ()
    ) -> None:
        """`key` finds the rows that are there; a `replace` leaves those columns of theirs that are `kept`."""
        self._verb: Verb = verb
        self._table = table
        self._names = names
        self._key = tuple(key)
        self._changed = tuple(name for name in names if name not in (*key, *kept))
        self._on_postgresql = dialect.name == "postgresql"
        if self._on_postgresql:
            self._text = str(self._of_document().compile(dialect=dialect))
            encoders = ((place, _encoder(table.c[name])) for place, name in enumerate(names))
            self._encoders = [(place, encode) for place, encode in encoders if encode]
        else:
            compiled = self._of_tuples().compile(dialect=dialect)
            self._text = str(compiled)
            order = [names.index(name[2:]) for name in compiled.positiontup or ()]
            self._order = itemgetter(*order) if order != sorted(order) else None

    def write(
        self,
        connection: Connection,
        rows: Sequence[Row],
        *,
        careful: bool = False,
        batch: "StatementBatch | None" = None,
    ) -> None:
        """Write rows, one at least. `careful` keeps JSON wrapped, which PostgreSQL takes whatever it holds.

        With `batch`, PostgreSQL is given them later, together with others.
        """
        if not self._on_postgresql:
            driver(connection).executemany(self._text, list(map(self._order, rows) if self._order else rows))
            return
        written = [self._encoded(row, careful) for row in rows] if self._encoders else rows
        document = to_json(written).decode()
        if batch is None:
            driver(connection).execute(self._text, {"rows": document})
        else:
            batch.add(self._text, document)

    def _encoded(self, row: Row, careful: bool) -> list[Any]:
        values = list(row)
        for place, encode in self._encoders:
            if values[place] is not None:
                values[place] = encode(values[place], careful)
        return values

    def _of_document(self) -> Any:
        table = self._table
        source = _elements(bindparam("rows", type_=Text()))
        values = {name: _extracted(table.c[name], _text(source, place)) for place, name in enumerate(self._names)}
        if self._verb == "update":
            return self._update(values)
        return self._resolved(postgresql.insert(table).from_select(list(self._names), select(*values.values())))

    def _of_tuples(self) -> Any:
        values: dict[str, Any] = {name: bindparam(f"v_{name}") for name in self._names}
        if self._verb == "update":
            return self._update(values)
        return self._resolved(sqlite.insert(self._table).values(values))

    def _update(self, values: dict[str, Any]) -> Any:
        return (
            update(self._table)
            .where(*(self._table.c[name] == values[name] for name in self._key))
            .values({name: values[name] for name in self._changed})
        )

    def _resolved(self, statement: Any) -> Any:
        if self._verb == "ensure":
            return statement.on_conflict_do_nothing(index_elements=self._key)
        if self._verb == "replace":
            news = {name: statement.excluded[name] for name in self._changed}
            return statement.on_conflict_do_update(index_elements=self._key, set_=news)
        return statement


class StatementBatch:
    """Statements of several tables that travel to PostgreSQL as one: each costs as much as its journey."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._documents: dict[str, str] = {}

    def add(self, text: str, document: str) -> None:
        name = f"rows_{len(self._parts)}"
        self._parts.append(f"{name} AS ({text.replace('%(rows)s', f'%({name})s')})")
        self._documents[name] = document

    def join(self, name: str, text: str) -> None:
        """Add a statement whose result the last one reads under a name. Its parameters come with the last one's."""
        self._parts.append(f"{name} AS ({text})")

    def before(self, text: str, parameters: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """All that was added, and a last statement."""
        return (f"WITH {', '.join(self._parts)} {text}" if self._parts else text), parameters | self._documents


class Query:
    """Finds rows by keys."""

    def __init__(self, dialect: Dialect, statement: Any) -> None:
        compiled = statement.compile(dialect=dialect)
        self._text = str(compiled)
        self._names = compiled.positiontup
        self._parameters = compiled.params

    def rows(self, connection: Connection, listed: str) -> list[Any]:
        values = {**self._parameters, "keys": listed}
        given = values if self._names is None else [values[name] for name in self._names]
        return driver(connection).execute(self._text, given).fetchall()


def driver(connection: Connection) -> Any:
    """The driver's own connection: on the way through SQLAlchemy a small statement costs twice as much."""
    return connection.connection.driver_connection


def _elements(document: ColumnElement[Any]) -> TableValuedAlias:
    return func.jsonb_array_elements(cast(document, JSONB)).table_valued(column("value", JSONB), name="listed")


def _text(source: TableValuedAlias, place: int) -> ColumnElement[str]:
    return source.c.value.op("->>", return_type=Text())(literal_column(str(place)))


def _typed(target: ColumnElement[Any], text: ColumnElement[str]) -> ColumnElement[Any]:
    """The text of a key as a value of its column's type."""
    return text if isinstance(target.type, Text) else cast(text, target.type)


def _extracted(target: Column[Any], text: ColumnElement[str]) -> ColumnElement[Any]:
    """The value of a column, from its text in the document."""
    kind = target.type
    if isinstance(kind, JsonText):
        return cast(text, JSON if kind.exact else JSONB)
    if isinstance(kind, LargeBinary):
        return func.decode(text, literal_column("'base64'"))
    return text if isinstance(kind, Text) else cast(text, kind)


def _encoder(target: Column[Any]) -> Callable[[Any, bool], str] | None:
    """How a value of a column is written into the document, if not as itself."""
    kind = target.type
    if isinstance(kind, JsonText):
        return _exact_json if kind.exact else _json
    return _binary if isinstance(kind, LargeBinary) else None


def _json(value: str, careful: bool) -> str:
    return wrapped(value) if careful else storable(value)


def _exact_json(value: str, careful: bool) -> str:
    return wrapped(value) if careful or is_wrapped(value) else value


def _binary(value: bytes, careful: bool) -> str:
    return b64encode(value).decode()
