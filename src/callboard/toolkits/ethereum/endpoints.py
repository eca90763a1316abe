"""The nodes of a chain as targets of requests: which one is tried next, and which ones are left alone. No I/O.

A small breaker for each address: after repeated failures the address is left alone for a time that doubles, and is then
tried again. If all are left alone, the one that is due first is tried anyway, so that a chain never stays unreachable.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from .clock import Clock

FAILURES = 2
"""Failures in a row after which an address is left alone."""
FIRST_PAUSE = 2.0
LONGEST_PAUSE = 60.0


@dataclass(slots=True)
class Endpoint:
    """An address of a node, and how its last requests ended."""

    url: str = field(repr=False)
    number: int
    """Its place among the addresses, by which errors name it."""
    failures: int = 0
    paused_until: float = 0.0
    is_verified: bool = False
    """Whether the node reported the chain id that is configured."""


class Endpoints:
    """The addresses of one chain, in the order of preference."""

    def __init__(self, urls: Sequence[str], clock: Clock) -> None:
        self.all = tuple(Endpoint(url, number) for number, url in enumerate(urls, start=1))
        self._clock = clock

    def candidates(self) -> list[Endpoint]:
        """Return the addresses to try, in order: those that work; if there are none, the one that is due first."""
        now = self._clock.monotonic()
        ready = [each for each in self.all if each.paused_until <= now]
        return ready or [min(self.all, key=lambda each: each.paused_until)]

    def succeeded(self, endpoint: Endpoint) -> None:
        """Note a response."""
        endpoint.failures, endpoint.paused_until = 0, 0.0

    def failed(self, endpoint: Endpoint, retry_after: float | None = None) -> None:
        """Note a failure. An address that says when to come back is left alone until then."""
        endpoint.failures += 1
        pause = 0.0
        if endpoint.failures >= FAILURES:
            pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(endpoint.failures - FAILURES, 10))
        if retry_after is not None:
            pause = max(pause, min(retry_after, LONGEST_PAUSE))
        endpoint.paused_until = self._clock.monotonic() + pause
