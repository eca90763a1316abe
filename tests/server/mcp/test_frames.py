"""Hostile JSON-RPC frames in both eras: each gets a response, none a server error, and the server goes on."""

import json
import random
from typing import Any

import pytest

from tests.server.mcp.stage import Gates, stage
from tests.server.mcp.test_http import ACCEPT, initialize, list_tools

pytestmark = pytest.mark.anyio

METHODS = (
    *("tools/call", "tools/list", "prompts/get", "prompts/list", "resources/read", "resources/subscribe"),
    *("resources/templates/list", "completion/complete", "logging/setLevel", "initialize", "ping", "server/discover"),
    *("tasks/get", "tasks/update", "tasks/cancel", "tasks/list", "notifications/cancelled", "no/such", "", "x" * 5_000),
)
VALUES: tuple[Any, ...] = (
    *(None, True, 0, -1, 1e308, 10**30, "", "\x00", "\ud800", "x" * 10_000, [], {}, [[[]]], {"": {}}, {"a": 1}),
    *("add", "pay", "callboard://board", "callboard://results/%00", "mcp-x r=1", "a@b", {"action": "accept"}),
)
KEYS = (
    *("name", "arguments", "uri", "cursor", "_meta", "ref", "argument", "level", "taskId", "inputResponses"),
    *("requestState", "requestId", "progressToken", "protocolVersion", "capabilities", "clientInfo", "task"),
)
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {
        "elicitation": {},
        "extensions": {"io.modelcontextprotocol/tasks": {}},
    },
}


def frame(chance: random.Random, modern: bool) -> tuple[dict[str, Any], dict[str, str]]:
    """Make a request of random parts, with fitting headers most of the time."""
    method = chance.choice(METHODS)
    params: Any = {chance.choice(KEYS): chance.choice(VALUES) for _ in range(chance.randrange(4))}
    if modern and chance.random() < 0.9:
        params["_meta"] = META
    number = chance.choice((1, "a", 2**70, 0))
    body: dict[str, Any] = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
    if chance.random() < 0.1:
        body[chance.choice(tuple(body))] = chance.choice(VALUES)
    headers = {"mcp-protocol-version": "2026-07-28" if modern else "2025-11-25"}
    if modern:
        headers["mcp-method"] = method if method.isprintable() else "x"
        name = params.get("name") or params.get("uri") or params.get("taskId")
        if isinstance(name, str) and name.isascii() and name.isprintable():
            headers["mcp-name"] = name
    return body, headers


@pytest.mark.parametrize("modern", [False, True])
async def test_h4_h6_no_frame_is_a_server_error(modern: bool) -> None:
    chance = random.Random(7)
    async with stage(Gates()) as served:
        connection = await initialize(served, "ann")
        for _ in range(400):
            body, more = frame(chance, modern)
            headers = {**ACCEPT, "x-user": "ann", **more}
            if not modern:
                headers["mcp-session-id"] = connection
            headers["content-type"] = "application/json"
            response = await served.client.post("/mcp", content=json.dumps(body), headers=headers)
            assert response.status_code < 500, (body, response.text)
            assert "Traceback" not in response.text
            assert "Internal server error" not in response.text, (body, more, response.text)
        assert (await list_tools(served, "ann", connection)).status_code == 200
