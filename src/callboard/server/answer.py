"""An answer in JSON. A large one is sent in pieces, as fast as its client reads, and held within the user's budget."""

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from .budget import Budget

JSON = "application/json"
PIECE = 65_536
"""Bytes that are handed over at once; as many may wait in the connection's own buffer."""


class Answer(Response):
    """An answer as an ASGI app. `unsent` counts large ones until they are sent, or their connection is dropped."""

    media_type = JSON

    def __init__(self, content: bytes, status: int, unsent: Budget, user_id: str) -> None:
        super().__init__(content, status)
        self._unsent = unsent
        self._user_id = user_id

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it. Raises `Problem` (429, 503) where the user has too many that are not sent yet."""
        size = len(self.body)
        if size <= PIECE:
            await super().__call__(scope, receive, send)
            return
        with self._unsent.holding(self._user_id, size):
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            for start in range(0, size, PIECE):
                piece = self.body[start : start + PIECE]
                await send({"type": "http.response.body", "body": piece, "more_body": start + PIECE < size})
