"""The parsing of a run's body: list sizes are checked first, and messages are validated in slices."""

import asyncio
from typing import Any, cast

from ag_ui.core import Message, RunAgentInput
from pydantic import TypeAdapter
from pydantic_core import from_json

from ..problem import json_invalid
from .run_refused import RunRefused

MAX_BODY_BYTES = 8 * 1024 * 1024
"""Bytes of a body. A client sends its copy of the whole conversation each time."""
MAX_VALUES = 120_000
"""JSON values (keys, strings, numbers, arrays, objects) of a body."""
MAX_ITEMS = {"messages": 10_000, "tools": 256, "context": 256, "resume": 256}
"""Items of each list."""

_SLICE = 100
"""Messages that are validated without a pause of the event loop's other work."""
_MESSAGES: TypeAdapter[list[Message]] = TypeAdapter(list[Message])


async def read_input(body: bytes) -> RunAgentInput:
    """Parse the input of a run. Raises `Problem`, `RunRefused`, or `ValidationError` for the first invalid messages.

    The caller has checked `MAX_BODY_BYTES` and `MAX_VALUES`.
    """
    try:
        given: Any = from_json(body)
    except ValueError as error:
        raise json_invalid(f"The body is not valid JSON: {error}.") from None
    if not isinstance(given, dict):
        return RunAgentInput.model_validate(given)
    fields = cast("dict[str, Any]", given)
    for name, most in MAX_ITEMS.items():
        if isinstance(items := fields.get(name), list) and len(cast("list[Any]", items)) > most:
            raise RunRefused(f"The list {name} of a run may have at most {most:,} items. Send fewer.")
    messages: Any = fields.get("messages")
    if not isinstance(messages, list):
        return RunAgentInput.model_validate(fields)
    items = cast("list[Any]", messages)
    made = RunAgentInput.model_validate({**fields, "messages": items[:_SLICE]})
    for start in range(_SLICE, len(items), _SLICE):
        await asyncio.sleep(0)
        made.messages += _MESSAGES.validate_python(items[start : start + _SLICE])
    return made
