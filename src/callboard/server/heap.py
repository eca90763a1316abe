"""The heap of a process that serves: memory that was freed goes back to the operating system.

glibc keeps what is freed for the next allocation, and returns only the end of its heap by itself. One small object that
lives behind a hundred megabytes of freed bodies and results keeps all of them resident. So a server looks now and then
whether much may have been freed, and has it returned. With another C library than glibc nothing is done.
"""

import asyncio
import ctypes
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol

from ..clock import Clock

INTERVAL = 5.0
"""Seconds between two looks."""
STEP = 16 * 1_048_576
"""Bytes that have to be freed before the heap is trimmed: the next requests will want some of them."""


class Heap(Protocol):
    """The memory of a process, and a way to return what is free."""

    def resident(self) -> int:
        """Bytes that the process has in memory."""
        ...

    def trim(self) -> None:
        """Return what is free. It is called in a thread; allocations of other threads may wait for it."""
        ...


class GlibcHeap:
    """The heap of a process on Linux with glibc. Raises `AttributeError` or `OSError` anywhere else."""

    _STATISTICS = Path("/proc/self/statm")

    def __init__(self) -> None:
        self._trim = ctypes.CDLL(None).malloc_trim
        self._trim.argtypes, self._trim.restype = [ctypes.c_size_t], ctypes.c_int
        self._page = os.sysconf("SC_PAGESIZE")
        self.resident()

    def resident(self) -> int:
        return int(self._STATISTICS.read_text().split()[1]) * self._page

    def trim(self) -> None:
        self._trim(0)


@asynccontextmanager
async def trimmed_heap(clock: Clock, held: Callable[[], int], heap: Heap | None = None) -> AsyncGenerator[None]:
    """Return freed memory to the operating system until the end of the `async with`.

    `held` gives how many bytes of large values (bodies, responses, results) are in use.
    """
    heap = heap or _own_heap()
    if heap is None:
        yield
        return
    trimming = asyncio.create_task(_trim_often(clock, held, heap), name="callboard: heap")
    try:
        yield
    finally:
        trimming.cancel()
        await asyncio.wait([trimming])


def _own_heap() -> Heap | None:
    try:
        return GlibcHeap()
    except (AttributeError, OSError, TypeError):  # TypeError: a process on Windows has no handle of its own
        return None


async def _trim_often(clock: Clock, held: Callable[[], int], heap: Heap) -> None:
    """Trim where the process has grown, or holds less than it did, by `STEP` since the last trim.

    A trim while everything is in use returns nothing and makes the larger size the usual one. What is let go later
    does not make the process grow, so that `held` tells of it.
    """
    least, most = heap.resident(), held()
    while True:
        await clock.sleep(INTERVAL)
        resident, now = heap.resident(), held()
        least, most = min(least, resident), max(most, now)
        if resident >= least + STEP or most >= now + STEP:
            await asyncio.to_thread(heap.trim)
            least, most = heap.resident(), held()
