"""A runtime for tests: one session, a manual clock, and shortcuts to inspect events."""

import asyncio
from collections.abc import Callable
from typing import Any, Self

from ..events.event import Event
from ..execution.outcome import Outcome
from ..runtime import Runtime
from ..sessions.session import Session
from ..tools.definition import Tool
from ..tools.toolset import Toolset
from .clock import ManualClock, settle


class Harness:
    """A runtime with a `ManualClock` and one session, inside `async with`. Options are those of `Runtime`."""

    session: Session
    """The session `test` of the user `tester`, which sees all tools."""

    def __init__(self, *tools: Tool | Toolset | Callable[..., Any], **options: Any) -> None:
        self.clock = ManualClock()
        self.runtime = Runtime(tools, clock=self.clock, **options)

    async def __aenter__(self) -> Self:
        await self.runtime.__aenter__()
        self.session = await self.runtime.open("test", "tester")
        return self

    async def __aexit__(self, *exc: Any) -> bool | None:
        return await self.runtime.__aexit__(*exc)

    async def start(self, name: str, arguments: Any = None, **options: Any) -> asyncio.Task[Outcome]:
        """Start a call and run it as far as it gets without time passing. The task returns its outcome."""
        task = asyncio.ensure_future(self.session.call(name, arguments, **options))
        await settle()
        return task

    async def advance(self, seconds: float) -> None:
        """Advance the clock."""
        await self.clock.advance(seconds)

    def events(self, execution_id: str | None = None) -> list[Event]:
        """List the events on the session's board, or those of one execution."""
        events = self.session.board.read(self.session.board.first_seq - 1)
        return [event for event in events if execution_id in (None, event.data.get("execution_id"))]

    def kinds(self, execution_id: str | None = None) -> list[str]:
        """List the kinds of the events that `events` returns, in order."""
        return [event.kind for event in self.events(execution_id)]
