"""Serving: uvicorn with our connections, and an end that lets nobody down.

At SIGTERM or Ctrl-C nothing new is accepted, running turns get a while to end, every stream is ended after its last
event, and then uvicorn does what it always does. Turns that take longer are left to recovery.
"""

import asyncio
import os
import socket

import uvicorn
from starlette.applications import Starlette

from ..errors import CallboardError
from .app_services import AppServices
from .connection import Connection

TICK = 0.05
"""Seconds between two looks at what still runs, while the server ends."""


class AddressTaken(CallboardError):
    """Nobody can listen there."""

    code = "address_taken"


class Server(uvicorn.Server):
    """uvicorn's server, which drains before it shuts down."""

    def __init__(self, config: uvicorn.Config, services: AppServices, grace: float) -> None:
        super().__init__(config)
        self._services = services
        self._grace = grace

    def end(self) -> None:
        """Begin to shut down, as a signal does."""
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Let running turns end, then the streams, then the rest. A second Ctrl-C does not wait."""
        self._services.draining = True
        for server in self.servers:
            server.close()
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._grace
        while self._services.busy and loop.time() < deadline and not self.force_exit:  # noqa: ASYNC110 (as uvicorn looks)
            await asyncio.sleep(TICK)
        self._services.drain()
        await super().shutdown(sockets)


def create_server(app: Starlette, *, grace: float = 10.0) -> Server:
    """A server for an app of `create_app`. Run it with `await server.serve(sockets=[listen(host, port)])`."""
    config = uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=max(1, round(grace)),
        lifespan="on",
    )
    return Server(config, app.state.services, grace)


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens there. Raises `AddressTaken` that says what to do."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        made = socket.create_server((str(address[0]), int(address[1])), family=family, backlog=2048)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
        raise AddressTaken(
            f"Nothing can listen on {host}, port {port}: {why}. Choose another: --host, --port."
        ) from None
    made.setblocking(False)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else small answers wait for the client's next word
    return made
