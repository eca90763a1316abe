"""What a run brings, taken in: new messages, results of the page's own tools, answers to what people are asked.

Only that is taken. The rest of what a client sends is its copy of the conversation, which is compared and not believed.
"""

from dataclasses import dataclass, field
from typing import Any

from ag_ui.core import ResumeEntry

from ...chat.rows import input_call
from ...errors import ErrorCategory, ToolError
from ...events.kinds import EventKind
from ...events.posting import accept
from ...events.routing import Side
from ...sessions.requests import RequestClosed
from ...sessions.session import Session
from ...storage.rows import RequestRow
from ...types import Wake
from .asked import Asked, RunRefused
from .copy import Copy, Line, lines_of
from .front_end import is_for_page, page_answer
from .interrupts import answer
from .thread import Thread


@dataclass(slots=True)
class Taken:
    """What became of it."""

    since: int
    """The number of the last event that it caused."""
    running: set[str] = field(default_factory=set[str])
    """Executions that go on because of an answer."""
    turn: bool = False
    """Whether a turn begins or goes on because of it."""

    @property
    def anything(self) -> bool:
        return self.turn or bool(self.running)


async def call_id_of(session: Session, row: RequestRow) -> str | None:
    """The call that a request is about, by the model's id."""
    try:
        return (await session.result(row.execution_id, timeout=0)).call_id
    except ToolError:
        return None


async def is_carried(session: Session, call_id: str) -> bool:
    """Whether somebody carries out a call that has not ended: its tool may be one that no process knows any more."""
    row = await session.calls.stored_call(call_id) if session.durable else None
    return row is None or row.owner is not None


async def lines_in(session: Session) -> list[Line]:
    """The transcript."""
    return lines_of(await session.messages(), session.tools().get)


def unanswered(lines: list[Line]) -> list[str]:
    """The calls that have no result, in order."""
    answered = {line.call_id for line in lines}
    return [call.id for line in lines for call in line.calls if call.id not in answered]


class Intake:
    """The beginning of one run."""

    def __init__(self, session: Session, thread: Thread, asked: Asked, copy: Copy) -> None:
        self._session = session
        self._thread = thread
        self._asked = asked
        self._copy = copy
        self._taken = Taken(session.board.last_seq)
        self._wakes = False

    async def take(self) -> tuple[Taken, list[bytes]]:
        """Take what is new, and give the client what it missed. Raises `RunRefused`, `AnswerInvalid`."""
        theirs, rows = await lines_in(self._session), await self._session.requests()
        waiting = unanswered(theirs)
        inputs = await self._inputs(theirs)
        results = await self._results(rows)
        known = {line.id for _, line in results}
        self._copy.lines = [line for line in self._asked.lines if line.id not in known]
        sent = [self._copy.replace(theirs, self._asked.aside)] if self._copy.differs(theirs) else []
        for row, line in results:
            await self._answer(row, page_answer(line.text, self._asked.errors.get(line.call_id or "")), waiting)
            if not sent:
                self._copy.keep(line)
        for entry in self._asked.resume:
            await self._resume(entry, rows, waiting)
        answered = {entry.interrupt_id for entry in self._asked.resume} | {row.id for row, _ in results}
        blocked = [row for row in rows if row.id not in answered and await self._call_id(row) in waiting]
        self._taken.turn = self._wakes and not blocked  # a turn waits until all of its calls have their answers
        for line in inputs:
            await self._say(line)
            self._taken.turn = True
        return self._taken, sent

    async def _inputs(self, theirs: list[Line]) -> list[Line]:
        found = [
            line for line in self._thread.new_inputs(self._asked.lines, theirs) if not await self._was_told(line.id)
        ]
        for line in found:
            if reason := self._asked.refused.get(line.id):
                raise RunRefused(reason)
            if not line.text.strip():
                raise RunRefused("A message of the user is empty.")
            line.fresh = True
        return found

    async def _was_told(self, message_id: str) -> bool:
        """Whether the model was told of a message, which any process may have taken."""
        row = await self._session.calls.stored_call(input_call(message_id)) if self._session.durable else None
        return row is not None and row.completed_at is not None

    async def _say(self, line: Line) -> None:
        """Post a message. One that another process has taken, and that the model was not told yet, is waited for."""
        talk = self._session.talk
        assert talk is not None  # it has given its messages
        _, data = accept({"kind": EventKind.USER_INPUT, "text": line.text}, Side.PEOPLE)
        self._taken.since = max(self._taken.since, await talk.hear(data, line.id))
        self._thread.took(line)

    async def _results(self, rows: list[RequestRow]) -> list[tuple[RequestRow, Line]]:
        """What the client's page made of calls that wait for it."""
        given = {line.call_id: line for line in self._asked.lines if line.call_id is not None}
        found: list[tuple[RequestRow, Line]] = []
        for row in rows if given else ():
            if is_for_page(row) and (line := given.get(await self._call_id(row) or "")) is not None:
                if reason := self._asked.refused.get(line.id):
                    raise RunRefused(reason)
                found.append((row, line))
        return found

    async def _resume(self, entry: ResumeEntry, rows: list[RequestRow], waiting: list[str]) -> None:
        """Answer a request. One that is closed by now is left as it is: whoever resumes twice resumes once."""
        row = next((row for row in rows if row.id == entry.interrupt_id), None)
        if row is None:
            await self._check_closed(entry.interrupt_id)
        elif is_for_page(row):
            raise RunRefused(f"{row.id} is a call of the page's own tool: its answer is a tool message.")
        else:
            await self._answer(row, answer(entry, row), waiting)

    async def _check_closed(self, request_id: str) -> None:
        try:
            await self._session.answer(request_id, None)
        except RequestClosed:
            return
        except ToolError as error:
            if error.category is not ErrorCategory.NOT_FOUND:
                raise
            raise RunRefused(f"There is no interrupt {request_id[:80]!r} in this thread.") from error

    async def _answer(self, row: RequestRow, said: Any, waiting: list[str]) -> None:
        """Answer a request; None gives its call up."""
        running = self._taken.running
        running.add(row.execution_id)
        try:
            if said is None:
                await self._session.cancel(row.execution_id)
            else:
                self._taken.since = await self._session.answer(row.id, said)
        except RequestClosed:
            running.discard(row.execution_id)
        else:
            wakes = self._session.wakes(row.tool) is Wake.WAKE
            self._wakes |= wakes or await self._call_id(row) in waiting

    async def _call_id(self, row: RequestRow) -> str | None:
        return await call_id_of(self._session, row)
