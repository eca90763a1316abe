"""Resources of other users are not found: they cannot be read, changed or detected."""

from typing import Any

import pytest

from tests.server.conftest import Served, take

pytestmark = pytest.mark.anyio


async def request_all(
    served: Served, session_id: str, execution: str, request: str, user: str
) -> list[tuple[int, Any]]:
    """Send a request to every route that names a resource, as a user. Returns the responses."""
    of = {"session_id": session_id}
    event = {"kind": "user_request", "request_kind": "echo", "payload": {"payload": "hi"}}
    posts = {
        f"/api/sessions/{session_id}/logout": {},
        f"/api/sessions/{session_id}/restore": {},
        "/api/chat": {**of, "message": "hello"},
        "/api/chat/retry": of,
        "/api/interrupt": of,
        "/api/system/event": {**of, "event": event},
        f"/api/requests/{request}/answer": {**of, "answer": {"approved": True}},
        "/api/executions": {**of, "tool": "add", "arguments": {"a": 1, "b": 2}},
        f"/api/executions/{execution}/cancel": of,
    }
    gets = [
        "/api/chat/stream",
        "/api/state",
        "/api/tools",
        "/api/manifest",
        "/api/requests",
        "/api/executions",
        f"/api/executions/{execution}",
    ]
    answers = [await served.post(path, body, x_user=user) for path, body in posts.items()]
    answers += [await served.get(path, of, x_user=user) for path in gets]
    answers.append(await served.get(f"/api/sessions/{session_id}", x_user=user))
    answers.append(await served.client.delete(f"/api/sessions/{session_id}", headers={"x-user": user}))
    return [(answer.status_code, answer.json()) for answer in answers]


async def test_h5_session_of_another_user_looks_like_a_missing_one(served: Served) -> None:
    await served.session("hers", x_user="alice")
    call = {"session_id": "hers", "tool": "pay", "arguments": {"amount": 1}}
    execution = (await served.post("/api/executions", call, x_user="alice")).json()["execution_id"]
    [asked] = (await served.get("/api/requests", x_user="alice")).json()["requests"]
    foreign = await request_all(served, "hers", execution, asked["request_id"], "mallory")
    missing = await request_all(served, "nobodys", "x1", "r1", "mallory")
    assert foreign == missing
    assert {status for status, _ in foreign} == {404}
    assert (await served.get("/api/requests", x_user="mallory")).json() == {"requests": [], "next": None}
    assert (await served.get("/api/sessions", x_user="mallory")).json() == {"sessions": [], "next": None}
    taken = await served.post("/api/sessions", {"session_id": "hers"}, x_user="mallory")
    assert (taken.status_code, taken.json()["code"]) == (404, "session_not_found")
    mine = (await served.get("/api/state", {"session_id": "hers"}, x_user="alice")).json()
    assert [each["request_id"] for each in mine["open_requests"]] == [asked["request_id"]]


async def test_h5_resources_of_another_own_session_are_not_found(served: Served) -> None:
    await served.session("one")
    await served.session("two")
    call = {"session_id": "one", "tool": "pay", "arguments": {"amount": 1}}
    execution = (await served.post("/api/executions", call)).json()["execution_id"]
    [asked] = (await served.get("/api/requests")).json()["requests"]
    answer = {"session_id": "two", "answer": {"approved": True}}
    assert (await served.post(f"/api/requests/{asked['request_id']}/answer", answer)).status_code == 404
    forged = {"kind": "human_answer", "request_id": asked["request_id"], "answer": {"approved": True}}
    assert (await served.post("/api/system/event", {"session_id": "two", "event": forged})).status_code == 404
    assert (await served.post(f"/api/executions/{execution}/cancel", {"session_id": "two"})).status_code == 404
    assert (await served.get(f"/api/executions/{execution}", {"session_id": "two"})).status_code == 404


async def test_h5_a_stream_shows_only_the_events_of_its_session(served: Served) -> None:
    await served.session("mine")
    await served.session("other", x_user="bob")
    async with served.stream("mine") as stream:
        await anext(stream)
        call = {"session_id": "other", "tool": "add", "arguments": {"a": 1, "b": 2}}
        assert (await served.post("/api/executions", call, x_user="bob")).status_code == 200
        await served.post("/api/executions", {**call, "session_id": "mine", "call_id": "mine"})
        seen = await take(stream, lambda sent: sent.event == "tool_result")
    assert {each.data["data"]["call_id"] for each in seen} == {"mine"}


async def test_reading_a_session_does_not_log_it_in(served: Served) -> None:
    await served.session("out")
    await served.post("/api/sessions/out/logout")
    await served.get("/api/state", {"session_id": "out"})
    async with served.stream("out") as stream:
        await anext(stream)
    assert (await served.get("/api/sessions/out")).json()["open"] is False
    await served.post("/api/chat", {"session_id": "out", "message": "hello"})
    assert (await served.get("/api/sessions/out")).json()["open"] is True
