"""One user takes all the places it can get, or makes a tool fail: other users do not notice (X6, X9, H5)."""

import asyncio
import socket
from typing import Any

import httpx2
import pytest

from .conftest import StartNode, Users
from .harness import Node, bystander, report

pytestmark = pytest.mark.anyio

SESSIONS = 16


async def opened(node: Node, users: Users) -> Node:
    async with users.victim.client(node) as client:
        assert (await client.post("/api/sessions", json={"session_id": "bystander"})).status_code == 201
    return node


async def call(client: httpx2.AsyncClient, session_id: str, tool: str, **arguments: Any) -> dict[str, Any]:
    body = {"session_id": session_id, "tool": tool, "arguments": arguments}
    answer = await client.post("/api/executions", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def crowd(client: httpx2.AsyncClient, each: int) -> list[dict[str, Any]]:
    """Sixteen sessions with so many calls each that do not end, made sixteen at a time."""
    names = [f"crowd{number}" for number in range(SESSIONS)]
    for name in names:
        assert (await client.post("/api/sessions", json={"session_id": name})).status_code == 201

    async def one(name: str) -> list[dict[str, Any]]:
        return [await call(client, name, "repeatable") for _ in range(each)]

    return [outcome for part in await asyncio.gather(*map(one, names)) for outcome in part]


async def attack(node: Node, users: Users, store: str, *, each: int, places: int) -> None:
    async with users.attacker.client(node) as client, users.victim.client(node) as victim:
        with bystander(node, users.victim) as seen:
            outcomes = await crowd(client, each)
            told = [outcome["value"]["status"] for outcome in outcomes]
            assert (told.count("started"), told.count("queued")) == (places, SESSIONS * each - places)
            assert "has not begun" in outcomes[told.index("queued")]["value"]["message"]
            assert (await call(victim, "bystander", "tick"))["value"] == "tock"
        page = (await client.get("/metrics")).text
        report("all places of one user", store, seen, memory=node.peak())
        seen.unharmed()
        assert f"callboard_queue_length {SESSIONS * each - places:.1f}" in page


async def test_x9_sixteen_sessions_of_one_user_leave_places_for_another(
    start_node: StartNode, users: Users, shared_url: str
) -> None:
    limits = {"CALLBOARD_MAX_CALLS": "64", "CALLBOARD_MAX_USER_CALLS": "16", "CALLBOARD_MAX_SESSION_CALLS": "4"}
    node = await opened(start_node(CALLBOARD_RATE_LIMIT="0", **limits), users)
    await attack(node, users, shared_url, each=5, places=16)


@pytest.mark.slow
async def test_x9_sixteen_sessions_of_one_user_with_256_calls_each(node: Node, users: Users, shared_url: str) -> None:
    await attack(node, users, shared_url, each=256, places=1_024)


async def test_x6_a_host_that_one_user_finds_refusing_does_not_pause_fetches_of_others(
    node: Node, users: Users, shared_url: str
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        refusing = f"http://127.0.0.1:{unused.getsockname()[1]}/"
        async with users.attacker.client(node) as client, users.victim.client(node) as victim:
            assert (await client.post("/api/sessions", json={"session_id": "mine"})).status_code == 201
            with bystander(node, users.victim) as seen:
                failed = await asyncio.gather(*(call(client, "mine", "http_fetch", url=refusing) for _ in range(4)))
                assert {outcome["status"] for outcome in failed} == {"failed"}
                paused = await call(client, "mine", "http_fetch", url=refusing)
                assert "is paused" in paused["error"]["message"]
                for each, session in ((client, "mine"), (victim, "bystander")):
                    fetched = await call(each, session, "http_fetch", url=f"{node.url}/healthz")
                    assert fetched["status"] == "succeeded", fetched["error"]
                again = await call(victim, "bystander", "http_fetch", url=refusing)
                assert "does not accept the connection" in again["error"]["message"], "nor is the host, for others"
            report("a refusing host", shared_url, seen, memory=node.peak())
            seen.unharmed()
