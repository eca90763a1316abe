"""Any ASGI application on a free port of the loopback interface, in the running event loop."""

import asyncio
import logging
import socket

import uvicorn
from starlette.types import ASGIApp

log = logging.getLogger("uvicorn.error")


class LoopbackServer:
    """Listens between `start` and `stop`. It takes no signals of the process, and logs nothing when it cuts a response.

    Of uvicorn it uses all but the main loop and the shutdown, which are made for servers that live long: each waits for
    a tenth of a second, and a test suite starts many doubles.
    """

    def __init__(self, app: ASGIApp) -> None:
        config = uvicorn.Config(app, lifespan="off", log_config=None, access_log=False)
        config.load()
        self._server = uvicorn.Server(config)
        self._server.lifespan = config.lifespan_class(config)

    async def start(self) -> str:
        """Begin to listen. Returns the address."""
        listener = socket.create_server(("127.0.0.1", 0))
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        log.addFilter(self._unexpected)
        await self._server.startup(sockets=[listener])
        return address

    async def stop(self, patience: float = 5) -> None:
        """Stop listening, and close what is open. Whoever still sends something by then has to come to an end."""
        for listener in self._server.servers:
            listener.close()
        state = self._server.server_state
        for connection in tuple(state.connections):
            connection.shutdown()
        try:
            async with asyncio.timeout(patience):
                while state.connections or state.tasks:  # noqa: ASYNC110 - uvicorn tells nobody when they are gone
                    await asyncio.sleep(0)
        finally:
            log.removeFilter(self._unexpected)

    def _unexpected(self, record: logging.LogRecord) -> bool:
        return not record.msg.startswith("ASGI callable returned without completing response")
