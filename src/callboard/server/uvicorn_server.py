"""uvicorn's server with Callboard's connections and a graceful shutdown.

At SIGTERM or Ctrl-C the server accepts nothing new, waits a limited time for running turns, ends each stream after its
last event, waits for open requests for the rest of that time (at least a second), and then shuts down like uvicorn.
Recovery continues turns that take longer.
"""

import asyncio
import os
import socket
from functools import partial
from typing import cast

import uvicorn
from starlette.applications import Starlette

from ..errors import CallboardError
from .app_services import AppServices
from .connection import Connection
from .lingering import LingeringConnections

TICK = 0.05
"""Seconds between two checks for running turns during the shutdown."""
KEEP_ALIVE = 20
"""Seconds after which an idle connection is closed. Many clients keep theirs for 5 seconds: the client must be the one
to close it, or a request may meet the server's close on its way."""


class AddressTaken(CallboardError):
    """The server cannot listen on an address."""

    code = "address_taken"


class Server(uvicorn.Server):
    """A uvicorn server that drains before it shuts down."""

    def __init__(self, config: uvicorn.Config, services: AppServices, grace: float) -> None:
        super().__init__(config)
        self._services = services
        self._grace = grace

    def stop(self) -> None:
        """Start the shutdown, as a signal does."""
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Wait for running turns, end the streams, then shut down. A second Ctrl-C skips the wait."""
        self._services.draining = True
        for server in self.servers:
            server.close()
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._grace
        while self._services.busy and loop.time() < deadline and not self.force_exit:  # noqa: ASYNC110 (as uvicorn polls)
            await asyncio.sleep(TICK)
        self._services.drain()
        self.config.timeout_graceful_shutdown = max(1, round(deadline - loop.time()))  # requests have had the same time
        await super().shutdown(sockets)


def create_server(app: Starlette, *, grace: float = 10.0) -> Server:
    """Create the server of an app of `create_app`. Run it with `await server.serve(sockets=[listen(host, port)])`."""
    services: AppServices = app.state.services
    return Server(server_config(app, services.lingering, grace), services, grace)


def server_config(app: Starlette, lingering: LingeringConnections, grace: float) -> uvicorn.Config:
    """Return uvicorn's configuration of a server with Callboard's connections."""
    return uvicorn.Config(
        app,
        http=cast("type[asyncio.Protocol]", partial(Connection, lingering=lingering)),
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE,
        timeout_graceful_shutdown=max(1, round(grace)),
        lifespan="on",
    )


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket. Raises `AddressTaken`."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listener = socket.create_server((str(address[0]), int(address[1])), family=family, backlog=2048)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror
        raise AddressTaken(
            f"The server cannot listen on {host}, port {port}: {why}. Choose another address: --host, --port."
        ) from None
    listener.setblocking(False)
    # or small responses wait for the client's next packet
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener
