"""The time that a request may wait for the store, also in the guard.

The limit ends when the response starts: streams, and work that the request has started, wait as long as necessary.
"""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..storage.patience import PATIENCE, patience


class StoreTimeout:
    """Middleware that fails a request with 503 if the store does not answer in time."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        with patience(PATIENCE) as waiting:

            async def send_untimed(message: Message) -> None:
                if waiting is not None:
                    waiting.end()
                await send(message)

            await self._app(scope, receive, send_untimed)
