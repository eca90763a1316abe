"""Clients that request large responses and do not read them: they are disconnected, and use bounded memory."""

import asyncio
import json
import socket
from typing import Annotated, Any

import pytest

from callboard import Runtime, tool
from callboard.server import connection, event_stream
from callboard.server.app_services import AppServices, response_budget
from callboard.server.models import State
from callboard.server.session_state import read_state
from callboard.server.streams import Streams
from callboard.sessions.live_session import LiveSession
from tests.server.conftest import DEADLINE, TOOLS, Served, serve, take, until

pytestmark = pytest.mark.anyio


class Idle:
    """A client that sends a request and does not read the response, with the smallest possible buffers."""

    def __init__(self, port: int, path: str, user: str = "local", body: Any = None) -> None:
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.socket.connect(("127.0.0.1", port))
        head, content = f"{path} HTTP/1.1\r\nhost: localhost\r\nx-user: {user}\r\n", json.dumps(body)
        length = f"content-type: application/json\r\ncontent-length: {len(content)}"
        said = f"GET {head}\r\n" if body is None else f"POST {head}{length}\r\n\r\n{content}"
        self.socket.sendall(said.encode())


def small_buffers(served: Served) -> None:
    """Let the operating system buffer little for clients that do not read, so that the server has to."""
    for each in served.server.servers[0].sockets:
        each.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8_192)


async def filled(served: Served, count: int = 12, size: int = 900_000, **headers: str) -> str:
    """Create a session with large results. Returns the id of one execution."""
    await served.session("s", **headers)
    newest = ""
    for _ in range(count):
        body = {"session_id": "s", "tool": "shout", "arguments": {"text": "x" * size}}
        made = await served.post("/api/executions", body, **headers)
        assert made.json()["status"] == "succeeded"
        newest = made.json()["execution_id"]
    return newest


async def test_h1_client_that_does_not_read_its_response_is_disconnected(
    plain: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(connection, "STALL", 0.2)
    caplog.set_level("INFO", "callboard.server")
    small_buffers(plain)
    whole = await filled(plain, 1)
    before = len(plain.server.server_state.connections)
    clients = [Idle(plain.port, f"/api/executions/{whole}?session_id=s") for _ in range(3)]
    try:
        await until(lambda: caplog.text.count("its client does not read the response") == 3)
        await until(lambda: len(plain.server.server_state.connections) == before)
        await until(lambda: plain.services.unsent_responses.held == 0)
    finally:
        for client in clients:
            client.socket.close()


async def test_h1_slow_client_that_keeps_reading_gets_the_whole_response(
    plain: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "STALL", 3_600.0)  # the test decides when it has passed
    small_buffers(plain)
    whole = await filled(plain, 1)
    connections = plain.server.server_state.connections
    others = set(connections)
    client = Idle(plain.port, f"/api/executions/{whole}?session_id=s")
    client.socket.setblocking(False)
    await until(lambda: connections - others and plain.services.unsent_responses.held > 0)
    slow: Any = (connections - others).pop()
    said, checks = b"", 0
    async with asyncio.timeout(DEADLINE):
        while b"\r\n\r\n" not in said or len(said.partition(b"\r\n\r\n")[2]) < 900_000:
            received = await asyncio.get_running_loop().sock_recv(client.socket, 32_768)
            assert received, "the client was disconnected"
            said += received
            if 0 < slow.transport.get_write_buffer_size() <= slow._unsent - connection.LEAST:
                slow._check_stall()
                checks += 1
    assert checks > 5, "it read little at a time"
    client.socket.close()


async def test_h1_unread_responses_of_one_user_are_bounded_and_others_are_served() -> None:
    async with serve(Runtime(TOOLS, model="offline")) as served:
        served.services.unsent_responses = response_budget(per_user=4_000_000)
        small_buffers(served)
        whole = await filled(served, 1, x_user="mallory")
        await served.session("t")
        path = f"/api/executions/{whole}?session_id=s"
        clients = [Idle(served.port, path, "mallory") for _ in range(2)]
        try:
            await until(lambda: served.services.unsent_responses.held_by("mallory") > 3_000_000)
            refused = await served.get(path, x_user="mallory")
            assert (refused.status_code, refused.json()["code"]) == (429, "too_many_unread_answers")
            assert refused.headers["retry-after"] == "1"
            shout = {"session_id": "t", "tool": "shout", "arguments": {"text": "x" * 300_000}}
            assert (await served.post("/api/executions", shout)).status_code == 200
        finally:
            for client in clients:
                client.socket.close()
        await until(lambda: served.services.unsent_responses.held == 0)


async def test_h2_unread_streams_of_one_user_are_bounded_and_others_are_served() -> None:
    async with serve(Runtime(TOOLS, model="offline")) as served:
        unsent = served.services.unsent_frames = response_budget(per_user=3_000_000)
        small_buffers(served)
        await filled(served, 1, x_user="mallory")
        session = await served.runtime.open("t", "local")
        connections = served.server.server_state.connections
        others = len(connections)
        path = "/api/chat/stream?session_id=s&after=0"
        clients = [Idle(served.port, path, "mallory")]
        try:
            await until(lambda: unsent.held_by("mallory") > 1_500_000)
            clients += [Idle(served.port, path, "mallory") for _ in range(3)]
            await until(lambda: all(has_ended(client) for client in clients[1:]))
            assert len(connections) == others + 1
            assert unsent.held_by("mallory") < 3_000_000
            async with served.stream("t", after=0) as stream:
                await session.notice("x" * 300_000)
                assert (await anext(stream)).event == "system_notice"
        finally:
            for client in clients:
                client.socket.close()
        await until(lambda: unsent.held == 0)


def has_ended(client: Idle) -> bool:
    """Return whether the server has ended the connection of a client, after whatever it sent before."""
    client.socket.setblocking(False)
    try:
        while client.socket.recv(1 << 20):
            pass
    except BlockingIOError:
        return False
    except ConnectionError:
        pass
    return True


async def test_h3_unread_runs_of_one_user_are_bounded_and_others_are_served() -> None:
    async with serve(Runtime(TOOLS, model="offline")) as served:
        unsent = served.services.unsent_frames = response_budget(per_user=3_000_000)
        small_buffers(served)
        await served.session("s", x_user="mallory")
        run: dict[str, Any] = {"threadId": "s", "runId": "r", "messages": [], "tools": [], "context": [], "state": {}}
        run["forwardedProps"] = {"callboard": {"messages": 1_000}}
        for number in range(5):
            said = {"id": str(number), "role": "user", "content": "y" * 190_000}
            answer = await served.client.post("/ag-ui", json={**run, "messages": [said]}, headers={"x-user": "mallory"})
            assert '"RUN_FINISHED"' in answer.text
        connections = served.server.server_state.connections
        others = len(connections)
        clients = [Idle(served.port, "/ag-ui", "mallory", run) for _ in range(3)]
        try:
            await until(lambda: unsent.held_by("mallory") > 2_500_000)
            clients += [Idle(served.port, "/ag-ui", "mallory", run) for _ in range(7)]
            await until(lambda: all(has_ended(client) for client in clients[3:]))
            assert len(connections) == others + 3
            assert 2_500_000 < unsent.held_by("mallory") < 3_000_000
            await served.session("t")
            shout = {"session_id": "t", "message": 'shout {"text": "hello"}'}
            assert (await served.post("/api/chat", shout)).status_code == 202
            theirs = {**run, "threadId": "t"}
            assert '"RUN_FINISHED"' in (await served.client.post("/ag-ui", json=theirs)).text
        finally:
            for client in clients:
                client.socket.close()
        await until(lambda: unsent.held == 0)


async def test_h2_snapshot_is_refused_while_too_many_of_its_user_are_unsent() -> None:
    async with serve(Runtime(TOOLS, model="offline")) as served:
        unsent = served.services.unsent_frames = response_budget(per_user=1_000_000)
        session = await served.runtime.open("s", "local")
        for number in range(50):
            await session.notice(f"{number} {'x' * 4_000}")
        with unsent.holding("local", 999_000):
            refused = await served.get("/api/chat/stream?session_id=s")
            assert (refused.status_code, refused.json()["code"]) == (429, "too_many_unread_answers")
            assert refused.headers["retry-after"] == "1"
        async with served.stream("s") as stream:
            assert (await anext(stream)).event == "snapshot"
        assert unsent.held == 0


async def test_h1_page_of_executions_is_bounded_in_bytes_and_the_next_page_continues(served: Served) -> None:
    await filled(served, 5, 60_000)
    for n in range(60):
        body = {"session_id": "s", "tool": "shout", "arguments": {"text": f"{n} " + "x" * 7_000}}
        await served.post("/api/executions", body)
    seen: list[str] = []
    pages = 0
    before: str | None = None
    while True:
        params: dict[str, Any] = {"session_id": "s", "limit": 1000, **({"before": before} if before else {})}
        answer = await served.get("/api/executions", params)
        assert len(answer.content) < 700_000
        page = answer.json()
        seen = [each["execution_id"] for each in page["executions"]] + seen
        pages += 1
        if (before := page["next"]) is None:
            break
    assert pages > 1
    assert len(seen) == len(set(seen)) == 65
    cut = page["executions"][0]
    assert cut["value"] is None
    assert cut["cut"]["value"]["length"] == 60_002
    assert cut["cut"]["value"]["excerpt"].startswith('"XXX')
    whole = (await served.get(cut["cut"]["value"]["href"])).json()
    assert (len(whole["value"]), whole["cut"]) == (60_000, None)


async def test_h1_requests_are_listed_in_pages_and_read_whole(served: Served) -> None:
    await served.session("s")
    for amount in range(5):
        await served.post("/api/executions", {"session_id": "s", "tool": "pay", "arguments": {"amount": amount}})
    first = (await served.get("/api/requests", {"limit": 3})).json()
    assert len(first["requests"]) == 3
    rest = (await served.get("/api/requests", {"limit": 3, "after": first["next"]})).json()
    assert (len(rest["requests"]), rest["next"]) == (2, None)
    amounts = [json.dumps(each["payload"]) for each in (*first["requests"], *rest["requests"])]
    assert amounts == [json.dumps({"amount": amount}) for amount in range(5)]
    one = rest["requests"][0]
    path = f"/api/requests/{one['request_id']}"
    assert (await served.get(path, {"session_id": "s"})).json() == one
    assert (await served.get(path, {"session_id": "s"}, x_user="mallory")).status_code == 404
    assert (await served.get("/api/requests/nothing", {"session_id": "s"})).status_code == 404


async def test_h1_expensive_queries_of_one_user_wait_for_each_other_only(
    plain: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    await plain.session("s", x_user="mallory")
    await plain.session("t")
    running: list[str] = []
    go = asyncio.Event()

    async def blocked(services: AppServices, session: LiveSession, *given: Any) -> State:
        running.append(session.user_id)
        if session.user_id == "mallory":
            await go.wait()
        return await read_state(services, session, *given)

    monkeypatch.setattr("callboard.server.routes.chat.read_state", blocked)
    path = "/api/state"
    asked = [asyncio.create_task(plain.get(path, {"session_id": "s"}, x_user="mallory")) for _ in range(10)]
    await until(lambda: len(running) == 4)
    assert (await plain.get(path, {"session_id": "t"})).status_code == 200
    assert running == [*["mallory"] * 4, "local"]
    go.set()
    assert {(await answer).status_code for answer in asked} == {200}
    assert running.count("mallory") == 10


@tool(mode="human")
async def publish(text: Annotated[str, "The text"]) -> str:
    """Publish a text."""
    return text


async def ask_to_publish(served: Served, count: int = 60, size: int = 12_000) -> None:
    """Create a session with open requests whose arguments are long, but not long enough to be left out."""
    await served.session("s")
    for number in range(count):
        body = {"session_id": "s", "tool": "publish", "arguments": {"text": f"{number} " + "x" * size}}
        assert (await served.post("/api/executions", body)).json()["status"] == "waiting"


async def test_h1_page_of_requests_is_bounded_in_bytes_and_the_next_page_continues(store_url: str) -> None:
    async with serve(Runtime([publish], store=store_url)) as served:
        await ask_to_publish(served)
        seen: list[str] = []
        after: str | None = None
        while True:
            answer = await served.get("/api/requests", {"limit": 100, **({"after": after} if after else {})})
            assert len(answer.content) < 700_000
            seen += [each["payload"]["text"].partition(" ")[0] for each in answer.json()["requests"]]
            if (after := answer.json()["next"]) is None:
                break
        assert seen == [str(number) for number in range(60)]


async def test_h1_lists_of_a_state_are_bounded_in_bytes(store_url: str) -> None:
    async with serve(Runtime([publish], model="offline", store=store_url)) as served:
        await ask_to_publish(served)
        state = (await served.get("/api/state", {"session_id": "s"})).json()
        for name in ("open_requests", "executions", "system_events"):
            assert len(json.dumps(state[name])) < 300_000, name
        shown = [each["payload"]["text"].partition(" ")[0] for each in state["open_requests"]]
        assert shown == [str(number) for number in range(len(shown))], "the oldest requests are shown"
        assert state["executions"][-1]["arguments"]["text"].startswith("59 "), "the newest executions are shown"
        rest = (await served.get("/api/requests", {"limit": 1, "after": state["requests_next"]})).json()
        assert rest["requests"][0]["payload"]["text"].startswith(f"{len(shown)} ")


async def test_h2_readers_are_limited_per_user() -> None:
    async with serve(Runtime(TOOLS, model="offline")) as served:
        served.services.streams = Streams(served.runtime.clock, most=10, per_user=1)
        await served.session("s")
        await served.session("t")
        await served.session("theirs", x_user="alice")
        async with served.stream("s") as stream:
            await take(stream, lambda sent: sent.event == "snapshot")
            refused = await served.get("/api/chat/stream", {"session_id": "t"})
            assert (refused.status_code, refused.json()["code"]) == (503, "too_many_readers")
            served.services.streams.admit(await served.runtime.sessions.open("theirs", "alice"))
        await until(lambda: len(served.services.streams) == 0)
        served.services.streams.admit(await served.runtime.sessions.open("t", "local"))


async def test_h2_readers_that_wait_for_their_snapshots_are_limited_too(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serve(Runtime(TOOLS, model="offline")) as served:
        served.services.streams = Streams(served.runtime.clock, per_session=2)
        await served.session("s")
        reading = asyncio.Event()

        async def held(services: AppServices, session: LiveSession) -> State:
            await reading.wait()
            return await read_state(services, session)

        monkeypatch.setattr(event_stream, "read_state", held)
        clients = [Idle(served.port, "/api/chat/stream?session_id=s") for _ in range(5)]
        try:
            await until(lambda: len(served.server.server_state.tasks) == 5)
            reading.set()
            await until(lambda: len(served.server.server_state.tasks) == 2)
            assert len(served.services.streams) == 2
            said = b"".join(client.socket.recv(4_096) for client in clients)
            assert said.count(b"200 OK") == 2
            assert said.count(b'"code":"too_many_readers"') == 3
        finally:
            for client in clients:
                client.socket.close()
        await until(lambda: len(served.services.streams) == 0)
