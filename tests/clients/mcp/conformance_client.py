"""The client that the conformance suite runs: a Callboard runtime with the tools of the suite's server.

The suite gives the URL as an argument, and the scenario in the environment.
"""

import asyncio
import json
import os
import sys
from collections.abc import Iterable
from typing import Any
from urllib.parse import urljoin

import httpx2

from callboard import Runtime, Session, mcp_toolset
from callboard.toolkits.mcp import McpToolset, oauth_credentials, oauth_login

SCENARIO = os.environ["MCP_CONFORMANCE_SCENARIO"]
CONTEXT: dict[str, Any] = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
MODE = "auto" if os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION") == "2026-07-28" else "legacy"
REDIRECT = "http://localhost:3000/callback"
METADATA = "https://conformance-test.local/client-metadata.json"
"""The URL of the metadata of the client, which the suite knows."""
ARGUMENTS = {"add_numbers": {"a": 5, "b": 3}, "valid_tool": {"region": "us-west1"}}


async def browse(url: str) -> str:
    """Stand for a browser and its user: open the page, and return the URL to which it redirects."""
    async with httpx2.AsyncClient(timeout=60) as client:
        response = await client.get(url, follow_redirects=False)
    return urljoin(url, response.headers["location"])


def auth(url: str) -> Any:
    if not SCENARIO.startswith("auth/"):
        return None
    if SCENARIO == "auth/client-credentials-basic":
        return oauth_credentials(
            url,
            client_id=CONTEXT["client_id"],
            client_secret=CONTEXT["client_secret"],
            issuer=CONTEXT.get("issuer") or url.removesuffix("/mcp"),
        )
    known = {name: CONTEXT[name] for name in ("client_id", "client_secret") if name in CONTEXT}
    return oauth_login(url, browse, redirect_uri=REDIRECT, client_metadata_url=METADATA, **known)


async def answer_all(session: Session) -> None:
    """Answer each request to a person with the defaults of its form, as the page fills it in."""
    async for event in session.events():
        if event.kind == "human_request":
            for request in await session.requests():
                fields = request.answer_schema.get("properties", {})
                answer = {name: each.get("default", True) for name, each in fields.items()}
                await session.answer(request.id, answer)


def calls(toolset: McpToolset) -> Iterable[tuple[str, dict[str, Any]]]:
    """The calls of a scenario: those of its context, or one of each tool."""
    if given := CONTEXT.get("toolCalls"):
        return [(each["name"], each["arguments"]) for each in given]
    return [(tool.name, ARGUMENTS.get(tool.name, {})) for tool in toolset.tools()]


async def main(url: str) -> None:
    toolset = mcp_toolset(url, namespace="suite", prefix="", mode=MODE, auth=auth(url), connect_timeout=60, timeout=60)
    async with Runtime([toolset]) as runtime:
        session = await runtime.open("desk", "ann")
        person = asyncio.create_task(answer_all(session))
        for name, arguments in calls(toolset):
            outcome = await session.call(name, arguments)
            outcome = await session.result(outcome.execution_id, timeout=90)
            sys.stderr.write(f"{name}: {outcome.error or outcome.value}\n")
        person.cancel()
    if toolset.problem is not None:
        sys.exit(f"not connected: {toolset.problem}")


asyncio.run(main(sys.argv[1]))
