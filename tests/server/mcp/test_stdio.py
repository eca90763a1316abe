"""`callboard mcp`: the SDK's client over standard streams."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from callboard import Runtime
from tests.server.mcp.stage import ERAS, text_of

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("era", ERAS)]

SAMPLE = '''
from typing import Annotated
from callboard import tool

print("loading")

@tool
async def shout(text: Annotated[str, "The text"]) -> str:
    """Convert a text to upper case."""
    print("a line that is not of the protocol")
    return text.upper()
'''


def command(folder: Path, *options: str) -> Any:
    (folder / "sample_mcp.py").write_text(SAMPLE)
    arguments = ["-c", "from callboard.cli import main; main()", "mcp", "--tools", "sample_mcp:shout", *options]
    return StdioServerParameters(command=sys.executable, args=arguments, cwd=folder)


async def test_h4_o3_tools_are_served_over_standard_streams(era: str, tmp_path: Path) -> None:
    async with asyncio.timeout(60), Client(command(tmp_path), mode=era) as client:
        assert "shout" in {each.name for each in (await client.list_tools()).tools}
        assert text_of(await client.call_tool("shout", {"text": "hello"})) == "HELLO"


async def test_h4_o3_the_store_the_user_and_the_session_are_options(era: str, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'board.db'}"
    server = command(tmp_path, "--store", store, "--user", "ann", "--session", "desk")
    async with asyncio.timeout(60), Client(server, mode=era) as client:
        await client.call_tool("shout", {"text": "hello"})
    async with Runtime(store=store) as runtime:
        session = await runtime.open("desk", "ann")
        assert [(each.tool, each.value) for each in await session.history()] == [("shout", "HELLO")]
