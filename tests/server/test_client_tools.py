"""Definitions of clients' tools: their cost is bounded, and users take turns with new ones (H5)."""

import asyncio
from typing import Any

import pytest

from callboard import RegistrationError, SchemaError
from callboard.pacer import Pacer
from callboard.sessions.client_tools import MAX_WAITING
from callboard.tools.front_end import MAX_PATTERNS, MAX_SCHEMA_PARTS, FrontEndTool, front_end_tools
from tests.server.conftest import Served, until

pytestmark = pytest.mark.anyio


def nested(fan: int, depth: int) -> dict[str, Any]:
    """Return a small schema whose references expand to `fan` to the power of `depth` schemas."""
    levels: dict[str, Any] = {
        f"l{level}": {"type": "object", "properties": {f"p{n}": {"$ref": f"#/$defs/l{level + 1}"} for n in range(fan)}}
        for level in range(depth)
    }
    last = {f"l{depth}": {"type": "string"}}
    return {"type": "object", "$defs": {**levels, **last}, "properties": {"x": {"$ref": "#/$defs/l0"}}}


def definition(name: str, parameters: Any = None) -> dict[str, Any]:
    return {"name": name, "description": "Do it.", "parameters": parameters}


def test_h5_references_in_the_schema_of_a_clients_tool_expand_within_a_limit() -> None:
    assert front_end_tools([FrontEndTool("small", "Do it.", nested(4, 3))])
    with pytest.raises(SchemaError, match=f"more than {MAX_SCHEMA_PARTS} parts"):
        front_end_tools([FrontEndTool("large", "Do it.", nested(4, 6))])


@pytest.mark.parametrize("pattern", [r"\p{L}{500}", r"(?=\w{500})\p{L}{500}"])
def test_h5_regular_expressions_of_a_clients_tool_have_limits(pattern: str) -> None:
    def parameters(*patterns: str) -> Any:
        return {"properties": {f"p{n}": {"type": "string", "pattern": each} for n, each in enumerate(patterns)}}

    assert front_end_tools([FrontEndTool("some", "Do it.", parameters(*[r"^\p{L}+$"] * MAX_PATTERNS))])
    with pytest.raises(RegistrationError, match="is not a"):
        front_end_tools([FrontEndTool("large", "Do it.", parameters(pattern))])
    named = {"patternProperties": {f"^x{n}": {} for n in range(MAX_PATTERNS)}}
    for many in (parameters(*["a"] * (MAX_PATTERNS + 1)), {"allOf": [named, parameters("a")]}):
        with pytest.raises(RegistrationError, match="regular expressions"):
            front_end_tools([FrontEndTool("many", "Do it.", many)])


async def test_h5_tool_that_expands_too_far_is_refused(plain: Served) -> None:
    await plain.session("s")
    body = {"session_id": "s", "message": "hello", "tools": [definition("large", nested(4, 6))]}
    refused = await plain.post("/api/chat", body)
    assert (refused.status_code, refused.json()["code"]) == (422, "registration")
    assert (await plain.get("/api/messages", {"session_id": "s"})).json()["messages"] == []


async def test_h5_new_tools_of_one_user_wait_for_their_turn_and_other_requests_do_not(
    plain: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, waiting = asyncio.Event(), list[str]()

    async def enter(pacer: Pacer, user_id: str, seconds: float) -> None:
        waiting.append(user_id)
        await go.wait()

    def count(pacer: Pacer, user_id: str) -> int:
        return 0 if go.is_set() else waiting.count(user_id)

    monkeypatch.setattr(Pacer, "enter", enter)
    monkeypatch.setattr(Pacer, "waiting", count)
    await plain.session("m", x_user="mallory")
    await plain.session("a", x_user="ann")

    def say(session: str, user: str, *tools: dict[str, Any]) -> Any:
        return plain.post("/api/chat", {"session_id": session, "message": "hello", "tools": tools}, x_user=user)

    new = [asyncio.create_task(say("m", "mallory", definition(f"turn_{n}"))) for n in range(MAX_WAITING)]
    await until(lambda: len(waiting) == MAX_WAITING)
    refused = await say("m", "mallory", definition("one_more"))
    assert (refused.status_code, refused.json()["code"]) == (429, "too_many_large_requests")
    assert refused.headers["retry-after"] == "1"
    assert (await say("a", "ann")).status_code == 202
    go.set()
    assert {each.status_code for each in await asyncio.gather(*new)} == {202}
    assert (await say("a", "ann", definition("turn_0"))).status_code == 202
    assert "ann" not in waiting, "a definition that was checked before needs no turn"
