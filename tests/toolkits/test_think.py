"""The thinking toolkit."""

import pytest

from callboard import Registry, ToolError
from callboard.toolkits.think import think, tools

pytestmark = pytest.mark.anyio


async def test_a_thought_is_acknowledged_and_has_no_other_effect() -> None:
    registry = Registry(tools)
    assert registry.names() == ("think",)
    assert await registry.call("think", {"thought": "First this, then that."}) == "Noted."
    assert think.idempotent
    assert (think.namespace, think.group) == ("think", "reasoning")
    assert think.prompt.endswith("\n\nUse it to plan several steps, not to answer the user.")


async def test_a_thought_is_required() -> None:
    with pytest.raises(ToolError) as caught:
        await Registry(tools).call("think")
    assert caught.value.details[0]["path"] == "thought"
