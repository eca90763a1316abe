"""A user has many open approvals, and servers die: they restart quickly, and another user's work continues."""

import asyncio
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor, wait

import httpx2
import pytest

from .conftest import StartNode, Users
from .harness import DEADLINE, Node, bystander, report

pytestmark = pytest.mark.anyio

FEW, MANY = 1_000, 10_000
"""The number of open approvals: by default, and with `--slow`."""
AT_ONCE = 50
PROMPT = 5.0
"""Seconds after which the work of a killed process runs again, on the same machine."""
START = 2.0
"""Seconds from the open port of a starting server to its first response, whatever is open."""
LONGER = 1.0
"""Seconds that a start may take longer than without open approvals."""
COST = 50.0
"""Megabytes that all open approvals may cost."""


async def call_tool(client: httpx2.AsyncClient, session_id: str, tool: str, **arguments: object) -> str:
    called = {"session_id": session_id, "tool": tool, "arguments": arguments}
    done = await client.post("/api/executions", json=called)
    assert done.status_code == 200, done.text
    return done.json()["execution_id"]


async def until_runs(client: httpx2.AsyncClient, execution_id: str, attempt: int) -> float:
    """Wait until the victim's execution runs its n-th attempt. Returns the seconds that it took."""
    began = time.monotonic()
    while True:
        found = await client.get(f"/api/executions/{execution_id}", params={"session_id": "working"})
        assert found.status_code == 200, found.text
        if (found.json()["status"], found.json()["attempt"]) == ("executing", attempt):
            return time.monotonic() - began
        assert time.monotonic() - began < DEADLINE, found.text


def seconds_to_start(node: Node) -> float:
    """Start a node again. Returns the seconds from its open port to its first response.

    A server opens its port as soon as its packages are imported, and connections wait until it has started.
    """
    with ThreadPoolExecutor() as threads:
        starting = threads.submit(node.start)
        while True:
            try:
                connection = socket.create_connection(("127.0.0.1", node.port), DEADLINE)
                break
            except ConnectionRefusedError:
                assert not wait([starting], timeout=0.01).done, "the server has started and does not listen"
        began = time.monotonic()
        with connection:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
            assert connection.recv(12) == b"HTTP/1.1 200"
            took = time.monotonic() - began
        starting.result()
    return took


@pytest.mark.parametrize("approvals", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
async def test_e5_open_approvals_of_one_user_delay_no_other_user(
    approvals: int, shared_url: str, node: Node, start_node: StartNode, users: Users
) -> None:
    dying = start_node(CALLBOARD_RATE_LIMIT="0")
    dying.stop()
    usual_start, empty = seconds_to_start(dying), dying.memory()
    async with users.attacker.client(dying) as attacker, users.victim.client(dying) as victim:
        assert (await attacker.post("/api/sessions", json={"session_id": "mine"})).status_code == 201
        assert (await victim.post("/api/sessions", json={"session_id": "working"})).status_code == 201
        running = await call_tool(victim, "working", "repeatable")
        await until_runs(victim, running, 1)
        with bystander(dying, users) as seen:
            for start in range(0, approvals, AT_ONCE):
                await asyncio.gather(
                    *(call_tool(attacker, "mine", "pay", amount=number) for number in range(start, start + AT_ONCE))
                )
        grown = dying.memory() - empty
        report("one user asks for many approvals", shared_url, seen, approvals=approvals, memory=grown)
        seen.unharmed()
        assert grown < COST
    async with users.victim.client(node) as victim:
        with bystander(node, users) as seen:
            dying.stop(signal.SIGKILL)
            assert await until_runs(victim, running, 2) < PROMPT
    seen.unharmed()
    node.stop(signal.SIGKILL)
    start = seconds_to_start(dying)
    assert start < usual_start + LONGER
    assert start < START or usual_start > START - LONGER, (
        "unless a server without approvals takes as long on this machine"
    )
    async with users.attacker.client(dying) as attacker, users.victim.client(dying) as victim:
        again = await until_runs(victim, running, 3)
        assert again < PROMPT
        assert dying.memory() - empty < COST
        await check_answer_and_cancel(attacker)
    grown = dying.memory() - empty
    assert grown < COST
    report(
        "Many open approvals, and servers die",
        shared_url,
        seen,
        approvals=approvals,
        start=start,
        again=again,
        memory=grown,
    )
    assert "is gone" not in node.log + dying.log


async def check_answer_and_cancel(client: httpx2.AsyncClient) -> None:
    """Check that approvals that outlived two servers can be answered and cancelled."""
    listed = await client.get("/api/requests", params={"session_id": "mine", "limit": 2})
    first, second = listed.json()["requests"]
    given = {"session_id": "mine", "answer": {"approved": True}}
    assert (await client.post(f"/api/requests/{first['request_id']}/answer", json=given)).status_code == 202
    stop = await client.post(f"/api/executions/{second['execution_id']}/cancel", json={"session_id": "mine"})
    assert stop.json() == {"cancelled": True}
    wanted = {first["execution_id"]: "succeeded", second["execution_id"]: "cancelled"}
    deadline = time.monotonic() + DEADLINE
    while wanted:
        for execution_id, status in tuple(wanted.items()):
            found = await client.get(f"/api/executions/{execution_id}", params={"session_id": "mine"})
            if found.json()["status"] == status:
                del wanted[execution_id]
        assert time.monotonic() < deadline, wanted
