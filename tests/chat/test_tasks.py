"""The built-in tools for background work (M4, X9, X12)."""

import asyncio
from typing import Annotated

import pytest

from callboard import Runtime, tool
from callboard.demo.sentences import sentence

from .scripted import TOOLS, Script, Step, check, conversation_of, gate, last_contents, until

pytestmark = pytest.mark.anyio


async def test_x9_a_call_that_waits_for_a_slot_is_reported_as_queued(store_url: str) -> None:
    go = asyncio.Event()

    @tool(mode="background", concurrency=1)
    async def one(name: Annotated[str, "Which"]) -> str:
        """One at a time."""
        await go.wait()
        return name

    async with Runtime([one], store=store_url, model="offline") as runtime:
        session = await runtime.open("s", "ann")
        runs, waits = [await session.call("one", {"name": name}) for name in "ab"]
        assert [outcome.value["status"] for outcome in (runs, waits)] == ["started", "queued"]
        status = await session.call("task_status", {"execution_id": waits.execution_id})
        assert status.value == {"execution_id": waits.execution_id, "tool": "one", "status": "queued"}
        listed = await session.call("task_list")
        assert {each["execution_id"]: each["status"] for each in listed.value}[waits.execution_id] == "queued"
        result = await session.call("task_result", {"execution_id": waits.execution_id})
        assert "has not begun" in str(result.value)
        go.set()
        async with asyncio.timeout(90):
            assert (await session.result(waits.execution_id)).value == "b"


async def test_m4_a_result_that_the_model_fetched_is_not_delivered_again(store_url: str) -> None:
    """The call ends while the model writes a call of `task_result`, as it does if the model polls."""
    ended = asyncio.Event()
    polls: list[Step] = [lambda: gate("it").set(), ended]
    script = Script([("build", '{"what":"it"}')], polls, ["Here it is."], ["Again."])
    async with Runtime(TOOLS, model=script.model(), store=store_url) as runtime:
        session = await runtime.open("s", "u")
        turn = asyncio.ensure_future(session.say("Build it."))
        await until(session, "tool_result")
        [record] = await session.history()
        polls += [("task_result", f'{{"execution_id":"{record.id}"}}'), ("task_result", '{"execution_id":[]}')]
        ended.set()
        assert (await turn).text == "Here it is."
        assert last_contents(script.requests[-1])[0] == "built it"
        assert str(script.requests[-1]).count("built it") == 1
        await conversation_of(session).idle()
        assert len(script.requests) == 3
        assert not session.has_pending_work
        await check(session)


@pytest.mark.parametrize("limit", [None, 60_000])
async def test_x12_task_result_is_cut_by_the_limit_of_the_tool_alone(limit: int | None) -> None:
    @tool(mode="background", result_limit=limit)
    async def report() -> str:
        """Build a report."""
        return "0123456789" * 10_000

    async with Runtime([report], model="offline") as runtime:
        session = await runtime.open("s", "ann")
        built = await session.call("report")
        await session.result(built.execution_id)
        arguments = {"execution_id": built.execution_id}
        read = await session.call("task_result", arguments)
        assert session.result_text(read.execution_id) == session.result_text(built.execution_id)
        more = await session.call("task_result", {**arguments, "offset": 1})
        assert len(session.result_text(more.execution_id)) == (limit or 50_000)


def test_x9_the_offline_model_reports_that_a_call_is_queued() -> None:
    said = sentence("one", {}, {"status": "queued", "execution_id": "x1", "tool": "one"}, failed=False)
    assert said == "one is queued until a slot is free; I will tell you when it is done."
