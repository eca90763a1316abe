"""A decorated function keeps its types: this file is checked by pyright, and runs."""

from typing import Annotated, assert_type

import pytest

from callboard import OpenRequest, Outcome, Registry, Runtime, Session, Tool, tool

pytestmark = pytest.mark.anyio


@tool
async def add(a: Annotated[int, "A"], b: Annotated[int, "B"] = 2) -> int:
    """Add."""
    return a + b


@tool(namespace="text")
def shout(text: Annotated[str, "What"]) -> str:
    """Shout."""
    return text.upper()


async def test_t1_a_tool_can_be_called_as_its_function_with_its_types() -> None:
    assert assert_type(await add(1, b=3), int) == 4
    assert assert_type(shout("hi"), str) == "HI"
    with pytest.raises(TypeError):
        add(1, c=3)  # pyright: ignore[reportCallIssue]


def test_t1_a_registry_gives_tools() -> None:
    assert_type(Registry([add, shout]).get("add"), Tool | None)


async def test_m3_requests_of_a_session_are_values() -> None:
    async with Runtime([add]) as runtime:
        session = assert_type(await runtime.open("s", "u"), Session)
        assert assert_type(await session.requests(), list[OpenRequest]) == []
        assert assert_type(await session.call("add", {"a": 1}), Outcome).value == 3
