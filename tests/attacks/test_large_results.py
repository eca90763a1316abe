"""Hundreds of large results in a session: memory is bounded and released, and others are not affected (E6, H5)."""

import asyncio

import pytest

from .conftest import StartNode, Users
from .harness import Node, bystander, given_back, report

pytestmark = pytest.mark.anyio

MB = 1_000_000


async def attack(node: Node, users: Users, store: str, *, results: int, most: float) -> None:
    async with users.attacker.client(node) as client:
        assert (await client.post("/api/sessions", json={"session_id": "mine"})).status_code == 201
        before, ids = node.memory(), list[str]()
        with bystander(node, users) as seen:
            for _ in range(results):
                body = {"session_id": "mine", "tool": "large", "arguments": {"size": MB}}
                answer = await client.post("/api/executions", json=body)
                assert len(answer.json()["value"]) == MB
                ids.append(answer.json()["execution_id"])
        held = node.memory() - before
        first = await client.get(f"/api/executions/{ids[0]}", params={"session_id": "mine"})
        assert len(first.json()["value"]) == MB, "a result that has left memory is in the store"
        assert held < most, f"{held:.0f} MB are held"
        assert node.peak() - before < most + 100
        assert (await client.post("/api/sessions/mine/logout")).is_success
        left = await given_back(node, before)
        report(f"{results} results of 1 MB", store, seen, memory=node.peak(), left=left)
        seen.unharmed()


async def test_e6_many_large_results_of_one_session_stay_within_the_limit(
    start_node: StartNode, users: Users, shared_url: str
) -> None:
    node = start_node(CALLBOARD_RATE_LIMIT="0", CALLBOARD_MAX_SESSION_BYTES="4000000")
    async with users.victim.client(node) as client:
        assert (await client.post("/api/sessions", json={"session_id": "bystander"})).status_code == 201
    await attack(node, users, shared_url, results=60, most=40)


@pytest.mark.slow
async def test_e6_400_large_results_of_one_session_stay_within_the_limit(
    node: Node, users: Users, shared_url: str
) -> None:
    await attack(node, users, shared_url, results=400, most=130)


async def test_h5_large_results_of_many_sessions_delay_no_other_user(
    start_node: StartNode, users: Users, shared_url: str
) -> None:
    node = start_node(CALLBOARD_RATE_LIMIT="0")
    async with users.victim.client(node) as client:
        assert (await client.post("/api/sessions", json={"session_id": "bystander"})).status_code == 201
    async with users.attacker.client(node) as client:

        async def call(session_id: str) -> None:
            assert (await client.post("/api/sessions", json={"session_id": session_id})).status_code == 201
            body = {"session_id": session_id, "tool": "large", "arguments": {"size": MB}}
            for _ in range(3):
                answer = await client.post("/api/executions", json=body)
                assert len(answer.json()["value"]) == MB

        with bystander(node, users) as seen:
            await asyncio.gather(*(call(f"mine-{number}") for number in range(16)))
    report("48 results of 1 MB, 16 at a time", store=shared_url, seen=seen, memory=node.peak())
    seen.unharmed()
