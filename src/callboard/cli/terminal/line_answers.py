"""Requests of a call, answered line by line: prompts on standard error, lines from standard input.

For a command that runs one call. `chat` has a screen and a line editor instead.
"""

import asyncio
import os
import sys
import threading
from contextlib import suppress

from ...errors import CallboardError
from ...sessions.answers import AnswerInvalid
from ...sessions.session import Session
from .call_view import CallView
from .request_form import Answer, RequestForm
from .text import one_line


class LineAnswers:
    """Asks the person at the terminal, or the program that writes to standard input."""

    def __init__(self, session: Session, view: CallView) -> None:
        self._session = session
        self._view = view
        self._read = b""
        """Bytes that were read after the last line."""

    async def ask(self, request_id: str, execution_id: str) -> None:
        """Ask until a request is answered, or its call has ended. The end of the input cancels the call."""
        asking = asyncio.ensure_future(self._ask(request_id, execution_id))
        ended = asyncio.ensure_future(self._session.result(execution_id))
        try:
            await asyncio.wait([asking, ended], return_when=asyncio.FIRST_COMPLETED)
            if asking.done():
                asking.result()
        finally:
            for each in (asking, ended):
                each.cancel()
                with suppress(asyncio.CancelledError):
                    await each

    async def _ask(self, request_id: str, execution_id: str) -> None:
        requests = {each.id: each for each in await self._session.requests()}
        if (request := requests.get(request_id)) is None:
            return
        form = RequestForm(request)
        with self._view.paused():
            while True:
                if form.is_idle and not form.is_approval:
                    form.enter("answer")
                if (line := await self._ask_line(form)) is None:
                    self._view.note(f"{one_line(request.tool)} was not answered: the input has ended.")
                    await self._session.cancel(execution_id)
                    return
                if not form.accepts(line):
                    continue
                answer = form.enter(line)
                if form.problem:
                    self._view.note(form.problem)
                if answer is not None and await self._submit(form, answer):
                    return

    async def _submit(self, form: RequestForm, answer: Answer) -> bool:
        """Submit an answer. False if it is not valid."""
        request = form.request
        try:
            await self._session.answer(request.id, answer.value, arguments_hash=request.arguments_hash)
        except AnswerInvalid as error:
            problems = [f"{problem.get('path')}: {problem.get('message')}" for problem in error.problems]
            self._view.note("; ".join(problems) or str(error))
            return False
        except CallboardError as error:  # it was closed in this moment
            self._view.note(str(error))
        return True

    async def _ask_line(self, form: RequestForm) -> str | None:
        """Show the prompt of a form, and read a line. None at the end of the input."""
        text, initial = form.prompt
        sys.stderr.write(f"{initial}\n{text}" if initial else text)
        sys.stderr.flush()
        while b"\n" not in self._read:
            if not (more := await _read_input()):
                sys.stderr.write("\n")
                line, self._read = self._read, b""
                return line.decode(errors="replace") or None
            self._read += more
        line, _, self._read = self._read.partition(b"\n")
        return line.decode(errors="replace")


async def _read_input() -> bytes:
    """Read from standard input; nothing at its end.

    A thread waits for it that nothing else waits for: the process can exit while no line was typed.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[bytes] = loop.create_future()

    def deliver(data: bytes) -> None:
        if not future.done():
            future.set_result(data)

    def read() -> None:
        try:
            data = os.read(sys.stdin.fileno(), 65_536)
        except (OSError, ValueError, AttributeError):  # it is closed, or no file
            data = b""
        with suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(deliver, data)

    threading.Thread(target=read, name="callboard-input", daemon=True).start()
    return await future
