"""Requests that are expensive to parse: their sender gets an error, and other users are not affected."""

import asyncio
import json
from typing import Any

import httpx2
import pytest

from .conftest import Users
from .harness import Node, bystander, given_back, report

pytestmark = pytest.mark.anyio

JSON = {"content-type": "application/json"}
MEMORY = 200.0
"""The most MB by which a server may grow during an attack."""


def bodies() -> list[tuple[str, bytes]]:
    """Return bodies that would block a server for seconds, or take gigabytes, if they were parsed before counting."""
    run: dict[str, Any] = {"threadId": "hostile", "runId": "r"}
    empty = b",".join([b"{}"] * 2_500_000)
    unknown = {f"k{n}": 1 for n in range(75_000)}
    call: dict[str, Any] = {"session_id": "hostile", "tool": "tick"}
    return [
        ("/ag-ui", b'{"threadId":"hostile","runId":"r","messages":[],"tools":[' + empty + b"]}"),
        ("/ag-ui", b'{"threadId":"hostile","runId":"r","messages":[' + empty + b"]}"),
        ("/ag-ui", json.dumps({**run, "messages": [{}] * 9_000}).encode()),
        ("/ag-ui", json.dumps({**run, "messages": [], "state": {f"k{n}": 1 for n in range(50_000)}}).encode()),
        (
            "/ag-ui",
            json.dumps(
                {**run, "messages": [{"id": f"m{n}", "role": "user", "content": "x"} for n in range(9_000)]}
            ).encode(),
        ),
        ("/api/executions", json.dumps({**call, "arguments": unknown}).encode()),
        ("/api/executions", json.dumps({**call, "arguments": dict(list(unknown.items())[:4_900])}).encode()),
        ("/api/executions", json.dumps(unknown).encode()),
        ("/api/chat", b'{"session_id":"hostile","message":"x","y":[' + b"[],".join([b"[]"] * 100_000) + b"]}"),
        ("/api/system/event", json.dumps({"session_id": "hostile", "event": {"kind": "x", **unknown}}).encode()),
        ("/api/requests/r1/answer", json.dumps({"session_id": "hostile", "answer": [{}] * 200_000}).encode()),
        ("/api/sessions", json.dumps({"namespaces": ["x"] * 200_000}).encode()),
    ]


async def attack(client: httpx2.AsyncClient, rounds: int, at_once: int) -> set[int]:
    """Send all bodies, several at a time. Returns the status codes."""
    gate = asyncio.Semaphore(at_once)
    hostile = bodies()

    async def send(path: str, body: bytes) -> int:
        async with gate:
            return (await client.post(path, content=body, headers=JSON)).status_code

    return set(await asyncio.gather(*(send(*each) for _ in range(rounds) for each in hostile)))


async def check_attack(node: Node, users: Users, store: str, rounds: int, at_once: int) -> None:
    async with users.attacker.client(node) as client, users.victim.client(node) as victim:
        assert (await client.post("/api/sessions", json={"session_id": "hostile"})).status_code == 201
        running = (await victim.post("/api/executions", json={"session_id": "bystander", "tool": "work"})).json()
        assert running["status"] == "started"
        before = node.memory()
        with bystander(node, users) as seen:
            statuses = await attack(client, rounds, at_once)
        await given_back(node, before)
        with bystander(node, users) as seen_again:
            statuses |= await attack(client, rounds, at_once)
        assert statuses <= {200, 404, 413, 422, 429}, statuses
        path = f"/api/executions/{running['execution_id']}"
        work = (await victim.get(path, params={"session_id": "bystander"})).json()
        assert work["status"] == "executing", "a call of another user continues"
        left = await given_back(node, before)
        report("hostile bodies", store, seen, memory=node.peak() - before, left=left)
        assert node.peak() - before < MEMORY
        seen.unharmed()
        seen_again.unharmed()


async def test_h5_hostile_bodies_affect_no_other_user(node: Node, users: Users, shared_url: str) -> None:
    await check_attack(node, users, shared_url, rounds=1, at_once=4)


@pytest.mark.slow
async def test_h5_many_concurrent_hostile_bodies_affect_no_other_user(
    node: Node, users: Users, shared_url: str
) -> None:
    await check_attack(node, users, shared_url, rounds=10, at_once=20)
