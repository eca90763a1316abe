"""A runtime for tests: one session, a manual clock, and shortcuts to its events."""

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from ..events.event import Event
from ..execution.outcome import Outcome
from ..runtime import Runtime
from ..sessions.session import Session
from ..tools.definition import Tool
from ..tools.registry import Registry
from ..tools.toolset import Toolset
from .clock import ManualClock, settle


class Harness:
    """Tools in a runtime with a `ManualClock`, between `async with` and its end. Options are those of `Runtime`."""

    session: Session
    """The session `test` of the user `tester`, which sees all tools."""

    def __init__(self, *tools: Tool | Toolset | Callable[..., Any], **options: Any) -> None:
        self.clock = ManualClock()
        self.runtime = Runtime(Registry(tools), clock=self.clock, **options)

    async def __aenter__(self) -> Self:
        await self.runtime.__aenter__()
        self.session = await self.runtime.open("test", "tester")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self.runtime.__aexit__(kind, error, trace)

    async def start(self, name: str, arguments: Any = None, **options: Any) -> asyncio.Task[Outcome]:
        """Start a call and run it as far as it gets without advancing the clock. The task returns its outcome."""
        task = asyncio.ensure_future(self.session.call(name, arguments, **options))
        await settle()
        return task

    async def advance(self, seconds: float) -> None:
        """Advance the clock."""
        await self.clock.advance(seconds)

    def events(self, execution_id: str | None = None) -> list[Event]:
        """Return the events on the session's board, or those of one execution."""
        events = self.session.board.read(self.session.board.first_seq - 1)
        return [event for event in events if execution_id in (None, event.data.get("execution_id"))]

    def kinds(self, execution_id: str | None = None) -> list[str]:
        """Return the kinds of those events, in order."""
        return [event.kind for event in self.events(execution_id)]
