"""Two servers on one store while one of them runs very many calls: a cancel at the other is heeded at once (D2)."""

import asyncio
import time

import httpx2
import pytest

from .conftest import StartNode, Users
from .harness import DEADLINE, bystander, report

pytestmark = pytest.mark.anyio

SESSIONS = 16
"""How many sessions the running calls are in."""
HEEDED = 1.0
"""Seconds within which a cancel is to be heeded by another server."""


async def start_calls(client: httpx2.AsyncClient, session_id: str, calls: int) -> list[str]:
    """Have a session run so many calls. Gives the executions."""
    assert (await client.post("/api/sessions", json={"session_id": session_id})).status_code == 201
    body = {"session_id": session_id, "tool": "work", "arguments": {}}
    started: list[str] = []
    for _ in range(calls):
        answer = await client.post("/api/executions", json=body)
        assert answer.json()["status"] == "started", answer.text
        started.append(answer.json()["execution_id"])
    return started


async def status(client: httpx2.AsyncClient, session_id: str, execution_id: str) -> str:
    answer = await client.get(f"/api/executions/{execution_id}", params={"session_id": session_id})
    return answer.json()["status"]


@pytest.mark.parametrize("calls", [160, pytest.param(1_500, marks=pytest.mark.slow)])
async def test_d2_cancel_at_one_server_is_heeded_by_another_that_runs_many_calls(
    start_node: StartNode, users: Users, shared_url: str, calls: int
) -> None:
    here, there = start_node(CALLBOARD_RATE_LIMIT="0"), start_node(CALLBOARD_RATE_LIMIT="0")
    async with users.attacker.client(here) as mallory, users.attacker.client(there) as elsewhere:
        async with users.victim.client(here) as alice:
            await alice.post("/api/sessions", json={"session_id": "bystander"})
        ids = [f"s{number}" for number in range(SESSIONS)]
        started = await asyncio.gather(*(start_calls(mallory, each, calls // SESSIONS) for each in ids))
        delays: list[float] = []
        with bystander(here, users.victim) as seen:
            for session_id, executions in zip(ids, started, strict=True):
                began = time.perf_counter()
                answer = await elsewhere.post(
                    f"/api/executions/{executions[0]}/cancel", json={"session_id": session_id}
                )
                assert answer.status_code == 202
                async with asyncio.timeout(DEADLINE):
                    while await status(elsewhere, session_id, executions[0]) != "cancelled":  # noqa: ASYNC110
                        await asyncio.sleep(0.01)
                delays.append(time.perf_counter() - began)
        report(f"{calls:,} running calls, two servers", shared_url, seen, memory=here.memory())
        assert max(delays) <= HEEDED, delays
        seen.unharmed()
        running = (await mallory.get("/api/executions", params={"session_id": ids[0], "limit": 5})).json()
        assert "executing" in {each["status"] for each in running["executions"]}
