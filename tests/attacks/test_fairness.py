"""A user occupies all its slots, or makes a tool fail: other users are not affected (X6, X9, H5)."""

import asyncio
import socket
from typing import Any

import httpx2
import pytest

from .conftest import StartNode, Users
from .harness import Node, bystander, report

pytestmark = pytest.mark.anyio

SESSIONS = 16


async def with_bystander_session(node: Node, users: Users) -> Node:
    async with users.victim.client(node) as client:
        assert (await client.post("/api/sessions", json={"session_id": "bystander"})).status_code == 201
    return node


async def call(client: httpx2.AsyncClient, session_id: str, tool: str, **arguments: Any) -> dict[str, Any]:
    body = {"session_id": session_id, "tool": tool, "arguments": arguments}
    answer = await client.post("/api/executions", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def start_many(client: httpx2.AsyncClient, each: int) -> list[dict[str, Any]]:
    """Start `each` endless calls in each of sixteen sessions, sixteen at a time."""
    names = [f"s{number}" for number in range(SESSIONS)]
    for name in names:
        assert (await client.post("/api/sessions", json={"session_id": name})).status_code == 201

    async def start(name: str) -> list[dict[str, Any]]:
        return [await call(client, name, "repeatable") for _ in range(each)]

    return [outcome for part in await asyncio.gather(*map(start, names)) for outcome in part]


async def attack(node: Node, users: Users, store: str, *, each: int, slots: int) -> None:
    async with users.attacker.client(node) as client, users.victim.client(node) as victim:
        with bystander(node, users) as seen:
            outcomes = await start_many(client, each)
            statuses = [outcome["value"]["status"] for outcome in outcomes]
            assert (statuses.count("started"), statuses.count("queued")) == (slots, SESSIONS * each - slots)
            assert "has not begun" in outcomes[statuses.index("queued")]["value"]["message"]
            assert (await call(victim, "bystander", "tick"))["value"] == "tock"
        page = (await client.get("/metrics")).text
        report("all slots of one user", store, seen, memory=node.peak())
        seen.unharmed()
        assert f"callboard_queue_length {SESSIONS * each - slots:.1f}" in page


async def test_x9_sixteen_sessions_of_one_user_leave_slots_for_others(
    start_node: StartNode, users: Users, shared_url: str
) -> None:
    limits = {"CALLBOARD_MAX_CALLS": "64", "CALLBOARD_MAX_USER_CALLS": "16", "CALLBOARD_MAX_SESSION_CALLS": "4"}
    node = await with_bystander_session(start_node(CALLBOARD_RATE_LIMIT="0", **limits), users)
    await attack(node, users, shared_url, each=5, slots=16)


@pytest.mark.slow
async def test_x9_sixteen_sessions_of_one_user_with_256_calls_each(node: Node, users: Users, shared_url: str) -> None:
    await attack(node, users, shared_url, each=256, slots=1_024)


async def test_x6_breaker_of_one_user_does_not_pause_fetches_of_others(
    node: Node, users: Users, shared_url: str
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        refusing = f"http://127.0.0.1:{unused.getsockname()[1]}/"
        async with users.attacker.client(node) as client, users.victim.client(node) as victim:
            assert (await client.post("/api/sessions", json={"session_id": "mine"})).status_code == 201
            with bystander(node, users) as seen:
                failed = await asyncio.gather(*(call(client, "mine", "http_fetch", url=refusing) for _ in range(4)))
                assert {outcome["status"] for outcome in failed} == {"failed"}
                paused = await call(client, "mine", "http_fetch", url=refusing)
                assert "is paused" in paused["error"]["message"]
                for each, session in ((client, "mine"), (victim, "bystander")):
                    fetched = await call(each, session, "http_fetch", url=f"{node.url}/healthz")
                    assert fetched["status"] == "succeeded", fetched["error"]
                again = await call(victim, "bystander", "http_fetch", url=refusing)
                assert "does not accept the connection" in again["error"]["message"], (
                    "the breaker of the host is the attacker's own"
                )
            report("a refusing host", shared_url, seen, memory=node.peak())
            seen.unharmed()
