"""The heap of a server process: freed memory is returned to the operating system.

glibc keeps freed memory for later allocations, and by itself returns only the end of its heap. A small object after a
hundred megabytes of freed bodies and results keeps all of them resident. So a server checks periodically whether much
memory may have been freed, and trims the heap. Without glibc, nothing is trimmed.
"""

import asyncio
import ctypes
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol

from ..background_tasks import BackgroundTasks
from ..clock import Clock

INTERVAL = 5.0
"""Seconds between two checks."""
STEP = 16 * 1_048_576
"""Bytes that must be freed before the heap is trimmed: the next requests reuse smaller amounts."""


class Heap(Protocol):
    """The memory of a process."""

    def resident(self) -> int:
        """Return the bytes that the process has in memory."""
        ...

    def trim(self) -> None:
        """Return free memory to the operating system. Called in a thread; allocations of other threads may block."""
        ...


class GlibcHeap:
    """The heap of this process on Linux with glibc. Raises `AttributeError` or `OSError` on other systems."""

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

    `held` returns the bytes of large values (bodies, responses, results) that are in use.
    """
    heap = heap or _own_heap()
    if heap is None:
        yield
        return
    async with BackgroundTasks() as tasks:
        tasks.run(_trim_when_freed(clock, held, heap), "callboard: heap")
        yield


def _own_heap() -> Heap | None:
    try:
        return GlibcHeap()
    except (AttributeError, OSError, TypeError):  # TypeError: Windows has no handle of the process itself
        return None


async def _trim_when_freed(clock: Clock, held: Callable[[], int], heap: Heap) -> None:
    """Trim whenever the process has grown, or holds less, by `STEP` since the last trim.

    Growth alone is not enough: a trim while all memory is in use returns nothing, and memory that is freed later does
    not make the process grow. A decrease of `held` shows it.
    """
    least_resident, most_held = heap.resident(), held()
    while True:
        await clock.sleep(INTERVAL)
        resident, now_held = heap.resident(), held()
        least_resident, most_held = min(least_resident, resident), max(most_held, now_held)
        if resident >= least_resident + STEP or most_held >= now_held + STEP:
            await asyncio.to_thread(heap.trim)
            least_resident, most_held = heap.resident(), held()
