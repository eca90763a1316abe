"""Responses of a model in a form that every store keeps and that can be read again.

A transcript with an entry that cannot be read would end its conversation. Texts stay as the model wrote them, except
for characters that no store accepts. `wellformed` makes the stored parts valid for providers.
"""

import secrets
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

from pydantic_ai.messages import ModelResponse, ModelResponsePart, TextPart, ThinkingPart, ToolCallPart

from ..sessions.ids import is_valid_id
from .transcript import Reply, decode_entry, encode_entry
from .wellformed import updated, valid_arguments, valid_text


def storable_response(response: ModelResponse, used_ids: Collection[str] = ()) -> ModelResponse:
    """Make a response storable. Calls with invalid or repeated ids get new ids.

    A response with other values that cannot be stored, such as metadata of the provider, keeps its texts, thoughts,
    calls and usage.
    """
    fresh: set[str] = set()
    parts: list[ModelResponsePart] = []
    for part in storable_parts(response.parts):
        if isinstance(part, ToolCallPart):
            if part.tool_call_id in used_ids or part.tool_call_id in fresh or not is_valid_id(part.tool_call_id):
                part = replace(part, tool_call_id=f"call_{secrets.token_hex(8)}")
            fresh.add(part.tool_call_id)
        parts.append(part)
    made = replace(response, parts=parts)
    return made if _is_readable(made) else _plain(made)


def storable_parts(parts: Iterable[ModelResponsePart]) -> list[ModelResponsePart]:
    """Replace characters in texts and calls that stores reject, and arguments that cannot be decoded again."""
    made: list[ModelResponsePart] = []
    for part in parts:
        if isinstance(part, TextPart | ThinkingPart):
            part = updated(part, content=valid_text(part.content))
        elif isinstance(part, ToolCallPart):
            args = valid_text(part.args) if isinstance(part.args, str) else valid_arguments(part.args)
            part = updated(part, tool_name=valid_text(part.tool_name), args=args)
        made.append(part)
    return made


def _is_readable(response: ModelResponse) -> bool:
    """Whether a response can be stored and read again."""
    try:
        return decode_entry(encode_entry(Reply(response))) is not None
    except (ValueError, TypeError, RecursionError):  # lone surrogates, values that are not JSON, nested too deeply
        return False


def _plain(response: ModelResponse) -> ModelResponse:
    """Return a response with what its model wrote, and what its usage and cost depend on."""
    parts: list[Any] = []
    for part in response.parts:
        if isinstance(part, TextPart):
            parts.append(TextPart(part.content))
        elif isinstance(part, ThinkingPart):
            parts.append(ThinkingPart(part.content))
        elif isinstance(part, ToolCallPart):
            args: Any = part.args
            parts.append(ToolCallPart(part.tool_name, args, part.tool_call_id))
    return ModelResponse(
        parts=parts,
        usage=response.usage,
        model_name=None if response.model_name is None else valid_text(response.model_name),
        provider_name=response.provider_name,
        provider_url=response.provider_url,
        timestamp=response.timestamp,
        finish_reason=response.finish_reason,
    )
