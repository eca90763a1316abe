"""The real `@ag-ui/client` against a real server (H3): it verifies every stream itself, and a fault fails its run.

All of it with 1.0, and with the last version before that.
"""

from pathlib import Path
from typing import Any

import pytest

from callboard.sessions.session import live_session
from tests.server.agui.real_client import Done, real_client
from tests.server.agui.stage import site

pytestmark = pytest.mark.anyio

CONFIRM = {
    "name": "confirm",
    "description": "Ask in the page.",
    "parameters": {"type": "object", "properties": {"question": {"type": "string"}}, "required": ["question"]},
}


def results(done: Done) -> dict[str, list[str]]:
    """Return all results of the client by call id."""
    found: dict[str, list[str]] = {}
    for message in done.messages:
        if message["role"] == "tool":
            found.setdefault(message["toolCallId"], []).append(message["content"])
    return found


def is_old(client_folder: Path) -> bool:
    """Whether the client is older than 1.0."""
    return "0_0_59" in client_folder.name


def waiting_calls(done: Done) -> list[str]:
    """Return the calls without a result, as an old client finds them."""
    calls = [call["id"] for message in done.messages for call in message.get("toolCalls", ())]
    return [call_id for call_id in calls if call_id not in results(done)]


def answer(done: Done, payload: Any, status: str = "resolved") -> dict[str, Any]:
    return {each["id"]: {"status": status, "payload": payload} for each in done.pending}


async def test_h3_text_calls_and_results(client_folder: Path) -> None:
    async with site() as s, real_client(client_folder, s.url) as client:
        done = await client.run('add {"a": 1, "b": 2}')
        assert done.outcome == "success"
        assert done.complaints == []
        assert done.said == [
            ("user", 'add {"a": 1, "b": 2}'),
            ("call", "add"),
            ("tool", "3"),
            ("assistant", "add gives 3."),
        ]
        assert done.events[0].get("protocolVersion") == (None if is_old(client_folder) else "1.0")
        s.gates["speak"].set()
        done = await client.run("speak")
        assert done.said[-1] == ("assistant", "One, two, “three”\n\n.")
        assert done.kinds.count("MESSAGES_SNAPSHOT") == 0, "the client lacked nothing"
        [stored] = [
            each["text"] for each in await (await s.session()).messages() if each.get("text", "").startswith("One")
        ]
        assert stored == done.said[-1][1]


@pytest.mark.parametrize(
    ("payload", "status", "result"),
    [
        ({"approved": True}, "resolved", "paid 5"),
        ({"approved": True, "editedArgs": {"amount": 7}}, "resolved", "paid 7"),
        ({"approved": False, "reason": "too much"}, "resolved", "too much"),
        (None, "cancelled", "Cancelled by the person."),
    ],
)
async def test_h3_m3_interrupt_and_resume(client_folder: Path, payload: Any, status: str, result: str) -> None:
    async with site() as s, real_client(client_folder, s.url) as client:
        done = await client.run('pay {"amount": 5}')
        assert done.outcome == "interrupt"
        [run_request] = done.pending
        assert run_request["reason"] == "tool_call"
        assert run_request["responseSchema"]["properties"]["editedArgs"]["properties"]["amount"]["type"] == "integer"
        assert run_request["expiresAt"]
        assert done.kinds[-3:] == ["MESSAGES_SNAPSHOT", "STATE_SNAPSHOT", "RUN_FINISHED"]
        assert done.state["callboard"]["openRequests"][0]["id"] == run_request["id"]
        assert results(done) == {}
        done = await client.run(answers=answer(done, payload, status))
        assert done.outcome == "success"
        assert (done.pending, done.complaints) == ([], [])
        assert "TOOL_CALL_START" not in done.kinds, "the interrupted call continues"
        assert done.kinds.count("TOOL_CALL_RESULT") == 1
        [[content]] = results(done).values()
        assert result in content
        again = await client.run(
            resume=[{"interruptId": run_request["id"], "status": "resolved", "payload": {"approved": True}}]
        )
        assert again.outcome == "success"
        assert again.said == done.said, "a repeated resume has no effect"


async def test_h3_m3_answer_with_a_schema(client_folder: Path) -> None:
    async with site() as s, real_client(client_folder, s.url) as client:
        done = await client.run('choose {"why": "the wall"}')
        [run_request] = done.pending
        assert run_request["reason"] == "input_required"
        wrong = await client.run(answers=answer(done, {"colour": ""}))
        assert wrong.error is not None
        assert wrong.error["code"] == "answer_invalid"
        done = await client.run(answers=answer(done, {"colour": "blue"}))
        assert results(done) == {run_request["toolCallId"]: ['{"colour":"blue"}']}
        assert done.outcome == "success"


async def test_h3_two_interrupts_are_answered_together(client_folder: Path) -> None:
    async with site() as s, real_client(client_folder, s.url) as client:
        session = await s.session()
        done = await client.run('pay {"amount": 1} and pay {"amount": 2}')
        assert len(done.pending) == 2, done.said
        first, second = done.pending
        half = await client.run(
            resume=[
                {"interruptId": first["id"], "status": "resolved", "payload": {"approved": True}},
                {"interruptId": second["id"], "status": "cancelled"},
            ]
        )
        assert half.outcome == "success"
        assert [len(each) for each in results(half).values()] == [1, 1]
        assert await session.requests() == []


async def test_h3_front_end_tools(client_folder: Path) -> None:
    async with site() as s, real_client(client_folder, s.url) as client:
        done = await client.run('confirm {"question": "sure?"}', tools=[CONFIRM])
        assert done.outcome == "success"
        assert done.finished is not None
        [call_id] = waiting_calls(done) if is_old(client_folder) else done.finished["pendingToolCallIds"]
        assert done.said[-1] == ("call", "confirm")
        told = {"id": "result-1", "role": "tool", "toolCallId": call_id, "content": '{"sure": true}'}
        done = await client.run(messages=[told], tools=[CONFIRM])
        assert done.outcome == "success"
        assert results(done) == {call_id: ['{"sure": true}']}
        assert done.said[-1][0] == "assistant"
        assert "sure" in done.said[-1][1]
        assert "TOOL_CALL_RESULT" not in done.kinds, "the page already has its own result"


async def test_h3_errors_reach_the_client(client_folder: Path) -> None:
    async with site() as s, real_client(client_folder, s.url) as client:
        done = await client.run("broken")
        assert done.outcome == "success", "a failed call does not fail the run"
        [[content]] = results(done).values()
        assert "hidden" not in content
        done = await client.run("fail")
        assert done.error is not None
        assert done.error["code"] == "turn_failed"
        assert "sk-123" not in str(done.events)
        assert done.said[-1] == ("assistant", "So far. ")
        done = await client.run('add {"a": 2, "b": 2}')
        assert done.outcome == "success", "the thread continues after an error"


async def test_h3_client_that_disconnected_can_continue(client_folder: Path) -> None:
    async with site() as s, real_client(client_folder, s.url) as client:
        await client.run("speak", leaveAt="TEXT_MESSAGE_CONTENT")
        session = await s.session()
        assert session.is_processing, "the turn continues"
        s.gates["speak"].set()
        async for event in session.events(0):
            if event.kind == "turn_finished":
                break
        done = await client.run('add {"a": 1, "b": 1}')
        assert done.outcome == "success"
        assert done.kinds[1] == "MESSAGES_SNAPSHOT"
        said = [each for each in done.said if each[0] != "user"]
        assert said == [
            ("assistant", "One, two, “three”\n\n."),
            ("call", "add"),
            ("tool", "2"),
            ("assistant", "add gives 2."),
        ]
        assert [text for role, text in done.said if role == "user"] == ["speak", 'add {"a": 1, "b": 1}']


async def test_h3_new_page_follows_a_running_turn(client_folder: Path) -> None:
    async with site() as s, real_client(client_folder, s.url) as client:
        await client.run("speak", leaveAt="TEXT_MESSAGE_CONTENT")
        await client.start(agent="two")
        await client.until("MESSAGES_SNAPSHOT")
        s.gates["speak"].set()
        done = await client.end()
        assert done.outcome == "success"
        assert done.said == [("user", "speak"), ("assistant", "One, two, “three”\n\n.")]


async def test_h3_m4_progress_acknowledgement_and_late_result(client_folder: Path) -> None:
    async with site() as s, real_client(client_folder, s.url) as client:
        session = await s.session()
        done = await client.run('build {"what": "a"}')
        assert done.outcome == "success"
        [[content]] = results(done).values()
        assert '"status":"started"' in content.replace(" ", ""), "the acknowledgement is the only result of the call"
        s.gates["speak"].clear()
        await client.start("speak")
        await s.gates["speaking"].wait()
        s.gates["a begins"].set()
        await client.until("ACTIVITY_DELTA")
        s.gates["speak"].set()
        done = await client.end()
        [activity] = [each for each in done.messages if each["role"] == "activity"]
        assert (activity["content"]["stage"], activity["content"]["fraction"]) == ("most", 0.9)
        s.gates["a"].set()
        async for event in session.events(0):
            if (
                event.kind == "turn_finished"
                and event.seq > session.board.last_seq - 1
                and not await live_session(session).results.waiting()
            ):
                break
        done = await client.run('add {"a": 1, "b": 1}')
        found = results(done)
        late = [call_id for call_id in found if call_id.startswith("late_")]
        assert len(late) == 1
        assert found[late[0]] == ["built a"]
        assert all(len(each) == 1 for each in found.values()), found
        assert ("call", "task_result") in done.said
        assert done.complaints == []


async def test_h3_a_cancelled_run(client_folder: Path) -> None:
    async with site() as s, real_client(client_folder, s.url) as client:
        await client.start("slow")
        await s.gates["slow began"].wait()
        assert await (await s.session()).interrupt()
        done = await client.end()
        if is_old(client_folder):  # which does not know the outcome
            assert (done.outcome, done.result) == ("success", {"status": "cancelled"})
        else:
            assert done.outcome == "cancelled"
        assert [len(each) for each in results(done).values()] == [1], "the stopped call has a result"
        done = await client.run('add {"a": 1, "b": 1}')
        assert done.outcome == "success"


async def test_h3_m7_two_pages_of_one_thread(client_folder: Path) -> None:
    async with site() as s, real_client(client_folder, s.url) as client:
        await client.run('pay {"amount": 5}')
        other = await client.run('add {"a": 1, "b": 2}', agent="two")
        assert other.outcome == "success", "a message is answered while a request is open"
        [waiting] = [
            content for content in (each for found in results(other).values() for each in found) if "waiting" in content
        ]
        assert "A person is asked" in waiting
        [run_request] = other.state["callboard"]["openRequests"]
        resume = [{"interruptId": run_request["id"], "status": "resolved", "payload": {"approved": True}}]
        done = await client.run(agent="two", resume=resume)
        assert done.outcome == "success"
        assert any("paid 5" in each for found in results(done).values() for each in found)
        assert all(len(each) == 1 for each in results(done).values())
        first = await client.run(agent="one", resume=resume)
        assert first.outcome == "success"
        assert first.said == done.said, "both pages show the same conversation"
