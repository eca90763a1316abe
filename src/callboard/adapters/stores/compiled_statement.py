"""A query that is compiled once and run by the driver."""

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection, Dialect
from sqlalchemy.sql.dml import ReturningUpdate

from .statements import driver


class CompiledStatement:
    """A statement that returns rows, run without SQLAlchemy, which would take twice the time for a small one."""

    def __init__(self, statement: ReturningUpdate[Any], dialect: Dialect) -> None:
        compiled = statement.compile(dialect=dialect)
        self._text = str(compiled)
        self._order: list[str] | None = compiled.positiontup
        """The names of the parameters in their order, if the driver takes them by position."""
        self._constants = dict(compiled.params)
        self._names = [column.key for column in statement.exported_columns if column.key is not None]
        processors = (column.type.result_processor(dialect, None) for column in statement.exported_columns)
        self._processors = [(name, each) for name, each in zip(self._names, processors, strict=True) if each]

    def run(self, connection: Connection, **parameters: str) -> Iterator[dict[str, Any]]:
        """Run it, and yield the rows by the names of their columns."""
        values = self._constants | parameters
        given = values if self._order is None else [values[name] for name in self._order]
        for row in driver(connection).execute(self._text, given).fetchall():
            fields = dict(zip(self._names, row, strict=True))
            for name, process in self._processors:
                fields[name] = process(fields[name])
            yield fields
