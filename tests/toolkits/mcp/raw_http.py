"""A server over Streamable HTTP, of the handshake era, whose responses to calls are written by a test, as raw bytes."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

INFO = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "raw", "version": "1"}}
LIST = {"tools": [{"name": "add", "inputSchema": {"type": "object", "properties": {}}}]}
DONE = {"content": [{"type": "text", "text": "done"}]}
JSON, EVENTS = "application/json", "text/event-stream"


def result(request: dict[str, Any], value: Any = DONE) -> bytes:
    """Return the message with the result of a request."""
    return json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": value}).encode()


def error(request: dict[str, Any], code: int, message: str) -> bytes:
    """Return the message with the error of a request."""
    return json.dumps({"jsonrpc": "2.0", "id": request["id"], "error": {"code": code, "message": message}}).encode()


Response = tuple[str, str, bytes]
"""The status, the content type and the body of a response."""


@asynccontextmanager
async def raw_http(call: Callable[[dict[str, Any]], Response], *, ends_sessions: bool = True) -> AsyncGenerator[str]:
    """Serve one tool, `add`, whose calls `call` responds to. Yields the URL."""

    def respond(request: dict[str, Any]) -> Response:
        match request.get("method"):
            case "initialize":
                return "200 OK", JSON, result(request, INFO)
            case "tools/list":
                return "200 OK", JSON, result(request, LIST)
            case "tools/call":
                return call(request)
            case _:
                return "202 Accepted", JSON, b""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
                length = re.search(r"content-length: (\d+)", head)
                body = await reader.readexactly(0 if length is None else int(length[1]))
                if head.startswith("delete") and not ends_sessions:
                    await reader.read()  # until the client gives up
                    break
                status, kind, content = respond(json.loads(body)) if body else ("405 Method Not Allowed", JSON, b"")
                fields = f"content-type: {kind}\r\nmcp-session-id: s\r\ncontent-length: {len(content)}"
                writer.write(f"HTTP/1.1 {status}\r\n{fields}\r\n\r\n".encode() + content)
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"
