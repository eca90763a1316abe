"""The number of connections of each user (H4, H5)."""

import pytest

from callboard.protocols.mcp.user_connections import MAX_PER_USER, UserConnections
from callboard.protocols.problem import Problem
from callboard.testing import ManualClock

pytestmark = pytest.mark.anyio

IDLE = 1_800.0


async def test_h5_connections_of_users_who_never_come_back_are_forgotten() -> None:
    clock = ManualClock()
    known = UserConnections(clock, IDLE)
    for number in range(1_000):
        known.used(f"user{number}", f"connection{number}")
        await clock.advance(IDLE / 100)
    assert len(known) <= 101
    known.used("ann", "kept")
    await clock.advance(2 * IDLE)
    known.check("ann")
    assert len(known) == 0


async def test_h5_connection_counts_until_it_ends_or_is_idle() -> None:
    clock = ManualClock()
    known = UserConnections(clock, IDLE)
    known.used("ann", "busy")
    await clock.advance(IDLE)
    for number in range(1, MAX_PER_USER):
        known.used("ann", str(number))
    known.used("ann", "busy")
    await clock.advance(1.0)
    with pytest.raises(Problem, match="200 connections"):
        known.check("ann")
    known.check("bob")
    known.ended("bob", "busy")
    with pytest.raises(Problem):
        known.check("ann")
    known.ended("ann", "1")
    known.ended("ann", "1")
    known.check("ann")
    known.used("ann", "new")
    await clock.advance(IDLE - 0.5)
    known.check("ann")
    assert len(known) == 1, "all but the last are idle"
