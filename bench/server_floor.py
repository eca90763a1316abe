"""The floor: a bare Starlette application that sends the same data over the same protocol and stores nothing.

Its streams are plain `StreamingResponse`s with a queue each, and its numbers come from a counter. As a script, this is
the server, on a separate core.
"""

import asyncio
import socket
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence

import uvicorn
from pydantic_core import to_json
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from uvicorn.loops.auto import auto_loop_factory

from bench.server_driver import Driven, announce, payload, pin, routes, session_id

_Queue = asyncio.Queue[bytes]


class Boards:
    """Readers by session, and sequence numbers."""

    def __init__(self) -> None:
        self._readers: defaultdict[str, list[_Queue]] = defaultdict(list)
        self._heads: defaultdict[str, int] = defaultdict(int)

    async def post(self, sessions: Sequence[int]) -> None:
        for index in sessions:
            name = session_id(index)
            self._heads[name] = number = self._heads[name] + 1
            data = to_json({"seq": number, "data": payload()})
            frame = b"id: %d\nevent: system_notice\ndata: %b\n\n" % (number, data)
            for reader in self._readers[name]:
                reader.put_nowait(frame)

    async def open(self, sessions: int) -> None:
        """Do nothing: the floor has no sessions to open."""

    def heads(self) -> dict[str, int]:
        return dict(self._heads)

    async def stream(self, request: Request) -> Response:
        return StreamingResponse(self._frames(request.query_params["session_id"]), media_type="text/event-stream")

    async def _frames(self, name: str) -> AsyncIterator[bytes]:
        queue = _Queue()
        self._readers[name].append(queue)
        try:
            yield b"retry: 1000\n\n"
            while True:
                yield await queue.get()
        finally:
            self._readers[name].remove(queue)


async def _accept(request: Request) -> Response:
    """Accept a posted event."""
    body = await request.json()
    return JSONResponse({"status": "queued", "event_type": body["event"]["kind"]}, 202)


async def _serve() -> None:
    boards = Boards()
    app = Starlette(
        routes=[
            Route("/api/chat/stream", boards.stream),
            Route("/api/system/event", _accept, methods=["POST"]),
            *routes(Driven(boards.open, boards.post, boards.heads)),
        ]
    )
    config = uvicorn.Config(app, http="httptools", ws="none", log_config=None, access_log=False)
    with socket.create_server(("127.0.0.1", 0), backlog=2048) as made:
        announce(made.getsockname()[1])
        await uvicorn.Server(config).serve(sockets=[made])


if __name__ == "__main__":
    pin(int(sys.argv[1]))
    with asyncio.Runner(loop_factory=auto_loop_factory()) as runner:
        runner.run(_serve())
