"""Nodes on a store, and the two users of every attack."""

from collections.abc import Callable, Generator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from .harness import Node, User, make_users

StartNode = Callable[..., Node]


class Users(NamedTuple):
    """Who attacks, and who must not notice."""

    attacker: User
    victim: User


@pytest.fixture
async def users(shared_url: str) -> Users:
    """Both, on the store of the test."""
    return Users(*await make_users(shared_url, "mallory", "alice"))


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
