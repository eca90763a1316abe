"""The manual clock: time passes only in `advance`, and timers fire in order (X5)."""

import asyncio

import pytest

from callboard.clock import SystemClock
from callboard.testing import ManualClock, settle

pytestmark = pytest.mark.anyio


async def test_x5_manual_clock_stands_still_until_it_is_moved() -> None:
    clock = ManualClock(time=1_000.0)
    await settle()
    assert (clock.time(), clock.monotonic()) == (1_000.0, 0.0)
    await clock.advance(2.5)
    assert (clock.time(), clock.monotonic()) == (1_002.5, 2.5)


async def test_x5_timers_fire_in_their_order_each_at_its_own_time() -> None:
    clock = ManualClock()
    fired: list[tuple[str, float]] = []
    for name, seconds in [("c", 3.0), ("a", 1.0), ("b", 2.0), ("a2", 1.0), ("z", 9.0)]:
        clock.call_later(seconds, lambda name=name: fired.append((name, clock.monotonic())))
    assert clock.pending == 5
    await clock.advance(3)
    assert fired == [("a", 1.0), ("a2", 1.0), ("b", 2.0), ("c", 3.0)]
    assert (clock.pending, clock.monotonic()) == (1, 3.0)


async def test_x5_timers_started_by_timers_fire_within_the_same_advance() -> None:
    clock = ManualClock()
    woken: list[float] = []

    async def sleeper() -> None:
        for _ in range(4):
            await clock.sleep(1)
            woken.append(clock.monotonic())

    task = asyncio.create_task(sleeper())
    await clock.advance(3.5)
    assert woken == [1.0, 2.0, 3.0]
    await clock.advance(0.5)
    await task
    assert woken == [1.0, 2.0, 3.0, 4.0]


async def test_x5_cancelled_timers_and_sleeps_leave_nothing_pending() -> None:
    clock = ManualClock()
    fired: list[int] = []
    timer = clock.call_later(1, lambda: fired.append(1))
    timer.cancel()
    task = asyncio.create_task(clock.sleep(1))
    await settle()
    assert clock.pending == 1
    task.cancel()
    await settle()
    assert (clock.pending, task.cancelled()) == (0, True)
    await clock.advance(2)
    assert fired == []


async def test_x5_sleep_of_nothing_and_timers_in_the_past_wait_for_the_clock() -> None:
    clock = ManualClock()
    fired: list[int] = []
    clock.call_later(-5, lambda: fired.append(1))
    task = asyncio.create_task(clock.sleep(0))
    await settle()
    assert (fired, task.done()) == ([], False)
    await clock.advance(0)
    assert (fired, task.done()) == ([1], True)


async def test_x5_clock_of_the_host_keeps_the_same_contract() -> None:
    clock = SystemClock()
    before, fired = clock.monotonic(), asyncio.Event()
    timer = clock.call_later(60, fired.set)
    clock.call_later(0.001, fired.set)
    await asyncio.wait_for(fired.wait(), 20)
    timer.cancel()
    await clock.sleep(0)
    assert clock.monotonic() > before
    assert clock.time() > 1_700_000_000
