"""A tool holds the interpreter lock of its server for seconds: no other server takes over the server's work."""

import time
from contextlib import suppress

import httpx2
import pytest

from .conftest import StartNode, Users
from .harness import DEADLINE, Node, bystander, report
from .tools import HELD

pytestmark = pytest.mark.anyio

LONG, LONGEST = 5.0, 15.0
"""Minimum seconds for which the lock is held: by default, and with `--slow`."""


def length_for(seconds: float) -> int:
    """Return the number of characters that keep the regular expression of `hold_interpreter` busy for so long."""
    length = 18
    while True:
        began = time.perf_counter()
        HELD.match("a" * length)
        took = time.perf_counter() - began
        if took > 0.1:
            break
        length += 1
    while took < seconds:
        length, took = length + 1, 2 * took
    return length


async def call_tool(client: httpx2.AsyncClient, session_id: str, tool: str, **arguments: object) -> str:
    """Call a tool by hand. Returns the id of its execution."""
    called = {"session_id": session_id, "tool": tool, "arguments": arguments}
    done = await client.post("/api/executions", json=called)
    assert done.status_code == 200, done.text
    return done.json()["execution_id"]


async def execution(client: httpx2.AsyncClient, session_id: str, execution_id: str) -> dict[str, object]:
    found = await client.get(f"/api/executions/{execution_id}", params={"session_id": session_id})
    assert found.status_code == 200, found.text
    return found.json()


async def until_status(client: httpx2.AsyncClient, session_id: str, execution_id: str, *statuses: str) -> None:
    deadline = time.monotonic() + DEADLINE
    while time.monotonic() < deadline:
        with suppress(httpx2.TransportError):  # a held server closes connections that were idle meanwhile
            found = await client.get(f"/api/executions/{execution_id}", params={"session_id": session_id})
            if found.status_code == 503:  # the time limit for the store passed while the interpreter was held
                continue
            assert found.status_code == 200, found.text
            if found.json()["status"] in statuses:
                return
    raise AssertionError(f"the execution did not become {statuses} in time")


@pytest.mark.parametrize("seconds", [LONG, pytest.param(LONGEST, marks=pytest.mark.slow)])
async def test_e5_server_with_a_blocked_interpreter_keeps_its_work(
    seconds: float, shared_url: str, node: Node, start_node: StartNode, users: Users
) -> None:
    held = start_node(CALLBOARD_RATE_LIMIT="0")
    async with users.attacker.client(held) as attacker, users.victim.client(held) as victim:
        assert (await attacker.post("/api/sessions", json={"session_id": "mine"})).status_code == 201
        assert (await victim.post("/api/sessions", json={"session_id": "working"})).status_code == 201
        running = [await call_tool(victim, "working", name) for name in ("work", "repeatable")]
        for each in running:
            await until_status(victim, "working", each, "executing")
        with bystander(node, users) as seen:
            holding = await call_tool(attacker, "mine", "hold_interpreter", length=length_for(seconds))
            await until_status(attacker, "mine", holding, "succeeded", "failed")
        assert (await execution(attacker, "mine", holding))["status"] == "succeeded"
        for each in running:
            found = await execution(victim, "working", each)
            assert (found["status"], found["attempt"]) == ("executing", 1), node.log
        for word in ("is gone", "died", "lease"):
            assert word not in node.log + held.log
        report("A tool holds the interpreter of a server", shared_url, seen, held=seconds)
        seen.unharmed()
