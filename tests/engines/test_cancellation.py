"""Cancellation while the NATS server answers a request."""

import asyncio
import logging
from typing import Any

import pytest

from callboard.adapters.engines.nats.client_requests import answered
from callboard.adapters.engines.nats.pull import Pull

pytestmark = pytest.mark.anyio


async def deaf(asked: asyncio.Event) -> str:
    """Respond in the moment of a cancellation, and lose it as `asyncio.wait_for` of Python 3.11 does."""
    asked.set()
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        logging.debug("the cancellation is lost")
    return "response"


class DeafClient:
    """A client whose requests lose cancellations. Nothing comes after them."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    def jetstream(self) -> Any:
        return self

    async def add_consumer(self, *_: Any) -> None:
        await deaf(self.asked)

    def new_inbox(self) -> str:
        raise AssertionError("the pull went on")


async def test_d3_response_to_a_cancelled_request_is_not_used() -> None:
    asked = asyncio.Event()
    task = asyncio.create_task(answered(deaf(asked)))
    await asked.wait()
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()


async def test_d3_pull_that_is_cancelled_during_a_request_ends() -> None:
    async def room() -> int:
        raise AssertionError("the pull went on")

    async def receive(messages: Any) -> None:
        raise AssertionError("the pull went on")

    client = DeafClient()
    task = asyncio.create_task(Pull("queue", "subject", "stream").run(client, room, receive))
    await client.asked.wait()
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
