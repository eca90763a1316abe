"""The numbers of operations: users see their own work, and operators the process, but not other users' usage (H5)."""

import asyncio
from typing import Any

import httpx2
import pytest

from callboard import Runtime
from callboard.events.kinds import TURN_ENDS
from callboard.server.app import create_app
from callboard.server.identity import IdentityConfig, guard
from callboard.server.routes.process_state import process_state
from callboard.storage.api_keys import new_key
from callboard.testing.providers import AnthropicDouble, Call, Turn, Usage

from .conftest import TOOLS, Served, as_user

pytestmark = pytest.mark.anyio


def client_of(app: Any) -> httpx2.AsyncClient:
    return httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app), base_url="http://127.0.0.1")


async def chat(client: httpx2.AsyncClient, session_id: str, message: str, **headers: str) -> None:
    """Send a message, and wait until the turn has ended."""
    await client.post("/api/sessions", json={"session_id": session_id}, headers=headers)
    await client.post("/api/chat", json={"session_id": session_id, "message": message}, headers=headers)
    async with asyncio.timeout(90):
        while True:
            page = (await client.get("/api/events", params={"session_id": session_id}, headers=headers)).json()
            if page["events"][-1]["kind"] in TURN_ENDS:
                return
            await asyncio.sleep(0)


async def test_h1_usage_of_a_conversation_is_in_its_session_and_in_the_list(store_url: str) -> None:
    script = [Turn(Call("add", {"a": 1, "b": 2}), usage=Usage(100, 10)), Turn("Three.", usage=Usage(200, 20))]
    async with (
        AnthropicDouble(script) as provider,
        Runtime(TOOLS, model=provider.model(), store=store_url) as runtime,
        client_of(create_app(runtime)) as client,
    ):
        await client.post("/api/sessions", json={"session_id": "idle"})
        await chat(client, "s", "Add.")
        session = (await client.get("/api/sessions/s")).json()
        assert session["usage"] == {
            "requests": 2,
            "tool_calls": 1,
            "input_tokens": 300,
            "output_tokens": 30,
            "cost": pytest.approx(300e-6 + 150e-6),
            "unpriced_requests": 0,
        }
        listed = (await client.get("/api/sessions", params={"order": "recent"})).json()["sessions"]
        assert {each["session_id"]: (each["calls"], each["usage"]) for each in listed} == {
            "s": (1, session["usage"]),
            "idle": (0, None),
        }
        async with asyncio.timeout(90):  # the turn is counted right after its last event
            while True:
                process = (await client.get("/api/operations")).json()["process"]
                if not process["turns"]["running"]:
                    break
                await asyncio.sleep(0)
        assert process["turns"]["usage"] == session["usage"]
        assert (process["turns"]["running"], process["turns"]["ended"]) == (0, {"finished": 1})


async def test_h5_usage_of_another_user_is_not_visible() -> None:
    async with (
        AnthropicDouble([Turn("Hello.", usage=Usage(100, 10))]) as provider,
        Runtime(TOOLS, model=provider.model()) as runtime,
        client_of(create_app(runtime, guard=as_user)) as client,
    ):
        await chat(client, "hers", "Hello.", **{"x-user": "alice"})
        mallory = {"x-user": "mallory"}
        assert (await client.get("/api/sessions/hers", headers=mallory)).status_code == 404
        listed = await client.get("/api/sessions", params={"order": "recent"}, headers=mallory)
        assert listed.json()["sessions"] == []
        seen = (await client.get("/api/operations", headers=mallory)).json()
        assert (seen["is_operator"], seen["process"]) == (False, None)
        assert seen["user"] == {"sessions": 0, "running": 0, "queued": 0, "waiting": 0}
        mine = (await client.get("/api/operations", headers={"x-user": "alice"})).json()
        assert (mine["user"]["sessions"], mine["process"]) == (1, None)


async def test_h5_only_operators_see_the_numbers_of_the_process() -> None:
    async with Runtime(TOOLS) as runtime:
        keys = {user: new_key(user, runtime.clock.time()) for user in ("ann", "bob", "local")}
        config = IdentityConfig.from_environment({"CALLBOARD_OPERATORS": "ann, carol"})
        app = create_app(runtime, guard=lambda inner: guard(inner, config, runtime.store))
        async with client_of(app) as client:
            alone = (await client.get("/api/operations")).json()
            assert alone["is_operator"], "the only user of a server without keys"
            for row, _ in keys.values():
                await runtime.store.add_key(row)
        fresh = create_app(runtime, guard=lambda inner: guard(inner, config, runtime.store))
        async with client_of(fresh) as client:
            seen = {
                user: (await client.get("/api/operations", headers={"authorization": f"Bearer {key}"})).json()
                for user, (_, key) in keys.items()
            }
            assert {user: each["is_operator"] for user, each in seen.items()} == {
                "ann": True,
                "bob": False,
                "local": False,
            }
            assert seen["bob"]["process"] is None
            assert seen["local"]["process"] is None
            assert (await client.get("/api/operations")).status_code == 401


async def test_h1_process_reports_its_calls_store_and_limits(served: Served) -> None:
    await served.session("s")
    for arguments in ({"a": 1, "b": 2}, {"a": "x"}):
        await served.post("/api/executions", {"session_id": "s", "tool": "add", "arguments": arguments})
    for tool, arguments in (("pay", {"amount": 1}), ("wait_for_ever", {})):
        await served.post("/api/executions", {"session_id": "s", "tool": tool, "arguments": arguments})
    response = (await served.get("/api/operations")).json()
    assert response["user"] == {"sessions": 1, "running": 1, "queued": 0, "waiting": 1}
    services, process = served.services, (await served.get("/api/operations", x_user="local")).json()["process"]
    assert process is None, "a guard of your own names its operators itself"
    found = process_state(services)
    assert (found.calls.calls, found.calls.failures) == (2, {"validation": 1})
    assert (found.waiting, found.queued, found.sessions) == (1, 0, 1)
    assert found.executions["waiting"] == 1
    assert found.store.available
    assert found.limits.calls == served.runtime.manager.limits.total
