"""When messages that a worker puts back are delivered again.

They come back one after the other, so that the work which they cause does not grow with their number.
"""

from ..clock import Clock


class Redelivery:
    """The delays of messages of one kind: each comes back after `delay` seconds, and `spacing` after the one before."""

    def __init__(self, clock: Clock, delay: float, spacing: float) -> None:
        self._clock = clock
        self._delay = delay
        self._spacing = spacing
        self._last = 0.0
        """When the message comes back that was put back last."""

    def next(self) -> float:
        """Return the delay of the next message."""
        now = self._clock.monotonic()
        self._last = max(now + self._delay, self._last + self._spacing)
        return self._last - now
