"""A thread: what the runs of one session have in common, in this process.

Several runs of a thread may be open at once, two tabs of one page for instance. They read the same conversation, and
what one of them says joins the turn that runs. A message that a client sends again is taken once; over processes the
store sees to that.
"""

import asyncio
import logging
from collections.abc import Collection, Coroutine, Generator, Iterable, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from ...sessions.live_session import LiveSession
from ...tools.definition import Tool

T = TypeVar("T")

log = logging.getLogger("callboard.agui")

REMEMBERED = 5_000
"""How many ids of messages that the model was told of a thread remembers. The store remembers all of them."""


class Thread:
    """One session, as AG-UI sees it. It must not hold that session, which holds it."""

    def __init__(self) -> None:
        self._told: dict[str, None] = {}
        self._tools: dict[object, Sequence[Tool]] = {}
        self._lent = False
        self._kept: set[asyncio.Task[Any]] = set()
        self.paused: tuple[str, int, int] | None = None
        """The turn that waited last, and what it had used by then: input and output tokens."""
        self.starting = asyncio.Lock()
        """One run after the other sees what is new, and takes it."""

    @contextmanager
    def lending(self, session: LiveSession, tools: Sequence[Tool]) -> Generator[None]:
        """Have its session see the tools that a run's client brings, together with those of other open runs.

        They stay until another run begins: a call of them may still wait for its page. Raises `RegistrationError`.
        """
        run = object()
        if tools or self._lent:
            others = {tool.name: tool for given in self._tools.values() for tool in given}
            session.toolbox.lend({**others, **{tool.name: tool for tool in tools}}.values())
            self._lent = bool(others or tools)
        self._tools[run] = tools
        try:
            yield
        finally:
            del self._tools[run]

    def keep(self, taking: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Begin something that goes on to its end, also where the client of its run leaves."""
        task = asyncio.get_running_loop().create_task(taking, name="callboard: AG-UI intake")
        self._kept.add(task)
        task.add_done_callback(self._let_go)
        return task

    def _let_go(self, task: asyncio.Task[Any]) -> None:
        self._kept.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:  # whoever wanted to know it may be gone
            log.debug("what a run brought was not taken in: %s", error)

    @property
    def remembered(self) -> Collection[str]:
        """Ids of messages of the user that the model was told of, so that the store need not be asked for them."""
        return self._told

    def remember(self, ids: Iterable[str]) -> None:
        """Remember messages of the user that the model was told of, the newest ones."""
        for identity in ids:
            self._told.pop(identity, None)
            self._told[identity] = None
        while len(self._told) > REMEMBERED:
            del self._told[next(iter(self._told))]


class Threads:
    """The threads of one endpoint, for as long as their sessions are in memory."""

    def __init__(self) -> None:
        self._known: WeakKeyDictionary[LiveSession, Thread] = WeakKeyDictionary()

    def of(self, session: LiveSession) -> Thread:
        """The thread of a session."""
        if (thread := self._known.get(session)) is None:
            thread = self._known[session] = Thread()
        return thread
