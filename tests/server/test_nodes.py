"""Several servers on one store: a change at one is effective at all (D2, E2, H5)."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

import pytest

from callboard import Runtime, ToolError, tool
from callboard.sessions.live_session import LiveSession
from tests.server.conftest import DEADLINE, TOOLS, Served, serve, take

pytestmark = pytest.mark.anyio


@tool
async def hold() -> str:
    """Block a turn."""
    await held.wait()
    return "done"


held: asyncio.Event


@pytest.fixture
async def nodes(shared_url: str) -> AsyncGenerator[tuple[Served, Served]]:
    global held
    held = asyncio.Event()

    def node() -> Runtime:
        return Runtime([*TOOLS, hold], model="offline", store=shared_url)

    async with serve(node()) as one, serve(node()) as other:
        yield one, other


async def until(asks: Callable[[], Awaitable[Any]], wanted: Callable[[Any], bool]) -> Any:
    """Repeat a request until its response is wanted: the node has noticed the change at the other. Returns it."""
    async with asyncio.timeout(DEADLINE):
        while not wanted(answer := await asks()):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    return answer


async def test_e2_deleted_session_is_gone_at_every_node_and_its_id_can_be_used_again(
    nodes: tuple[Served, Served],
) -> None:
    here, there = nodes
    await here.session("x")
    await here.post("/api/chat", {"session_id": "x", "message": "hello"})
    async with here.stream("x") as stream:
        assert (await there.client.delete("/api/sessions/x")).json() == {"deleted": True}
        await take(stream, lambda sent: sent.event == "deleted")
    await there.session("x", x_user="bob")
    await there.post("/api/executions", {"session_id": "x", "tool": "pay", "arguments": {"amount": 5}}, x_user="bob")
    (request,) = (await there.get("/api/requests", {"session_id": "x"}, x_user="bob")).json()["requests"]

    assert (await here.get("/api/state", {"session_id": "x"})).status_code == 404
    assert (await here.post("/api/chat", {"session_id": "x", "message": "hi"})).status_code == 404
    answer = {"session_id": "x", "answer": {"approved": True}}
    refused = await here.post(f"/api/requests/{request['request_id']}/answer", answer)
    assert refused.status_code == 404
    theirs = (await here.get("/api/state", {"session_id": "x"}, x_user="bob")).json()
    assert [each["request_id"] for each in theirs["open_requests"]] == [request["request_id"]]


async def test_e2_late_deletion_does_not_delete_the_new_session_of_the_id(
    nodes: tuple[Served, Served], monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = nodes
    await here.session("x")

    async def changes_hands(session: LiveSession) -> bool:
        await there.runtime.store.delete("x")
        await there.session("x", x_user="bob")
        return False

    monkeypatch.setattr(LiveSession, "interrupt", changes_hands)
    assert (await here.client.delete("/api/sessions/x")).json() == {"deleted": False}
    assert (await there.get("/api/state", {"session_id": "x"}, x_user="bob")).status_code == 200


async def test_g3_view_of_a_session_is_the_same_at_every_node(nodes: tuple[Served, Served]) -> None:
    here, there = nodes
    await here.session("x")
    assert (await here.get("/api/state", {"session_id": "x"})).status_code == 200
    assert (await there.post("/api/sessions", {"session_id": "x", "namespaces": ["none"]})).status_code in (200, 201)

    async def tools() -> list[str]:
        return [each["name"] for each in (await here.get("/api/tools", {"session_id": "x"})).json()["tools"]]

    assert "add" not in await until(tools, lambda names: "add" not in names)
    await there.post("/api/sessions/x/logout", {"grace": 1})

    async def is_open() -> bool:
        return (await here.get("/api/sessions/x")).json()["open"]

    assert await until(is_open, lambda answer: not answer) is False


async def test_h1_state_shows_a_turn_that_runs_at_another_node(nodes: tuple[Served, Served]) -> None:
    here, there = nodes
    await here.session("x")
    await there.get("/api/state", {"session_id": "x"})
    await here.post("/api/chat", {"session_id": "x", "message": "hold {}"})

    async def is_processing() -> bool:
        return (await there.get("/api/state", {"session_id": "x"})).json()["is_processing"]

    assert await until(is_processing, lambda answer: answer)
    held.set()
    assert not await until(is_processing, lambda answer: not answer)


async def test_m3_a_user_cannot_answer_requests_of_the_next_owner_of_a_session_id(shared_url: str) -> None:
    """The process has a session in memory that another process has deleted and created again."""
    async with Runtime(TOOLS, store=shared_url) as here, Runtime(TOOLS, store=shared_url) as there:
        mine = await here.open("x", "ann")
        await there.store.delete("x")
        theirs = await there.open("x", "bob")
        await theirs.call("pay", {"amount": 5})
        (request,) = await theirs.requests()
        assert await mine.requests() == []
        with pytest.raises(ToolError, match="There is no request"):
            await mine.answer(request.id, {"approved": True})
        assert await theirs.requests() == [request]
