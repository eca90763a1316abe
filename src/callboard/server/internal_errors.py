"""The response to an error that nothing else translates, with the headers of the guard and of the outer middleware.

Starlette's own response to such an error would have none of them, and a page of another origin could not read it.
"""

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .problems import problem_of


class InternalErrors:
    """Middleware that responds with a problem (500) and raises the error again, so that the server logs it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = scope["type"] != "http"

        async def watch(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, send if started else watch)
        except ClientDisconnect:
            raise
        except Exception as error:
            if not started:
                await problem_of(error).response()(scope, receive, send)
            raise
