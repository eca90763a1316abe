"""Threads of a store: results, errors, and callers that leave before their work is done."""

import asyncio
import threading
from collections.abc import Generator
from typing import Any, cast

import pytest

from callboard.adapters.stores.connections import ConnectionThreads, PinnedConnection
from callboard.storage.errors import StoreError, StoreUnavailable, StoreUnconfirmed
from callboard.storage.patience import Patience

pytestmark = pytest.mark.anyio


class NoDatabase:
    """A database that no test reaches."""

    def __getattr__(self, name: str) -> None:
        raise AssertionError(name)


@pytest.fixture
def threads() -> Generator[ConnectionThreads]:
    threads = ConnectionThreads("test", PinnedConnection(cast("Any", NoDatabase()), writes=True))
    yield threads
    threads.close()


class Blocked:
    """Work that keeps its thread until it is released."""

    def __init__(self) -> None:
        self.began, self.may_end, self.ended = threading.Event(), threading.Event(), threading.Event()

    def __call__(self, connection: PinnedConnection) -> str:
        self.began.set()
        assert self.may_end.wait(10)
        self.ended.set()
        return "done"


async def test_d1_work_returns_its_result_or_raises_its_error(threads: ConnectionThreads) -> None:
    def fail(connection: PinnedConnection) -> None:
        raise StoreError("It failed.")

    assert await threads.do(lambda connection: 5) == 5
    with pytest.raises(StoreError, match="It failed"):
        await threads.do(fail)
    assert await threads.do(lambda connection: 6) == 6, "the thread and its connection are free again"


async def test_d1_cancelled_caller_does_not_end_work_that_has_begun(threads: ConnectionThreads) -> None:
    first, second = Blocked(), Blocked()
    begun = asyncio.create_task(threads.do(first))
    waiting = asyncio.create_task(threads.do(second))
    await asyncio.to_thread(first.began.wait, 10)
    for task in (begun, waiting):
        task.cancel()
    await asyncio.wait([begun, waiting])
    assert begun.cancelled()
    assert waiting.cancelled()
    first.may_end.set()
    assert await threads.do(lambda connection: 7) == 7
    assert first.ended.is_set()
    assert not second.began.is_set(), "work that had not begun is withdrawn"


async def test_e5_caller_with_limited_patience_is_told_what_is_known(threads: ConnectionThreads) -> None:
    first = Blocked()
    begun = asyncio.create_task(threads.do(first, Patience(0.01), writes=True))
    await asyncio.to_thread(first.began.wait, 10)
    with pytest.raises(StoreUnavailable):
        await threads.do(lambda connection: 8, Patience(0.01), writes=True)
    with pytest.raises(StoreUnconfirmed):
        await begun
    first.may_end.set()
    assert await threads.do(lambda connection: 9, Patience(10.0), writes=True) == 9


def test_d1_work_ends_also_if_the_event_loop_is_closed_meanwhile(threads: ConnectionThreads) -> None:
    work = Blocked()

    async def leave() -> None:
        task = asyncio.create_task(threads.do(work))
        await asyncio.to_thread(work.began.wait, 10)
        task.cancel()

    asyncio.run(leave())
    work.may_end.set()
    assert asyncio.run(threads.do(lambda connection: 10)) == 10
    assert work.ended.is_set()


async def test_d1_closed_threads_refuse_work(threads: ConnectionThreads) -> None:
    threads.close()
    with pytest.raises(StoreError, match="not open"):
        await threads.do(lambda connection: 11)
