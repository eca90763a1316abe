"""How long a request waits for the store: middleware around everything that asks it, the guard included.

It ends when the response begins. Streams then wait as long as it takes, and so does all that a request has started.
"""

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..storage.patience import PATIENCE, patience


class StorePatience:
    """Lets a request fail with 503 where the store does not answer in time."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._seconds = PATIENCE

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        with patience(self._seconds) as waiting:

            async def sent(message: Message) -> None:
                if waiting is not None:
                    waiting.end()
                await send(message)

            await self._app(scope, receive, sent)
