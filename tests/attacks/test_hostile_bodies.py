"""Requests that are made to be expensive: they cost their sender an error, and nobody else anything."""

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
"""MB by which a server may grow, at worst, while it is attacked."""


def bodies() -> list[tuple[str, bytes]]:
    """Each of them held a server for seconds, or took gigabytes, when it was read before it was counted."""
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
    """Send all of them, several at a time, and give the answers' codes."""
    gate = asyncio.Semaphore(at_once)
    hostile = bodies()

    async def send(path: str, body: bytes) -> int:
        async with gate:
            return (await client.post(path, content=body, headers=JSON)).status_code

    return set(await asyncio.gather(*(send(*each) for _ in range(rounds) for each in hostile)))


async def hold_out(node: Node, users: Users, store: str, rounds: int, at_once: int) -> None:
    async with users.attacker.client(node) as client, users.victim.client(node) as theirs:
        assert (await client.post("/api/sessions", json={"session_id": "hostile"})).status_code == 201
        running = (await theirs.post("/api/executions", json={"session_id": "bystander", "tool": "work"})).json()
        assert running["status"] == "started"
        before = node.memory()
        with bystander(node, users.victim) as seen:
            statuses = await attack(client, rounds, at_once)
        assert statuses <= {200, 404, 413, 422, 429}, statuses
        path = f"/api/executions/{running['execution_id']}"
        work = (await theirs.get(path, params={"session_id": "bystander"})).json()
        assert work["status"] == "executing", "a call of another user goes on"
        left = await given_back(node, before)
        report("hostile bodies", store, seen, memory=node.peak() - before, left=left)
        assert node.peak() - before < MEMORY
        seen.unharmed()


async def test_h5_hostile_bodies_harm_nobody(node: Node, users: Users, shared_url: str) -> None:
    await hold_out(node, users, shared_url, rounds=1, at_once=4)


@pytest.mark.slow
async def test_h5_many_hostile_bodies_at_once_harm_nobody(node: Node, users: Users, shared_url: str) -> None:
    await hold_out(node, users, shared_url, rounds=10, at_once=20)
