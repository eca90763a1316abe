"""A thread: the state that the runs of one session share in this process.

Several runs of a thread may be open at once, such as two tabs of a page. They read the same conversation, and a message
of one joins the running turn. A repeated message is accepted once; the store ensures that across processes.
"""

import asyncio
from collections.abc import Collection, Generator, Iterable, Sequence
from contextlib import contextmanager

from ...background_tasks import BackgroundTasks
from ...sessions.live_session import LiveSession
from ...tools.definition import Tool
from ...tools.front_end import MAX_TOOLS
from .run_refused import RunRefused

REMEMBERED = 5_000
"""Ids of delivered messages that a thread caches. The store has all of them."""
MAX_RUNS = 100
"""Open runs of a thread: each of them reads every event."""
MAX_THREAD_TOOLS = 4 * MAX_TOOLS
"""Tools of all open runs of a thread, which is more than one page may have."""


class Thread:
    """A session's state for AG-UI. It must not refer to the session, which keeps it alive."""

    def __init__(self) -> None:
        self._delivered: dict[str, None] = {}
        self._tools: dict[object, Sequence[Tool]] = {}
        self._has_own_tools = False
        self.accepting = BackgroundTasks()
        """Accepts the input of runs, also if their clients disconnect."""
        self.paused: tuple[str, int, int] | None = None
        """The last paused turn, and the input and output tokens that it had used."""
        self.starting = asyncio.Lock()
        """Lets one run at a time have its input accepted."""

    @contextmanager
    def lending(self, session: LiveSession, tools: Sequence[Tool]) -> Generator[None]:
        """Add the tools of a run to its session, together with those of other open runs.

        They stay until the next run, because a call may still wait for its page. Raises `RunRefused` if there are too
        many runs or tools, or `RegistrationError`.
        """
        run = object()
        if len(self._tools) >= MAX_RUNS:
            raise RunRefused(f"The thread has {MAX_RUNS} open runs already. Nothing was done: end one of them first.")
        if tools or self._has_own_tools:
            lent = {tool.name: tool for given in (*self._tools.values(), tools) for tool in given}
            if len(lent) > MAX_THREAD_TOOLS:
                raise RunRefused(f"The open runs of the thread would have more than {MAX_THREAD_TOOLS} tools.")
            session.toolbox.replace_own_tools(lent.values())
            self._has_own_tools = bool(lent)
        self._tools[run] = tools
        try:
            yield
        finally:
            del self._tools[run]

    @property
    def remembered(self) -> Collection[str]:
        """Ids of delivered user messages, which need no query."""
        return self._delivered

    def remember(self, ids: Iterable[str]) -> None:
        """Remember delivered user messages, up to `REMEMBERED`."""
        for identity in ids:
            self._delivered.pop(identity, None)
            self._delivered[identity] = None
        while len(self._delivered) > REMEMBERED:
            del self._delivered[next(iter(self._delivered))]
