"""The JSON document of a call's arguments: encoding, comparison and limits.

The rules for its content (depth, duplicate keys, finite numbers) stand in `jsonrules`.
"""

from typing import Any, NamedTuple, cast

from pydantic_core import PydanticSerializationError, from_json, to_json

from ..errors import ToolError
from ..jsonrules.depth import MAX_DEPTH, exceeds_depth
from ..jsonrules.duplicate_keys import read_strictly
from ..jsonrules.value_count import exceeds_values


def encode(arguments: Any) -> bytes:
    """Encode Python data as a JSON document. Raises `ToolError` (validation) for values that JSON cannot represent."""
    try:
        data = to_json(arguments)
    except (PydanticSerializationError, ValueError) as error:
        raise ToolError(f"The arguments cannot be written as JSON: {_reason(error)}.", category="validation") from error
    except RecursionError as error:
        raise ToolError("The arguments are nested too deeply.", category="validation") from error
    return data


def encode_text(text: str) -> bytes:
    """Encode JSON text as bytes. Raises `ToolError` (validation) for text that is not valid Unicode."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ToolError(f"The arguments are not JSON: {_reason(error)}.", category="validation") from error


def same_document(one: bytes, other: bytes) -> bool:
    """Compare two documents by content, ignoring whitespace and the order of keys."""
    if one == other:
        return True
    try:
        return canonical(one) == canonical(other)
    except (ValueError, RecursionError):
        return False


def canonical(document: bytes) -> bytes:
    """Encode a document in canonical form: keys sorted, while `1`, `1.0` and `true` stay different.

    Raises `ValueError` for invalid JSON and for a duplicate key.
    """
    made = to_json(_ordered(from_json(document)))
    if made.count(b":") != document.count(b":"):  # a duplicate key, or a colon written as an escape
        try:
            read_strictly(document)
        except ToolError as error:
            raise ValueError(error.message) from error
    return made


def too_large(size: int, limit: int) -> ToolError:
    """Make the error for a document over the size limit."""
    return ToolError(f"The arguments are too large: {size:,} bytes, and the limit is {limit:,}.", category="validation")


class Size(NamedTuple):
    """Size limits for the arguments of a call."""

    max_bytes: int
    max_values: int

    @property
    def unchecked_bytes(self) -> int:
        """The size up to which a document is within both limits, whatever its content."""
        return min(self.max_bytes, 2 * self.max_values)

    def check(self, document: bytes) -> None:
        """Raise `ToolError` (validation) for a document over a limit."""
        if len(document) > self.max_bytes:
            raise too_large(len(document), self.max_bytes)
        if exceeds_values(document, self.max_values):
            raise ToolError(
                f"The arguments have too many values: the limit is {self.max_values:,}.", category="validation"
            )

    def admits(self, document: bytes) -> bool:
        """Whether a document is within both limits."""
        return len(document) <= self.unchecked_bytes or (
            len(document) <= self.max_bytes and not exceeds_values(document, self.max_values)
        )


def check_depth(document: bytes) -> None:
    """Raise `ToolError` (validation) for a document that is nested too deeply for some reader."""
    if exceeds_depth(document, MAX_DEPTH):
        raise ToolError("The arguments are nested too deeply.", category="validation")


def _ordered(value: Any) -> Any:
    if isinstance(value, dict):
        given = cast("dict[str, Any]", value)
        return {key: _ordered(given[key]) for key in sorted(given)}
    if isinstance(value, list):
        return [_ordered(each) for each in cast("list[Any]", value)]
    return value


def _reason(error: Exception) -> str:
    text = str(error)
    if "surrogates not allowed" in text:
        return "a text contains a lone surrogate, which is not valid Unicode"
    if "Circular" in text or "depth" in text:
        return "they contain themselves, or are nested too deeply"
    return "they contain a value that is not JSON data"
