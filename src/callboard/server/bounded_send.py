"""The sending side of a mounted protocol: large parts of a response are sent in chunks, and count in a budget.

Without it, a client that does not read could keep any number of them in the memory of the server.
"""

import logging

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope, Send

from ..protocols.problem import Problem
from .app_services import AppServices
from .event_stream import ABORT
from .json_response import CHUNK

log = logging.getLogger("callboard.server")


class BoundedSend:
    """Sends one response. Without memory for a large part, the response is refused, or aborted if it has started."""

    __slots__ = ("_ended", "_receive", "_scope", "_send", "_unsent", "_user_id")

    def __init__(self, services: AppServices, user_id: str, scope: Scope, receive: Receive, send: Send) -> None:
        self._unsent = services.unsent_frames
        self._user_id = user_id
        self._scope = scope
        self._receive = receive
        self._send = send
        self._ended = False
        """Whether the response was refused or aborted: the rest of it is dropped, as after a disconnect."""

    async def __call__(self, message: Message) -> None:
        if self._ended:
            return
        try:
            await self._pass_on(message)
        except Problem as problem:
            self._ended = True
            await self._end(problem, message)

    async def _pass_on(self, message: Message) -> None:
        """Send a part of the response. Raises `Problem` (429, 503) if there is no memory for it."""
        if message["type"] == "http.response.start":
            size = int(Headers(raw=message["headers"]).get("content-length", 0))
            if size > CHUNK:
                self._unsent.check(self._user_id, size)
        body: bytes = message.get("body", b"")
        if len(body) <= CHUNK:
            await self._send(message)
            return
        with self._unsent.holding(self._user_id, len(body)):
            for start in range(0, len(body), CHUNK):
                more = start + CHUNK < len(body) or message.get("more_body", False)
                await self._send({"type": message["type"], "body": body[start : start + CHUNK], "more_body": more})

    async def _end(self, problem: Problem, message: Message) -> None:
        if message["type"] == "http.response.start":
            await problem.response()(self._scope, self._receive, self._send)
            return
        log.info("response aborted: %s", problem.detail)
        if (abort := self._scope.get("extensions", {}).get(ABORT)) is None:
            raise ClientDisconnect
        abort()
