"""Freed memory is returned to the operating system, once there is enough of it."""

import asyncio

import pytest

from callboard.server.heap import INTERVAL, STEP, GlibcHeap, Heap, trimmed_heap
from callboard.testing import ManualClock
from tests.server.conftest import Served, until

pytestmark = pytest.mark.anyio


class FakeHeap:
    """A heap of which only the used part remains after a trim."""

    def __init__(self) -> None:
        self.size = 10 * STEP
        self.used = 10 * STEP
        self.trims = 0

    def resident(self) -> int:
        return self.size

    def trim(self) -> None:
        self.size = self.used
        self.trims += 1


async def check(clock: ManualClock) -> None:
    """Advance the clock to the next check of the heap, and wait for its end."""
    await until(lambda: clock.pending == 1)
    await clock.advance(INTERVAL)
    await until(lambda: clock.pending == 1)


async def test_h5_process_that_has_grown_is_trimmed_once() -> None:
    clock, heap = ManualClock(), FakeHeap()
    async with trimmed_heap(clock, lambda: 0, heap):
        await check(clock)
        heap.size += STEP - 1
        await check(clock)
        assert heap.trims == 0, "a small amount is reused soon"
        heap.size += 1
        await check(clock)
        assert (heap.trims, heap.size) == (1, heap.used)
        await check(clock)
        assert heap.trims == 1


async def test_h5_memory_in_use_at_a_trim_is_returned_after_its_release() -> None:
    clock, heap, held = ManualClock(), FakeHeap(), 0
    async with trimmed_heap(clock, lambda: held, heap):
        await check(clock)
        held = 3 * STEP
        heap.size = heap.used = 13 * STEP
        await check(clock)
        assert (heap.trims, heap.size) == (1, 13 * STEP)
        heap.used, held = 10 * STEP, 0
        await check(clock)
        assert (heap.trims, heap.size) == (2, 10 * STEP)
        await check(clock)
        assert heap.trims == 2
    assert clock.pending == 0


async def test_h5_the_heap_of_this_process_can_be_trimmed() -> None:
    try:
        heap: Heap = GlibcHeap()
    except (AttributeError, OSError):
        pytest.skip("another C library")
    assert heap.resident() > 10_000_000
    await asyncio.to_thread(heap.trim)


async def test_h5_services_count_large_values_in_use(plain: Served) -> None:
    before = plain.services.held
    with plain.services.bodies.budget.holding("ann", 1_000), plain.services.unsent_responses.holding("ann", 100):
        assert plain.services.held == before + 1_100
    assert plain.services.held == before
