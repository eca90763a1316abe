"""`callboard demo`: a conversation that shows every kind of tool, with no key and no network."""

import asyncio
import contextlib
import math
import sys
from collections.abc import Generator
from typing import Annotated, Any

import typer
from pydantic_core import from_json

from ..demo.tools import demo_tools
from ..errors import MissingExtraError
from ..events.kinds import EventKind
from ..runtime import Runtime
from ..sessions.session import Session
from ..toolkits import built_in
from .chatting import Chat
from .console import fail, is_interactive, out
from .dialogue import JsonScreen, LineScreen, LiveScreen, Screen
from .exits import Exit
from .interrupts import Interrupts
from .logs import logs_said
from .store import say
from .tour import Tour

SESSION, USER = "demo", "you"
OFFLINE = "offline"
TYPING = 0.03
"""Seconds for each word of the offline model, where a person looks on."""
INSTRUCTIONS = (
    "You demonstrate Callboard, a runtime for the tools of AI agents. Use the tools for whatever they can do, several "
    "at once where that helps. Answer in one or two short sentences. Work in the background is reported to you."
)


def run_demo(
    model: Annotated[
        str, typer.Option(metavar="NAME", help="Any model that Pydantic AI knows, such as anthropic:claude-sonnet-4-5.")
    ] = OFFLINE,
    script: Annotated[bool, typer.Option("--script", help="Play a tour that needs nobody, and end.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="The tour, with every event of the board as a line of JSON.")
    ] = False,
    store: Annotated[
        str, typer.Option(metavar="URL", help="Where to keep the conversation, such as sqlite:///demo.db.")
    ] = "memory://",
    pace: Annotated[float, typer.Option(metavar="SECONDS", help="How long each step of the slow tools takes.")] = 0.4,
) -> None:
    """Try it: chat with a model that uses tools, with no key and no network.

    On a terminal one types, also while tools run, and answers what they
    ask. Elsewhere, or with --script, a tour is played. The offline model
    is no language model: it knows a few phrases. --model picks any other
    one; its key is taken from the environment.

    Exit codes:

      0  it ended well
      1  it failed; the message says why
      2  the command was not understood
    130  it was stopped by Ctrl-C
    """
    if not (math.isfinite(pace) and 0 <= pace <= 60):
        raise typer.Exit(fail("--pace must be a number of seconds from 0 to 60.", Exit.USAGE))
    chatting = not (script or as_json) and sys.stdin.isatty() and is_interactive(out)
    try:
        raise typer.Exit(asyncio.run(_chat(model, store, pace) if chatting else _tour(model, store, pace, as_json)))
    except asyncio.CancelledError:
        raise typer.Exit(fail("stopped", Exit.INTERRUPTED)) from None


async def _chat(model: str, store: str, pace: float) -> Exit:
    tools = [*demo_tools(pace), *built_in()]
    with logs_said(say):
        async with Runtime(tools, model=_model(model), instructions=INSTRUCTIONS, store=store) as runtime:
            session = await runtime.open(SESSION, user_id=USER)
            who = "the offline model, which is no language model and knows a few phrases" if model == OFFLINE else model
            return await Chat(session, f"You talk to {who}. Type help for what to try, quit to leave.").run()


async def _tour(model: str, store: str, pace: float, as_json: bool) -> Exit:
    task = asyncio.current_task()
    assert task is not None
    tour = Tour()
    live = not as_json and is_interactive(out)
    screen: Screen = JsonScreen() if as_json else LiveScreen() if live else LineScreen()
    tools = [*demo_tools(pace, tour.sleep), *built_in()]
    with Interrupts(task.cancel, lambda: None), logs_said(say):
        async with Runtime(tools, model=_model(model), instructions=INSTRUCTIONS, store=store) as runtime:
            session = await runtime.open(SESSION, user_id=USER)
            with screen, _hearing(session, screen):
                try:
                    await tour.play(session, screen)
                except TimeoutError:
                    return Exit(fail("Nothing came for a long time; the tour ends here.", Exit.TIMEOUT))
    return Exit.FAILED if tour.failed else Exit.OK


@contextlib.contextmanager
def _hearing(session: Session, screen: Screen) -> Generator[None, None, None]:
    def heard(event: bytes) -> None:
        said = from_json(event)
        if said["kind"] == EventKind.TEXT:
            screen.hear(said["data"]["delta"])

    with session.board.listening(heard):
        yield


def _model(name: str) -> Any:
    if name != OFFLINE or not is_interactive(out):
        return name
    try:
        from ..demo.offline import offline_model
    except ModuleNotFoundError as missing:
        raise MissingExtraError("A model to talk to", "chat") from missing
    return offline_model(TYPING)
