"""`callboard serve --mcp-config`: a gateway before other servers, as a process, with a real MCP client."""

import asyncio
import json
import re
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, types

from tests.cli.harness import Process
from tests.toolkits.mcp.sample_server import PNG
from tests.toolkits.mcp.stage import DEADLINE, SERVER, HttpServer, is_running, until

pytestmark = pytest.mark.anyio
both_eras = pytest.mark.parametrize("era", [pytest.param("legacy", marks=pytest.mark.slow), "2026-07-28"])


@contextmanager
def gateway(config: Path) -> Generator[str]:
    """Start `callboard serve` with a file of servers, and yield its address once it listens."""
    arguments = ["serve", "--port", "0", "--json", "--store", "memory://", "--mcp-config", str(config)]
    with Process(*arguments, folder=config.parent) as process:
        found = re.search(r'"address": ?"([^"]+)"', process.until('"address"', "err"))
        assert found is not None
        yield found[1]
        process.interrupt()
        process.end()


def write_config(folder: Path, **servers: Any) -> Path:
    path = folder / "servers.json"
    path.write_text(json.dumps({"mcpServers": servers}))
    return path


class Person:
    """The user of a client, who answers what the gateway asks."""

    def __init__(self, *answers: dict[str, Any] | None) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []

    async def __call__(self, context: Any, params: Any) -> types.ElicitResult:
        self.asked.append(params.message)
        answer = self._answers.pop(0)
        return (
            types.ElicitResult(action="decline")
            if answer is None
            else types.ElicitResult(content=answer, action="accept")
        )


def text_of(result: Any) -> str:
    return "\n".join(each.text for each in result.content)


async def recorded(address: str) -> list[dict[str, Any]]:
    """Return the calls that the gateway has recorded, oldest first."""
    async with httpx2.AsyncClient(base_url=f"{address}/api", timeout=DEADLINE) as client:
        [session] = (await client.get("/sessions")).raise_for_status().json()["sessions"]
        query = {"session_id": session["session_id"]}
        return (await client.get("/executions", params=query)).raise_for_status().json()["executions"]


@both_eras
async def test_h4_a_gateway_asks_for_approval_limits_and_records(era: str, tmp_path: Path) -> None:
    server = HttpServer(tmp_path)
    own = {"approval": ["add"], "timeout": 0.3, "max_result_bytes": 100_000, "only": ["add", "ask", "hang", "content"]}
    config = write_config(tmp_path, shop={"url": server.url, "callboard": own})
    ann = Person({"approved": True}, None, {"name": "Ann"})
    try:
        await server.start()
        with gateway(config) as address:
            async with (
                asyncio.timeout(DEADLINE),
                Client(f"{address}/mcp", mode=era, elicitation_callback=ann, cache=None) as client,
            ):
                names = {each.name for each in (await client.list_tools()).tools}
                assert {"shop_add", "shop_ask", "shop_hang", "shop_content"} <= names
                assert "shop_fail" not in names
                result = await client.call_tool("shop_add", {"a": 1, "b": 2})
                assert "3" in text_of(result)
                assert "Allow this call?" in ann.asked[0]
                result = await client.call_tool("shop_add", {"a": 5, "b": 5})  # this one is refused
                assert result.is_error
                assert (tmp_path / "add.count").read_text() == "x"
                result = await client.call_tool("shop_ask", {"how": "Who are you?"})
                assert text_of(result) == "accept {'name': 'Ann'}"
                result = await client.call_tool("shop_hang", {})
                assert "0.3 seconds" in text_of(result)
                assert result.is_error
                result = await client.call_tool("shop_content", {"how": "large"})
                assert "100,000 bytes" in text_of(result)
                result = await client.call_tool("shop_content", {"how": "all"})
                assert [each.type for each in result.content] == ["text", "image", "audio", "resource_link", "resource"]
                assert result.content[1] == types.ImageContent(data=PNG, mime_type="image/png")
            calls = await recorded(address)
        assert [(each["tool"], each["status"]) for each in calls] == [
            ("shop_add", "succeeded"),
            ("shop_add", "failed"),
            ("shop_ask", "succeeded"),
            ("shop_question", "succeeded"),
            ("shop_hang", "failed"),
            ("shop_content", "failed"),
            ("shop_content", "succeeded"),
        ]
        assert (calls[0]["arguments"], calls[0]["value"]) == ({"a": 1, "b": 2}, {"sum": 3})
        assert calls[1]["error"]["category"] == "permission"
        assert calls[3]["parent_id"] == calls[2]["execution_id"]
        assert calls[4]["error"]["category"] == "timeout"
    finally:
        server.kill()


@pytest.mark.slow
async def test_h4_a_gateway_retries_calls_of_a_trusted_server_that_dies(tmp_path: Path) -> None:
    (tmp_path / "die once").touch()
    entry = {"command": sys.executable, "args": [str(SERVER)], "env": {"STATE": str(tmp_path)}}
    config = write_config(tmp_path, shop={**entry, "callboard": {"trust": True}})
    with gateway(config) as address:
        async with asyncio.timeout(DEADLINE), Client(f"{address}/mcp", cache=None) as client:
            assert text_of(await client.call_tool("shop_die", {})) == "alive"
        [call] = await recorded(address)
        assert call["attempt"] == 2
        assert [each["category"] for each in call["previous_errors"]] == ["transient"]
        pid = int((tmp_path / "pid").read_text())
    assert (tmp_path / "starts.count").read_text() == "xx"
    await until(lambda: not is_running(pid))  # it ends with the gateway


async def test_h4_a_call_of_a_client_that_cannot_ask_waits_for_a_person_at_the_gateway(tmp_path: Path) -> None:
    server = HttpServer(tmp_path)
    config = write_config(tmp_path, shop={"url": server.url, "callboard": {"approval": True, "only": ["add"]}})
    try:
        await server.start()
        with gateway(config) as address:
            async with (
                asyncio.timeout(DEADLINE),
                Client(f"{address}/mcp", cache=None) as client,
                httpx2.AsyncClient(base_url=f"{address}/api", timeout=DEADLINE) as person,
            ):
                told = json.loads(text_of(await client.call_tool("shop_add", {"a": 1, "b": 2})))
                assert "task_result" in told["next_step"]
                [request] = (await person.get("/requests")).raise_for_status().json()["requests"]
                assert request["payload"] == {"a": 1, "b": 2}
                answer = {"session_id": request["session_id"], "answer": {"approved": True}}
                (await person.post(f"/requests/{request['request_id']}/answer", json=answer)).raise_for_status()
                execution = {"execution_id": told["execution_id"]}
                while '"sum":3' not in text_of(await client.call_tool("task_result", execution)):
                    pass
    finally:
        server.kill()
