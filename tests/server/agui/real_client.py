"""The real `@ag-ui/client` in Node: its installation, and the process in which a test drives it.

Each folder beside this one that has a `package.json` is a client that can be installed: `@ag-ui/client` 1.0 (`client`)
and the last version before it (`client_0_0_59`), which `client/drive.mjs` drives both, and front ends that are built on
it, each with its own `drive.mjs`.
"""

import asyncio
import json
import os
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from tests.node_packages import install, program

HERE = Path(__file__).parent


@cache
def node() -> str:
    """Return the path of Node itself: a script on the path would not end the process that it starts."""
    run_request = [program("node"), "-p", "process.execPath"]
    return subprocess.run(run_request, capture_output=True, text=True, timeout=300, check=True).stdout.strip()


def installed(name: str) -> Path:
    """Return a folder outside the project with a client and its driver, installed once for each lock file."""
    files = sorted(file for file in (HERE / name).iterdir() if file.is_file())
    if not (HERE / name / "drive.mjs").exists():
        files.append(HERE / "client" / "drive.mjs")
    return install(f"agui-{name}", files, [program("npm")], Path(node()))


class Done:
    """The end of a run, as the client reports it."""

    def __init__(self, fields: dict[str, Any], events: list[dict[str, Any]], complaints: list[dict[str, Any]]) -> None:
        self.finished: dict[str, Any] | None = fields["finished"]
        self.error: dict[str, Any] | None = fields["error"]
        self.messages: list[dict[str, Any]] = fields["messages"]
        self.result: Any = fields.get("result")
        self.state: Any = fields["state"]
        self.pending: list[dict[str, Any]] = fields["pending"]
        self.events = events
        self.complaints = complaints
        """Warnings of the client."""

    @property
    def outcome(self) -> str:
        assert self.error is None, self.error
        assert self.finished is not None
        return self.finished["outcome"]

    @property
    def kinds(self) -> list[str]:
        return [event["type"] for event in self.events]

    @property
    def said(self) -> list[tuple[str, str]]:
        """The client's messages: role and text, or the names of tools and ids of calls."""
        found: list[tuple[str, str]] = []
        for message in self.messages:
            if message["role"] == "activity":
                continue
            if message.get("content"):
                found.append((message["role"], message["content"]))
            found += [("call", call["function"]["name"]) for call in message.get("toolCalls", ())]
        return found


class RealClient:
    """A process with the client. A run fails if the client's own verification rejects its stream."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._in, self._out = process.stdin, process.stdout
        self._events: list[dict[str, Any]] = []
        self._complaints: list[dict[str, Any]] = []

    async def start(self, text: str | None = None, *, agent: str = "one", **more: Any) -> None:
        """Start a run, with a message of the user."""
        self._events, self._complaints = [], []
        messages = more.pop("messages", [])
        if text is not None:
            messages = [*messages, {"id": os.urandom(8).hex(), "role": "user", "content": text}]
        self._in.write(json.dumps({"agent": agent, "messages": messages, **more}).encode() + b"\n")
        await self._in.drain()

    async def until(self, kind: str) -> dict[str, Any]:
        """Wait for an event of the run."""
        while True:
            line = await self._line()
            assert "done" not in line, line
            if "event" in line and line["event"]["type"] == kind:
                return line["event"]

    async def end(self) -> Done:
        """Wait for the end of the run."""
        while True:
            line = await self._line()
            if "done" in line:
                return Done(line["done"], self._events, self._complaints)

    async def run(self, text: str | None = None, *, agent: str = "one", **more: Any) -> Done:
        """Start a run, and wait for its end."""
        await self.start(text, agent=agent, **more)
        return await self.end()

    async def _line(self) -> dict[str, Any]:
        async with asyncio.timeout(30):
            text = await self._out.readline()
        assert text, "the client's process has ended"
        line = json.loads(text)
        if "event" in line:
            self._events.append(line["event"])
        elif "complaint" in line:
            self._complaints.append(line["complaint"])
        return line


class FrontEnd:
    """A process with a front end that is built on `@ag-ui/client`. It responds to each command."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._in, self._out = process.stdin, process.stdout

    async def do(self, **command: Any) -> dict[str, Any]:
        await self.begin(**command)
        return await self.answer()

    async def begin(self, **command: Any) -> None:
        self._in.write(json.dumps(command).encode() + b"\n")
        await self._in.drain()

    async def answer(self) -> dict[str, Any]:
        async with asyncio.timeout(30):
            text = await self._out.readline()
        assert text, "the front end's process has ended"
        return json.loads(text)


@asynccontextmanager
async def real_client(folder: Path, url: str, thread: str = "t") -> AsyncGenerator[RealClient]:
    """Start a client for a thread. Its two agents are two pages of one user."""
    async with _driving(folder, url, thread) as process:
        yield RealClient(process)


@asynccontextmanager
async def front_end(folder: Path, url: str, thread: str = "t") -> AsyncGenerator[FrontEnd]:
    """Start a front end for a thread."""
    async with _driving(folder, url, thread) as process:
        yield FrontEnd(process)


@asynccontextmanager
async def _driving(folder: Path, url: str, thread: str) -> AsyncGenerator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        node(),
        str(folder / "drive.mjs"),
        f"{url}/ag-ui",
        thread,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=16 * 1024 * 1024,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.communicate()
