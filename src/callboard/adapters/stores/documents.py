"""JSON in columns. SQLite keeps the text; PostgreSQL's JSONB keeps its meaning, which is not always the same.

JSONB refuses NUL characters and lone surrogates, turns `1e400` into an integer of 401 digits and takes the sign from
`-0.0`. A document of that rare kind is kept as a text, inside an object with one reserved key, and comes back whole.
"""

import re
from json.encoder import encode_basestring
from typing import Any

from pydantic_core import from_json
from sqlalchemy import ColumnElement, Dialect, Text, cast, type_coerce
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.types import UserDefinedType

_RESERVED = '{"$json":'
_ESCAPES = re.compile(r"\\u(?:00(?:00|[2-7])|[dD][89a-fA-F])")
"""NUL, halves of characters, and plain characters that nobody escapes, unless it is to write the reserved key."""
_LOWER = re.compile(r"e(?<=\de)[+-]?\d+\s*(?:[,}\]]|\Z)")
_UPPER = re.compile(r"E(?<=\dE)[+-]?\d+\s*(?:[,}\]]|\Z)")
_MINUS = re.compile(r"-0(?:\.0*)?\s*(?:[,}\]]|\Z)")
"""Numbers that come back from JSONB as other Python values, also where they are a part of a text, which does no harm.

Every event is searched; a pattern that begins with one letter takes a tenth of the time of others.
"""


class JsonText(UserDefinedType[bytes]):
    """A column of JSON, handed over and given back as text in bytes. JSONB on PostgreSQL, or JSON where `exact`."""

    cache_ok = True

    def __init__(self, exact: bool = False) -> None:
        self.exact = exact
        """Whether PostgreSQL keeps the text too, with its spaces and the order of its keys."""

    def get_col_spec(self, **kw: Any) -> str:
        return "TEXT"

    def column_expression(self, colexpr: ColumnElement[Any]) -> ColumnElement[Any]:
        return type_coerce(cast(colexpr, Text), self)

    def result_processor(self, dialect: Dialect, coltype: object) -> Any:
        read = unwrapped if dialect.name == "postgresql" else str.encode

        def process(value: str | None) -> bytes | None:
            return None if value is None else read(value)

        return process


@compiles(JsonText, "postgresql")
def _on_postgresql(element: JsonText, compiler: object, **kw: Any) -> str:  # pyright: ignore[reportUnusedFunction]
    return "JSON" if element.exact else "JSONB"


def storable(document: str) -> str:
    """A document that JSONB keeps as it is: itself, or wrapped."""
    rare = (
        ("\\u" in document and _ESCAPES.search(document))
        or _LOWER.search(document)
        or ("E" in document and _UPPER.search(document))
        or ("-0" in document and _MINUS.search(document))
        or "$json" in document
    )
    return wrapped(document) if rare else document


def wrapped(document: str) -> str:
    """A document inside an object with the reserved key: any text can be kept so."""
    return f"{_RESERVED}{encode_basestring(document)}}}"


def is_wrapped(stored: str) -> bool:
    """Whether it would be taken for a wrapped document."""
    return stored.startswith(_RESERVED)


def unwrapped(stored: str) -> bytes:
    """The document that was stored."""
    return from_json(stored)["$json"].encode() if is_wrapped(stored) else stored.encode()
