"""Long conversations: what is shown of them costs the same after 10 turns and after thousands."""

import asyncio
import time
from statistics import median

import httpx2
import pytest
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart

from callboard.adapters.stores import open_store
from callboard.chat.transcript import Answered, Began, Entry, Input, Said, encode_entry
from callboard.storage.change import Change

from .conftest import StartNode, Users
from .harness import LONGEST_DELAY, bystander, report

pytestmark = pytest.mark.anyio


def turn(number: int) -> list[Entry]:
    call = ToolCallPart("tick", {}, f"c{number}")
    return [
        Began(f"t{number}", number),
        Input(f"question {number} " + "x" * 200, number, f"i{number}"),
        Said(ModelResponse(parts=[TextPart("Let me see."), call])),
        Answered(f"c{number}", "tick", "tock", f"x{number}"),
        Said(ModelResponse(parts=[TextPart(f"answer {number} " + "y" * 200)])),
    ]


async def talk(store: str, session_id: str, turns: int) -> None:
    """Write a conversation as if it had been held."""
    opened = open_store(store)
    await opened.open(lambda woken: None)
    try:
        for start in range(1, turns + 1, 500):
            some = [encode_entry(each) for n in range(start, min(start + 500, turns + 1)) for each in turn(n)]
            await opened.commit([Change(session_id, transcript=some)])
    finally:
        await opened.close()


async def cost(client: httpx2.AsyncClient, session_id: str) -> float:
    """Seconds that a state takes, in the middle of several."""
    times: list[float] = []
    for _ in range(15):
        began = time.perf_counter()
        answer = await client.get("/api/state", params={"session_id": session_id})
        times.append(time.perf_counter() - began)
        assert answer.status_code == 200
        assert len(answer.json()["messages"]) > 30
    return median(times)


async def hold_out(start_node: StartNode, users: Users, store: str, turns: int, at_once: int, longest: float) -> None:
    node = start_node("--model", "offline", CALLBOARD_RATE_LIMIT="0")
    async with users.attacker.client(node) as client, users.victim.client(node) as theirs:
        assert (await theirs.post("/api/sessions", json={"session_id": "bystander"})).status_code == 201
        for session_id, length in (("short", 10), ("long", turns)):
            assert (await client.post("/api/sessions", json={"session_id": session_id})).status_code == 201
            await talk(store, session_id, length)
        short, long = await cost(client, "short"), await cost(client, "long")
        assert long < 10 * short + 0.02, f"{short * 1e3:.1f} ms with 10 turns, {long * 1e3:.1f} ms with {turns}"
        with bystander(node, users.victim) as seen:
            await asyncio.gather(
                *(client.get("/api/state", params={"session_id": "long"}) for _ in range(at_once)),
                *(client.get("/api/messages", params={"session_id": "long", "before": 500}) for _ in range(at_once)),
            )
        report(f"states of a conversation of {turns} turns", store, seen, state=long)
        seen.unharmed(longest)


async def test_h5_states_of_a_long_conversation_harm_nobody(
    start_node: StartNode, users: Users, shared_url: str
) -> None:
    await hold_out(start_node, users, shared_url, turns=800, at_once=20, longest=2 * LONGEST_DELAY)


@pytest.mark.slow
async def test_h5_states_of_a_very_long_conversation_harm_nobody(
    start_node: StartNode, users: Users, shared_url: str
) -> None:
    await hold_out(start_node, users, shared_url, turns=5_000, at_once=40, longest=LONGEST_DELAY)
