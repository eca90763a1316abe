"""Nodes on a store, and the users of every attack."""

import asyncio
from collections.abc import Callable, Generator
from contextlib import ExitStack
from pathlib import Path

import httpx2
import pytest

from .harness import Control, Delayed, Node, Users, make_users

StartNode = Callable[..., Node]

ATTEMPTS = 3
"""How often an attack must delay the bystander to fail its test. What delays it once may be the machine: the control
server subtracts only the pauses that it had too. What the server does wrong under an attack, it does each time."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    again = pytest.mark.flaky(reruns=ATTEMPTS - 1, condition=lambda error: isinstance(error, Delayed))
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(again)


@pytest.fixture(scope="session")
def control(tmp_path_factory: pytest.TempPathFactory) -> Generator[Control]:
    """A server that nothing attacks, for all tests."""
    folder = tmp_path_factory.mktemp("control")
    store = f"sqlite:///{folder / 'callboard.db'}"
    (user,) = asyncio.run(make_users(store, "carol"))
    node = Node(folder, store, CALLBOARD_RATE_LIMIT="0")
    try:
        node.start()
        with httpx2.Client(base_url=node.url, headers=user.headers) as client:
            client.post("/api/sessions", json={"session_id": "bystander"}).raise_for_status()
        yield Control(node, user)
    finally:
        node.stop()


@pytest.fixture
async def users(shared_url: str, control: Control) -> Users:
    """The users of every attack, on the store of the test."""
    attacker, victim = await make_users(shared_url, "mallory", "alice")
    return Users(attacker, victim, control)


@pytest.fixture
def start_node(shared_url: str, users: Users, tmp_path: Path) -> Generator[StartNode]:
    """Start servers on the store of the test: `start_node("--model", "offline", CALLBOARD_RATE_LIMIT="0")`."""
    with ExitStack() as nodes:
        number = 0

        def start(*options: str, **environment: str) -> Node:
            nonlocal number
            number += 1
            node = Node(tmp_path / f"node{number}", shared_url, *options, **environment)
            nodes.callback(node.stop)
            node.start()
            return node

        yield start


@pytest.fixture
async def node(start_node: StartNode, users: Users) -> Node:
    """One server without rate limits, in which the victim has the session `bystander`."""
    started = start_node(CALLBOARD_RATE_LIMIT="0")
    async with users.victim.client(started) as client:
        assert (await client.post("/api/sessions", json={"session_id": "bystander"})).status_code == 201
    return started
