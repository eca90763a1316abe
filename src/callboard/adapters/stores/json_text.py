"""JSON in columns, as text. `postgres/jsonb.py` has the columns of PostgreSQL."""

from typing import Any

from sqlalchemy import ColumnElement, Dialect, Text, cast, type_coerce
from sqlalchemy.types import UserDefinedType


class JsonText(UserDefinedType[bytes]):
    """A column of JSON, written as text and read as bytes."""

    cache_ok = True

    def get_col_spec(self, **kw: Any) -> str:
        return "TEXT"

    def column_expression(self, colexpr: ColumnElement[Any]) -> ColumnElement[Any]:
        return type_coerce(cast(colexpr, Text), self)

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:
        def process(value: str | None) -> bytes | None:
            return None if value is None else self.read(value)

        return process

    def read(self, stored: str) -> bytes:
        """Return the document of a stored text."""
        return stored.encode()

    def beginning(self, stored: str) -> str:
        """Return the beginning of a document, given that of its stored text; empty if the text does not show it."""
        return stored
