"""Long conversations: states and runs cost the same after 10 turns and after thousands."""

import asyncio
import time
from statistics import median

import httpx2
import pytest
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart

from callboard.adapters.stores import open_store
from callboard.chat.transcript import CallAnswer, Entry, Input, Reply, TurnStart, encode_entry
from callboard.storage.change import Change
from tests.conversations import repeat_turn

from .conftest import StartNode, Users
from .harness import bystander, report

pytestmark = pytest.mark.anyio


def turn(number: int) -> list[Entry]:
    call = ToolCallPart("tick", {}, f"c{number}")
    return [
        TurnStart(f"t{number}", number),
        Input(f"question {number} " + "x" * 200, number, f"i{number}"),
        Reply(ModelResponse(parts=[TextPart("Let me see."), call])),
        CallAnswer(f"c{number}", "tick", "tock", f"x{number}"),
        Reply(ModelResponse(parts=[TextPart(f"answer {number} " + "y" * 200)])),
    ]


async def write_conversation(store: str, session_id: str, turns: int) -> None:
    """Write a conversation of so many turns to the store."""
    opened = open_store(store)
    await opened.open(lambda *_: None)
    try:
        for start in range(1, turns + 1, 500):
            some = [encode_entry(each) for n in range(start, min(start + 500, turns + 1)) for each in turn(n)]
            await opened.commit([Change(session_id, transcript=some)])
    finally:
        await opened.close()


async def cost(client: httpx2.AsyncClient, session_id: str) -> float:
    """Return the median seconds of a request for the state."""
    times: list[float] = []
    for _ in range(15):
        began = time.perf_counter()
        answer = await client.get("/api/state", params={"session_id": session_id})
        times.append(time.perf_counter() - began)
        assert answer.status_code == 200
        assert len(answer.json()["messages"]) > 30
    return median(times)


async def check_states(start_node: StartNode, users: Users, store: str, turns: int, at_once: int) -> None:
    node = start_node("--model", "offline", CALLBOARD_RATE_LIMIT="0")
    async with users.attacker.client(node) as client, users.victim.client(node) as victim:
        assert (await victim.post("/api/sessions", json={"session_id": "bystander"})).status_code == 201
        for session_id, length in (("short", 10), ("long", turns)):
            assert (await client.post("/api/sessions", json={"session_id": session_id})).status_code == 201
            await write_conversation(store, session_id, length)
        short, long = await cost(client, "short"), await cost(client, "long")
        assert long < 10 * short + 0.02, f"{short * 1e3:.1f} ms with 10 turns, {long * 1e3:.1f} ms with {turns}"
        with bystander(node, users) as seen:
            await asyncio.gather(
                *(client.get("/api/state", params={"session_id": "long"}) for _ in range(at_once)),
                *(client.get("/api/messages", params={"session_id": "long", "before": 500}) for _ in range(at_once)),
            )
        report(f"states of a conversation of {turns} turns", store, seen, state=long)
        seen.unharmed()


async def test_h5_states_of_a_long_conversation_affect_no_other_user(
    start_node: StartNode, users: Users, shared_url: str
) -> None:
    await check_states(start_node, users, shared_url, turns=800, at_once=20)


@pytest.mark.slow
async def test_h5_states_of_a_very_long_conversation_affect_no_other_user(
    start_node: StartNode, users: Users, shared_url: str
) -> None:
    await check_states(start_node, users, shared_url, turns=5_000, at_once=40)


async def run(client: httpx2.AsyncClient, session_id: str, number: int) -> float:
    """Have the model call a tool in an AG-UI run. Returns the seconds that it took."""
    message = {"id": f"{session_id}-{number}", "role": "user", "content": "tick {}"}
    began = time.perf_counter()
    answer = await client.post(
        "/ag-ui", json={"threadId": session_id, "runId": f"r{number}", "messages": [message], "protocolVersion": "1.0"}
    )
    took = time.perf_counter() - began
    assert answer.status_code == 200
    assert "RUN_FINISHED" in answer.text
    assert answer.text.count("tock") >= 1
    return took


async def check_runs_after_restart(start_node: StartNode, users: Users, store: str, turns: int) -> None:
    """Continue a long conversation after a restart: it is read once, and then costs as much as a short one."""
    node = start_node("--model", "offline", CALLBOARD_RATE_LIMIT="0")
    async with users.attacker.client(node) as client, users.victim.client(node) as victim:
        assert (await victim.post("/api/sessions", json={"session_id": "bystander"})).status_code == 201
        for session_id in ("short", "long"):
            assert (await client.post("/api/sessions", json={"session_id": session_id})).status_code == 201
            await run(client, session_id, 0)
    node.stop()
    await repeat_turn(store, "short", 10)
    await repeat_turn(store, "long", turns)
    node.start()
    async with users.attacker.client(node) as client:
        with bystander(node, users) as seen:
            first = await run(client, "long", 1)
        await run(client, "short", 1)
        long = median([await run(client, "long", number) for number in range(2, 9)])
        short = median([await run(client, "short", number) for number in range(2, 9)])
        state = (await client.get("/api/state", params={"session_id": "long", "messages": 20})).json()
    assert len(state["messages"]) <= 20
    report(f"a run in a conversation of {turns} turns, after a restart", store, seen, first=first, run=long)
    seen.unharmed()
    assert long < 5 * short + 0.1, f"{short * 1e3:.1f} ms with 10 turns, {long * 1e3:.1f} ms with {turns}"


async def test_h5_run_in_a_long_conversation_after_a_restart_affects_no_other_user(
    start_node: StartNode, users: Users, shared_url: str
) -> None:
    await check_runs_after_restart(start_node, users, shared_url, turns=500)


@pytest.mark.slow
async def test_h5_run_in_a_very_long_conversation_after_a_restart_affects_no_other_user(
    start_node: StartNode, users: Users, shared_url: str
) -> None:
    await check_runs_after_restart(start_node, users, shared_url, turns=5_000)
