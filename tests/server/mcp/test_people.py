"""Human tools: asked through the client where it can, in both eras, and otherwise on the page."""

import asyncio
import json
from typing import Any

import pytest
from mcp import types
from mcp.shared.exceptions import MCPError

from callboard.protocols.mcp import elicitation
from callboard.protocols.mcp.forms import form_of
from callboard.storage.errors import StoreUnavailable
from tests.server.conftest import Served, until
from tests.server.mcp.stage import ERAS, Colour, Gates, Journey, connected, stage, text_of

pytestmark = pytest.mark.anyio
both = pytest.mark.parametrize("era", ERAS)


class Person:
    """The user of a client, who answers each question with the next answer."""

    def __init__(self, *answers: Any) -> None:
        self._answers = list(answers)
        self.asked: list[Any] = []

    async def __call__(self, _: Any, params: Any) -> types.ElicitResult:
        self.asked.append(params)
        answer = self._answers.pop(0)
        if isinstance(answer, str):
            return types.ElicitResult(action=answer)  # pyright: ignore[reportArgumentType]
        return types.ElicitResult(action="accept", content=answer)


async def open_requests(served: Served) -> list[Any]:
    return (await served.get("/api/requests", x_user="ann")).json()["requests"]


@both
async def test_h4_m3_client_asks_its_user_to_approve(era: str) -> None:
    person = Person({"approved": True})
    async with stage(Gates()) as served, connected(served, era, elicitation_callback=person) as client:
        assert text_of(await client.call_tool("pay", {"amount": 5})) == "paid 5"
        assert await open_requests(served) == []
    (asked,) = person.asked
    assert '"amount": 5' in asked.message
    assert asked.requested_schema["required"] == ["approved"]


@both
@pytest.mark.parametrize(
    ("answer", "reason"), [({"approved": False, "reason": "Too much."}, "Too much."), ("decline", ""), ({}, "")]
)
async def test_h4_m3_refused_call_does_not_run(era: str, answer: Any, reason: str) -> None:
    async with stage(Gates()) as served, connected(served, era, elicitation_callback=Person(answer)) as client:
        result = await client.call_tool("pay", {"amount": 5})
    error = json.loads(text_of(result))
    assert (result.is_error, error["category"], error["details"]) == (True, "permission", {"decision": "rejected"})
    assert reason in error["message"]


@both
async def test_h4_m3_answer_is_the_result_and_validated(era: str) -> None:
    person = Person({"colour": "blue"}, {"colour": "green", "shade": 2})
    async with stage(Gates()) as served, connected(served, era, elicitation_callback=person) as client:
        result = await client.call_tool("choose", {"question": "Which one?"})
    assert json.loads(text_of(result)) == {"colour": "green", "shade": 2}
    assert person.asked[0].message == "Which one?"
    assert person.asked[1].message.endswith("Which one?")
    assert "colour" in person.asked[1].message  # what was wrong


@both
async def test_h4_m3_declined_question_ends_the_call(era: str) -> None:
    async with stage(Gates()) as served, connected(served, era, elicitation_callback=Person("decline")) as client:
        result = await client.call_tool("choose", {"question": "Which one?"})
        assert json.loads(text_of(result))["category"] == "cancelled"
        assert await open_requests(served) == []


@both
async def test_h4_m3_dismissed_question_waits_on_the_page(era: str) -> None:
    async with stage(Gates()) as served, connected(served, era, elicitation_callback=Person("cancel")) as client:
        acknowledged = json.loads(text_of(await client.call_tool("choose", {"question": "Which one?"})))
        (request,) = await open_requests(served)
        assert (acknowledged["status"], acknowledged["request_id"]) == ("waiting", request["request_id"])
        assert f"callboard requests answer {request['request_id']}" in acknowledged["next_step"]


@both
async def test_h4_m3_handler_asks_several_times(era: str) -> None:
    person = Person({"colour": "red"}, {"colour": "green"})
    async with stage(Gates()) as served, connected(served, era, elicitation_callback=person) as client:
        result = await client.call_tool("paint", {"rooms": ["hall", "attic"]})
    assert text_of(result) == "hall: red, attic: green"
    assert [each.message for each in person.asked] == ["Colour of the hall?", "Colour of the attic?"]


@both
async def test_h4_m3_without_elicitation_the_call_waits_for_the_page(era: str) -> None:
    async with stage(Gates()) as served, connected(served, era) as client:
        acknowledged = json.loads(text_of(await client.call_tool("pay", {"amount": 5})))
        assert acknowledged["status"] == "waiting"
        (request,) = await open_requests(served)
        answer = {"session_id": request["session_id"], "answer": {"approved": True}}
        path = f"/api/requests/{request['request_id']}/answer"
        assert (await served.post(path, answer, x_user="ann")).status_code < 300
        await until(lambda: not served.runtime.manager.live)
        result = await client.call_tool("task_result", {"execution_id": acknowledged["execution_id"]})
        assert text_of(result) == "paid 5"


@both
async def test_h4_m3_nested_request_that_no_form_can_express_is_acknowledged(era: str) -> None:
    person = Person()
    async with stage(Gates()) as served, connected(served, era, elicitation_callback=person) as client:
        acknowledged = json.loads(text_of(await client.call_tool("travel", {"why": "Leisure"})))
        assert acknowledged["status"] == "waiting"
        assert person.asked == []


async def test_h4_m3_answer_on_the_page_ends_the_question_of_the_client() -> None:
    asked, withdrawn = asyncio.Event(), asyncio.Event()

    async def wait(*_: Any) -> types.ElicitResult:
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            withdrawn.set()
        raise AssertionError

    async with stage(Gates()) as served, connected(served, "legacy", elicitation_callback=wait) as client:
        calling = asyncio.create_task(client.call_tool("pay", {"amount": 5}))
        await asked.wait()
        (request,) = await open_requests(served)
        answer = {"session_id": request["session_id"], "answer": {"approved": True}}
        await served.post(f"/api/requests/{request['request_id']}/answer", answer, x_user="ann")
        assert text_of(await calling) == "paid 5"
        await withdrawn.wait()


async def test_h4_m3_answer_is_delivered_when_the_store_is_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elicitation, "RETRY_DELAY", 0.0)
    person = Person({"approved": True})
    async with stage(Gates()) as served, connected(served, "legacy", elicitation_callback=person) as client:
        store = served.runtime.store
        read, outages = store.request, [StoreUnavailable("The store does not answer.")] * 2

        async def unsteady(*args: Any) -> Any:
            if outages:
                raise outages.pop()
            return await read(*args)

        monkeypatch.setattr(store, "request", unsteady)
        assert text_of(await client.call_tool("pay", {"amount": 5})) == "paid 5"
        assert (len(person.asked), outages) == (1, [])


async def test_h4_m3_call_whose_question_failed_unexpectedly_is_acknowledged(monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: Any) -> Any:
        raise RuntimeError("a fault of the server")

    monkeypatch.setattr(elicitation, "deliver_answer", broken)
    person = Person({"approved": True})
    async with stage(Gates()) as served, connected(served, "legacy", elicitation_callback=person) as client:
        acknowledged = json.loads(text_of(await client.call_tool("pay", {"amount": 5})))
        assert acknowledged["status"] == "waiting"
        assert len(await open_requests(served)) == 1


async def test_h4_state_of_another_call_user_or_client_is_refused() -> None:
    async with stage(Gates()) as served, connected(served, "2026-07-28", elicitation_callback=Person()) as client:
        asked = await client.session.call_tool("pay", {"amount": 5}, allow_input_required=True)
        assert isinstance(asked, types.InputRequiredResult)
        (key,) = asked.input_requests or {}
        assert key == "pay"
        assert asked.request_state is not None
        yes: Any = {"pay": types.ElicitResult(action="accept", content={"approved": True})}

        async def again(other: Any, state: str, **arguments: Any) -> Any:
            return await other.session.call_tool(
                "pay", arguments, input_responses=yes, request_state=state, allow_input_required=True
            )

        changed = [asked.request_state[1:], f"x{asked.request_state}", f"{asked.request_state}x"]
        for state in ("", "nothing", *changed):
            with pytest.raises(MCPError, match="requestState"):
                await again(client, state, amount=5)
        async with connected(served, "2026-07-28", user="bob") as stranger:
            with pytest.raises(MCPError, match="requestState"):
                await again(stranger, asked.request_state, amount=5)
        with pytest.raises(MCPError, match="requestState"):  # what is approved is what runs
            await again(client, asked.request_state, amount=6)
        assert len(await open_requests(served)) == 1
        result = await again(client, asked.request_state, amount=5)
        assert text_of(result) == "paid 5"
        assert text_of(await again(client, asked.request_state, amount=5)) == "paid 5"  # and it runs once


async def test_h4_state_cannot_name_the_request_of_another_call() -> None:
    async with stage(Gates()) as served, connected(served, "2026-07-28", elicitation_callback=Person()) as client:
        states: list[str] = []
        for amount in (5, 6):
            asked = await client.session.call_tool("pay", {"amount": amount}, allow_input_required=True)
            assert isinstance(asked, types.InputRequiredResult)
            states.append(asked.request_state or "")
        mixed = f"{states[0].split(' ')[0]} {states[1].split(' ')[1]}"
        yes: Any = {"pay": types.ElicitResult(action="accept", content={"approved": True})}
        with pytest.raises(MCPError, match="requestState"):
            await client.session.call_tool("pay", {"amount": 5}, input_responses=yes, request_state=mixed)
        assert len(await open_requests(served)) == 2


async def test_h4_m3_answers_can_be_given_before_they_are_asked_for_but_not_approvals() -> None:
    green: Any = {"choose": types.ElicitResult(action="accept", content={"colour": "green"})}
    yes: Any = {"pay": types.ElicitResult(action="accept", content={"approved": True})}
    async with stage(Gates()) as served, connected(served, "2026-07-28", elicitation_callback=Person()) as client:
        result = await client.session.call_tool("paint", {"rooms": ["hall"]}, input_responses=green)
        assert text_of(result) == "hall: green"
        asked = await client.session.call_tool("pay", {"amount": 5}, input_responses=yes, allow_input_required=True)
        assert isinstance(asked, types.InputRequiredResult)


async def test_h4_m3_request_outlives_the_connection_that_asked() -> None:
    asked = asyncio.Event()

    async def wait(*_: Any) -> types.ElicitResult:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    async with stage(Gates()) as served, connected(served, "legacy", elicitation_callback=wait) as client:
        calling = asyncio.create_task(client.call_tool("pay", {"amount": 5}))
        await asked.wait()
        (request,) = await open_requests(served)
        connection = request["session_id"].removeprefix("mcp-")
        ended = await served.client.delete("/mcp", headers={"x-user": "ann", "mcp-session-id": connection})
        assert ended.status_code == 200
        with pytest.raises(MCPError):
            await calling
        assert await open_requests(served) == [request]
        answer = {"session_id": request["session_id"], "answer": {"approved": True}}
        await served.post(f"/api/requests/{request['request_id']}/answer", answer, x_user="ann")
        await until(lambda: not served.runtime.manager.live)
        query = {"session_id": request["session_id"]}
        (execution,) = (await served.get("/api/executions", query, x_user="ann")).json()["executions"]
        assert execution["value"] == "paid 5"


async def test_h4_x8_cancelled_call_withdraws_its_request() -> None:
    asked = asyncio.Event()

    async def wait(*_: Any) -> types.ElicitResult:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    async with stage(Gates()) as served, connected(served, "legacy", elicitation_callback=wait) as client:
        calling = asyncio.create_task(client.call_tool("pay", {"amount": 5}))
        await asked.wait()
        calling.cancel()
        await until(lambda: not served.runtime.manager.live)
        assert await open_requests(served) == []


def test_h4_forms_are_flat() -> None:
    assert form_of(Colour.model_json_schema()) == {
        "type": "object",
        "properties": {
            "colour": {"type": "string", "title": "Colour", "description": "Which colour", "enum": ["red", "green"]},
            "shade": {"type": "integer", "title": "Shade", "description": "How dark", "default": 1, "minimum": 0},
        },
        "required": ["colour"],
    }
    assert form_of(Journey.model_json_schema()) is None
    assert form_of({"type": "string"}) is None
    optional = {"a": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}, "b": {"type": "object"}}
    assert form_of({"type": "object", "properties": optional}) == {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "required": [],
    }
