"""Messages that a worker puts back come back one after the other (D3)."""

import pytest

from callboard.sessions.redelivery import Redelivery
from callboard.testing import ManualClock

pytestmark = pytest.mark.anyio


async def test_d3_many_messages_that_are_put_back_come_back_one_by_one() -> None:
    clock = ManualClock()
    again = Redelivery(clock, 1.0, 0.5)
    assert [again.next() for _ in range(3)] == pytest.approx([1.0, 1.5, 2.0])
    await clock.advance(1.0)
    assert again.next() == pytest.approx(1.5), "after those that are on their way"
    await clock.advance(60.0)
    assert again.next() == pytest.approx(1.0)
