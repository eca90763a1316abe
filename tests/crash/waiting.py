"""Waiting for other processes: on conditions, with a deadline."""

import time
from collections.abc import Callable

from .process import DEADLINE, Child


def until(condition: Callable[[], bool], patience: float = DEADLINE) -> float:
    """Wait until a condition holds. Returns the seconds that it took."""
    start = time.monotonic()
    while not condition():
        assert time.monotonic() - start < patience, "it did not happen in time"
        time.sleep(0.02)
    return time.monotonic() - start


def busy(child: Child) -> None:
    """Wait until a process has begun 20 more runs."""
    begun = _runs(child)
    until(lambda: _runs(child) > begun + 20)


def _runs(child: Child) -> int:
    return sum(fact["what"] == "begin" for fact in child.facts())
