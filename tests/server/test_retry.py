"""Retrying a failed turn over HTTP: the model responds to the messages that it has, and none is sent twice (H1)."""

from typing import Any

import pytest

from callboard import Runtime
from tests.chat.scripted import Script, Step, flattened
from tests.server.conftest import TOOLS, Served, serve, until

pytestmark = pytest.mark.anyio

RETRY = "/api/chat/retry"
OF = {"session_id": "s"}


async def shown(served: Served) -> list[tuple[str, Any]]:
    state = (await served.get("/api/state", OF)).json()
    return [(each["role"], each.get("text")) for each in state["messages"]]


async def test_h1_failed_turn_is_retried_without_a_second_message(store_url: str) -> None:
    script = Script([RuntimeError("Away.")], [RuntimeError("Still.")], ["Here I am."])
    async with serve(Runtime(TOOLS, model=script.model(), store=store_url)) as served:
        await served.session("s")
        session = await served.runtime.open("s", user_id="local")
        await served.post("/api/chat", {**OF, "message": "hello"})
        await until(lambda: len(script.requests) == 1 and not session.is_processing)
        for number, key in ((2, "first"), (3, "second")):
            for _ in range(2):  # the repeat is answered alike, and starts no turn
                retried = await served.post(RETRY, OF, idempotency_key=key)
                assert (retried.status_code, retried.json()) == (202, {"retried": True})
                await until(lambda: not session.is_processing)
            assert len(script.requests) == number
        assert await shown(served) == [("user", "hello"), ("assistant", "Here I am.")]
        refused = await served.post(RETRY, OF)
        assert (refused.status_code, refused.json()["code"]) == (409, "nothing_to_retry")
        assert len(script.requests) == 3
        kinds = [event.kind for event in session.board.read(0) if event.kind.startswith(("turn_", "user_"))]
        failed = ["turn_started", "turn_failed"]
        assert kinds == ["user_input", *failed, *failed, "turn_started", "turn_finished"]


async def test_h1_turn_that_failed_in_the_middle_of_a_text_is_retried(store_url: str) -> None:
    failed: list[Step] = ["I have ", RuntimeError("Away.")]
    script = Script([("add", '{"a":1,"b":2}')], failed, failed, ["It is three."])
    async with serve(Runtime(TOOLS, model=script.model(), store=store_url)) as served:
        await served.session("s")
        session = await served.runtime.open("s", user_id="local")
        await served.post("/api/chat", {**OF, "message": "add"})
        await until(lambda: len(script.requests) == 2 and not session.is_processing)
        for number in (3, 4):
            assert (await served.post(RETRY, OF)).json() == {"retried": True}
            await until(lambda: not session.is_processing)
            assert len(script.requests) == number
        assert flattened(script.requests[1]) == flattened(script.requests[2]) == flattened(script.requests[3])
        texts = [text for role, text in await shown(served) if role == "assistant" and text]
        assert texts == ["I have ", "I have ", "It is three."]
        assert (await served.post(RETRY, OF)).json()["code"] == "nothing_to_retry"
        await served.post("/api/chat", {**OF, "message": "thanks"})
        await until(lambda: len(script.requests) == 5 and not session.is_processing)
        assert "I have" not in str(script.requests[4]), "another response took its place"
        executions = (await served.get("/api/executions", OF)).json()["executions"]
        assert [each["tool"] for each in executions] == ["add"]


async def test_h1_retry_needs_a_message_and_a_model(served: Served) -> None:
    await served.session("s")
    assert (await served.post(RETRY, OF)).json()["code"] == "nothing_to_retry"
    assert (await served.post(RETRY, {"session_id": "none"})).json()["code"] == "session_not_found"
    async with serve(Runtime(TOOLS)) as mute:
        await mute.session("s")
        assert (await mute.post(RETRY, OF)).json()["code"] == "nothing_to_retry"
