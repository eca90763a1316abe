"""assistant-ui's `react-ag-ui` against a real server (H3). It is built on an `@ag-ui/client` from before 1.0."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from callboard.sessions.session import live_session
from tests.server.agui.real_client import front_end
from tests.server.agui.stage import site

pytestmark = pytest.mark.anyio

CONFIRM = {
    "confirm": {
        "type": "human",
        "description": "Ask in the page.",
        "parameters": {"type": "object", "properties": {"question": {"type": "string"}}, "required": ["question"]},
    }
}


def texts(page: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        (message["role"], part["text"])
        for message in page["messages"]
        for part in message["parts"]
        if part.get("type") == "text"
    ]


def calls(page: dict[str, Any]) -> list[dict[str, Any]]:
    return [part for message in page["messages"] for part in message["parts"] if "call" in part]


async def test_h3_assistant_ui_shows_text_and_calls(assistant_ui_folder: Path) -> None:
    async with site() as s, front_end(assistant_ui_folder, s.url) as ui:
        page = await ui.do(say='add {"a": 1, "b": 2}')
        assert page["errors"] == []
        assert [(each["tool"], str(each["result"])) for each in calls(page)] == [("add", "3")]
        assert texts(page)[-1] == ("assistant", "add gives 3.")
        for word in ("yes", "no", "yes"):
            page = await ui.do(say=word)
            assert page["errors"] == []
        heard = [each["text"] for each in await (await s.session()).messages() if each["role"] == "user"]
        assert heard == ['add {"a": 1, "b": 2}', "yes", "no", "yes"]
        assert [text for role, text in texts(page) if role == "user"] == heard
        assert len(calls(page)) == 1


async def test_h3_m3_assistant_ui_answers_an_interrupt(assistant_ui_folder: Path) -> None:
    async with site() as s, front_end(assistant_ui_folder, s.url) as ui:
        page = await ui.do(say='pay {"amount": 5}')
        assert page["errors"] == []
        [run_request] = page["interrupts"]
        page = await ui.do(
            responses=[{"interruptId": run_request["id"], "status": "resolved", "payload": {"approved": True}}]
        )
        assert page["errors"] == []
        assert page["interrupts"] == []
        assert ["paid 5" in str(each["result"]) for each in calls(page)] == [True]
        assert texts(page)[-1][0] == "assistant"


async def test_h3_assistant_ui_runs_front_end_tools(assistant_ui_folder: Path) -> None:
    async with site() as s, front_end(assistant_ui_folder, s.url) as ui:
        page = await ui.do(say='confirm {"question": "sure?"}', tools=CONFIRM, system="The user looks at report.md.")
        assert page["errors"] == []
        [call] = calls(page)
        page = await ui.do(result={"toolCallId": call["call"], "toolName": "confirm", "result": {"sure": True}})
        assert page["errors"] == []
        assert [each["result"] for each in calls(page)] == [{"sure": True}]
        assert "sure" in texts(page)[-1][1]
        session = live_session(await s.session())
        assert session.client is not None
        assert session.client.context[0].value == "The user looks at report.md."


async def test_h3_assistant_ui_handles_a_cancelled_run(assistant_ui_folder: Path) -> None:
    async with site() as s, front_end(assistant_ui_folder, s.url) as ui:
        await ui.begin(say="slow")
        async with asyncio.timeout(90):
            await s.gates["slow began"].wait()
        assert await (await s.session()).interrupt()
        page = await ui.answer()
        assert page["errors"] == []
        page = await ui.do(say='add {"a": 1, "b": 1}')
        assert page["errors"] == []
        assert texts(page)[-1] == ("assistant", "add gives 2.")
