"""The ids and progress tokens of messages. Clients choose them, and responses and notifications repeat them."""

from typing import Any

from pydantic_core import from_json

from ..problem import Problem

MAX_CHARACTERS = 16 * 1024


def check_message_ids(body: bytes) -> None:
    """Raise `Problem` (413) if a message has a long id or progress token."""
    if len(body) <= MAX_CHARACTERS:
        return
    try:
        message: Any = from_json(body)
    except ValueError:  # the SDK responds to it
        return
    match message:
        case {"id": str() as found} if len(found) > MAX_CHARACTERS:
            name = "id"
        case {"params": {"_meta": {"progressToken": str() as found}}} if len(found) > MAX_CHARACTERS:
            name = "progress token"
        case _:
            return
    detail = f"The {name} of a message may have {MAX_CHARACTERS:,} characters."
    raise Problem(413, "id_too_long", "Too large", detail)
