"""A turn: the model is asked, its calls are carried out, and it is asked again, until it has nothing more to call.

All that it knows of the world is its desk. It knows neither session nor store, and so can be read, tested and replaced
by itself.
"""

import asyncio
from collections.abc import Sequence
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

from ..turns import TurnLimits, Usage, check_calls, check_turn


class TurnIO(Protocol):
    """What a turn works with."""

    @property
    def used(self) -> Usage:
        """What the turn has used so far, with what was said."""
        ...

    async def left_over(self) -> Sequence[ToolCallPart]:
        """Calls that an earlier part of this turn made and that have no answer yet: it was paused, or cut off."""
        ...

    async def messages(self) -> list[ModelMessage]:
        """The conversation up to now, with what came meanwhile: late results, inputs. Every call in it is answered.

        Empty where the model was told everything.
        """
        ...

    def parameters(self) -> ModelRequestParameters:
        """What the model may call."""
        ...

    def settings(self, messages: Sequence[ModelMessage], /) -> ModelSettings | None:
        """How the model is asked about these messages: temperature, thinking."""
        ...

    def speaks(self, delta: str) -> None:
        """A piece of text arrived."""
        ...

    async def said(self, response: ModelResponse) -> Sequence[ToolCallPart]:
        """Keep what the model said. Returns the calls in it, each with an id that was not used before."""
        ...

    async def was_cut_off(self, response: ModelResponse) -> None:
        """Keep what the model had said when an error or an interrupt cut it off."""
        ...

    async def carry_out(self, calls: Sequence[ToolCallPart]) -> bool:
        """Make calls, all at once, and keep their answers in order. False where the turn must wait for a person."""
        ...


async def complete(io: TurnIO, model: Model, limits: TurnLimits) -> bool:
    """Run a turn. True where it is finished, False where it waits for a person. Raises `LimitReached`."""
    calls = await io.left_over()
    while True:
        if calls:
            check_calls(limits, io.used)
            if not await io.carry_out(calls):
                return False
        messages = await io.messages()
        if not messages:
            return True
        check_turn(limits, io.used)
        calls = await io.said(await _ask(io, model, messages))


async def _ask(io: TurnIO, model: Model, messages: list[ModelMessage]) -> ModelResponse:
    """One request. What came of one that is cut off, by an error or an interrupt, is kept all the same."""
    async with model_request_stream(
        model,
        messages,
        model_settings=io.settings(messages),
        model_request_parameters=io.parameters(),
    ) as stream:
        try:
            async for event in stream:
                if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart) and event.part.content:
                    io.speaks(event.part.content)
                elif isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
                    io.speaks(event.delta.content_delta)
        except (Exception, asyncio.CancelledError):
            partial = stream.get()
            if text := [part for part in partial.parts if isinstance(part, TextPart) and part.content]:
                await io.was_cut_off(ModelResponse(parts=text, model_name=partial.model_name))
            raise
        return stream.get()


def used_by(response: ModelResponse) -> Usage:
    """What one response used."""
    usage = response.usage
    calls = sum(isinstance(part, ToolCallPart) for part in response.parts)
    return Usage(1, calls, usage.input_tokens, usage.output_tokens, _cost(response))


def _cost(response: ModelResponse) -> float | None:
    try:
        return float(response.cost().total_price)
    except (LookupError, AssertionError, ValueError, AttributeError):  # the price of this model is not known
        return None
