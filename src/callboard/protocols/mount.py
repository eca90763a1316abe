"""The port between the server and the protocols that it serves.

A protocol implements `ProtocolMount`; the server creates its application, runs it, bounds its request bodies and drains
it. The server knows no protocol by name: `protocols.standard` lists those that are served by default.
"""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from starlette.requests import Request
from starlette.types import ASGIApp

from ..sessions.session import Session
from ..tools.registry import Registry
from ..types import Wake


class ProtocolHost(Protocol):
    """The services that the server offers to a mounted protocol."""

    @property
    def registry(self) -> Registry:
        """The tools of all sessions."""
        ...

    def user_id(self, request: Request) -> str:
        """Return the authenticated user of a request."""
        ...

    async def open_session(self, request: Request, session_id: str, wake: Wake | None = None) -> Session:
        """Open a session for the authenticated user of a request. Raises `Problem` or `SessionNotFound`.

        `wake` is the effect of late results on the idle session; None leaves it as it is.
        """
        ...

    async def find_session(self, request: Request, session_id: str) -> Session:
        """Open an existing session for the authenticated user of a request. Raises `Problem` or `SessionNotFound`."""
        ...

    def read_body(self, request: Request) -> AbstractAsyncContextManager[bytes]:
        """Read a body within the limits of the mount, and process it within the `async with`. Raises `Problem`."""
        ...


class ProtocolMount(Protocol):
    """A protocol at one path of the server. Create a new one for each application."""

    path: str
    methods: Sequence[str]
    max_body_bytes: int
    max_body_values: int
    """The largest number of JSON values in a body."""
    request_headers: Sequence[str]
    """Names of headers that pages of other origins may send, beside those of the API, in lower case."""
    response_headers: Sequence[str]
    """Names of headers that pages of other origins may read, beside those of the API, in lower case."""

    def application(self, host: ProtocolHost) -> ASGIApp:
        """Create the ASGI application. It may raise `Problem` before its response starts."""
        ...

    def running(self) -> AbstractAsyncContextManager[None]:
        """Own the tasks of the protocol: entered before the first request, left after the last."""
        ...

    def drain(self) -> None:
        """End all streams soon, so that their clients reconnect to another process."""
        ...
