"""Two servers on one store: a server with very many calls notices a cancellation at the other promptly (D2)."""

import asyncio
import time

import httpx2
import pytest

from .conftest import StartNode, Users
from .harness import DEADLINE, bystander, report

pytestmark = pytest.mark.anyio

AT_ONCE = 16
"""The concurrent requests of the attacker that start the calls."""
CANCELLED = 10
"""The number of calls that are cancelled at the other server."""
IN_TIME = 1.0
"""Seconds within which the other server must cancel a call."""


async def start_calls(client: httpx2.AsyncClient, session_ids: list[str]) -> dict[str, str]:
    """Start a call in each session. Returns the executions by session."""
    started: dict[str, str] = {}

    async def start(some: list[str]) -> None:
        for session_id in some:
            assert (await client.post("/api/sessions", json={"session_id": session_id})).status_code == 201
            body = {"session_id": session_id, "tool": "work", "arguments": {}}
            answer = await client.post("/api/executions", json=body)
            assert answer.json()["status"] == "started", answer.text
            started[session_id] = answer.json()["execution_id"]

    await asyncio.gather(*(start(session_ids[number::AT_ONCE]) for number in range(AT_ONCE)))
    return started


async def status(client: httpx2.AsyncClient, session_id: str, execution_id: str) -> str:
    answer = await client.get(f"/api/executions/{execution_id}", params={"session_id": session_id})
    return answer.json()["status"]


@pytest.mark.parametrize("calls", [150, pytest.param(1_500, marks=pytest.mark.slow)])
async def test_d2_cancel_at_one_server_stops_a_call_of_another_with_many_calls(
    start_node: StartNode, users: Users, shared_url: str, calls: int
) -> None:
    unlimited = {"CALLBOARD_RATE_LIMIT": "0", "CALLBOARD_MAX_USER_CALLS": "4096"}
    here, there = start_node(**unlimited), start_node(**unlimited)
    async with users.attacker.client(here) as mallory, users.attacker.client(there) as elsewhere:
        async with users.victim.client(here) as alice:
            await alice.post("/api/sessions", json={"session_id": "bystander"})
        delays: list[float] = []
        with bystander(here, users) as seen:
            started = await start_calls(mallory, [f"s{number}" for number in range(calls)])
            for session_id, execution_id in list(started.items())[:CANCELLED]:
                began = time.perf_counter()
                answer = await elsewhere.post(f"/api/executions/{execution_id}/cancel", json={"session_id": session_id})
                assert answer.status_code == 202
                async with asyncio.timeout(DEADLINE):
                    while await status(elsewhere, session_id, execution_id) != "cancelled":  # noqa: ASYNC110
                        await asyncio.sleep(0.01)
                delays.append(time.perf_counter() - began)
        report(f"{calls:,} running calls, two servers", shared_url, seen, memory=here.memory())
        assert max(delays) <= IN_TIME, delays
        seen.unharmed()
        assert await status(mallory, f"s{calls - 1}", started[f"s{calls - 1}"]) == "executing"
