"""CopilotKit's runtime between a page and a real server (H3). It is built on an `@ag-ui/client` from before 1.0."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from callboard.sessions.session import live_session
from tests.server.agui.real_client import front_end
from tests.server.agui.stage import site

pytestmark = pytest.mark.anyio

CONFIRM = {
    "name": "confirm",
    "description": "Ask in the page.",
    "parameters": {"type": "object", "properties": {"question": {"type": "string"}}, "required": ["question"]},
}


def user(text: str) -> list[dict[str, str]]:
    return [{"id": os.urandom(8).hex(), "role": "user", "content": text}]


def said(done: dict[str, Any]) -> list[tuple[str, str]]:
    return [(each["role"], each["content"]) for each in done["messages"] if each.get("content")]


async def test_h3_copilotkit_shows_text_and_calls(copilotkit_folder: Path) -> None:
    async with site() as s, front_end(copilotkit_folder, s.url) as ui:
        done = await ui.do(messages=user('add {"a": 1, "b": 2}'), context=[{"description": "d", "value": "v"}])
        assert done["error"] is None
        assert said(done) == [("user", 'add {"a": 1, "b": 2}'), ("tool", "3"), ("assistant", "add gives 3.")]
        session = live_session(await s.session())
        assert session.client is not None
        assert [tuple(each) for each in session.client.context] == [("d", "v")]
        for word in ("yes", "no", "yes"):
            done = await ui.do(messages=user(word))
            assert done["error"] is None
        heard = [each["text"] for each in await session.conversation().messages() if each["role"] == "user"]
        assert heard == ['add {"a": 1, "b": 2}', "yes", "no", "yes"]
        assert [text for role, text in said(done) if role == "user"] == heard


async def test_h3_m3_copilotkit_answers_an_interrupt_and_runs_front_end_tools(copilotkit_folder: Path) -> None:
    async with site() as s, front_end(copilotkit_folder, s.url) as ui:
        done = await ui.do(messages=user('pay {"amount": 5}'))
        assert (done["error"], done["finished"]["outcome"]) == (None, "interrupt")
        [run_request] = done["pending"]
        done = await ui.do(answers={run_request["id"]: {"status": "resolved", "payload": {"approved": True}}})
        assert (done["error"], done["finished"]["outcome"]) == (None, "success")
        assert "paid 5" in str(said(done))
        done = await ui.do(messages=user('confirm {"question": "sure?"}'), tools=[CONFIRM])
        assert (done["error"], done["finished"]["outcome"]) == (None, "success")
        [call] = done["messages"][-1]["toolCalls"]
        told = {"id": "result-1", "role": "tool", "toolCallId": call["id"], "content": '{"sure": true}'}
        done = await ui.do(messages=[told], tools=[CONFIRM])
        assert done["error"] is None
        assert "sure" in said(done)[-1][1]
        assert [each["content"] for each in done["messages"] if each.get("toolCallId") == call["id"]] == [
            '{"sure": true}'
        ]


async def test_h3_copilotkit_handles_a_cancelled_run(copilotkit_folder: Path) -> None:
    async with site() as s, front_end(copilotkit_folder, s.url) as ui:
        await ui.begin(messages=user("slow"))
        async with asyncio.timeout(90):
            await s.gates["slow began"].wait()
        assert await (await s.session()).interrupt()
        done = await ui.answer()
        assert (done["error"], done["finished"]) == (None, {"outcome": "success", "result": {"status": "cancelled"}})
        done = await ui.do(messages=user('add {"a": 1, "b": 1}'))
        assert said(done)[-1] == ("assistant", "add gives 2.")
