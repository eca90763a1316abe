"""H5: stopping the many calls of a session lets the calls of others go on."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest

from callboard import Limits, Session, tool
from callboard.testing import settle

from .conftest import Make

pytestmark = pytest.mark.anyio

CALLS, RUNNING, SLICE = 40, 8, 4

began: list[int] = []


@tool(mode="background")
async def last() -> None:
    """Wait until it is stopped."""
    began.append(1)
    await asyncio.Event().wait()


@asynccontextmanager
async def most_ends_in_one_turn(session: Session) -> AsyncGenerator[Callable[[], int]]:
    """Yield a function that returns the most executions that have ended between two turns of this task."""
    counts = [_count_ended(session)]

    async def count() -> None:
        while True:
            await asyncio.sleep(0)
            counts.append(_count_ended(session))

    def most() -> int:
        return max(after - before for before, after in pairwise(counts))

    task = asyncio.create_task(count())
    await asyncio.sleep(0)
    try:
        yield most
    finally:
        task.cancel()


def _count_ended(session: Session) -> int:
    return sum(each.completed_at is not None for each in session.executions())


async def cancel(session: Session) -> None:
    assert await session.cancel_all() == CALLS


async def close(session: Session) -> None:
    await session.close(grace=0)


@pytest.mark.parametrize("stop", [cancel, close])
async def test_h5_calls_of_a_session_are_stopped_in_slices_and_queued_ones_never_begin(
    stop: Callable[[Session], Awaitable[None]], make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("callboard.sessions.cancellation.SLICE", SLICE)
    began.clear()
    async with make(last, limits=Limits(per_session=RUNNING)) as runtime:
        session = await runtime.open("s", "u")
        for _ in range(CALLS):
            await session.call("last")
        await settle()
        assert len(began) == RUNNING
        async with most_ends_in_one_turn(session) as most:
            await stop(session)
            await settle()
        assert 0 < most() <= 2 * SLICE  # some end in the turn after they were stopped
        assert len(began) == RUNNING
        assert not runtime.manager.live
