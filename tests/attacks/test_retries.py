"""Clients repeat requests whose responses were lost, at a server that dies and at another (H6)."""

import asyncio
import signal
import sqlite3
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import psycopg
import pytest

from .conftest import StartNode, Users
from .harness import DEADLINE, Node, User, bystander, report

pytestmark = pytest.mark.anyio

FEW, MANY = 40, 1_000


async def send_until_accepted(
    clients: list[httpx2.AsyncClient], path: str, body: dict[str, Any], key: str
) -> httpx2.Response:
    """Send a request under a key to the servers in turn, until one accepts it."""
    async with asyncio.timeout(DEADLINE):
        for turn in range(10_000):
            try:
                answer = await clients[turn % len(clients)].post(path, json=body, headers={"idempotency-key": key})
            except httpx2.TransportError:
                await asyncio.sleep(0.02)  # there is no event to wait on for when another attempt may succeed
                continue
            if answer.status_code < 500:
                return answer
    raise AssertionError("no server accepted the request")


async def user_inputs(client: httpx2.AsyncClient, session_id: str) -> list[dict[str, Any]]:
    """Return the user inputs of a session, oldest first."""
    found: list[dict[str, Any]] = []
    before = None
    while True:
        query = {"session_id": session_id, "limit": 500, **({} if before is None else {"before": before})}
        page = (await client.get("/api/events", params=query)).json()
        found = [event for event in page["events"] if event["kind"] == "user_input"] + found
        before = page["next"]
        if before is None:
            return found


@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.slow)])
async def test_h6_repeated_messages_are_accepted_once_if_a_server_is_killed(
    start_node: StartNode, users: Users, shared_url: str, count: int
) -> None:
    first, second = start_node(CALLBOARD_RATE_LIMIT="0"), start_node(CALLBOARD_RATE_LIMIT="0")
    async with users.victim.client(second) as client:
        assert (await client.post("/api/sessions", json={"session_id": "bystander"})).status_code == 201
    async with users.attacker.client(first, 2.0) as one, users.attacker.client(second, 2.0) as other:
        assert (await one.post("/api/sessions", json={"session_id": "mine"})).status_code == 201
        with bystander(second, users) as seen:

            async def send_message(number: int) -> int:
                body = {"session_id": "mine", "message": f"message {number}"}
                return (await send_until_accepted([one, other], "/api/chat", body, f"m{number}")).json()["seq"]

            sending = [asyncio.create_task(send_message(number)) for number in range(count)]
            await asyncio.wait(sending, return_when=asyncio.FIRST_COMPLETED)
            first.stop(signal.SIGKILL)  # some messages are committed and not acknowledged
            numbers = await asyncio.gather(*sending)
        inputs = await user_inputs(other, "mine")
        assert Counter(event["data"]["text"] for event in inputs) == {f"message {n}": 1 for n in range(count)}
        by_text = {event["data"]["text"]: event["seq"] for event in inputs}
        assert numbers == [by_text[f"message {n}"] for n in range(count)], (
            "each response has the number of its own event"
        )
    assert not seen.failures
    report("a server is killed while messages are sent and repeated", shared_url, seen, messages=count)


@asynccontextmanager
async def stalled(url: str) -> AsyncGenerator[None]:
    """Block all writes to a store: another client holds its lock."""
    if url.startswith("sqlite"):
        connection = sqlite3.connect(url.removeprefix("sqlite:///"), isolation_level=None)
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        finally:
            connection.rollback()
            connection.close()
        return
    holder = await psycopg.AsyncConnection.connect(url)
    try:
        await holder.execute("LOCK TABLE sessions IN SHARE ROW EXCLUSIVE MODE")
        yield
    finally:
        await holder.rollback()
        await holder.close()


async def test_h6_message_that_is_repeated_while_the_store_stalls_is_accepted_once(
    node: Node, users: Users, shared_url: str
) -> None:
    attacker: User = users.attacker
    async with attacker.client(node) as client, attacker.client(node, 0.4) as hasty:
        assert (await client.post("/api/sessions", json={"session_id": "mine"})).status_code == 201
        body = {"session_id": "mine", "message": "call tick", "message_id": "m1"}
        async with stalled(shared_url):
            for _ in range(3):
                with pytest.raises(httpx2.TimeoutException):
                    await hasty.post("/api/chat", json=body)
        answer = await send_until_accepted([client], "/api/chat", body, "m1")
        assert answer.status_code == 202
        [event] = await user_inputs(client, "mine")
        assert event["seq"] == answer.json()["seq"]
