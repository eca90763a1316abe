"""A JSON response. A large one is sent in chunks, at the speed of its client, and counted in the user's budget."""

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from .byte_budget import ByteBudget

JSON = "application/json"
CHUNK = 65_536
"""Bytes per chunk; the connection may buffer one more."""


class JsonResponse(Response):
    """A response whose size counts in `unsent` until it is sent or its connection is closed, if it is large."""

    media_type = JSON

    def __init__(self, content: bytes, status: int, unsent: ByteBudget, user_id: str) -> None:
        super().__init__(content, status)
        self._unsent = unsent
        self._user_id = user_id

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response. Raises `Problem` (429, 503) if the budget is exhausted."""
        size = len(self.body)
        if size <= CHUNK:
            await super().__call__(scope, receive, send)
            return
        with self._unsent.holding(self._user_id, size):
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            for start in range(0, size, CHUNK):
                chunk = self.body[start : start + CHUNK]
                await send({"type": "http.response.body", "body": chunk, "more_body": start + CHUNK < size})
