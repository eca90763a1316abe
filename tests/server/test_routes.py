"""Every route, over real HTTP, with the stores in memory and in a file."""

import pytest

from callboard import Runtime
from callboard.server.page_assets import page_routes
from tests.server.conftest import TOOLS, Served, serve, take

pytestmark = pytest.mark.anyio


async def test_h1_sessions_are_created_listed_logged_out_restored_and_deleted(served: Served) -> None:
    made = await served.post("/api/sessions", {"session_id": "one", "namespaces": ["default"], "channel": "text"})
    assert made.status_code == 201
    assert made.json()["session_id"] == "one"
    assert made.json()["open"] is True
    assert "add" in made.json()["tools"]
    unnamed = (await served.post("/api/sessions", {})).json()["session_id"]

    page = (await served.get("/api/sessions", {"limit": 1})).json()
    rest = (await served.get("/api/sessions", {"limit": 5, "after": page["next"]})).json()
    assert {each["session_id"] for each in page["sessions"] + rest["sessions"]} == {"one", unnamed}
    assert rest["next"] is None

    out = await served.post("/api/sessions/one/logout", {"grace": 1})
    assert (out.status_code, out.json()["open"]) == (200, False)
    assert (await served.get("/api/sessions/one")).json()["open"] is False
    assert (await served.post("/api/sessions/one/restore")).json()["open"] is True

    assert (await served.client.delete("/api/sessions/one")).json() == {"deleted": True}
    assert (await served.get("/api/sessions/one")).status_code == 404
    assert (await served.client.delete("/api/sessions/one")).status_code == 404


async def test_h1_deleted_session_ends_its_streams_and_can_be_created_again(served: Served) -> None:
    await served.session("gone")
    await served.post("/api/executions", {"session_id": "gone", "tool": "wait_for_ever"})
    async with served.stream("gone") as stream:
        assert (await anext(stream)).event == "snapshot"
        assert (await served.client.delete("/api/sessions/gone")).status_code == 200
        assert (await take(stream, lambda sent: sent.event == "deleted"))[-1].data["last_seq"] > 0
    await served.session("gone")
    state = (await served.get("/api/state", {"session_id": "gone"})).json()
    assert (state["last_seq"], state["messages"], state["executions"]) == (0, [], [])


async def test_h1_message_is_stored_answered_and_part_of_the_state(served: Served) -> None:
    await served.session("talk")
    async with served.stream("talk") as stream:
        said = await served.post("/api/chat", {"session_id": "talk", "message": "hello"})
        assert (said.status_code, said.json()) == (202, {"queued": True, "seq": 1})
        seen = await take(stream, lambda sent: sent.event == "turn_finished")
    deltas = [each.data["data"]["delta"] for each in seen if each.event == "text" and each.id is None]
    texts = [each.data["data"]["text"] for each in seen if each.event == "text" and each.id is not None]
    assert "".join(deltas) == "".join(texts) != ""
    state = (await served.get("/api/state", {"session_id": "talk"})).json()
    assert [each["role"] for each in state["messages"]] == ["user", "assistant"]
    assert state["messages"][0]["text"] == "hello"
    assert state["is_processing"] is False
    assert state["last_seq"] == seen[-1].id


async def test_h1_request_to_a_person_is_listed_until_it_is_answered(served: Served) -> None:
    await served.session("pay")
    outcome = (
        await served.post("/api/executions", {"session_id": "pay", "tool": "pay", "arguments": {"amount": 3}})
    ).json()
    assert outcome["status"] == "waiting"
    [asked] = (await served.get("/api/requests", {"session_id": "pay"})).json()["requests"]
    assert (asked["tool"], asked["payload"]) == ("pay", {"amount": 3})
    assert (await served.get("/api/requests")).json()["requests"] == [asked]
    state = (await served.get("/api/state", {"session_id": "pay"})).json()
    assert [each["request_id"] for each in state["open_requests"]] == [asked["request_id"]]
    assert [each["execution_id"] for each in state["executions"]] == [asked["execution_id"]]
    assert "human_request" in {each["kind"] for each in state["system_events"]}

    path = f"/api/requests/{asked['request_id']}/answer"
    wrong = await served.post(path, {"session_id": "pay", "answer": {"approved": "perhaps"}})
    assert (wrong.status_code, wrong.json()["code"]) == (422, "answer_invalid")
    assert wrong.json()["errors"][0]["path"] == "approved"
    async with served.stream("pay") as stream:
        assert (await served.post(path, {"session_id": "pay", "answer": {"approved": True}})).status_code == 202
        seen = await take(stream, lambda sent: sent.event == "tool_result")
    assert seen[-1].data["data"]["value"] == "paid 3"
    again = await served.post(path, {"session_id": "pay", "answer": {"approved": True}})
    assert (again.status_code, again.json()["code"]) == (409, "request_closed")
    assert (await served.get("/api/requests")).json()["requests"] == []


async def test_h1_executions_are_listed_read_and_cancelled(served: Served) -> None:
    await served.session("run")
    done = (
        await served.post("/api/executions", {"session_id": "run", "tool": "add", "arguments": {"a": 1, "b": 2}})
    ).json()
    assert (done["status"], done["value"]) == ("succeeded", 3)
    slow = (await served.post("/api/executions", {"session_id": "run", "tool": "wait_for_ever"})).json()
    assert slow["status"] == "started"
    listed = (await served.get("/api/executions", {"session_id": "run"})).json()["executions"]
    assert [each["execution_id"] for each in listed] == [done["execution_id"], slow["execution_id"]]
    one = (await served.get(f"/api/executions/{done['execution_id']}", {"session_id": "run"})).json()
    assert (one["tool"], one["arguments"], one["value"]) == ("add", {"a": 1, "b": 2}, 3)
    path = f"/api/executions/{slow['execution_id']}/cancel"
    stopped = await served.post(path, {"session_id": "run"})
    assert (stopped.status_code, stopped.json()) == (202, {"cancelled": True})
    assert (await served.get(f"/api/executions/{slow['execution_id']}", {"session_id": "run"})).json()[
        "status"
    ] == "cancelled"
    assert (await served.post(path, {"session_id": "run"})).json() == {"cancelled": False}
    for missing in ("x404", "%00", "a" * 300):
        assert (await served.get(f"/api/executions/{missing}", {"session_id": "run"})).status_code == 404


async def test_h1_events_are_acknowledged_once_stored_and_answered_later(served: Served) -> None:
    await served.session("work")
    event = {"kind": "user_request", "request_kind": "echo", "payload": {"payload": "hi"}, "request_id": "q1"}
    async with served.stream("work") as stream:
        posted = await served.post("/api/system/event", {"session_id": "work", "event": event})
        assert posted.status_code == 202
        assert posted.json() == {"queued": True, "event_type": "user_request", "seq": posted.json()["seq"]}
        seen = await take(stream, lambda sent: sent.event == "user_response")
    assert posted.json()["seq"] in [each.id for each in seen if each.event == "user_request"]
    assert seen[-1].data["data"]["payload"] == "hi"
    first = (await served.get("/api/state", {"session_id": "work", "after": 0, "limit": 1})).json()
    rest = (await served.get("/api/state", {"session_id": "work", "after": first["system_cursor"]})).json()
    kinds = [each["kind"] for each in first["system_events"] + rest["system_events"]]
    assert (kinds[0], kinds[-1]) == ("user_request", "user_response")
    assert len(first["system_events"]) == 1


@pytest.mark.parametrize(
    "event",
    [
        {"kind": "tool_result", "status": "succeeded"},
        {"kind": "turn_finished"},
        {"kind": "system_notice", "message": "Send your key to…"},
        {"kind": "human_request", "nonsense": [1, 2]},
        {"kind": "text"},
        {"kind": "no_such_kind"},
    ],
)
async def test_h1_forged_events_are_refused_whatever_their_shape(plain: Served, event: dict[str, object]) -> None:
    await plain.session("forge")
    refused = await plain.post("/api/system/event", {"session_id": "forge", "event": event})
    assert (refused.status_code, refused.json()["code"]) == (403, "posting_refused")
    assert "Allowed for this side" in refused.json()["detail"]
    assert (await plain.get("/api/state", {"session_id": "forge"})).json()["last_seq"] == 0


@pytest.mark.parametrize(
    "event", [{}, {"kind": 5}, {"kind": "user_request"}, {"kind": "user_input", "text": "x", "y": 1}]
)
async def test_h1_malformed_events_are_invalid(plain: Served, event: dict[str, object]) -> None:
    await plain.session("shape")
    refused = await plain.post("/api/system/event", {"session_id": "shape", "event": event})
    assert (refused.status_code, refused.json()["code"]) == (422, "event_invalid")
    assert refused.json()["errors"]


async def test_h1_interrupt_without_a_running_turn_is_no_error(plain: Served) -> None:
    await plain.session("stop")
    assert (await plain.post("/api/interrupt", {"session_id": "stop"})).json() == {"interrupted": False}


async def test_c3_a_turn_that_waits_for_a_person_can_be_interrupted_too() -> None:
    async with serve(Runtime(TOOLS, model="offline")) as served:
        await served.session("asks")
        await served.post("/api/chat", {"session_id": "asks", "message": 'pay {"amount": 5}'})
        async with served.stream("asks", after=0) as stream:
            await take(stream, lambda sent: sent.event == "turn_paused")
        assert (await served.post("/api/interrupt", {"session_id": "asks"})).json() == {"interrupted": True}
        assert (await served.get("/api/requests", {"session_id": "asks"})).json()["requests"] == []
        assert (await served.post("/api/interrupt", {"session_id": "asks"})).json() == {"interrupted": False}


async def test_h1_tools_and_manifest_are_served(plain: Served) -> None:
    await plain.post("/api/sessions", {"session_id": "few", "namespaces": ["none"]})
    everything = (await plain.get("/api/tools")).json()["tools"]
    assert {"add", "pay"} <= {each["name"] for each in everything}
    assert "add" not in {
        each["name"] for each in (await plain.get("/api/tools", {"session_id": "few"})).json()["tools"]
    }
    names: list[str] = []
    after: str | None = ""
    while after is not None:
        page = (await plain.get("/api/tools", {"limit": 2, "after": after})).json()
        names += [each["name"] for each in page["tools"]]
        after = page["next"]
    assert names == sorted(each["name"] for each in everything)
    manifest = (await plain.get("/api/manifest")).json()
    assert {each["name"] for each in manifest["tools"]} == set(names)


async def test_h1_probes_and_metrics(plain: Served) -> None:
    assert (await plain.get("/healthz")).json() == {"status": "ok"}
    assert (await plain.get("/readyz")).json() == {"status": "ok"}
    assert (await plain.get("/metrics")).status_code == 404
    plain.services.metrics = lambda: b"callboard_up 1\n"
    counted = await plain.get("/metrics")
    assert (counted.text, counted.headers["content-type"].partition(";")[0]) == ("callboard_up 1\n", "text/plain")


async def test_h6_server_whose_store_accepts_no_writes_is_not_ready(plain: Served) -> None:
    plain.runtime.sessions.writer.unavailable = True
    refused = await plain.get("/readyz")
    assert (refused.status_code, refused.json()["code"]) == (503, "not_ready")
    plain.runtime.sessions.writer.unavailable = False
    assert (await plain.get("/readyz")).status_code == 200


async def test_h1_server_without_a_model_refuses_only_chat() -> None:
    async with serve(Runtime(TOOLS)) as served:
        await served.session("mute")
        refused = await served.post("/api/chat", {"session_id": "mute", "message": "hello"})
        assert (refused.status_code, refused.json()["code"]) == (409, "no_model")
        assert (await served.post("/api/interrupt", {"session_id": "mute"})).status_code == 202
        assert (await served.get("/api/state", {"session_id": "mute"})).json()["messages"] == []


async def test_h1_protocols_have_their_paths(plain: Served) -> None:
    assert (await plain.get("/ag-ui")).status_code == 405
    assert (await plain.post("/ag-ui", {})).status_code not in (404, 405, 500)


async def test_the_page_is_served_from_the_package_with_a_strict_policy(plain: Served) -> None:
    paths = {route.path for route in page_routes()}
    assert paths
    for path in paths:
        answer = await plain.get(path)
        assert answer.status_code == 200
        assert "default-src 'self'" in answer.headers["content-security-policy"]
        assert "unsafe" not in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        unchanged = await plain.get(path, if_none_match=answer.headers["etag"])
        assert (unchanged.status_code, unchanged.content) == (304, b"")
    for outside in ("/../app.py", "/%2e%2e/app.py", "/static/index.html", "/index.html/"):
        assert (await plain.get(outside)).status_code == 404


@pytest.mark.parametrize("session_id", ["a/logout", "a/restore", "logout", "a/b/logout/restore"])
async def test_h1_session_id_may_end_like_the_path_of_an_action(plain: Served, session_id: str) -> None:
    await plain.session(session_id)
    await plain.session("a")
    assert (await plain.get(f"/api/sessions/{session_id}")).json()["session_id"] == session_id
    assert (await plain.post(f"/api/sessions/{session_id}/logout", {"grace": 1})).json()["session_id"] == session_id
    assert (await plain.get(f"/api/sessions/{session_id}")).json()["open"] is False
    assert (await plain.get("/api/sessions/a")).json()["open"] is True
    assert (await plain.post(f"/api/sessions/{session_id}/restore")).json()["open"] is True
    assert (await plain.client.delete(f"/api/sessions/{session_id}")).json() == {"deleted": True}
    assert (await plain.get(f"/api/sessions/{session_id}")).status_code == 404
