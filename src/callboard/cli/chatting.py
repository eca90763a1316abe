"""A chat on a terminal: one types while the model speaks and tools run, and answers what one is asked."""

import asyncio
import os
import sys
from contextlib import aclosing
from typing import Any

from pydantic_core import from_json
from rich.text import Text

from ..errors import CallboardError
from ..events.event import Event
from ..events.kinds import EventKind
from ..sessions.answers import AnswerInvalid
from ..sessions.session import Session
from .console import out, print_line
from .dialogue import LiveScreen
from .exits import Exit
from .interrupts import Interrupts
from .keyboard import Keyboard
from .questions import Inquiry
from .text import one_line

HELP = """\
Write to the model, at any time, also while something runs.
  what is 12 * (3 + 4)             a call that answers at once
  check the stock of lamps         a call that fails, and is tried again
  build a report on coffee         work in the background: go on writing meanwhile
  cancel the report, list tasks    what becomes of such work
  pay 25 EUR to Ada for lunch      a call that waits for your approval
  deliver the lamp                 a question to you
  later                            leave a question open that you have begun to answer
  quit, or Ctrl-D                  leave; Ctrl-C stops the model, and a second one leaves at once"""


class Chat:
    """One person at a terminal, in one session."""

    def __init__(self, session: Session, welcome: str) -> None:
        self._session = session
        self._welcome = welcome
        self._keyboard = Keyboard(sys.stdin.fileno(), self._pressed)
        self._screen = LiveScreen(lambda: self._keyboard.shown(self._prompt()))
        self._inquiries: dict[str, Inquiry] = {}
        self._interrupts = Interrupts(self._interrupted, self._abandon)
        self._stopping: asyncio.Task[bool] | None = None

    async def run(self) -> Exit:
        """Chat until the person leaves."""
        after = self._session.board.last_seq
        with self._keyboard, self._interrupts, self._screen, self._session.board.listening(self._heard):
            self._screen.explain(self._welcome)
            for request in await self._session.requests():  # left open by an earlier chat
                self._ask(
                    request.id,
                    request.execution_id,
                    request.tool,
                    request.payload,
                    request.answer_schema,
                    request.purpose,
                    request.arguments_hash,
                )
            following = asyncio.ensure_future(self._follow(after))
            try:
                while (line := await self._keyboard.next()) is not None:
                    if following.done():
                        following.result()
                    if line.strip().lower() in ("quit", "exit"):
                        break
                    await self._typed(line)
            finally:
                following.cancel()
                await asyncio.wait([following])
        return Exit.OK

    async def _typed(self, line: str) -> None:
        inquiry = self._inquiry()
        try:
            if inquiry is not None and inquiry.concerns(line):
                await self._answered(inquiry, line)
            elif line.strip().lower() in ("help", "?"):
                print_line(Text(HELP))
            elif line.strip():
                await self._session.post({"kind": EventKind.USER_INPUT, "text": line.strip()})
        except CallboardError as error:
            print_line(Text(f"       {one_line(str(error))}", "red"))

    async def _answered(self, inquiry: Inquiry, line: str) -> None:
        answer = inquiry.take(line)
        if inquiry.problem:
            print_line(Text(f"       {inquiry.problem}", "yellow"))
        if answer is None:
            self._keyboard.line.put("" if inquiry.idle else inquiry.question.begin)
            return
        try:
            await self._session.answer(inquiry.request_id, answer.value, arguments_hash=inquiry.arguments_hash)
        except AnswerInvalid as error:  # it is still open
            said = [f"{each.get('path')}: {each.get('message')}" for each in error.problems]
            print_line(Text(f"       {one_line('; '.join(said) or str(error))}", "yellow"))
            self._keyboard.line.put("" if inquiry.idle else inquiry.question.begin)
        except CallboardError:
            self._inquiries.pop(inquiry.request_id, None)
            raise
        else:
            self._inquiries.pop(inquiry.request_id, None)

    async def _follow(self, after: int) -> None:
        async with aclosing(self._session.events(after)) as events:
            async for event in events:
                self._screen.show(event)
                self._note(event)

    def _note(self, event: Event) -> None:
        data = event.data
        match event.kind:
            case EventKind.HUMAN_REQUEST | EventKind.WALLET_TX_REQUEST:
                asked = data.get("payload", {})
                seen = data.get("arguments_hash")
                schema, purpose = data["answer_schema"], data["purpose"]
                self._ask(data["request_id"], data["execution_id"], data["tool"], asked, schema, purpose, seen)
            case EventKind.HUMAN_ANSWER | EventKind.WALLET_TX_RESPONSE:  # perhaps by somebody else
                self._inquiries.pop(data["request_id"], None)
            case EventKind.TOOL_RESULT:
                for known in [each for each in self._inquiries.values() if each.execution_id == data["execution_id"]]:
                    del self._inquiries[known.request_id]
            case _:
                pass

    def _ask(
        self,
        request_id: str,
        execution_id: str,
        tool: str,
        payload: Any,
        schema: dict[str, Any],
        purpose: str,
        seen: str | None,
    ) -> None:
        self._inquiries[request_id] = Inquiry(request_id, execution_id, tool, payload, schema, purpose, seen)

    def _inquiry(self) -> Inquiry | None:
        return next(iter(self._inquiries.values()), None)

    def _prompt(self) -> str:
        inquiry = self._inquiry()
        return "> " if inquiry is None else inquiry.question.prompt

    def _heard(self, event: bytes) -> None:
        said = from_json(event)
        if said["kind"] == EventKind.TEXT:
            self._screen.hear(said["data"]["delta"])

    def _pressed(self) -> None:
        self._interrupts.seen = False
        self._screen.refresh()

    def _interrupted(self) -> None:
        if self._session.is_processing:
            self._stopping = asyncio.ensure_future(self._session.interrupt())
            said = "Stopping. Ctrl-C again leaves at once."
        else:
            self._keyboard.line.put("")
            said = "Nothing to stop: Ctrl-C again leaves, and so do Ctrl-D and quit."
        print_line(Text(f"       {said}", "yellow"))

    def _abandon(self) -> None:
        self._keyboard.restore()
        os.write(out.file.fileno(), b"\x1b[?25h\r\n")  # only the cursor is missing
