"""A server for an ASGI application on a free port of the loopback interface, in the running event loop."""

import asyncio
import logging
import socket

import uvicorn
from starlette.types import ASGIApp

log = logging.getLogger("uvicorn.error")


class LoopbackServer:
    """Listens between `start` and `stop`. It handles no signals, and does not log a response that it cuts.

    It replaces uvicorn's main loop and shutdown, which each wait for a tenth of a second: a test suite starts many
    doubles.
    """

    def __init__(self, app: ASGIApp) -> None:
        config = uvicorn.Config(app, lifespan="off", log_config=None, access_log=False)
        config.load()
        self._server = uvicorn.Server(config)
        self._server.lifespan = config.lifespan_class(config)

    async def start(self) -> str:
        """Start listening and return the URL."""
        listener = socket.create_server(("127.0.0.1", 0))
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        log.addFilter(self._unexpected)
        await self._server.startup(sockets=[listener])
        return address

    async def stop(self, patience: float = 5) -> None:
        """Stop listening and close all connections. Raises `TimeoutError` if a response does not end in time."""
        for listener in self._server.servers:
            listener.close()
        state = self._server.server_state
        for connection in tuple(state.connections):
            connection.shutdown()
        try:
            async with asyncio.timeout(patience):
                while state.connections or state.tasks:  # noqa: ASYNC110 - uvicorn does not notify
                    await asyncio.sleep(0)
        finally:
            log.removeFilter(self._unexpected)

    def _unexpected(self, record: logging.LogRecord) -> bool:
        return not record.msg.startswith("ASGI callable returned without completing response")
