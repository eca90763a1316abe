"""The scripted tour: what a newcomer would type, with a few words on what happens. It ends by itself."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

from ..events.event import Event
from ..events.kinds import TURN_ENDS, EventKind
from ..sessions.session import Session
from .dialogue import Screen

PATIENCE = 120.0
"""Seconds that the tour waits for what should come: a model that is asked over the network may take long."""

_ENDS = TURN_ENDS - {EventKind.TURN_PAUSED}
_ASKS = frozenset({EventKind.HUMAN_REQUEST, EventKind.WALLET_TX_REQUEST})


class Tour:
    """Plays the tour in a session. The slow tools are to wait with `sleep`, so that nothing happens out of turn."""

    def __init__(self, sleep: Callable[[float], Any] = asyncio.sleep) -> None:
        self._sleep = sleep
        self._talking = asyncio.Lock()
        self.failed = False
        """Whether a turn failed."""

    async def sleep(self, seconds: float) -> None:
        """Wait, and while somebody talks also until he has ended."""
        await self._sleep(seconds)
        async with self._talking:
            pass

    async def play(self, session: Session, screen: Screen) -> None:
        """Show everything, once. Raises `TimeoutError` where nothing comes any more."""
        async with aclosing(session.events(session.board.last_seq)) as events:
            await _Scene(self, session, screen, events).play()

    def talking(self) -> asyncio.Lock:
        """Held while somebody talks."""
        return self._talking


class _Scene:
    def __init__(self, tour: Tour, session: Session, screen: Screen, events: AsyncGenerator[Event]) -> None:
        self._tour, self._session, self._screen, self._events = tour, session, screen, events

    async def play(self) -> None:
        explain = self._screen.explain
        explain("A tool that is quick answers within the turn. Two calls in one answer run at once.")
        await self._say("what is 1250 * 0.19 and 365 * 24")
        explain("A tool that fails for a moment is tried again, where a second try does no harm.")
        await self._say("check the stock of lamps")
        explain("A tool that takes long works in the background, and shows how far it is.")
        async with self._tour.talking():
            await self._say("build a report on coffee")
            explain("Meanwhile the conversation goes on.")
            await self._say("what is 7 * 6")
        explain("When the result is there, the model is told, and speaks up by itself.")
        await self._late("build_report")
        explain("A tool that a person must approve waits for that person: a minute or a week, also over a restart.")
        await self._say("pay 25 EUR to Ada for lunch")
        await self._answer({"approved": True})
        explain("What is refused never runs, and the model learns why.")
        await self._say("pay 900 EUR to Mallory")
        await self._answer({"approved": False, "reason": "I do not know Mallory."})
        explain("That was all three kinds of tools: inline, background, human. Now you: callboard demo")

    async def _say(self, text: str) -> None:
        """Write something, and show what comes until the model has answered, or asks a person."""
        turn = asyncio.ensure_future(self._session.say(text))
        showing = asyncio.ensure_future(self._show_until(lambda event: event.kind in _ENDS or event.kind in _ASKS))
        try:
            done, _ = await asyncio.wait({turn, showing}, return_when=asyncio.FIRST_EXCEPTION)
            for each in done:
                each.result()
        finally:
            turn.cancel()
            showing.cancel()
            await asyncio.wait({turn, showing})

    async def _answer(self, answer: dict[str, Any]) -> None:
        """Answer what a person is asked, if a person is asked: a model that thinks for itself may not want to."""
        for request in await self._session.requests():
            await self._session.answer(request.id, answer)
            await self._show_until(lambda event: event.kind in _ENDS)

    async def _late(self, tool: str) -> None:
        """Show what comes until the model has spoken of a result that came late."""
        if any(record.tool == tool for record in await self._session.history(unfinished=True)):
            await self._show_until(lambda event: event.kind == EventKind.TOOL_RESULT and event.data["tool"] == tool)
            await self._show_until(lambda event: event.kind in _ENDS)

    async def _show_until(self, enough: Callable[[Event], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            async for event in self._events:
                self._screen.show(event)
                self._tour.failed |= event.kind == EventKind.TURN_FAILED
                if enough(event):
                    return
