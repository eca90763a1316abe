"""The loop of a turn: request a response, run its calls, and repeat until the model makes no more calls.

It depends on the port `TurnIO` only. It knows neither session nor store, and can be tested and replaced by itself.
"""

import asyncio
from collections.abc import Sequence
from typing import Protocol

from pydantic_ai.direct import model_request_stream
from pydantic_ai.exceptions import ModelRequestRejectedError
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


class EmptyResponse(Exception):
    """A response without text or calls whose provider did not complete it. The message says why."""


_UNFINISHED = {
    "content_filter": "the provider's filter blocked the response",
    "length": "the response reached the limit of output tokens before any text",
    "error": "the provider ended the response with an error",
}


class TurnIO(Protocol):
    """Everything that a turn reads and writes."""

    @property
    def usage(self) -> Usage:
        """The usage of the turn so far."""
        ...

    async def open_calls(self) -> Sequence[ToolCallPart]:
        """Calls without an answer from an earlier part of this turn, which was paused or interrupted."""
        ...

    async def messages(self) -> list[ModelMessage]:
        """The conversation up to now, with new late results and inputs. Every call in it has an answer.

        Empty where the model has nothing to respond to.
        """
        ...

    def simpler_messages(self, messages: list[ModelMessage], error: Exception) -> list[ModelMessage] | None:
        """The messages without the parts that a provider may have rejected. None if there are no such parts."""
        ...

    async def parameters(self) -> ModelRequestParameters:
        """The tools that the model may call."""
        ...

    def settings(self, messages: Sequence[ModelMessage], /) -> ModelSettings | None:
        """The model settings for these messages, such as temperature and thinking."""
        ...

    def post_delta(self, delta: str) -> None:
        """Post a piece of streamed text."""
        ...

    async def store_response(self, response: ModelResponse) -> Sequence[ToolCallPart]:
        """Store a response. Returns its calls, each with an id that was not used before."""
        ...

    async def store_partial_response(self, response: ModelResponse, *, failed: bool) -> None:
        """Store the texts of a response that an error or an interrupt ended, which may be none, and its usage."""
        ...

    async def run_calls(self, calls: Sequence[ToolCallPart]) -> bool:
        """Run calls concurrently, and store their answers in order. False where the turn must wait for a person."""
        ...


async def complete(io: TurnIO, model: Model, limits: TurnLimits) -> bool:
    """Run a turn. True where it has finished, False where it waits for a person. Raises `LimitReached`."""
    calls = await io.open_calls()
    while True:
        if calls:
            check_calls(limits, io.usage)
            if not await io.run_calls(calls):
                return False
        messages = await io.messages()
        if not messages:
            return True
        check_turn(limits, io.usage)
        calls = await io.store_response(await _respond(io, model, messages))


async def _respond(io: TurnIO, model: Model, messages: list[ModelMessage]) -> ModelResponse:
    """Make a request, and another one if the provider rejects it and there is a simpler form of the messages."""
    try:
        return await _request(io, model, messages)
    except (ModelRequestRejectedError, NotImplementedError) as error:
        simpler = io.simpler_messages(messages, error)
        if simpler is None:
            raise
        return await _request(io, model, simpler)


async def _request(io: TurnIO, model: Model, messages: list[ModelMessage]) -> ModelResponse:
    """Make one request. The texts that arrived before an error or an interrupt are stored, and the usage."""
    async with model_request_stream(
        model,
        messages,
        model_settings=io.settings(messages),
        model_request_parameters=await io.parameters(),
    ) as stream:
        try:
            async for event in stream:
                if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart) and event.part.content:
                    io.post_delta(event.part.content)
                elif isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
                    io.post_delta(event.delta.content_delta)
        except (Exception, asyncio.CancelledError) as error:
            failed = not isinstance(error, asyncio.CancelledError)
            await io.store_partial_response(_texts_of(stream.get()), failed=failed)
            raise
        response = stream.get()
        if (reason := _reason_of_emptiness(response)) is not None:
            await io.store_partial_response(_texts_of(response), failed=True)
            raise EmptyResponse(reason)
        return response


def _reason_of_emptiness(response: ModelResponse) -> str | None:
    """Return why a response has neither text nor calls, if its provider did not complete it."""
    if response.text or response.tool_calls or response.files:
        return None
    if response.state == "suspended":
        return "the provider continues the response in the background, which is not supported"
    return _UNFINISHED.get(response.finish_reason or "")


def usage_of(response: ModelResponse) -> Usage:
    """The usage of one response."""
    usage = response.usage
    calls = sum(isinstance(part, ToolCallPart) for part in response.parts)
    cost = _cost(response)
    return Usage(1, calls, usage.input_tokens, usage.output_tokens, cost, unpriced_requests=int(cost is None))


def _texts_of(partial: ModelResponse) -> ModelResponse:
    """The texts of an unfinished response, with the usage that was reported so far."""
    return ModelResponse(
        parts=[part for part in partial.parts if isinstance(part, TextPart) and part.content],
        usage=partial.usage,
        model_name=partial.model_name,
        provider_name=partial.provider_name,
        provider_url=partial.provider_url,
    )


def _cost(response: ModelResponse) -> float | None:
    """The price of the tokens that the provider reported, at the time of the response."""
    if not response.usage.has_values():
        return None
    try:
        return float(response.cost().total_price)
    except (LookupError, AssertionError, ValueError, AttributeError):  # the price of the model is unknown
        return None
