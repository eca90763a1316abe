"""The harness itself: a bystander notices a server that stalls, and does not notice one that works."""

import asyncio
import signal

import pytest

from .conftest import Users
from .harness import LONGEST_DELAY, Delayed, Node, bystander

pytestmark = pytest.mark.anyio


async def test_h5_bystander_of_a_busy_server_is_served(node: Node, users: Users) -> None:
    async with users.attacker.client(node) as client:
        assert (await client.post("/api/sessions", json={"session_id": "mine"})).status_code == 201
        with bystander(node, users) as seen:
            for _ in range(20):
                done = await client.post(
                    "/api/executions", json={"session_id": "mine", "tool": "tick", "arguments": {}}
                )
                assert done.json()["status"] == "succeeded"
        seen.unharmed()
        assert len(seen.calls) > 1
    assert node.memory() <= node.peak()


async def test_h5_bystander_notices_a_stalled_server(node: Node, users: Users) -> None:
    with bystander(node, users) as seen:
        node.send(signal.SIGSTOP)
        await asyncio.sleep(2 * LONGEST_DELAY)  # nothing tells that a stopped process has been stopped for a while
        node.send(signal.SIGCONT)
    with pytest.raises(Delayed, match="a call took"):
        seen.unharmed()


async def test_h5_bystander_does_not_take_a_pause_of_the_machine_for_a_stalled_server(node: Node, users: Users) -> None:
    both = node, users.control.node
    with bystander(node, users) as seen:
        for each in both:
            each.send(signal.SIGSTOP)
        await asyncio.sleep(2 * LONGEST_DELAY)
        for each in both:
            each.send(signal.SIGCONT)
    assert max(seconds for _, seconds in seen.calls) > LONGEST_DELAY
    seen.unharmed()


attempts = 0


def test_h5_attack_that_delays_the_bystander_once_is_repeated() -> None:
    global attempts
    attempts += 1
    if attempts == 1:
        raise Delayed
