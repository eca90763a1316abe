"""Values about turns: status, usage and limits."""

from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

from pydantic_core import from_json, to_json

from .checks import Check
from .errors import CallboardError


class LimitReached(CallboardError):
    """A turn or a session has reached a limit."""

    code = "limit_reached"


class TurnLimitsError(CallboardError, ValueError):
    """A limit of turns has an invalid value."""

    code = "turn_limits"


class TurnStatus(StrEnum):
    """The status of a turn."""

    FINISHED = "finished"
    PAUSED = "paused"
    """The turn waits for a person's answer and then continues."""
    FAILED = "failed"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnLimits:
    """Limits for one turn, and for all turns of a session together. None means no limit."""

    requests: int | None = 50
    """Requests to the model in one turn."""
    tool_calls: int | None = 500
    """Calls in one turn."""
    session_turns: int | None = None
    """Turns of a session."""
    session_tool_calls: int | None = None
    """Calls in all turns of a session."""
    session_tokens: int | None = None
    """Input and output tokens of all turns of a session."""
    session_cost: float | None = None
    """Cost in US dollars, enforced if the price of the model is known."""

    def __post_init__(self) -> None:
        check = Check(TurnLimitsError)
        for each in fields(self):
            if (value := getattr(self, each.name)) is not None:
                (check.number if each.name == "session_cost" else check.count)(each.name, value, least=0)


@dataclass(slots=True)
class Usage:
    """Requests, tool calls, tokens and cost of turns."""

    requests: int = 0
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    """Estimated cost in US dollars of the requests whose price is known, or None if no price is known."""
    unpriced_requests: int = 0
    """Requests whose cost is not known: of a model without a known price, or without a report of its tokens."""

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def add(self, other: "Usage") -> None:
        """Add another usage to this one."""
        self.requests += other.requests
        self.tool_calls += other.tool_calls
        self.input_tokens += other.input_tokens
        self.output_tokens += other.output_tokens
        if other.cost is not None:
            self.cost = (self.cost or 0.0) + other.cost
        self.unpriced_requests += other.unpriced_requests

    def encode(self) -> bytes:
        """Encode the usage for the store."""
        return to_json(self)

    @classmethod
    def decode(cls, document: bytes) -> "Usage":
        """Decode a stored usage. Fields of a newer version are ignored."""
        stored: dict[str, Any] = from_json(document)
        return cls(**{field.name: stored[field.name] for field in fields(cls) if field.name in stored})


@dataclass(frozen=True, slots=True)
class Turn:
    """The outcome of a turn."""

    id: str
    """Id of the turn."""
    status: TurnStatus
    """How the turn ended, or that it waits for a person."""
    text: str
    """All text of the model."""
    usage: Usage
    """Requests, calls, tokens and cost of the turn."""
    error: str | None = None
    """Why the turn failed."""


def check_turn(limits: TurnLimits, used: Usage) -> None:
    """Raise `LimitReached` if a turn may not send another request to the model."""
    if limits.requests is not None and used.requests >= limits.requests:
        raise LimitReached(f"The turn sent {used.requests} requests to the model, which is the limit.")


def check_calls(limits: TurnLimits, used: Usage) -> None:
    """Raise `LimitReached` if a turn exceeds its limit of calls."""
    if limits.tool_calls is not None and used.tool_calls > limits.tool_calls:
        raise LimitReached(f"The model made {used.tool_calls} calls in one turn; the limit is {limits.tool_calls}.")


def check_session(limits: TurnLimits, turns: int, used: Usage) -> None:
    """Raise `LimitReached` if a session may not begin another turn. `turns` includes the new one."""
    if limits.session_turns is not None and turns > limits.session_turns:
        raise LimitReached(f"The session had {limits.session_turns} turns, which is the limit.")
    if limits.session_tool_calls is not None and used.tool_calls >= limits.session_tool_calls:
        raise LimitReached(f"The session made {used.tool_calls} calls; the limit is {limits.session_tool_calls}.")
    if limits.session_tokens is not None and used.tokens >= limits.session_tokens:
        raise LimitReached(f"The session used {used.tokens} tokens; the limit is {limits.session_tokens}.")
    if limits.session_cost is not None and (used.cost or 0.0) >= limits.session_cost:
        raise LimitReached(f"The session cost {used.cost:.4f} dollars; the limit is {limits.session_cost:.4f}.")
