"""What a handler is told about its call, and how it speaks to people while it runs.

Found by its annotation, never part of a schema, filled by the runtime alone: nothing that a model sends reaches it.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from pydantic_core import core_schema

from ..errors import ToolError


class Reporter(Protocol):
    """Where a context's words go. The runtime has one; a bare registry call has one that keeps silent."""

    async def progress(self, stage: str, fraction: float | None, message: str | None) -> None: ...
    async def partial(self, value: Any) -> None: ...
    async def call(self, name: str, arguments: Any) -> Any:
        """Run another tool within this call: it inherits the deadline and is cancelled with it."""
        ...

    def cancelled(self) -> bool: ...
    def remaining(self) -> float | None:
        """Seconds until the deadline, None where there is none."""
        ...


class _Silent:
    """A reporter for calls outside of any session: nobody listens, nothing can cancel but the caller's own task."""

    __slots__ = ()

    async def progress(self, stage: str, fraction: float | None, message: str | None) -> None: ...
    async def partial(self, value: Any) -> None: ...
    async def call(self, name: str, arguments: Any) -> Any:
        raise ToolError("Tools can call other tools only within a session.", category="configuration")

    def cancelled(self) -> bool:
        return False

    def remaining(self) -> float | None:
        return None


SILENT: Reporter = _Silent()


class ContextItem(NamedTuple):
    """Something that a client tells about itself: what it is, and its value."""

    description: str
    value: str


@dataclass(frozen=True, slots=True)
class ClientContext:
    """What the user's client sent along, such as an AG-UI page. It comes from outside: check it as you check input."""

    context: tuple[ContextItem, ...] = ()
    """What the client wants the model to know. The model sees it too."""
    forwarded_props: Any = None
    """What else the client sent, for tools alone: any JSON value."""


class ToolContext:
    """One call, as its handler sees it. Every attempt gets its own, with the same idempotency key."""

    __slots__ = (
        "_reporter",
        "attempt",
        "call_id",
        "client",
        "execution_id",
        "idempotency_key",
        "session_id",
        "tool",
        "user_id",
    )

    def __init__(
        self,
        *,
        tool: str,
        session_id: str | None = None,
        user_id: str | None = None,
        call_id: str | None = None,
        execution_id: str | None = None,
        attempt: int = 1,
        idempotency_key: str | None = None,
        client: ClientContext | None = None,
        reporter: Reporter = SILENT,
    ) -> None:
        self.tool = tool
        self.session_id = session_id
        self.user_id = user_id
        self.call_id = call_id
        self.execution_id = execution_id
        self.attempt = attempt
        self.idempotency_key = idempotency_key
        self.client = client
        """What the client of the session's newest run sent along; None where there is none."""
        self._reporter = reporter

    async def progress(self, stage: str, fraction: float | None = None, message: str | None = None) -> None:
        """Tell people how far it is: a stage, how much of it all is done (0 to 1), a sentence. Models do not see it."""
        if fraction is not None and not 0.0 <= fraction <= 1.0:
            raise ValueError(f"fraction is {fraction}; it goes from 0 to 1")
        await self._reporter.progress(stage, fraction, message)

    async def partial(self, value: Any) -> None:
        """Show people a part of the result before the rest is there."""
        await self._reporter.partial(value)

    async def call(self, name: str, arguments: Any = None) -> Any:
        """Run another tool of the session and return its value; raises its `ToolError`."""
        return await self._reporter.call(name, arguments or {})

    @property
    def cancelled(self) -> bool:
        """Whether somebody asked this call to stop. Async handlers are cancelled anyway; loops in threads look here."""
        return self._reporter.cancelled()

    @property
    def remaining(self) -> float | None:
        """Seconds until the deadline, None where there is none."""
        return self._reporter.remaining()

    def __repr__(self) -> str:
        return f"ToolContext(tool={self.tool!r}, call_id={self.call_id!r}, attempt={self.attempt})"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> core_schema.CoreSchema:
        raise TypeError("ToolContext is given by the runtime and cannot be part of a tool's input")
