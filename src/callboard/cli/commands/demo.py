"""`callboard demo`: a chat or a scripted tour of every kind of tool, with no API key and no network."""

import asyncio
import math
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Annotated, Any

import typer

from ...demo.tools import demo_tools
from ...errors import MissingExtraError
from ...events.event import Event
from ...events.kinds import TURN_ENDS, EventKind
from ...runtime import Runtime
from ...sessions.session import Session
from ...toolkits import built_in
from ..interrupts import Interrupts, alongside
from ..model_keys import check_key
from ..process import CommandError, Exit
from ..terminal.chat import Chat
from ..terminal.console import is_interactive, note, out, print_logs
from ..terminal.screen import JsonScreen, LiveScreen, Screen

SESSION, USER = "demo", "you"
OFFLINE = "offline"
WORD_DELAY = 0.03
"""Seconds per word of the offline model on a terminal."""
TOUR_TIMEOUT = 120.0
"""Seconds that the tour waits for the next step, which may be a request to a model over the network."""
INSTRUCTIONS = (
    "You demonstrate Callboard, a runtime for the tools of AI agents. Use the tools for whatever they can do, several "
    "at once where that helps. Answer in one or two short sentences. Work in the background is reported to you."
)

_REQUESTS = frozenset({EventKind.HUMAN_REQUEST, EventKind.WALLET_TX_REQUEST})


def run_demo(
    model: Annotated[
        str, typer.Option(metavar="NAME", help="A model of Pydantic AI, such as anthropic:claude-sonnet-5-5.")
    ] = OFFLINE,
    script: Annotated[bool, typer.Option("--script", help="Play a tour that needs no input.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Play the tour, and print each event as a line of JSON.")
    ] = False,
    store: Annotated[
        str, typer.Option(metavar="URL", help="Where to keep the conversation, such as sqlite:///demo.db.")
    ] = "memory://",
    pace: Annotated[float, typer.Option(metavar="SECONDS", help="Time for each step of the slow tools.")] = 0.4,
) -> None:
    """Chat with a model that uses tools, offline, without an API key.

    On a terminal you type, also while tools run, and answer their
    requests. Elsewhere, or with --script, a tour is played. The offline
    model is not a language model: it knows a few phrases. Choose another
    model with --model; its API key is read from the environment.

    Exit codes:

    \b
      0  succeeded
      1  failed; the message gives the reason
      2  the command line is not valid
    124  the tour got no event in time
    130  stopped by Ctrl-C
    """  # noqa: D301  # \b keeps the lines of a paragraph apart
    if not (math.isfinite(pace) and 0 <= pace <= 60):
        raise CommandError("--pace must be a number of seconds from 0 to 60.", Exit.USAGE)
    chatting = not (script or as_json) and sys.stdin.isatty() and is_interactive(out)
    check_key(model)
    raise typer.Exit(asyncio.run(_chat(model, store, pace) if chatting else _tour(model, store, pace, as_json)))


async def _chat(model: str, store: str, pace: float) -> Exit:
    tools = [*demo_tools(pace), *built_in()]
    with print_logs(note):
        async with Runtime(tools, model=_model(model), instructions=INSTRUCTIONS, store=store) as runtime:
            session = await runtime.open(SESSION, user_id=USER)
            name = "the offline model, which knows a few phrases" if model == OFFLINE else model
            return await Chat(session, f"You are chatting with {name}. Type help for ideas, quit to leave.").run()


async def _tour(model: str, store: str, pace: float, as_json: bool) -> Exit:
    task = asyncio.current_task()
    assert task is not None
    tour = Tour()
    screen = JsonScreen() if as_json else LiveScreen() if is_interactive(out) else Screen()
    tools = [*demo_tools(pace, tour.sleep), *built_in()]
    with Interrupts(task.cancel), print_logs(note):
        async with Runtime(tools, model=_model(model), instructions=INSTRUCTIONS, store=store) as runtime:
            session = await runtime.open(SESSION, user_id=USER)
            with screen, session.board.listening(screen.show_delta):
                try:
                    await tour.play(session, screen)
                except TimeoutError:
                    message = f"The tour got no event for {TOUR_TIMEOUT:.0f} seconds, and ends here."
                    raise CommandError(message, Exit.TIMEOUT) from None
    return Exit.FAILED if tour.failed else Exit.OK


def _model(name: str) -> Any:
    if name != OFFLINE or not is_interactive(out):
        return name
    try:
        from ...demo.offline import offline_model
    except ModuleNotFoundError as missing:
        raise MissingExtraError("A model to talk to", "chat") from missing
    return offline_model(WORD_DELAY)


class Tour:
    """The scripted tour. Its slow tools wait with `sleep`, so that events always come in the same order."""

    def __init__(self) -> None:
        self.conversing = asyncio.Lock()
        """Held during turns that the results of slow tools must not interrupt."""
        self.failed = False
        """Whether a turn failed."""

    async def sleep(self, seconds: float) -> None:
        """Wait for a time, and until `conversing` is free."""
        await asyncio.sleep(seconds)
        async with self.conversing:
            pass

    async def play(self, session: Session, screen: Screen) -> None:
        """Play the tour in a session. Raises `TimeoutError` if the next event does not arrive in time."""
        async with aclosing(session.events(session.board.last_seq)) as events:
            await _Script(self, session, screen, events).play()


class _Script:
    def __init__(self, tour: Tour, session: Session, screen: Screen, events: AsyncGenerator[Event]) -> None:
        self._tour, self._session, self._screen, self._events = tour, session, screen, events

    async def play(self) -> None:
        explain = self._screen.explain
        explain("Inline tools return within the turn. Two calls in one answer run in parallel.")
        await self._say("what is 1250 * 0.19 and 365 * 24")
        explain("A tool that fails for a moment is retried, if it is safe to run twice.")
        await self._say("check the stock of lamps")
        explain("A background tool works for as long as it needs, and reports its progress.")
        async with self._tour.conversing:
            await self._say("build a report on coffee")
            explain("Meanwhile the conversation continues.")
            await self._say("what is 7 * 6")
        explain("When the result arrives, the model gets it and reports it by itself.")
        await self._show_late_result("build_report")
        explain("A human tool waits for your approval: for a minute or a week, also across a restart.")
        await self._say("pay 25 EUR to Ada for lunch")
        await self._answer({"approved": True})
        explain("A refused call never runs, and the model learns the reason.")
        await self._say("pay 900 EUR to Mallory")
        await self._answer({"approved": False, "reason": "I do not know Mallory."})
        explain("These were the three kinds of tools: inline, background and human. Try them yourself: callboard demo")

    async def _say(self, text: str) -> None:
        """Send a message, and show events until the turn ends or a person is asked."""
        async with alongside(self._session.say(text)) as turn:
            await self._show_until(lambda event: event.kind in TURN_ENDS or event.kind in _REQUESTS)
            await turn

    async def _answer(self, answer: dict[str, Any]) -> None:
        """Answer the open requests. A real model may not have made the call."""
        for request in await self._session.requests():
            await self._session.answer(request.id, answer)
            await self._show_until(lambda event: event.kind in TURN_ENDS)

    async def _show_late_result(self, tool: str) -> None:
        """Show events until the model has reported the late result of a tool."""
        if any(record.tool == tool for record in await self._session.history(unfinished=True)):
            await self._show_until(lambda event: event.kind == EventKind.TOOL_RESULT and event.data["tool"] == tool)
            await self._show_until(lambda event: event.kind in TURN_ENDS)

    async def _show_until(self, is_last: Callable[[Event], bool]) -> None:
        async with asyncio.timeout(TOUR_TIMEOUT):
            async for event in self._events:
                self._screen.show(event)
                self._tour.failed |= event.kind == EventKind.TURN_FAILED
                if is_last(event):
                    return
