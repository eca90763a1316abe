"""MCP clients of other projects against `callboard serve`: every mode, and a server that is killed."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from callboard import Runtime
from tests.clients.mcp.client_tools import tools
from tests.clients.mcp.server_process import ROOT, ServerProcess, serving
from tests.conftest import without
from tests.node_packages import install, newest_node, newest_npm
from tests.python_packages import python_with
from tests.server.conftest import serve
from tests.servers import Unavailable

pytestmark = pytest.mark.anyio

HERE = Path(__file__).parent
TOOLS = "tests.clients.mcp.client_tools:tools"
SCENARIOS = ["inline", "progress", "cancel", "human", "background", "tasks", "reconnect"]
WITHIN = 180.0


async def run_script(server: ServerProcess, *command: str) -> list[str]:
    """Run the script of a client, and restart the server where it asks to. Returns the scenarios that passed."""
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    errors = asyncio.create_task(process.stderr.read())
    passed: list[str] = []
    try:
        async with asyncio.timeout(WITHIN):
            async for line in process.stdout:
                match line.decode().split():
                    case ["restart"]:
                        await server.kill()
                        await server.start()
                        process.stdin.write(b"\n")
                        await process.stdin.drain()
                    case ["passed", scenario]:
                        passed.append(scenario)
                    case other:
                        raise AssertionError(other)
            await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
        told = (await errors).decode()
    assert process.returncode == 0, f"after {passed}: {told[-4_000:]}"
    return passed


def clients_python() -> str:
    """Return the Python with the clients of other projects."""
    try:
        return str(python_with("mcp-clients", HERE / "python" / "requirements.txt"))
    except Unavailable as why:
        without("The clients of other projects", why)


def clients_folder() -> Path:
    """Return the folder with the clients for Node.

    The bundler of the inspector's web page is replaced by an empty package: it lacks builds for some platforms.
    """
    try:
        return install("mcp-clients-node", sorted((HERE / "node").iterdir()), newest_npm(), newest_node())
    except Unavailable as why:
        without("The clients of other projects", why)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["v1", "legacy", "2026-07-28", "tasks"])
async def test_h4_typescript_client_uses_every_mode(mode: str, tmp_path: Path) -> None:
    script = str(clients_folder() / "drive.mjs")
    async with serving(TOOLS, f"sqlite:///{tmp_path / 'board.db'}") as server:
        passed = await run_script(server, str(newest_node()), script, f"{server.address}/mcp", mode)
    assert passed == SCENARIOS


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28", "tasks"])
async def test_h4_fastmcp_client_uses_every_mode(mode: str, tmp_path: Path) -> None:
    script = str(HERE / "python" / "fastmcp_client.py")
    async with serving(TOOLS, f"sqlite:///{tmp_path / 'board.db'}") as server:
        passed = await run_script(server, clients_python(), script, f"{server.address}/mcp", mode)
    assert passed == SCENARIOS


@pytest.mark.slow
@pytest.mark.parametrize("client", ["pydantic_ai", "openai_agents"])
async def test_h4_agent_of_another_library_calls_our_tools(client: str) -> None:
    script = str(HERE / "python" / f"{client}_client.py")
    async with serving(TOOLS) as server:
        assert await run_script(server, clients_python(), script, f"{server.address}/mcp") == ["agent"]


async def inspect(folder: Path, *options: str) -> Any:
    """Run the inspector's command line. Returns the result of the request."""
    script = (
        folder / "node_modules" / "@modelcontextprotocol" / "inspector" / "clients" / "launcher" / "build" / "index.js"
    )
    process = await asyncio.create_subprocess_exec(
        *[str(newest_node()), str(script), "--cli", *options],
        cwd=ROOT,
        env={**os.environ, "MCP_CATALOG_PATH": os.devnull},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(WITHIN):
        output, errors = await process.communicate()
    assert process.returncode == 0, (output + errors).decode()[-2_000:]
    return json.loads(output)


async def test_h4_inspector_lists_and_calls() -> None:
    async with serve(Runtime(tools)) as served:
        await list_and_call(f"{served.url}/mcp", "--transport", "http")


@pytest.mark.slow
async def test_h4_o3_inspector_lists_and_calls_over_standard_streams() -> None:
    await list_and_call(sys.executable, "-c", "from callboard.cli import main; main()", "mcp", "--tools", TOOLS)


async def list_and_call(*target: str) -> None:
    folder = clients_folder()
    listed = await inspect(folder, *target, "--method", "tools/list")
    assert {"add", "build", "pay"} <= {tool["name"] for tool in listed["tools"]}
    call = ["--method", "tools/call", "--tool-name", "add", "--tool-arg", "a=2", "b=3"]
    assert (await inspect(folder, *target, *call))["structuredContent"] == {"total": 5}
