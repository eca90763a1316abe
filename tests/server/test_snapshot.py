"""A stream without a cursor: the snapshot and the events after it are complete, without repeats."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, FunctionModel

from callboard import Runtime
from callboard.chat.conversation import Conversation
from tests.server.conftest import TOOLS, Sent, Served, serve, take

pytestmark = pytest.mark.anyio


class Held:
    """A server whose model responds only when the test allows it."""

    def __init__(self, served: Served, may: asyncio.Event) -> None:
        self.served = served
        self.may = may

    async def say(self, text: str) -> None:
        assert (await self.served.post("/api/chat", {"session_id": "s", "message": text})).status_code == 202


@pytest.fixture
async def held(store_url: str) -> AsyncGenerator[Held]:
    may = asyncio.Event()

    async def respond(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        await may.wait()
        yield "Well."

    model = FunctionModel(stream_function=respond, model_name="held")
    async with serve(Runtime(TOOLS, model=model, store=store_url)) as served:
        await served.session("s")
        try:
            yield Held(served, may)
        finally:
            may.set()


def users(messages: list[dict[str, Any]]) -> list[str]:
    return [each["text"] for each in messages if each["role"] == "user"]


async def test_h2_snapshot_has_inputs_that_the_model_has_not_received(held: Held) -> None:
    for text in ("one", "two", "three"):
        await held.say(text)
    async with held.served.stream("s") as stream:
        [snapshot] = await take(stream, lambda sent: sent.event == "snapshot")
        assert users(snapshot.data["messages"]) == ["one", "two", "three"]
        held.may.set()
        after = await take(stream, lambda sent: sent.event == "turn_finished")
    assert [sent for sent in after if sent.event == "user_input"] == []
    state = (await held.served.get("/api/state", {"session_id": "s"})).json()
    assert users(state["messages"]) == ["one", "two", "three"]


async def test_h2_event_that_is_written_during_a_snapshot_is_sent_once(
    held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    held.may.set()
    await held.say("one")
    latest = Conversation.window
    written = 0

    async def slow(conversation: Conversation, before: int | None = None, most: int = 100) -> Any:
        nonlocal written
        written += 1
        if written == 1:
            await held.say("two")  # after the number of the newest event was read
        return await latest(conversation, before, most)

    monkeypatch.setattr(Conversation, "window", slow)
    async with held.served.stream("s") as stream:
        [snapshot] = await take(stream, lambda sent: sent.event == "snapshot")
        await held.say("three")

        def third(sent: Sent) -> bool:
            return sent.event == "user_input" and sent.data["data"]["text"] == "three"

        after = await take(stream, third)
    assert written > 1
    said = users(snapshot.data["messages"])
    said += [sent.data["data"]["text"] for sent in after if sent.event == "user_input"]
    assert said == ["one", "two", "three"]


async def test_h1_state_after_a_missing_event_is_refused(held: Held) -> None:
    for session_id, after, status in (("s", 0, 200), ("s", 1, 409), ("other", 1, 404)):
        answer = await held.served.get("/api/state", {"session_id": session_id, "after": after})
        assert answer.status_code == status
    assert answer.json()["code"] == "session_not_found"
