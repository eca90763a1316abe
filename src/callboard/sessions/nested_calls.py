"""Nested calls as their callers see them: whether a caller continues, and reads of the store on its behalf."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from ..clock import Clock
from ..errors import ErrorCategory
from ..execution.execution import Execution
from ..execution.lifecycle import Status
from ..storage.errors import StoreUnavailable
from ..storage.writer import FIRST_DELAY, LONGEST_DELAY

T = TypeVar("T")


async def read_for(caller: Execution | None, clock: Clock, read: Callable[[], Awaitable[T]]) -> T:
    """Read from the store for the handler of a caller. If the store does not answer, wait until it does.

    The wait is cancelled when the attempt of the caller ends or is asked to stop. Without a caller there is no wait.
    """
    attempt, delay = 0 if caller is None else caller.attempt, FIRST_DELAY
    while True:
        try:
            return await read()
        except StoreUnavailable:
            if caller is None:
                raise
        await clock.sleep(delay)
        delay = min(2 * delay, LONGEST_DELAY)
        if caller.status is not Status.EXECUTING or caller.attempt != attempt or caller.stop_reason is not None:
            raise asyncio.CancelledError


def goes_on(caller: Execution | None) -> bool:
    """Return whether a caller that was stopped makes another attempt, here or in another process."""
    if caller is None:
        return False
    reason = caller.stop_reason
    return caller.lost or (
        reason is not None and reason.category is not ErrorCategory.CANCELLED and reason.retryable is not False
    )
