"""Arguments for events, records and logs: one line of JSON, with secret fields masked."""

from typing import Any

from pydantic_core import from_json, to_json

from ..jsonrules.depth import MAX_DEPTH, exceeds_depth
from ..schemas.secrets import masked
from ..tools.definition import Tool
from ..tools.document import Size

SHOWN_BYTES = 2_000
"""The bytes that are shown of a document that is not JSON."""


def mask_document(tool: Tool, document: bytes, size: Size) -> bytes:
    """Return arguments for people and logs, with secrets masked; only their size if they are too large."""
    if not size.admits(document):
        return b'"(%d bytes, too many to be shown)"' % len(document)
    return mask_arguments(tool, document)


def mask_arguments(tool: Tool, document: bytes) -> bytes:
    """Return arguments for people and logs, with secrets masked. Text that is not JSON becomes a truncated string."""
    try:
        value: Any = from_json(document)
        if exceeds_depth(document, MAX_DEPTH):
            return b'"(nested too deeply to be shown)"'
    except ValueError:
        if tool.has_secrets:  # they cannot be found without JSON
            return b'"(not JSON, and not shown because it may hold secrets)"'
        return to_json(document[:SHOWN_BYTES].decode(errors="replace"))
    return to_json(masked(value, tool.input_schema) if tool.has_secrets else value, inf_nan_mode="strings")
