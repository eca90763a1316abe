"""Requests to an MCP server over one connection, in both eras.

`Load` does as little as a client can; `call_with_sdk` uses the client of the SDK; `Crowd` has several clients at once.
"""

import asyncio
import http.client
import json
import multiprocessing
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, NamedTuple

from mcp import Client

from bench.mcp_host import FIGURES
from bench.workloads import Workload

HANDSHAKE, STATELESS = "2025-11-25", "2026-07-28"
_INFO = {"name": "bench", "version": "1"}
_META = {
    "io.modelcontextprotocol/protocolVersion": STATELESS,
    "io.modelcontextprotocol/clientInfo": _INFO,
    "io.modelcontextprotocol/clientCapabilities": {},
}


class Cost(NamedTuple):
    """The cost of one request, in seconds."""

    cpu: float
    """CPU time of the server's process."""
    wall: float
    commits: float = 0.0
    """Time of waits for commits, within the wall-clock time."""


class Load:
    """A client of one server."""

    def __init__(self, port: int, era: str) -> None:
        self._http = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._era = era
        self._headers = {
            "accept": "application/json, text/event-stream",
            "content-type": "application/json",
            "mcp-protocol-version": era,
        }
        if era == HANDSHAKE:
            opening = {"protocolVersion": era, "capabilities": {}, "clientInfo": _INFO}
            del self._headers["mcp-protocol-version"]
            self._send({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": opening})
            self._headers["mcp-protocol-version"] = era
            self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def close(self) -> None:
        self._http.close()

    def call(self, work: Workload, calls: int) -> Cost:
        """Call a tool several times. Returns the cost of a call."""
        params = {"name": work.tool, "arguments": json.loads(work.arguments)}
        body, headers = self._request("tools/call", params, work.tool)
        work.check(self._post(body, headers))
        before, started = _figures(self._http), time.perf_counter()
        for _ in range(calls):
            self._post(body, headers)
        wall, after = time.perf_counter() - started, _figures(self._http)
        return Cost(
            (after["cpu"] - before["cpu"]) / calls, wall / calls, (after["commits"] - before["commits"]) / calls
        )

    def list(self, times: int, expected: int) -> Cost:
        """List all tools several times, page by page. Returns the cost of a listing."""
        before, started = _figures(self._http), time.perf_counter()
        for _ in range(times):
            found, cursor = 0, None
            while True:
                params = {} if cursor is None else {"cursor": cursor}
                body, headers = self._request("tools/list", params, None)
                result = _parsed(self._post(body, headers))["result"]
                found += len(result["tools"])
                if (cursor := result.get("nextCursor")) is None:
                    break
            if found < expected:
                raise ValueError(f"{found} tools were listed, not {expected}")
        wall = time.perf_counter() - started
        return Cost((_figures(self._http)["cpu"] - before["cpu"]) / times, wall / times)

    def _request(self, method: str, params: dict[str, Any], name: str | None) -> tuple[bytes, dict[str, str]]:
        headers = self._headers
        if self._era == STATELESS:
            params = {**params, "_meta": _META}
            headers = {**headers, "mcp-method": method} | ({} if name is None else {"mcp-name": name})
        return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode(), headers

    def _send(self, message: dict[str, Any]) -> None:
        self._http.request("POST", "/mcp", json.dumps(message).encode(), self._headers)
        response = self._http.getresponse()
        received = response.read()
        if response.status >= 300:
            raise RuntimeError(f"{message['method']}: {response.status} {received!r}")
        if (session := response.headers.get("mcp-session-id")) is not None:
            self._headers["mcp-session-id"] = session

    def _post(self, body: bytes, headers: dict[str, str]) -> bytes:
        self._http.request("POST", "/mcp", body, headers)
        response = self._http.getresponse()
        received = response.read()
        if response.status != 200:
            raise RuntimeError(f"{response.status} {received!r}")
        return received


class Crowd:
    """Clients of one server that call at the same time, each in a process of its own."""

    def __init__(self, clients: Any, size: int) -> None:
        self._clients = clients
        self._size = size

    def call(self, calls: int) -> float:
        """Let each client make some calls. Returns the seconds per call, over all clients."""
        started = time.perf_counter()
        self._clients.map(_call_often, [calls] * self._size, chunksize=1)
        return (time.perf_counter() - started) / (calls * self._size)


@contextmanager
def crowd(port: int, era: str, work: Workload, size: int) -> Generator[Crowd]:
    """Start the clients of a server."""
    context = multiprocessing.get_context("spawn")
    everyone = context.Barrier(size)
    with context.Pool(size, _connect, (port, era, work, everyone)) as clients:
        yield Crowd(clients, size)


_client: tuple[Load, Workload, Any]
"""The client of this process, its work, and the barrier at which it waits for the others."""


def _connect(port: int, era: str, work: Workload, everyone: Any) -> None:
    global _client
    _client = Load(port, era), work, everyone


def _call_often(calls: int) -> None:
    load, work, everyone = _client
    everyone.wait(60)  # so that each client takes one part
    load.call(work, calls)


def call_with_sdk(port: int, era: str, work: Workload, calls: int) -> float:
    """Return the CPU seconds of a call by the SDK's client, of client and server together."""

    async def run() -> float:
        mode, arguments = "legacy" if era == HANDSHAKE else era, json.loads(work.arguments)
        async with Client(f"http://127.0.0.1:{port}/mcp", mode=mode) as client:
            await client.list_tools()
            for _ in range(20):
                await client.call_tool(work.tool, arguments)
            before, started = _figures(figures)["cpu"], time.process_time()
            for _ in range(calls):
                await client.call_tool(work.tool, arguments)
            return (time.process_time() - started + _figures(figures)["cpu"] - before) / calls

    figures = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        return asyncio.run(run())
    finally:
        figures.close()


def _figures(connection: http.client.HTTPConnection) -> dict[str, float]:
    connection.request("GET", FIGURES)
    return json.loads(connection.getresponse().read())


def _parsed(received: bytes) -> Any:
    """Return a response that is JSON, or the event of a stream."""
    if received.startswith(b"{"):
        return json.loads(received)
    return next(json.loads(line[6:]) for line in received.splitlines() if line.startswith(b"data: {"))
