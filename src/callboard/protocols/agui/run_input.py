"""What a run brings, taken in: new messages, results of the page's own tools, answers to what people are asked.

Only that is taken. The rest of what a client sends is its copy of the conversation, which is compared and not believed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ag_ui.core import ResumeEntry

from ...errors import ErrorCategory, ToolError
from ...events.kinds import EventKind
from ...events.posting import accept
from ...events.routing import Side
from ...sessions.live_session import LiveSession
from ...sessions.requests import RequestClosed
from ...storage.rows import RequestRow
from ...types import Wake
from . import arrivals
from .client_messages import ClientMessages
from .front_end import is_for_page, page_answer
from .interrupts import answer
from .lines import MOST, WINDOW, Line, Lines, Window, unanswered
from .refused import RunRefused
from .run_request import RunRequest
from .thread import Thread

_ASKED_AT_ONCE = 500
"""How many ids the store is asked for at once."""


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


async def call_id_of(session: LiveSession, row: RequestRow) -> str | None:
    """The call that a request is about, by the model's id."""
    try:
        return (await session.calls.result(row.execution_id, timeout=0)).call_id
    except ToolError:
        return None


async def is_carried(session: LiveSession, call_id: str) -> bool:
    """Whether a process carries out a call that has not ended: its tool may be one that no process knows any more."""
    row = await session.calls.stored_call(call_id) if session.durable else None
    return row is None or row.owner is not None


class RunInput:
    """The beginning of one run."""

    def __init__(self, session: LiveSession, thread: Thread, run_request: RunRequest, lines: Lines) -> None:
        self._session = session
        self._thread = thread
        self._asked = run_request
        self._lines = lines
        self._taken = Taken(session.board.last_seq)
        self._wakes = False

    async def take(self) -> tuple[Taken, ClientMessages, list[bytes]]:
        """Take what is new. Gives the client's copy, and the frames for what the client missed.

        Raises `RunRefused`, `AnswerInvalid`.
        """
        given = arrivals.distinct(self._asked.lines)
        limit = self._asked.wanted or max(WINDOW, len(given))
        window, rows = await self._lines.window(min(limit, MOST)), await self._session.requests()
        waiting = unanswered(window.lines)
        new, pending = await self._inputs(given, window)
        results = await self._results(given, rows)
        for line in (*new, *pending, *(line for _, line in results if line.call_id in waiting)):
            line.fresh = True
        copy = ClientMessages(given)
        copy.compare(window, self._asked.wanted or WINDOW)
        sent = copy.replace(self._asked.aside) if copy.differs else []
        for row, line in results:
            await self._answer(row, page_answer(line.text, self._asked.errors.get(line.call_id or "")), waiting)
        for entry in self._asked.resume:
            await self._resume(entry, rows, waiting)
        answered = {entry.interrupt_id for entry in self._asked.resume} | {row.id for row, _ in results}
        blocked = [row for row in rows if row.id not in answered and await self._call_id(row) in waiting]
        self._taken.turn = self._wakes and not blocked  # a turn waits until all of its calls have their answers
        await self._say(new, pending)
        return self._taken, copy, sent

    async def _inputs(self, given: Sequence[Line], window: Window) -> tuple[list[Line], list[Line]]:
        """The messages of the user that are new, and those that were taken and that the model was not told yet."""
        self._thread.remember(line.id for line in window.lines if line.role == "user")
        unknown = arrivals.unknown(given, window, self._thread.remembered)
        ours = {id(line) for line in arrivals.ours(given, window, self._lines.names)}
        new: list[Line] = []
        pending: list[Line] = []
        left = False
        for start in range(0, len(unknown), _ASKED_AT_ONCE):
            some = unknown[start : start + _ASKED_AT_ONCE]
            taken = await self._session.conversation().taken([line.id for line in some])
            self._thread.remember(identity for identity, told in taken.items() if told)
            pending += [line for line in some if taken.get(line.id) is False]
            new += [line for line in some if line.id not in taken and id(line) in ours]
            left |= any(line.id not in taken and id(line) not in ours for line in some)
            arrivals.check(new, self._asked)
        fresh = {id(line) for line in (*new, *pending)}
        if repeated := [line for line in arrivals.last_words(given) if id(line) not in fresh]:
            arrivals.check_texts(repeated, await self._lines.texts({line.id for line in repeated}, window))
        if left and not (new or pending or self._asked.resume or any(line.call_id for line in given)):
            raise arrivals.MessageNotTaken(
                "A message of the user stands before a message of an assistant that is not of this thread, so it was "
                "not taken. Send it again after the messages of this thread."
            )
        return new, pending

    async def _say(self, new: Sequence[Line], pending: Sequence[Line]) -> None:
        """Post messages. One that another process has taken, and that the model was not told yet, is waited for."""
        conversation = self._session.conversation()
        if new:
            said = {line.id: accept({"kind": EventKind.USER_INPUT, "text": line.text}, Side.PEOPLE)[1] for line in new}
            number = await conversation.hear_all({identity: data["text"] for identity, data in said.items()})
            self._taken.since = max(self._taken.since, number)
        elif pending:
            conversation.wake()
        self._taken.turn |= bool(new or pending)

    async def _results(self, given: Sequence[Line], rows: list[RequestRow]) -> list[tuple[RequestRow, Line]]:
        """What the client's page made of calls that wait for it. Raises `RunRefused`."""
        brought: dict[str, list[Line]] = {}
        for line in given:
            if line.call_id is not None and not self._lines.names.knows(line.id):
                brought.setdefault(line.call_id, []).append(line)
        found: list[tuple[RequestRow, Line]] = []
        for row in rows if brought else ():
            if not is_for_page(row) or not (lines := brought.get(await self._call_id(row) or "")):
                continue
            if len({line.text for line in lines}) > 1:
                raise RunRefused(f"Two messages answer the call {lines[0].call_id!r} differently. Nothing was taken.")
            if reason := self._asked.refused.get(lines[0].id):
                raise RunRefused(reason)
            found.append((row, lines[0]))
        return found

    async def _resume(self, entry: ResumeEntry, rows: list[RequestRow], waiting: list[str]) -> None:
        """Answer a request. One that is closed by now is left as it is: to resume twice is to resume once."""
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
                await self._session.calls.cancel(row.execution_id)
            else:
                self._taken.since = await self._session.answer(row.id, said)
        except RequestClosed:
            running.discard(row.execution_id)
        else:
            wakes = self._session.wakes(row.tool) is Wake.WAKE
            self._wakes |= wakes or await self._call_id(row) in waiting

    async def _call_id(self, row: RequestRow) -> str | None:
        return await call_id_of(self._session, row)
