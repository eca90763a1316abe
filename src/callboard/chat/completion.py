"""A turn: the model is asked, its calls are carried out, and it is asked again, until it has nothing more to call.

All that it knows of the world is its desk. It knows no session, no store and no scheduler, and so can be read, tested
and replaced by itself.
"""

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import Protocol

from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ToolCallPart,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.usage import RequestUsage

from ..errors import CallboardError


class LimitReached(CallboardError):
    """A turn or a session has used what it may use."""

    code = "limit_reached"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnLimits:
    """What one turn may use, and all turns of a session together. None: no limit."""

    requests: int | None = 50
    tool_calls: int | None = 500
    session_turns: int | None = None
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

    def add(self, usage: RequestUsage, cost: float | None) -> None:
        """Count a request."""
        self.requests += 1
        self.input_tokens += usage.input_tokens
        self.output_tokens += usage.output_tokens
        if cost is not None:
            self.cost = (self.cost or 0.0) + cost


class Desk(Protocol):
    """What a turn works with."""

    async def messages(self) -> list[ModelMessage]:
        """The conversation up to now, with what came meanwhile: late results, inputs."""
        ...

    def tools(self) -> Sequence[ToolDefinition]: ...

    def speaks(self, delta: str) -> None:
        """A piece of text arrived."""
        ...

    async def said(self, response: ModelResponse) -> list[ToolCallPart]:
        """Keep what the model said. Returns the calls in it, each with an id that was not used before."""
        ...

    def carry_out(self, calls: Sequence[ToolCallPart]) -> Awaitable[bool]:
        """Make calls at once, and keep their answers in order. False where the turn must wait for a person."""
        ...

    @property
    def has_more(self) -> bool:
        """Whether something came that the model has not been told."""
        ...


async def complete(
    desk: Desk, model: Model, usage: Usage, limits: TurnLimits, settings: ModelSettings | None = None
) -> bool:
    """Run a turn. True where it is finished, False where it waits for a person. Raises `LimitReached`."""
    while True:
        if limits.requests is not None and usage.requests >= limits.requests:
            raise LimitReached(f"The turn made {usage.requests} requests to the model, which is the limit.")
        response = await _ask(desk, model, settings)
        usage.add(response.usage, _cost(response))
        calls = await desk.said(response)
        if not calls:
            if desk.has_more:
                continue
            return True
        usage.tool_calls += len(calls)
        if limits.tool_calls is not None and usage.tool_calls > limits.tool_calls:
            raise LimitReached(
                f"The model made {usage.tool_calls} calls in one turn; the limit is {limits.tool_calls}."
            )
        if not await desk.carry_out(calls):
            return False


async def _ask(desk: Desk, model: Model, settings: ModelSettings | None) -> ModelResponse:
    """One request. What came of one that is cut off, by an error or an interrupt, is kept all the same."""
    parameters = ModelRequestParameters(function_tools=list(desk.tools()))
    messages = await desk.messages()
    async with model_request_stream(
        model, messages, model_settings=settings, model_request_parameters=parameters
    ) as stream:
        try:
            async for event in stream:
                if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart) and event.part.content:
                    desk.speaks(event.part.content)
                elif isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
                    desk.speaks(event.delta.content_delta)
        except (Exception, asyncio.CancelledError):
            partial = stream.get()
            if text := [part for part in partial.parts if isinstance(part, TextPart) and part.content]:
                await asyncio.shield(desk.said(ModelResponse(parts=text, model_name=partial.model_name)))
            raise
        return stream.get()


def _cost(response: ModelResponse) -> float | None:
    try:
        return float(response.cost().total_price)
    except (LookupError, AssertionError, ValueError, AttributeError):  # the price of this model is not known
        return None
