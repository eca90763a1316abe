"""A flood of messages to `/ag-ui`, from clients that read the response or disconnect: send_refused, and not stored."""

import asyncio
from typing import Any

import httpx2
import pytest

from .conftest import StartNode, Users
from .harness import Node, bystander, given_back, report

pytestmark = pytest.mark.anyio

ATTEMPTS = 2


def flood(count: int) -> dict[str, Any]:
    messages = [{"id": f"u{number}", "role": "user", "content": f"message {number}"} for number in range(count)]
    return {"threadId": "mine", "runId": "r", "messages": messages}


async def send_refused(client: httpx2.AsyncClient, body: dict[str, Any]) -> None:
    response = await client.post("/ag-ui", json=body)
    if response.status_code == 200:  # the refusal is the last event of the stream
        assert "RUN_ERROR" in response.text
        assert "run_refused" in response.text
    else:
        assert response.status_code in (413, 422), response.text[:300]


async def send_and_disconnect(client: httpx2.AsyncClient, body: dict[str, Any]) -> None:
    """Send a run, and disconnect after its first event."""
    async with client.stream("POST", "/ag-ui", json=body) as response:
        async for line in response.aiter_lines():
            if line:
                return


async def start(start_node: StartNode, users: Users) -> Node:
    node = start_node("--model", "offline", CALLBOARD_RATE_LIMIT="0")
    for user, session_id in ((users.victim, "bystander"), (users.attacker, "mine")):
        async with user.client(node) as client:
            assert (await client.post("/api/sessions", json={"session_id": session_id})).status_code == 201
    return node


@pytest.mark.parametrize("count", [2_000, pytest.param(20_000, marks=pytest.mark.slow)])
async def test_h3_h5_flood_of_messages_is_refused_and_delays_no_other_user(
    start_node: StartNode, users: Users, shared_url: str, count: int
) -> None:
    node = await start(start_node, users)
    body = flood(count)
    before = node.memory()
    async with users.attacker.client(node) as client:
        with bystander(node, users) as seen:
            for _ in range(ATTEMPTS):
                await send_refused(client, body)
                await send_and_disconnect(client, body)
            await asyncio.gather(*(send_refused(client, body) for _ in range(ATTEMPTS)))
        state = (await client.get("/api/state", params={"session_id": "mine"})).json()
    assert state["messages"] == []
    assert node.peak() - before < 200
    left = await given_back(node, before)
    report("20,000 messages to /ag-ui", shared_url, seen, memory=node.peak(), left=left)
    seen.unharmed()
