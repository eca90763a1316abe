"""A chat on a terminal. You type while the model answers and tools run, and answer requests in the same place."""

import asyncio
import os
import signal
import sys
from collections.abc import Generator
from contextlib import aclosing, contextmanager

from rich.text import Text

from ...errors import CallboardError
from ...events.kinds import EventKind
from ...sessions.answers import AnswerInvalid
from ...sessions.session import Session
from ..interrupts import Interrupts, alongside
from ..process import Exit
from .console import out, print_line
from .keyboard import Keyboard
from .request_form import RequestForm
from .screen import LiveScreen
from .text import one_line

HELP = """\
Write to the model at any time, also while tools run.
  what is 12 * (3 + 4)             a call that returns within the turn
  check the stock of lamps         a call that fails and is retried
  build a report on coffee         background work: keep chatting meanwhile
  index the letters                two minutes of work, continued after a cancel or a restart
  cancel the report, list tasks    manage background work
  pay 25 EUR to Ada for lunch      a call that needs your approval
  deliver the lamp                 a question to you
  later                            leave a request open that you have started to answer
  quit, or Ctrl-D                  leave; Ctrl-C stops the model, a second Ctrl-C exits at once"""


_REQUEST_EVENTS = frozenset(
    {
        EventKind.HUMAN_REQUEST,
        EventKind.WALLET_TX_REQUEST,
        EventKind.HUMAN_ANSWER,
        EventKind.WALLET_TX_RESPONSE,
        EventKind.TOOL_RESULT,
    }
)
"""Events that open or close a request; the end of a call withdraws its requests."""


class Chat:
    """A person at a terminal, in one session."""

    def __init__(self, session: Session, welcome: str) -> None:
        self._session = session
        self._welcome = welcome
        self._keyboard = Keyboard(sys.stdin.fileno(), self._on_key)
        self._screen = LiveScreen(lambda: self._keyboard.render(self._prompt()))
        self._forms: dict[str, RequestForm] = {}
        self._interrupts = Interrupts(lambda: self._interrupted.set(), self._abandon)
        self._interrupted = asyncio.Event()

    async def run(self) -> Exit:
        """Chat until the person leaves."""
        last_seq = self._session.board.last_seq
        listening = self._session.board.listening(self._screen.show_delta)
        with self._keyboard, self._interrupts, self._screen, self._signals(), listening:
            self._screen.explain(self._welcome)
            await self._update_forms()
            async with alongside(self._show_events(last_seq)), alongside(self._stop_turns()):
                while (line := await self._keyboard.next()) is not None:
                    if line.strip().lower() in ("quit", "exit"):
                        break
                    await self._enter(line)
        return Exit.OK

    @contextmanager
    def _signals(self) -> Generator[None]:
        """Give the terminal back when the process is stopped or asked to end."""
        loop = asyncio.get_running_loop()
        handlers = {signal.SIGTERM: self._keyboard.end, signal.SIGTSTP: self._suspend}
        installed = [number for number in handlers if signal.getsignal(number) is signal.SIG_DFL]
        for number in installed:
            loop.add_signal_handler(number, handlers[number])
        try:
            yield
        finally:
            for number in installed:
                loop.remove_signal_handler(number)

    def _suspend(self) -> None:
        """Stop the process, as Ctrl-Z does, and return when it is continued."""
        loop = asyncio.get_running_loop()
        with self._screen.paused():
            self._keyboard.restore()
            loop.remove_signal_handler(signal.SIGTSTP)
            signal.raise_signal(signal.SIGTSTP)
            loop.add_signal_handler(signal.SIGTSTP, self._suspend)
            self._keyboard.take()

    async def _enter(self, line: str) -> None:
        form = self._form()
        try:
            if form is not None and form.accepts(line):
                await self._answer(form, line)
            elif line.strip().lower() in ("help", "?"):
                print_line(Text(HELP))
            elif line.strip():
                await self._session.post({"kind": EventKind.USER_INPUT, "text": line.strip()})
        except CallboardError as error:
            self._print(one_line(str(error)), "red")

    async def _answer(self, form: RequestForm, line: str) -> None:
        answer = form.enter(line)
        if form.problem:
            self._print(form.problem)
        if answer is None:
            self._keyboard.editor.set("" if form.is_idle else form.prompt.initial)
            return
        try:
            await self._session.answer(form.request.id, answer.value, arguments_hash=form.request.arguments_hash)
        except AnswerInvalid as error:  # the request is still open
            problems = [f"{problem.get('path')}: {problem.get('message')}" for problem in error.problems]
            self._print(one_line("; ".join(problems) or str(error)))
            self._keyboard.editor.set("" if form.is_idle else form.prompt.initial)
        except CallboardError:
            self._forms.pop(form.request.id, None)
            raise
        else:
            self._forms.pop(form.request.id, None)

    async def _show_events(self, after: int) -> None:
        async with aclosing(self._session.events(after)) as events:
            async for event in events:
                self._screen.show(event)
                if event.kind in _REQUEST_EVENTS:
                    await self._update_forms()

    async def _update_forms(self) -> None:
        """Keep a form for each open request, also for one of an earlier chat; other clients may answer it."""
        requests = await self._session.requests()
        self._forms = {request.id: self._forms.get(request.id) or RequestForm(request) for request in requests}

    def _form(self) -> RequestForm | None:
        return next(iter(self._forms.values()), None)

    def _prompt(self) -> str:
        form = self._form()
        return "> " if form is None else form.prompt.text

    def _on_key(self) -> None:
        self._interrupts.interrupted = False
        self._screen.refresh()

    async def _stop_turns(self) -> None:
        """Interrupt the turn at each first Ctrl-C."""
        while True:
            await self._interrupted.wait()
            self._interrupted.clear()
            if self._session.is_processing:
                self._print("Stopping. Press Ctrl-C again to exit at once.")
                try:
                    await self._session.interrupt()
                except CallboardError as error:
                    self._print(one_line(str(error)), "red")
            else:
                self._keyboard.editor.set("")
                self._print("Nothing to stop. Press Ctrl-C again to exit, or Ctrl-D, or type quit.")

    def _print(self, message: str, style: str = "yellow") -> None:
        print_line(Text(f"       {message}", style))

    def _abandon(self) -> None:
        self._keyboard.restore()
        os.write(out.file.fileno(), b"\x1b[?25h\r\n")  # show the cursor again
