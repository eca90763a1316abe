"""Decisions of people stay visible: in the event, in the answer to a second decision, and in the list (H1, H5, M3)."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Annotated, Any

import httpx2
import pytest
from pydantic import SecretStr

from callboard import Runtime, tool
from callboard.testing import ManualClock
from tests.server.conftest import DEADLINE, TOOLS, Served, serve

pytestmark = pytest.mark.anyio


@tool(mode="human")
async def log_in(name: Annotated[str, "The name"], password: Annotated[SecretStr, "The password"]) -> str:
    """Log in somewhere."""
    return f"hello {name}"


@tool(mode="human", expires=60)
async def hurry(what: Annotated[str, "What"]) -> str:
    """Do something soon."""
    return what


@tool(mode="human", answer=str)
def ask_for_text(question: Annotated[str, "The question"]) -> None:
    """Ask for a text."""


@tool(mode="human", answer=dict[str, Any])
def ask_for_anything(question: Annotated[str, "The question"]) -> None:
    """Ask for any fields."""


ALL = [*TOOLS, log_in, hurry, ask_for_text, ask_for_anything]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(params=["memory", "sqlite"])
async def timed(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> AsyncGenerator[Served]:
    store = "memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'b.db'}"
    async with serve(Runtime(ALL, clock=clock, store=store)) as served:
        await served.session("s")
        yield served


async def asked(served: Served, name: str, arguments: Any) -> dict[str, Any]:
    """Call a human tool, and return its request."""
    answer = await served.post("/api/executions", {"session_id": "s", "tool": name, "arguments": arguments})
    assert answer.json()["status"] == "waiting", answer.text
    return (await served.get("/api/requests")).json()["requests"][-1]


async def decide(served: Served, request: dict[str, Any], answer: Any, **headers: str) -> httpx2.Response:
    path = f"/api/requests/{request['request_id']}/answer"
    return await served.post(path, {"session_id": "s", "answer": answer}, **headers)


async def closed(served: Served, **params: Any) -> list[dict[str, Any]]:
    return (await served.get("/api/requests", {"status": "closed", **params})).json()["requests"]


async def test_h1_second_decision_is_told_the_first_one(timed: Served, clock: ManualClock) -> None:
    request = await asked(timed, "pay", {"amount": 5})
    assert request["decision"] is None
    await clock.advance(10)
    assert (await decide(timed, request, {"approved": False, "reason": "Too much"})).status_code == 202
    await clock.advance(10)
    second = await decide(timed, request, {"approved": True})
    problem = second.json()
    assert (second.status_code, problem["code"]) == (409, "request_closed")
    decision = problem["decision"]
    assert (decision["outcome"], decision["answered_by"]) == ("rejected", "local")
    assert decision["answer"] == {"approved": False, "reason": "Too much"}
    (event,) = await events(timed, "human_answer")
    assert (event["data"]["answered_by"], event["at"]) == ("local", decision["at"])
    (listed,) = await closed(timed)
    assert listed["decision"] == decision
    whole = await timed.get(f"/api/requests/{request['request_id']}", {"session_id": "s"})
    assert whole.json() == listed


async def events(served: Served, kind: str) -> list[dict[str, Any]]:
    page = (await served.get("/api/events", {"session_id": "s", "limit": 500})).json()
    return [each for each in page["events"] if each["kind"] == kind]


async def test_h1_of_two_decisions_at_once_the_second_is_told_the_first(timed: Served) -> None:
    request = await asked(timed, "pay", {"amount": 5})
    answers = await asyncio.gather(*(decide(timed, request, {"approved": each}) for each in (True, False, True)))
    refused = [each.json() for each in answers if each.status_code == 409]
    assert len(refused) == 2
    (kept,) = await events(timed, "human_answer")
    expected = "approved" if kept["data"]["answer"]["approved"] else "rejected"
    assert {each["decision"]["outcome"] for each in refused} == {expected}


async def test_h1_hash_of_a_request_that_is_shown_in_part_is_null(timed: Served) -> None:
    listed = await asked(timed, "log_in", {"name": "n" * 17_000, "password": "hunter2"})
    [in_state] = (await timed.get("/api/state", {"session_id": "s"})).json()["open_requests"]
    assert listed["payload"] is None
    assert listed["arguments_hash"] is in_state["arguments_hash"] is None
    path = f"/api/requests/{listed['request_id']}/answer"
    answer = {"session_id": "s", "answer": {"approved": True}}
    refused = await timed.post(path, {**answer, "arguments_hash": None})
    assert refused.status_code == 422
    assert "GET /api/requests/" in refused.text
    whole = (await timed.get(listed["cut"]["payload"]["href"])).json()
    answered = await timed.post(path, {**answer, "arguments_hash": whole["arguments_hash"]})
    assert answered.status_code == 202


async def test_h1_secrets_are_masked_in_decisions(timed: Served) -> None:
    request = await asked(timed, "log_in", {"name": "ann", "password": "hunter2"})
    edited = {"approved": True, "arguments": {"name": "bob", "password": "swordfish"}}
    assert (await decide(timed, request, edited)).status_code == 202
    second = await decide(timed, request, edited)
    shown = second.text + str(await closed(timed)) + str(await events(timed, "human_answer"))
    assert "swordfish" not in shown
    assert "hunter2" not in shown
    assert second.json()["decision"]["answer"]["arguments"]["name"] == "bob"
    timed.runtime.registry.unregister("log_in")
    assert "swordfish" not in str(await closed(timed)), "also if the tool is gone"


async def test_h1_expired_and_withdrawn_requests_say_so(timed: Served, clock: ManualClock) -> None:
    late = await asked(timed, "hurry", {"what": "it"})
    await clock.advance(61)
    refused = (await decide(timed, late, {"approved": True})).json()
    assert (refused["decision"]["outcome"], refused["decision"]["answered_by"]) == ("expired", None)
    gone = await asked(timed, "pay", {"amount": 5})
    await timed.post(f"/api/executions/{gone['execution_id']}/cancel", {"session_id": "s"})
    async with asyncio.timeout(DEADLINE):
        while [each["decision"]["outcome"] for each in await closed(timed)] != ["withdrawn", "expired"]:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_h1_closed_requests_are_paged_from_the_newest(timed: Served) -> None:
    for amount in range(5):
        await decide(timed, await asked(timed, "pay", {"amount": amount}), {"approved": True})
    first = (await timed.get("/api/requests", {"status": "closed", "limit": 3, "session_id": "s"})).json()
    rest = await closed(timed, limit=3, after=first["next"])
    assert [each["payload"]["amount"] for each in (*first["requests"], *rest)] == [4, 3, 2, 1, 0]
    assert (await timed.get("/api/requests", {"status": "answered"})).status_code == 422


async def test_h1_long_answer_is_left_out_of_a_decision(timed: Served) -> None:
    request = await asked(timed, "ask_for_text", {"question": "?"})
    assert (await decide(timed, request, "x" * 200_000)).status_code == 202
    second = await decide(timed, request, "y")
    assert (second.json()["decision"]["answer"], second.json()["decision"]["is_cut"]) == (None, True)
    assert len(second.content) < 2_000
    assert len(str(await closed(timed))) < 5_000


async def test_h5_decisions_of_another_user_are_not_shown(timed: Served) -> None:
    request = await asked(timed, "pay", {"amount": 5})
    await decide(timed, request, {"approved": True})
    theirs = await decide(timed, request, {"approved": True}, x_user="mallory")
    assert (theirs.status_code, "decision" in theirs.json()) == (404, False)
    assert (await timed.get("/api/requests", {"status": "closed"}, x_user="mallory")).json()["requests"] == []
    path = f"/api/requests/{request['request_id']}"
    assert (await timed.get(path, {"session_id": "s"}, x_user="mallory")).status_code == 404


async def test_m3_client_cannot_say_who_answered(timed: Served) -> None:
    request = await asked(timed, "pay", {"amount": 5})
    forged = {
        "kind": "human_answer",
        "request_id": request["request_id"],
        "answer": {"approved": True},
        "answered_by": "mallory",
    }
    assert (await timed.post("/api/system/event", {"session_id": "s", "event": forged})).status_code == 202
    assert [each["data"]["answered_by"] for each in await events(timed, "human_answer")] == ["local"]


async def test_m3_answer_has_the_purpose_of_its_request_whatever_the_client_says(timed: Served) -> None:
    answer = {"approved": True, "amount": 5}
    for purpose in ({}, {"purpose": "question"}, {"purpose": "approval"}, {"purpose": None}):
        request = await asked(timed, "ask_for_anything", {"question": "?"})
        posted = {"kind": "human_answer", "request_id": request["request_id"], "answer": answer, **purpose}
        assert (await timed.post("/api/system/event", {"session_id": "s", "event": posted})).status_code == 202
    stored = [each["data"] for each in await events(timed, "human_answer")]
    assert [(each["purpose"], each["answer"]) for each in stored] == [("question", answer)] * 4
    request = await asked(timed, "ask_for_anything", {"question": "?"})
    unknown = {"kind": "human_answer", "request_id": request["request_id"], "answer": answer, "purpose": "order"}
    assert (await timed.post("/api/system/event", {"session_id": "s", "event": unknown})).status_code == 422
