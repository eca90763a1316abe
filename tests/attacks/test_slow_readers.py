"""Clients that request large responses and never read them: the memory for them is bounded, and released."""

import asyncio
import socket
from contextlib import ExitStack

import httpx2
import pytest

from .conftest import Users
from .harness import DEADLINE, Node, User, bystander, given_back, report

pytestmark = pytest.mark.anyio

MEMORY = 250.0
"""MB by which a server may grow."""


async def fill(client: httpx2.AsyncClient, results: int) -> str:
    """Create a session with large results. Returns the execution of the newest."""
    assert (await client.post("/api/sessions", json={"session_id": "large"})).status_code == 201
    newest = ""
    for _ in range(results):
        call = {"session_id": "large", "tool": "large", "arguments": {"size": 1_000_000}}
        made = (await client.post("/api/executions", json=call)).json()
        assert made["status"] == "succeeded"
        newest = made["execution_id"]
    return newest


def request_unread(stack: ExitStack, node: Node, user: User, path: str) -> socket.socket:
    """Send a request, and never read its response."""
    made = stack.enter_context(socket.socket())
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    made.connect(("127.0.0.1", node.port))
    made.sendall(f"GET {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {user.key}\r\n\r\n".encode())
    return made


async def until_served_again(client: httpx2.AsyncClient, execution_id: str) -> None:
    """Wait until a large response is sent again: the memory for unread responses is released."""
    async with asyncio.timeout(DEADLINE):
        path = f"/api/executions/{execution_id}"
        while (await client.get(path, params={"session_id": "large"})).status_code != 200:  # noqa: ASYNC110
            await asyncio.sleep(0.1)


async def check_attack(node: Node, users: Users, store: str, results: int, readers: int) -> None:
    async with users.attacker.client(node) as client:
        newest = await fill(client, results)
        before = node.memory()
        with ExitStack() as stack, bystander(node, users) as seen:
            for number in range(readers):
                path = "/api/executions?session_id=large&limit=1000"
                if number % 2:
                    path = f"/api/executions/{newest}?session_id=large"
                request_unread(stack, node, users.attacker, path)
            for _ in range(10):
                listed = await client.get("/api/executions", params={"session_id": "large", "limit": 1000})
                assert listed.status_code in (200, 429)
                assert len(listed.content) < 1_000_000
                await client.get("/api/state", params={"session_id": "large"})
        held = node.peak() - before
        assert held < MEMORY
        await until_served_again(client, newest)
        left = await given_back(node, before)
        report("clients that do not read", store, seen, memory=held, left=left)
        seen.unharmed()


async def test_h5_clients_that_do_not_read_affect_no_other_user(node: Node, users: Users, shared_url: str) -> None:
    await check_attack(node, users, shared_url, results=10, readers=20)


@pytest.mark.slow
async def test_h5_many_clients_that_do_not_read_affect_no_other_user(node: Node, users: Users, shared_url: str) -> None:
    await check_attack(node, users, shared_url, results=40, readers=80)
