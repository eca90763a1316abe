"""The body of a run, read in parts: no list is longer than it may be, and no part holds the event loop for long."""

import asyncio
from typing import Any, cast

from ag_ui.core import Message, RunAgentInput
from pydantic import TypeAdapter
from pydantic_core import from_json

from .run_request import RunRefused

MAX_BODY_BYTES = 8 * 1024 * 1024
"""How large a request may be. A client sends its copy of the whole conversation every time."""
MAX_VALUES = 120_000
"""How many values (keys, texts, numbers, lists, objects) a request may have."""
MAX_ITEMS = {"messages": 10_000, "tools": 256, "context": 256, "resume": 256}
"""How many items each list of a request may have."""

_SLICE = 100
"""How many messages are validated at once."""
_MESSAGES: TypeAdapter[list[Message]] = TypeAdapter(list[Message])


class NotJSON(ValueError):
    """The body of a run is not JSON."""


async def read_input(body: bytes) -> RunAgentInput:
    """The input of a run. Raises `NotJSON`, `ValidationError` for the first messages that are wrong, or `RunRefused`.

    The caller has checked that the body is within `MAX_BODY_BYTES` and `MAX_VALUES`.
    """
    try:
        given: Any = from_json(body)
    except ValueError as error:
        raise NotJSON(str(error)) from None
    if not isinstance(given, dict):
        return RunAgentInput.model_validate(given)
    fields = cast("dict[str, Any]", given)
    for name, most in MAX_ITEMS.items():
        if isinstance(items := fields.get(name), list) and len(cast("list[Any]", items)) > most:
            raise RunRefused(f"The list {name} of a run has at most {most:,} items. Send fewer.")
    messages: Any = fields.get("messages")
    if not isinstance(messages, list):
        return RunAgentInput.model_validate(fields)
    items = cast("list[Any]", messages)
    made = RunAgentInput.model_validate({**fields, "messages": items[:_SLICE]})
    for start in range(_SLICE, len(items), _SLICE):
        await asyncio.sleep(0)
        made.messages += _MESSAGES.validate_python(items[start : start + _SLICE])
    return made
