"""A call of a server's tool while it runs: its context, its progress and its time limit."""

import math

import anyio

from callboard import ToolContext

from .allowance import Allowance

PROGRESS_BURST, PROGRESS_RATE = 100, 10.0
"""Reports of progress that are passed on at once, and per second after that. The others are dropped."""
MAX_QUESTIONS = 20
"""Times that a server may ask for input in one call."""
MAX_TEXT = 500
"""Characters of a message about progress."""


class ActiveCall:
    """A call that is running: its context, and its time limit, which stops while a person is asked."""

    def __init__(self, context: ToolContext, timeout: float) -> None:
        self.context = context
        self._timeout = timeout
        self._asking = 0
        self._questions = 0
        self._done = False
        self._allowance = Allowance(PROGRESS_BURST, PROGRESS_RATE, anyio.current_time)
        self.scope = anyio.CancelScope(deadline=anyio.current_time() + timeout)

    @property
    def user(self) -> str:
        """Id of the user."""
        return self.context.user_id or ""

    def may_ask(self) -> bool:
        """Count another question to a person. False if the server has asked too often."""
        self._questions += 1
        return self._questions <= MAX_QUESTIONS

    def pause(self) -> None:
        """Stop the time limit: a person is asked."""
        self._asking += 1
        self.scope.deadline = math.inf

    def resume(self) -> None:
        """Begin the time limit anew, unless a person is still asked something else."""
        self._asking -= 1
        if not self._asking:
            self.scope.deadline = anyio.current_time() + self._timeout

    def end(self) -> None:
        """Ignore reports that come later."""
        self._done = True

    async def progress(self, progress: float, total: float | None, message: str | None) -> None:
        """Pass on a report of progress."""
        if self._done or not self._allowance.take():
            return
        fraction = None
        if total is not None and 0 < total < math.inf and math.isfinite(progress):
            fraction = min(max(progress / total, 0.0), 1.0)
        await self.context.progress("running", fraction, None if message is None else message[:MAX_TEXT])

    async def report(self, message: str) -> None:
        """Pass on what a task says about its state."""
        await self.progress(0.0, None, message)
