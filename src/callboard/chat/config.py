"""The configuration that all conversations of a runtime share."""

from dataclasses import dataclass

from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings

from ..turns import TurnLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationConfig:
    """The model of a runtime's conversations, with its instructions, limits and settings."""

    model: Model
    instructions: str | None = None
    limits: TurnLimits
    settings: ModelSettings | None = None
    cancel_on_interrupt: bool = True
    """Whether an interrupt also cancels the calls that the turn waits for."""
