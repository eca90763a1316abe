"""The harness that users test their tools with (X5)."""

import pytest

from callboard import Settings, tool
from callboard.testing import Harness

pytestmark = pytest.mark.anyio


@tool
async def slow() -> str:
    """Take three seconds."""
    await current[0].clock.sleep(3)
    return "done"


current: list[Harness] = []


async def test_x5_harness_runs_a_tool_without_waiting() -> None:
    async with Harness(slow) as harness:
        current[:] = [harness]
        call = await harness.start("slow", call_id="c")
        assert not call.done()
        assert harness.kinds() == ["tool_started", "tool_validating", "tool_executing"]
        await harness.advance(3)
        outcome = await call
        assert outcome.value == "done"
        assert [event.kind for event in harness.events(outcome.execution_id)][-1] == "tool_result"
        assert harness.events("other") == []
        assert (harness.session.id, harness.session.user_id) == ("test", "tester")


async def test_x5_settings_of_the_harness_apply_to_its_tools() -> None:
    async with Harness(slow.with_(gate="beta"), settings=Settings(gates={"beta": True})) as harness:
        assert "slow" in [each.name for each in harness.session.tools()]
