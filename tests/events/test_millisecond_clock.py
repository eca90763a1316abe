"""The time of day of events is read once per millisecond, and is exact to the millisecond."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from callboard.clock import SystemClock
from callboard.events.millisecond_clock import MillisecondClock
from callboard.testing import ManualClock
from tests.examples import examples

EPOCH = 1_800_000_000.0


class HandSetClock(SystemClock):
    """A clock that is set by hand, and counts the reads of its time of day."""

    __slots__ = ("asked", "now", "offset")

    def __init__(self, offset: float) -> None:
        self.now, self.offset, self.asked = 0.0, offset, 0

    def time(self) -> float:
        self.asked += 1
        return self.now + self.offset


def converted(clock_ms: MillisecondClock, now: float) -> tuple[str, float]:
    """Return the text and the time of day for a reading, as callers get them."""
    if now >= clock_ms.until:
        clock_ms.turn(now)
    assert now >= clock_ms.since
    return clock_ms.text, clock_ms.at + (now - clock_ms.since)


def text_of(timestamp: float) -> str:
    milliseconds = int(timestamp * 1000)
    return f"{datetime.fromtimestamp(milliseconds // 1000, UTC):%Y-%m-%dT%H:%M:%S}.{milliseconds % 1000:03d}Z"


@given(
    st.floats(0, 4e9, allow_nan=False),
    st.lists(st.floats(0, 0.003) | st.sampled_from([0.0, 1e-6, 0.0005, 0.001, 1.0]), max_size=30),
)
@examples(200, 2000)
def test_b1_times_match_the_clock_to_the_millisecond(offset: float, passing: list[float]) -> None:
    clock = HandSetClock(offset)
    clock_ms = MillisecondClock(clock)
    for seconds in passing:
        clock.now += seconds
        text, at = converted(clock_ms, clock.now)
        assert text == text_of(clock.time())
        assert abs(at - clock.time()) < 2e-6


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=10))
@examples(100, 1000)
def test_b1_changed_system_time_takes_effect_in_the_next_millisecond(jumps: list[float]) -> None:
    clock = HandSetClock(EPOCH)
    clock_ms = MillisecondClock(clock)
    converted(clock_ms, clock.now)
    for jump in jumps:
        clock.offset = EPOCH + jump
        clock.now += 0.001
        assert converted(clock_ms, clock.now)[0] == text_of(clock.time())


def test_b1_time_of_day_is_read_once_per_millisecond() -> None:
    clock = HandSetClock(EPOCH)
    clock_ms = MillisecondClock(clock)
    for step in range(10_000):
        clock.now = step / 1e6
        converted(clock_ms, clock.now)
    assert clock.asked <= 2 * 10, "once more at the end of each, where numbers are not exact"


def test_b1_manual_clock_is_read_each_time() -> None:
    class Set(ManualClock):
        offset = 0.0

        def time(self) -> float:
            return super().time() + self.offset

    clock = Set(EPOCH)
    clock_ms = MillisecondClock(clock)
    for offset in (0.0, 3600.0, -3600.0, 0.0001):
        clock.offset = offset
        assert converted(clock_ms, clock.monotonic()) == (text_of(EPOCH + offset), EPOCH + offset)
