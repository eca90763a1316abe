"""Helpers of the MCP client's tests: the sample server over each transport, and a runtime with its tools."""

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from callboard import Runtime, Session, mcp_toolset
from callboard.toolkits.mcp import McpToolset
from tests import forked

SERVER = Path(__file__).parent / "sample_server.py"
HOSTILE_SERVER = Path(__file__).parent / "hostile_server.py"
DEADLINE = 90.0
KINDS = ("stdio legacy", "stdio 2026-07-28", "http legacy", "http 2026-07-28")
"""Transports and revisions: with a handshake, and without."""


def kinds(*default: str) -> pytest.MarkDecorator:
    """Run a test with each of the `KINDS`, and without `--slow` with some."""
    every = [pytest.param(kind, marks=[] if kind in default else [pytest.mark.slow]) for kind in KINDS]
    return pytest.mark.parametrize("kind", every)


every_kind = kinds("http 2026-07-28")
both_eras = kinds("http legacy", "http 2026-07-28")


async def until(condition: Callable[[], Any]) -> None:
    """Wait until a condition is true: something in another process, which cannot notify."""
    async with asyncio.timeout(DEADLINE):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def is_running(pid: int) -> bool:
    """Return whether there is a process with this id."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def no_sleep(_: float) -> None:
    """A sleep that lets others run and takes no time."""
    await asyncio.sleep(0)


class HttpServer:
    """The sample server as a process that listens on a port. It can be killed and started again."""

    def __init__(self, state: Path) -> None:
        self._state = state
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/mcp"
        self._process: forked.Forked | subprocess.Popen[bytes] | None = None

    async def start(self) -> None:
        self._spawn()
        await until(self._listens)

    def _spawn(self) -> None:
        with open(os.devnull, "r+") as nothing:
            self._process = forked.start(
                *("--http", str(self.port)),
                stdin=nothing.fileno(),
                stdout=nothing.fileno(),
                stderr=nothing.fileno(),
                cwd=self._state,
                env={"STATE": str(self._state)},
                script=str(SERVER),
            )

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()


class Stage:
    """A runtime with the tools of the sample server, and a session."""

    def __init__(self, toolset: McpToolset, runtime: Runtime, session: Session, state: Path) -> None:
        self.toolset = toolset
        self.runtime = runtime
        self.session = session
        self.state = state

    async def call(self, name: str, **arguments: Any) -> Any:
        """Call a tool, and return its outcome once it has ended."""
        outcome = await self.session.call(f"sample_{name}", arguments)
        return await self.session.result(outcome.execution_id, timeout=DEADLINE)

    def count(self, name: str) -> int:
        path = self.state / f"{name}.count"
        return len(path.read_text()) if path.exists() else 0


@asynccontextmanager
async def stage(kind: str, state: Path, runtime: dict[str, Any] | None = None, **options: Any) -> AsyncGenerator[Stage]:
    """Start the sample server in one of the `KINDS`, connect to it, and open a session."""
    transport, mode = kind.split()
    http = HttpServer(state)
    server: Any = [sys.executable, str(SERVER)]
    if transport == "http":
        await http.start()
        server = http.url
    else:
        options["env"] = {"STATE": str(state), **options.get("env", {})}
    toolset = mcp_toolset(server, namespace="sample", mode=mode, **options)
    try:
        async with asyncio.timeout(DEADLINE), Runtime([toolset], **(runtime or {})) as made:
            yield Stage(toolset, made, await made.open("desk", "ann"), state)
    finally:
        http.kill()


@asynccontextmanager
async def hostile(how: str, state: Path, **options: Any) -> AsyncGenerator[Stage]:
    """Start the hostile server, connect to it, and open a session."""
    command = [sys.executable, str(HOSTILE_SERVER), how, str(state)]
    options = {"mode": "legacy", "sleep": no_sleep, **options}
    toolset = mcp_toolset(command, namespace="sample", **options)
    async with asyncio.timeout(DEADLINE), Runtime([toolset]) as runtime:
        yield Stage(toolset, runtime, await runtime.open("desk", "ann"), state)
