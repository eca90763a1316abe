"""Requests of the NATS client, which must not lose a cancellation."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


async def answered(request: Awaitable[T]) -> T:
    """Wait for the response to a request.

    The client waits with `asyncio.wait_for`, which before Python 3.12 loses a cancellation that arrives together with
    the response. The cancelled task would continue, and a worker would not stop.
    """
    response = await request
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError
    return response
