"""Model settings for a request: manual thinking is left out where Anthropic would refuse it.

With `thinking: {"type": "enabled"}`, Anthropic refuses a request that ends with results unless the model's first
message since the last input begins with a thought. That message has none if another provider or setting produced it,
if the model gave no thought, or if a late result opened the turn. Such a request is made without thinking.
"""

from collections.abc import Sequence
from typing import Any, cast

from pydantic_ai.messages import ModelMessage, ModelResponse, ThinkingPart, ToolReturnPart
from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings

from .wellformed import ANTHROPIC


def settings_for(
    model: Model, settings: ModelSettings | None, messages: Sequence[ModelMessage]
) -> ModelSettings | None:
    """The given settings, without manual thinking where the provider would refuse it."""
    if model.system != ANTHROPIC or not _thinks_manually(model, settings) or _may_think(messages):
        return settings
    changed: dict[str, Any] = {**(settings or {}), "thinking": False, "anthropic_thinking": {"type": "disabled"}}
    return cast("ModelSettings", changed)


def _thinks_manually(model: Model, settings: ModelSettings | None) -> bool:
    given = cast("dict[str, Any]", {**(model.settings or {}), **(settings or {})})
    if (manual := given.get("anthropic_thinking")) is not None:
        return manual.get("type") == "enabled"
    return bool(given.get("thinking")) and not model.profile.get("anthropic_supports_adaptive_thinking", False)


def _may_think(messages: Sequence[ModelMessage]) -> bool:
    """Whether the model's turn has not begun, or began with a thought."""
    first: ModelResponse | None = None
    for message in reversed(messages):
        if isinstance(message, ModelResponse):
            first = message
        elif not any(isinstance(part, ToolReturnPart) for part in message.parts):
            break
    return first is None or _begins_with_thought(first)


def _begins_with_thought(message: ModelResponse) -> bool:
    part = message.parts[0] if message.parts else None
    return isinstance(part, ThinkingPart) and bool(part.signature) and part.provider_name == ANTHROPIC
