"""The input of a run that is accepted: new user messages, results of front-end tools, and answers to requests.

The rest of a client's input is its copy of the conversation, which is only compared with the transcript.
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
from . import new_messages
from .client_messages import ClientMessages
from .interrupts import answer
from .page_tools import is_for_page, page_answer
from .run_refused import RunRefused
from .run_request import RunRequest
from .thread import Thread
from .thread_messages import MAX_WINDOW, WINDOW, MessageWindow, ThreadMessage, ThreadReader, unanswered

_IDS_PER_QUERY = 500


@dataclass(slots=True)
class InputEffects:
    """The effects of a run's input."""

    since: int
    """The number of the last event that it caused."""
    running: set[str] = field(default_factory=set[str])
    """Executions that continue because of an answer."""
    turn: bool = False
    """Whether it starts or continues a turn."""

    @property
    def anything(self) -> bool:
        return self.turn or bool(self.running)


async def has_owner(session: LiveSession, call_id: str) -> bool:
    """Whether a process runs an open call. It has no owner if its tool is unknown to every process."""
    row = await session.calls.stored_call(call_id) if session.durable else None
    return row is None or row.owner is not None


class RunInput:
    """The new input of one run."""

    def __init__(self, session: LiveSession, thread: Thread, run_request: RunRequest, reader: ThreadReader) -> None:
        self._session = session
        self._thread = thread
        self._request = run_request
        self._reader = reader
        self._effects = InputEffects(session.board.last_seq)
        self._wakes = False
        self._call_ids: dict[str, str] = {}
        """The model's ids of calls with open requests, by execution."""

    async def accept(self) -> tuple[InputEffects, ClientMessages]:
        """Accept new input. Returns its effects, and the client's messages compared with the thread's.

        Raises `RunRefused` or `AnswerInvalid`.
        """
        given = new_messages.distinct(self._request.messages)
        limit = self._request.wanted or max(WINDOW, len(given))
        window, rows = await self._reader.window(min(limit, MAX_WINDOW)), await self._session.requests()
        self._call_ids = await self._session.calls.call_ids([row.execution_id for row in rows])
        waiting = unanswered(window.messages)
        new, pending = await self._inputs(given, window)
        results = self._results(given, rows)
        for message in (*new, *pending, *(message for _, message in results if message.call_id in waiting)):
            message.is_new = True
        client = ClientMessages(given)
        client.compare(window, self._request.wanted or WINDOW)
        for row, message in results:
            await self._answer(row, page_answer(message.text, self._request.errors.get(message.call_id or "")), waiting)
        for entry in self._request.resume:
            await self._resume(entry, rows, waiting)
        answered = {entry.interrupt_id for entry in self._request.resume} | {row.id for row, _ in results}
        blocked = [row for row in rows if row.id not in answered and self._call_id(row) in waiting]
        self._effects.turn = self._wakes and not blocked  # a turn waits for the answers of all its calls
        await self._post(new, pending)
        return self._effects, client

    async def _inputs(
        self, given: Sequence[ThreadMessage], window: MessageWindow
    ) -> tuple[list[ThreadMessage], list[ThreadMessage]]:
        """Return the new user messages, and those that were accepted but not delivered to the model yet."""
        self._thread.remember(message.id for message in window.messages if message.role == "user")
        unseen = new_messages.unseen(given, window, self._thread.remembered)
        own = {id(message) for message in new_messages.of_this_thread(given, window, self._reader.ids)}
        new: list[ThreadMessage] = []
        pending: list[ThreadMessage] = []
        ignored = False
        for start in range(0, len(unseen), _IDS_PER_QUERY):
            batch = unseen[start : start + _IDS_PER_QUERY]
            accepted = await self._session.conversation().accepted_inputs([message.id for message in batch])
            self._thread.remember(identity for identity, delivered in accepted.items() if delivered)
            pending += [message for message in batch if accepted.get(message.id) is False]
            new += [message for message in batch if message.id not in accepted and id(message) in own]
            ignored |= any(message.id not in accepted and id(message) not in own for message in batch)
            new_messages.check_new(new, self._request)
        current = {id(message) for message in (*new, *pending)}
        if repeated := [message for message in new_messages.trailing(given) if id(message) not in current]:
            new_messages.check_texts(repeated, await self._reader.texts({message.id for message in repeated}, window))
        if ignored and not (new or pending or self._request.resume or any(message.call_id for message in given)):
            raise new_messages.MessageRejected(
                "A user message precedes an assistant message of another thread, so it was not accepted. Send it "
                "again after the messages of this thread."
            )
        return new, pending

    async def _post(self, new: Sequence[ThreadMessage], pending: Sequence[ThreadMessage]) -> None:
        """Post new messages. Pending ones were stored before, also by another process, and only start a turn."""
        conversation = self._session.conversation()
        if new:
            events = {
                message.id: accept({"kind": EventKind.USER_INPUT, "text": message.text}, Side.PEOPLE)[1]
                for message in new
            }
            number = await conversation.accept_inputs({identity: data["text"] for identity, data in events.items()})
            self._effects.since = max(self._effects.since, number)
        elif pending:
            conversation.wake()
        self._effects.turn |= bool(new or pending)

    def _results(
        self, given: Sequence[ThreadMessage], rows: list[RequestRow]
    ) -> list[tuple[RequestRow, ThreadMessage]]:
        """Return the client's results of calls that wait for its page. Raises `RunRefused`."""
        results: dict[str, list[ThreadMessage]] = {}
        for message in given:
            if message.call_id is not None and not self._reader.ids.owns(message.id):
                results.setdefault(message.call_id, []).append(message)
        found: list[tuple[RequestRow, ThreadMessage]] = []
        for row in rows if results else ():
            if not is_for_page(row) or not (messages := results.get(self._call_id(row) or "")):
                continue
            if len({message.text for message in messages}) > 1:
                raise RunRefused(
                    f"Two messages have different results of the call {messages[0].call_id!r}. Nothing was accepted."
                )
            if reason := self._request.refused.get(messages[0].id):
                raise RunRefused(reason)
            found.append((row, messages[0]))
        return found

    async def _resume(self, entry: ResumeEntry, rows: list[RequestRow], waiting: list[str]) -> None:
        """Answer a request. A closed one is ignored, so that a repeated resume has no effect."""
        row = next((row for row in rows if row.id == entry.interrupt_id), None)
        if row is None:
            await self._check_closed(entry.interrupt_id)
        elif is_for_page(row):
            raise RunRefused(f"{row.id} is a call of a front-end tool: answer it with a tool message.")
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
        """Answer a request, or cancel its call if the answer is None."""
        running = self._effects.running
        running.add(row.execution_id)
        try:
            if said is None:
                await self._session.cancellation.cancel(row.execution_id)
            else:
                self._effects.since = await self._session.answer(row.id, said)
        except RequestClosed:
            running.discard(row.execution_id)
        else:
            wakes = self._session.wakes(row.tool) is Wake.WAKE
            self._wakes |= wakes or self._call_id(row) in waiting

    def _call_id(self, row: RequestRow) -> str | None:
        return self._call_ids.get(row.execution_id)
