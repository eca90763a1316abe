"""Idempotency keys: a repeated request runs once, at whichever server and time it is repeated (H6)."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import Any

import httpx2
import pytest

from callboard import Runtime, tool
from callboard.events.kinds import TURN_ENDS
from callboard.sessions.session import live_session
from callboard.storage.change import Change
from callboard.storage.errors import Conflict, StoreError
from callboard.storage.rows import IdempotencyRow
from tests.chat.scripted import Script
from tests.server.conftest import DEADLINE, TOOLS, WORKERS, Served, serve, until

pytestmark = pytest.mark.anyio

PAY = {"session_id": "s", "tool": "pay", "arguments": {"amount": 5}}


async def event_data(served: Served, *kinds: str, session_id: str = "s") -> list[dict[str, Any]]:
    """Return the data of a session's events of some kinds."""
    session = await served.runtime.open(session_id, user_id="local")
    async with asyncio.timeout(DEADLINE):
        snapshot = await session.snapshot()
    found = [event for event in await live_session(session).board.page(0) if event.seq <= snapshot.last_seq]
    return [event.data for event in found if not kinds or event.kind in kinds]


async def ask_person(served: Served) -> dict[str, Any]:
    """Create a request that waits for a person."""
    assert (await served.post("/api/executions", PAY)).json()["status"] == "waiting"
    return (await served.get("/api/requests", {"session_id": "s"})).json()["requests"][-1]


async def test_h6_message_with_an_id_is_accepted_once(served: Served) -> None:
    await served.session("s")
    message = {"session_id": "s", "message": "what is 1 + 1", "message_id": "m1"}
    first = await served.post("/api/chat", message)
    assert first.status_code == 202
    for _ in range(2):
        again = await served.post("/api/chat", message)
        assert (again.status_code, again.json()) == (202, first.json())
    by_header = {"session_id": "s", "message": "what is 1 + 1"}
    assert (await served.post("/api/chat", by_header, idempotency_key="m1")).json() == first.json(), (
        "both mean the same"
    )
    assert (await served.post("/api/chat", by_header, idempotency_key='"m1"')).json() == first.json()
    other = await served.post("/api/chat", {**message, "message": "what is 2 + 2"})
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_conflict")
    assert "m1" in other.json()["detail"]
    [message_event] = await event_data(served, "user_input")
    assert (message_event["text"], message_event["message_id"]) == ("what is 1 + 1", "m1")
    second = await served.post("/api/chat", {**message, "message_id": "m2"})
    assert second.json()["seq"] > first.json()["seq"], "the same text with another id is another message"
    assert len(await event_data(served, "user_input")) == 2


@pytest.mark.parametrize(
    ("body", "headers", "status", "code"),
    [
        ({"message_id": ""}, {}, 422, "invalid"),
        ({"message_id": "a\nb"}, {}, 422, "invalid"),
        ({"message_id": "x" * 201}, {}, 422, "invalid"),
        ({"message_id": "a"}, {"idempotency_key": "b"}, 422, "invalid"),
        ({}, {"idempotency_key": "x" * 201}, 400, "idempotency_key_invalid"),
        ({}, {"idempotency_key": ""}, 400, "idempotency_key_invalid"),
    ],
)
async def test_h6_invalid_ids_are_refused(
    plain: Served, body: dict[str, str], headers: dict[str, str], status: int, code: str
) -> None:
    await plain.session("s")
    answer = await plain.post("/api/chat", {"session_id": "s", "message": "hello", **body}, **headers)
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    assert await event_data(plain, "user_input") == []


async def test_h6_id_belongs_to_its_session_and_its_user(served: Served) -> None:
    await served.session("s")
    await served.session("t")
    await served.session("theirs", x_user="bob")
    message = {"message": "hello", "message_id": "m1"}
    for session_id, user in (("s", "local"), ("t", "local"), ("theirs", "bob")):
        answer = await served.post("/api/chat", {**message, "session_id": session_id}, x_user=user)
        assert answer.status_code == 202
    stranger = await served.post("/api/chat", {**message, "session_id": "s"}, x_user="bob")
    assert stranger.status_code == 404, "and the response does not show that the id was used"


async def test_h6_keys_of_a_session_are_hidden_from_other_users(served: Served) -> None:
    await served.post("/api/sessions", {"session_id": "s"}, idempotency_key="made")
    message = {"session_id": "s", "message": "hello", "message_id": "m1"}
    assert (await served.post("/api/chat", message)).status_code == 202
    for body in ({"session_id": "s"}, {"session_id": "s", "channel": "voice"}):
        expected = await served.post("/api/sessions", body, x_user="bob")
        assert (expected.status_code, expected.json()["code"]) == (404, "session_not_found")
        for key in ("made", "m1", "unused"):
            answer = await served.post("/api/sessions", body, x_user="bob", idempotency_key=key)
            assert (answer.status_code, answer.json()) == (404, expected.json()), key
    own = await served.post("/api/sessions", {"session_id": "s"}, idempotency_key="m1")
    assert (own.status_code, own.json()["code"]) == (409, "idempotency_conflict")
    repeated = await served.post("/api/sessions", {"session_id": "s"}, idempotency_key="made")
    assert (repeated.status_code, repeated.json()["session_id"]) == (201, "s")


async def test_h6_answer_with_a_key_is_accepted_once(served: Served) -> None:
    await served.session("s")
    request = await ask_person(served)
    path, answer = f"/api/requests/{request['request_id']}/answer", {"session_id": "s", "answer": {"approved": True}}
    first = await served.post(path, answer, idempotency_key="a1")
    assert first.status_code == 202
    again = await served.post(path, answer, idempotency_key="a1")
    assert (again.status_code, again.json()) == (202, first.json()), "and not the problem of a closed request"
    assert (await served.post(path, answer)).json()["code"] == "request_closed"
    other = await served.post(path, {"session_id": "s", "answer": {"approved": False}}, idempotency_key="a1")
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_conflict")
    assert len(await event_data(served, "human_answer")) == 1


async def test_m3_answer_for_other_arguments_is_refused(served: Served) -> None:
    await served.session("s")
    request = await ask_person(served)
    path, answer = f"/api/requests/{request['request_id']}/answer", {"session_id": "s", "answer": {"approved": True}}
    wrong = await served.post(path, {**answer, "arguments_hash": "0" * 64})
    assert (wrong.status_code, wrong.json()["code"]) == (409, "arguments_mismatch")
    assert (await served.get("/api/requests", {"session_id": "s"})).json()["requests"] == [request], "it is still open"
    state = (await served.get("/api/state", {"session_id": "s"})).json()
    assert state["open_requests"][0]["arguments_hash"] == request["arguments_hash"]
    right = await served.post(path, {**answer, "arguments_hash": request["arguments_hash"]})
    assert right.status_code == 202


EVENTS: list[dict[str, Any]] = [
    {"kind": "user_input", "text": "what is 1 + 1"},
    {"kind": "user_request", "request_kind": "echo", "payload": {"payload": "x"}},
    {"kind": "user_request", "request_kind": "nobody", "payload": {}},
    {"kind": "user_response", "request_id": "q", "request_kind": "k", "payload": 1},
]


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: f"{event['kind']}-{event.get('request_kind', '')}")
async def test_h6_an_event_with_a_key_is_posted_once(served: Served, event: dict[str, Any]) -> None:
    await served.session("s")
    body = {"session_id": "s", "event": event}
    first = await served.post("/api/system/event", body, idempotency_key="e1")
    assert first.status_code == 202
    again = await served.post("/api/system/event", body, idempotency_key="e1")
    assert (again.status_code, again.json()) == (202, first.json())
    assert len(await event_data(served, event["kind"])) == 1
    other = {"session_id": "s", "event": {"kind": "user_input", "text": "something else"}}
    refused = await served.post("/api/system/event", other, idempotency_key="e1")
    assert (refused.status_code, refused.json()["code"]) == (409, "idempotency_conflict")


async def test_h6_a_key_is_the_id_of_a_call(served: Served) -> None:
    await served.session("s")
    call = {"session_id": "s", "tool": "add", "arguments": {"a": 1, "b": 2}}
    first = await served.post("/api/executions", call, idempotency_key="c1")
    assert (first.status_code, first.json()["call_id"], first.json()["value"]) == (200, "c1", 3)
    again = await served.post("/api/executions", call, idempotency_key="c1")
    assert again.json() == first.json()
    assert (
        await served.post("/api/executions", {**call, "call_id": "c1"}, idempotency_key="c1")
    ).json() == first.json()
    assert len(await event_data(served, "tool_started")) == 1
    other = await served.post("/api/executions", {**call, "arguments": {"a": 5, "b": 2}}, idempotency_key="c1")
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_conflict")
    both = await served.post("/api/executions", {**call, "call_id": "c2"}, idempotency_key="c1")
    assert (both.status_code, both.json()["code"]) == (422, "invalid")


async def test_h6_repeated_cancel_gets_the_response_of_the_first(served: Served) -> None:
    await served.session("s")
    begun = (await served.post("/api/executions", {"session_id": "s", "tool": "wait_for_ever"})).json()
    path = f"/api/executions/{begun['execution_id']}/cancel"
    assert (await served.post(path, {"session_id": "s"}, idempotency_key="x")).json() == {"cancelled": True}
    session = await served.runtime.open("s", user_id="local")
    assert (await session.result(begun["execution_id"], DEADLINE)).status == "cancelled"
    assert (await served.post(path, {"session_id": "s"}, idempotency_key="x")).json() == {"cancelled": True}
    assert (await served.post(path, {"session_id": "s"})).json() == {"cancelled": False}


async def test_h6_create_logout_and_restore_with_a_key_run_once(served: Served) -> None:
    made = await served.post("/api/sessions", {"channel": "text"}, idempotency_key="new")
    again = await served.post("/api/sessions", {"channel": "text"}, idempotency_key="new")
    assert made.status_code == again.status_code == 201
    assert again.json()["session_id"] == made.json()["session_id"]
    other = await served.post("/api/sessions", {"channel": "voice"}, idempotency_key="new")
    assert (other.status_code, other.json()["code"]) == (409, "idempotency_conflict")
    bobs = await served.post("/api/sessions", {"channel": "text"}, x_user="bob", idempotency_key="new")
    assert bobs.json()["session_id"] != made.json()["session_id"]
    free = await served.post("/api/sessions", {"channel": "text"})
    assert free.json()["session_id"] not in (made.json()["session_id"], bobs.json()["session_id"])

    path = f"/api/sessions/{made.json()['session_id']}"
    assert (await served.post(f"{path}/logout", {}, idempotency_key="out")).json()["open"] is False
    assert (await served.post(f"{path}/restore", idempotency_key="in")).json()["open"] is True
    repeated = await served.post(f"{path}/logout", {}, idempotency_key="out")
    assert repeated.json()["open"] is True, "a late repeat does not log out again"
    assert (await served.post(f"{path}/logout", {}, idempotency_key="out again")).json()["open"] is False
    assert (await served.post(f"{path}/restore", idempotency_key="in")).json()["open"] is False
    crossed = await served.post(f"{path}/restore", idempotency_key="out")
    assert (crossed.status_code, crossed.json()["code"]) == (409, "idempotency_conflict")


async def test_h6_a_repeated_interrupt_never_stops_a_later_turn(store_url: str) -> None:
    first, second = asyncio.Event(), asyncio.Event()
    script = Script(["one", first], ["two", second, "done"])
    async with serve(Runtime(TOOLS, model=script.model(), store=store_url)) as served:
        await served.session("s")
        session = await served.runtime.open("s", user_id="local")
        await served.post("/api/chat", {"session_id": "s", "message": "go", "message_id": "1"})
        await until(lambda: len(script.requests) == 1)
        stop = {"session_id": "s"}
        assert (await served.post("/api/interrupt", stop, idempotency_key="i")).json() == {"interrupted": True}
        await until(lambda: not session.is_processing)
        await served.post("/api/chat", {"session_id": "s", "message": "go on", "message_id": "2"})
        await until(lambda: len(script.requests) == 2)
        assert (await served.post("/api/interrupt", stop, idempotency_key="i")).json() == {"interrupted": True}
        second.set()
        await until(lambda: not session.is_processing)
        ends = [event.kind for event in session.board.read(0) if event.kind in TURN_ENDS]
        assert ends == ["turn_interrupted", "turn_finished"]
        assert (await served.post("/api/interrupt", stop, idempotency_key="none")).json() == {"interrupted": False}


# Several servers, crashes, and a store that does not respond


@pytest.fixture
async def nodes(shared_url: str) -> AsyncGenerator[tuple[Served, Served]]:
    def node() -> Runtime:
        return Runtime(TOOLS, workers=WORKERS, model="offline", store=shared_url)

    async with serve(node()) as one, serve(node()) as other:
        yield one, other


async def test_h6_message_to_two_servers_at_once_is_accepted_once(nodes: tuple[Served, Served]) -> None:
    await nodes[0].session("s")
    for number in range(5):
        message = {"session_id": "s", "message": f"what is {number} + 1", "message_id": f"m{number}"}
        answers = await asyncio.gather(*(node.post("/api/chat", message) for node in (*nodes, *nodes)))
        assert {answer.status_code for answer in answers} == {202}
        assert len({answer.json()["seq"] for answer in answers}) == 1
    assert len(await event_data(nodes[0], "user_input")) == 5
    request = await ask_person(nodes[0])
    answer = {"session_id": "s", "answer": {"approved": True}}
    path = f"/api/requests/{request['request_id']}/answer"
    answers = await asyncio.gather(*(node.post(path, answer, idempotency_key="a") for node in (*nodes, *nodes)))
    assert {each.status_code for each in answers} == {202}
    assert len({each.json()["seq"] for each in answers}) == 1


async def test_h6_concurrent_repeat_of_an_answer_gets_the_response_of_the_first(
    nodes: tuple[Served, Served], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = nodes
    await first.session("s")
    request = await ask_person(first)
    path = f"/api/requests/{request['request_id']}/answer"
    answer = {"session_id": "s", "answer": {"approved": True}}
    store = second.runtime.store
    lookup, looked, answered = store.idempotency, asyncio.Event(), asyncio.Event()

    async def early(session_id: str, key: str) -> IdempotencyRow | None:
        row = await lookup(session_id, key)
        looked.set()
        await answered.wait()
        return row

    monkeypatch.setattr(store, "idempotency", early)
    repeat = asyncio.create_task(second.post(path, answer, idempotency_key="a"))
    await looked.wait()
    sent = await first.post(path, answer, idempotency_key="a")
    answered.set()
    repeated = await repeat
    assert (sent.status_code, repeated.status_code) == (202, 202)
    assert repeated.json() == sent.json()
    other = await second.post(path, answer, idempotency_key="b")
    assert (other.status_code, other.json()["code"]) == (409, "request_closed")


def losing_confirmation(commit: Callable[..., Awaitable[list[int | Conflict]]]) -> Callable[..., Any]:
    """Wrap a commit so that it fails after writing, as if the process died right after it."""

    async def lost(changes: Sequence[Change]) -> list[int | Conflict]:
        results = await commit(changes)
        if any(change.idempotency for change in changes):
            raise StoreError("The process died.")
        return results

    return lost


async def test_h6_request_that_was_committed_before_a_crash_does_not_run_again(
    shared_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def node() -> Runtime:
        return Runtime(TOOLS, workers=WORKERS, model="offline", store=shared_url)

    async with serve(node()) as served:
        await served.session("s")
        request = await ask_person(served)
        requests: dict[str, tuple[str, dict[str, Any]]] = {
            "m": ("/api/chat", {"session_id": "s", "message": "what is 1 + 1"}),
            "a": (f"/api/requests/{request['request_id']}/answer", {"session_id": "s", "answer": {"approved": True}}),
            "e": ("/api/system/event", {"session_id": "s", "event": EVENTS[-1]}),
        }
        with monkeypatch.context() as patch:
            patch.setattr(served.runtime.store, "commit", losing_confirmation(served.runtime.store.commit))
            for key, (path, body) in requests.items():
                assert (await served.post(path, body, idempotency_key=key)).status_code == 503
    async with serve(node()) as served:
        answers = [
            (await served.post(path, body, idempotency_key=key)).json() for key, (path, body) in requests.items()
        ]
        assert all(answer["seq"] for answer in answers)
        for kind in ("user_input", "human_answer", "user_response"):
            assert len(await event_data(served, kind)) == 1, kind


class Stalling:
    """A commit that waits while the store stalls."""

    def __init__(self, commit: Callable[..., Awaitable[list[int | Conflict]]]) -> None:
        self._commit = commit
        self.goes = asyncio.Event()
        self.waiting = 0

    async def __call__(self, changes: Sequence[Change]) -> list[int | Conflict]:
        self.waiting += 1
        await self.goes.wait()
        return await self._commit(changes)


async def test_h6_message_of_a_client_that_timed_out_and_retried_is_accepted_once(
    shared_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    charged: list[int] = []

    @tool
    async def charge() -> str:
        """Charge money; each call charges again."""
        charged.append(1)
        return "charged"

    script = Script([("charge", "{}")], ["done"])
    async with serve(Runtime([charge], model=script.model(), store=shared_url)) as served:
        await served.session("s")
        stalling = Stalling(served.runtime.store.commit)
        with monkeypatch.context() as patch:
            patch.setattr(served.runtime.store, "commit", stalling)
            message = {"session_id": "s", "message": "charge me", "message_id": "m1"}
            first = asyncio.ensure_future(served.client.post("/api/chat", json=message))
            await until(lambda: stalling.waiting)
            first.cancel()
            for _ in range(2):
                with pytest.raises(httpx2.TimeoutException):
                    await served.client.post("/api/chat", json=message, timeout=0.2)
            stalling.goes.set()
        answer = await served.post("/api/chat", message)
        assert answer.status_code == 202
        await until(lambda: len(script.requests) == 2)
        session = await served.runtime.open("s", user_id="local")
        await until(lambda: not session.is_processing)
        [message_event] = [event for event in session.board.read(0) if event.kind == "user_input"]
        assert message_event.seq == answer.json()["seq"]
        assert charged == [1]
        assert [event.kind for event in session.board.read(0)].count("turn_started") == 1
