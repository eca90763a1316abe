"""`callboard serve` as a process: its output, and a shutdown in which streams end with a number to resume after."""

import asyncio
import json
import os
import re
import signal
import socket
import sqlite3
from collections.abc import AsyncIterator, Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Self, TextIO

import httpx2
import pytest
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, FunctionModel

from callboard import Runtime, tool
from callboard.adapters.stores.tables import VERSION_TABLE
from tests import forked
from tests.server.conftest import DEADLINE, TOOLS, serve, until


class Command:
    """`callboard serve` as a separate process, and its output."""

    def __init__(self, folder: Path, *options: str, **environment: str) -> None:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("CALLBOARD_")}
        given = {name: value for name, value in inherited.items() if not name.endswith("_API_KEY")}
        (out, saying), (err, complaining) = os.pipe(), os.pipe()
        with open(os.devnull) as nothing:
            self.process = forked.start(
                "serve",
                *options,
                stdin=nothing.fileno(),
                stdout=saying,
                stderr=complaining,
                cwd=folder,
                env={**given, **environment},
            )
        os.close(saying)
        os.close(complaining)
        self.out, self.err = os.fdopen(out), os.fdopen(err)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.process.kill()
        self.process.wait()
        self.out.close()
        self.err.close()

    def address(self, lines: TextIO) -> str:
        """Return the address that the command prints."""
        for line in lines:
            if found := re.search(r"http://[\w.:\[\]]+:\d+", line):
                return found[0]
        raise AssertionError(self.err.read())

    def terminate(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(DEADLINE)


@contextmanager
def started(folder: Path, *options: str) -> Generator[tuple[Command, str]]:
    """Start the command. Yields it with the address that it prints."""
    with Command(folder, "--port", "0", *options) as command:
        yield command, command.address(command.err if "--json" in options else command.out)


def test_e7_server_ends_with_a_message_when_another_version_migrates_its_store(tmp_path: Path) -> None:
    with started(tmp_path) as (command, url), httpx2.Client(base_url=url, timeout=DEADLINE, verify=False) as client:
        assert client.post("/api/sessions", json={"session_id": "s"}).status_code == 201
        with closing(sqlite3.connect(tmp_path / "callboard.db")) as file:
            file.execute(f"UPDATE {VERSION_TABLE} SET version_num = '9999'")
            file.commit()
        assert client.post("/api/sessions", json={"session_id": "t"}).status_code == 503
        assert command.process.wait(DEADLINE) == 1
        said = " ".join(command.err.read().split())
        assert "The store was migrated to revision 9999" in said
        assert "restart it with the version of Callboard that migrated the store" in said
        assert "Traceback" not in said


def test_h6_sigterm_ends_streams_with_a_number_to_resume_after(tmp_path: Path) -> None:
    with started(tmp_path) as (command, url), httpx2.Client(base_url=url, timeout=DEADLINE, verify=False) as client:
        assert client.post("/api/sessions", json={"session_id": "s"}).status_code == 201
        with client.stream("GET", "/api/chat/stream", params={"session_id": "s"}) as stream:
            lines = stream.iter_lines()
            while next(lines) != "event: snapshot":
                pass
            assert client.post("/api/chat", json={"session_id": "s", "message": "hello"}).status_code == 202
            command.process.send_signal(signal.SIGTERM)
            seen = list(lines)  # until the server ends it
        assert command.process.wait(DEADLINE) == 0
    kinds = [line.removeprefix("event: ") for line in seen if line.startswith("event: ")]
    assert kinds[-2:] == ["turn_finished", "goodbye"], kinds
    last = max(int(line.removeprefix("id: ")) for line in seen if line.startswith("id: "))
    with started(tmp_path) as (command, url), httpx2.Client(base_url=url, timeout=DEADLINE, verify=False) as client:
        state = client.get("/api/state", params={"session_id": "s"}).json()
        assert state["last_seq"] == last
        assert [each["role"] for each in state["messages"]] == ["user", "assistant"]
        with client.stream(
            "GET", "/api/chat/stream", params={"session_id": "s"}, headers={"last-event-id": "1"}
        ) as stream:
            numbers = [line for line in _first(stream, last - 1) if line.startswith("id: ")]
        assert numbers == [f"id: {number}" for number in range(2, last + 1)]
        assert command.terminate() == 0


@pytest.mark.anyio
async def test_h6_shutdown_ends_ag_ui_runs_and_their_clients_can_continue() -> None:
    async def respond(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        yield "One, "
        await asyncio.Event().wait()

    model = FunctionModel(stream_function=respond, model_name="held")
    body = {"threadId": "t", "runId": "r", "messages": [{"id": "u", "role": "user", "content": "Count!"}]}
    async with serve(Runtime(TOOLS, model=model), grace=0) as served, asyncio.timeout(DEADLINE):
        events: list[dict[str, str]] = []
        async with served.client.stream("POST", "/ag-ui", json=body) as response:
            async for line in response.aiter_lines():
                if line.startswith("data: "):
                    events.append(json.loads(line.removeprefix("data: ")))
                    if events[-1]["type"] == "TEXT_MESSAGE_CONTENT":
                        served.services.drain()
        kinds = [event["type"] for event in events]
        assert kinds[-3:] == ["TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_ERROR"]
        assert events[-1]["code"] == "draining"
        assert (await served.runtime.open("t", "local")).is_processing  # the turn outlives the run


def _first(stream: httpx2.Response, frames: int) -> Generator[str]:
    """Yield the lines of the first frames, without the initial one."""
    for line in stream.iter_lines():
        yield line
        if line.startswith("data: "):
            frames -= 1
        if not frames:
            return


def test_d1_command_creates_a_file_in_the_working_directory_and_prints_one_address(tmp_path: Path) -> None:
    with started(tmp_path) as (command, url):
        assert url.startswith("http://127.0.0.1:")
        assert httpx2.get(f"{url}/readyz", timeout=DEADLINE).json() == {"status": "ok"}
        assert (tmp_path / "callboard.db").exists()
        assert "callboard_" in httpx2.get(f"{url}/metrics", timeout=DEADLINE).text
        tools = {each["name"] for each in httpx2.get(f"{url}/api/tools", timeout=DEADLINE).json()["tools"]}
        assert {"get_current_time", "think"} <= tools
        assert httpx2.get(f"{url}/healthz", timeout=DEADLINE, headers={"host": "evil.example"}).status_code in (
            200,
            400,
            403,
            421,
        )
        assert httpx2.get(f"{url}/api/tools", timeout=DEADLINE, headers={"host": "evil.example"}).status_code in (
            400,
            403,
            421,
        )
        assert command.terminate() == 0
        assert command.err.read() == ""


def test_o2_option_json_writes_logs_as_lines_of_json(tmp_path: Path) -> None:
    with started(tmp_path, "--json") as (command, _):
        assert command.terminate() == 0
        assert command.out.read() == ""
        assert {json.loads(line)["level"] for line in command.err} == {"INFO"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--host", "0.0.0.0", "--port", "0"], "--no-auth"),
        (["--host", "no.such.host.invalid", "--port", "0"], "The server cannot listen on"),
        (["--port", "0", "--model", "anthropic:claude"], "ANTHROPIC_API_KEY"),
    ],
)
def test_h5_failed_start_is_reported_in_one_line(tmp_path: Path, options: list[str], said: str) -> None:
    with Command(tmp_path, *options) as command:
        assert command.process.wait(DEADLINE) == 1
        said_of_it = command.err.read()
    assert said in said_of_it
    assert "Traceback" not in said_of_it
    assert said_of_it.count("\n") == 1


def test_port_in_use_is_reported(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with Command(tmp_path, "--port", str(port)) as command:
            assert command.process.wait(DEADLINE) == 1
            assert f"port {port}: Address already in use" in command.err.read()


@pytest.mark.anyio
async def test_h6_call_that_the_shutdown_cuts_off_gets_a_problem() -> None:
    began = asyncio.Event()

    @tool(inline_budget=600)
    async def stay() -> str:
        """Run until the server stops."""
        began.set()
        await asyncio.Event().wait()
        return "never"

    async with serve(Runtime([stay]), grace=0.1) as served:
        await served.session("s")
        call = asyncio.create_task(served.post("/api/executions", {"session_id": "s", "tool": "stay"}))
        await began.wait()
        served.server.should_exit = True
        answer = await call
    assert (answer.status_code, answer.json()["code"]) == (503, "draining")
    assert answer.headers["retry-after"] == "1"
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.anyio
async def test_h6_turns_and_requests_share_one_grace_period(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    began = asyncio.Event()

    @tool(inline_budget=600)
    async def stay() -> str:
        """Run until the server stops."""
        began.set()
        await asyncio.Event().wait()
        return "never"

    async def respond(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        yield "One, "
        await asyncio.Event().wait()

    model = FunctionModel(stream_function=respond, model_name="held")
    async with serve(Runtime([stay], model=model), grace=60) as served:
        await served.session("s")
        assert (await served.post("/api/chat", {"session_id": "s", "message": "Count!"})).status_code == 202
        call = asyncio.create_task(served.post("/api/executions", {"session_id": "s", "tool": "stay"}))
        await began.wait()
        await until(lambda: served.services.busy)
        served.server.should_exit = True
        await until(lambda: served.services.draining)
        loop = asyncio.get_running_loop()
        now = loop.time
        monkeypatch.setattr(loop, "time", lambda: now() + 60)
        async with asyncio.timeout(20):  # less than another grace period
            answer = await call
        monkeypatch.undo()
    assert (answer.status_code, answer.json()["code"]) == (503, "draining")
    assert "Exception in ASGI application" not in caplog.text


def _status(client: httpx2.Client, execution_id: str) -> str:
    executions = client.get("/api/executions", params={"session_id": "s"}).json()["executions"]
    return next(each["status"] for each in executions if each["execution_id"] == execution_id)


def test_e5_a_server_that_was_stopped_is_not_reported_as_dead(tmp_path: Path) -> None:
    """After Ctrl-C in the middle of work, the next server continues it, and its log says that the other one ended."""
    with (
        started(tmp_path, "--grace", "0") as (command, url),
        httpx2.Client(base_url=url, timeout=DEADLINE, verify=False) as client,
    ):
        assert client.post("/api/sessions", json={"session_id": "s"}).status_code == 201
        call = {"session_id": "s", "tool": "index_archive", "arguments": {"archive": "letters"}}
        execution_id = client.post("/api/executions", json=call).json()["execution_id"]
        command.process.send_signal(signal.SIGINT)
        assert command.process.wait(DEADLINE) == 0
        assert command.err.read() == ""
    with (
        started(tmp_path, "--json") as (command, url),
        httpx2.Client(base_url=url, timeout=DEADLINE, verify=False) as client,
    ):
        seen: list[str] = []
        while not any("ended and left work behind; 1 executions are recovered" in each for each in seen):
            seen.append(json.loads(command.err.readline())["message"])
            assert "died" not in seen[-1]
        while _status(client, execution_id) == "validating":  # its attempt was handed back, and begins again
            pass
        assert _status(client, execution_id) == "executing"
        assert command.terminate() == 0
