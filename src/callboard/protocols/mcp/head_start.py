"""The head start of a call: it begins before the transport prepares a stream for its response.

Most calls end quickly and send no notifications, so their result is the whole response. For any
other call the SDK's transport takes over, and the handler that it starts continues with the same call. `quick_calls`
makes head starts; `tool_call` uses them.
"""

from typing import Any, Protocol

from .connections import Context

HEAD_START = "mcp_head_start"
"""The key of a `HeadStart` in the state of a request."""

GOES_ON: dict[str, Any] = {"resultType": "complete", "content": []}
"""The result of the first handler if the call continues. No client receives it."""


class StartedCall(Protocol):
    """A call that has begun, and has not ended during its head start."""

    async def go_on(self, ctx: Context) -> dict[str, Any]:
        """Go on with the call, for the same request. Returns its result."""
        ...

    async def abandon(self) -> None:
        """End the call, because no transport continues with it."""
        ...


class HeadStart:
    """The head start of the call of one request."""

    __slots__ = ("call", "is_taken_over")

    def __init__(self) -> None:
        self.call: StartedCall | None = None
        """The call that continues."""
        self.is_taken_over = False
        """Whether a handler of the transport continues with the call."""


def head_start_of(ctx: Context) -> HeadStart | None:
    """Return the head start of a request; None if it has none."""
    return None if ctx.request is None else ctx.request.scope["state"].get(HEAD_START)
