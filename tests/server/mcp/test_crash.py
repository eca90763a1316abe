"""Tasks and questions after `kill -9` of the server, on a file that the next server opens."""

import asyncio
import os
import re
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, types

from tests.server.mcp.stage import text_of
from tests.server.mcp.task_client import State, TaskExtension, call_task, request_task

pytestmark = pytest.mark.anyio

SAMPLE = '''
import asyncio
from typing import Annotated
from callboard import tool

@tool(mode="background", idempotent=True)
async def build(seconds: Annotated[float, "How long"]) -> str:
    """Build slowly."""
    await asyncio.sleep(seconds)
    return "built"

@tool(mode="background")
async def launch() -> str:
    """Launch once."""
    await asyncio.sleep(600)
    return "launched"

@tool(mode="human")
async def pay(amount: Annotated[int, "The amount"]) -> str:
    """Pay."""
    return f"paid {amount}"

tools = [build, launch, pay]
'''
ERA = "2026-07-28"


@asynccontextmanager
async def server(folder: Path) -> AsyncGenerator[tuple[str, int]]:
    """Start a server, and yield its address and its process id."""
    (folder / "sample_crash.py").write_text(SAMPLE)
    store = f"sqlite:///{folder / 'board.db'}"
    options = ["serve", "--port", "0", "--store", store, "--tools", "sample_crash:tools", "--json"]
    command = [sys.executable, "-c", "from callboard.cli import main; main()", *options]
    process = await asyncio.create_subprocess_exec(*command, cwd=folder, stderr=asyncio.subprocess.PIPE)
    try:
        assert process.stderr is not None
        async with asyncio.timeout(60):
            while (found := re.search(rb'"address": ?"([^"]+)"', await process.stderr.readline())) is None:
                pass
        yield found.group(1).decode(), process.pid
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def never(*_: Any) -> types.ElicitResult:
    raise AssertionError


async def ended(client: Client, task_id: str) -> State:
    """Poll a task until it has ended."""
    async with asyncio.timeout(60):
        while True:
            state = await request_task(client, "get", task_id)
            if state.status not in ("working", "input_required"):
                return state
            await asyncio.sleep(0.05)


async def test_h4_e5_tasks_and_questions_survive_a_kill(tmp_path: Path) -> None:
    options: Any = {"mode": ERA, "cache": None, "extensions": [TaskExtension()], "elicitation_callback": never}
    async with server(tmp_path) as (url, pid), Client(f"{url}/mcp", **options) as client:
        build = await call_task(client, "build", {"seconds": 1.0})
        launch = await call_task(client, "launch", {})
        asked = await call_task(client, "pay", {"amount": 5})
        assert isinstance(asked, types.InputRequiredResult)
        os.kill(pid, signal.SIGKILL)
    async with server(tmp_path) as (url, _), Client(f"{url}/mcp", **options) as client:
        again = await ended(client, build.task_id)
        assert again.result is not None
        assert (again.status, again.result["content"][0]["text"]) == ("completed", "built")
        lost = await ended(client, launch.task_id)
        assert lost.error is not None
        assert (lost.status, lost.result) == ("failed", None)
        yes: Any = {"pay": types.ElicitResult(action="accept", content={"approved": True})}
        paid = await client.session.call_tool(
            "pay", {"amount": 5}, input_responses=yes, request_state=asked.request_state
        )
        assert text_of(paid) == "paid 5"
