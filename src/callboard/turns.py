"""Turns as values: how one stands, what it used, what it may use."""

from dataclasses import dataclass
from enum import StrEnum

from .errors import CallboardError


class LimitReached(CallboardError):
    """A turn or a session has used what it may use."""

    code = "limit_reached"


class TurnStatus(StrEnum):
    """How a turn stands."""

    FINISHED = "finished"
    PAUSED = "paused"
    """It waits for a person, and goes on when the person has answered."""
    FAILED = "failed"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnLimits:
    """What one turn may use, and all turns of a session together. None: no limit."""

    requests: int | None = 50
    tool_calls: int | None = 500
    session_turns: int | None = None
    session_tool_calls: int | None = None
    session_tokens: int | None = None
    session_cost: float | None = None
    """In US dollars, where the price of the model is known."""


@dataclass(slots=True)
class Usage:
    """What was used."""

    requests: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    """In US dollars; None where no price is known."""

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def add(self, other: "Usage") -> None:
        """Count something more."""
        self.requests += other.requests
        self.tool_calls += other.tool_calls
        self.input_tokens += other.input_tokens
        self.output_tokens += other.output_tokens
        if other.cost is not None:
            self.cost = (self.cost or 0.0) + other.cost


@dataclass(frozen=True, slots=True)
class Turn:
    """What came of a turn."""

    id: str
    status: TurnStatus
    text: str
    """What the model said, all of it."""
    usage: Usage
    error: str | None = None


def check_turn(limits: TurnLimits, used: Usage) -> None:
    """Raise `LimitReached` where a turn may not ask the model again, or not make the calls that it wants to make."""
    if limits.requests is not None and used.requests >= limits.requests:
        raise LimitReached(f"The turn asked the model {used.requests} times, which is the limit.")


def check_calls(limits: TurnLimits, used: Usage) -> None:
    """Raise `LimitReached` where a turn wants to make more calls than it may."""
    if limits.tool_calls is not None and used.tool_calls > limits.tool_calls:
        raise LimitReached(f"The model made {used.tool_calls} calls in one turn; the limit is {limits.tool_calls}.")


def check_session(limits: TurnLimits, turns: int, used: Usage) -> None:
    """Raise `LimitReached` where a session may not have another turn. `turns` counts the one that begins."""
    if limits.session_turns is not None and turns > limits.session_turns:
        raise LimitReached(f"The session had {limits.session_turns} turns, which is the limit.")
    if limits.session_tool_calls is not None and used.tool_calls >= limits.session_tool_calls:
        raise LimitReached(f"The session made {used.tool_calls} calls; the limit is {limits.session_tool_calls}.")
    if limits.session_tokens is not None and used.tokens >= limits.session_tokens:
        raise LimitReached(f"The session used {used.tokens} tokens; the limit is {limits.session_tokens}.")
    if limits.session_cost is not None and (used.cost or 0.0) >= limits.session_cost:
        raise LimitReached(f"The session cost {used.cost:.4f} dollars; the limit is {limits.session_cost:.4f}.")
