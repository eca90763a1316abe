"""Requests to people: requests of human tools, their answers, and their expiry.

A request is stored with the execution that waits for it. The answer may come from any process; it closes the request in
one transaction with its event, and is used in one transaction with the beginning of the run. So it is never lost and
never used twice, and the call that runs is the call that was approved.
"""

import asyncio
import logging
import secrets
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, NamedTuple

from pydantic_core import from_json, to_json

from ..background_tasks import BackgroundTasks
from ..clock import Clock, Timer
from ..errors import CallboardError, ErrorCategory, ToolError
from ..events.event import encode_event
from ..events.kinds import EventKind
from ..execution.execution import Execution
from ..execution.lifecycle_events import opening_events
from ..execution.manager import ExecutionManager
from ..execution.scope import HumanDecision
from ..execution.storing import fingerprint_of, row_of
from ..shortening import shorten
from ..storage import patience
from ..storage.change import Change, ExecutionWrite, RequestWrite
from ..storage.errors import AlreadyWritten, Conflict, IdempotencyConflict, StoreError
from ..storage.records import RequestRecords
from ..storage.rows import IdempotencyRow, RequestRow
from ..tools.definition import Tool
from .answers import (
    ArgumentsMismatch,
    answer_schema,
    arguments_hash,
    binding,
    check_answer,
    display_answer,
    interpret_answer,
)
from .calls import SessionPort
from .decision import Decision, decision_of

log = logging.getLogger("callboard.sessions")

PAGE = 1_000
"""Number of requests that are read with one query."""
RETRY_DELAY = 0.5
"""Seconds to wait before a query that the store did not answer is repeated."""


class RequestClosed(CallboardError):
    """A request is no longer open. `decision` says how it was closed, if that is known."""

    code = "request_closed"

    def __init__(self, message: str, decision: Decision | None = None) -> None:
        super().__init__(message)
        self.decision = decision


class _Waiting(NamedTuple):
    session: SessionPort
    execution: Execution
    timer: Timer | None
    """Closes the request when it expires."""


class Requests:
    """Requests of the executions of this process, and answers to those of any process."""

    def __init__(
        self,
        store: RequestRecords,
        clock: Clock,
        owner: str,
        manager: ExecutionManager,
        find: Callable[[str], Tool | None],
        background: BackgroundTasks,
        *,
        max_per_user: int,
    ) -> None:
        self._store = store
        self._clock = clock
        self._owner = owner
        self._manager = manager
        self._find = find
        self._background = background
        self._max_per_user = max_per_user
        """Executions of one user that may wait for people at once."""
        self._waiting: dict[str, _Waiting] = {}
        self._by_session: dict[str, dict[str, None]] = {}
        """Ids of the same requests, by session."""
        self._closing = BackgroundTasks(expected=StoreError)

    async def close(self) -> None:
        """Wait until all pending closures of requests are stored."""
        await self._closing.finish()

    # Asking

    async def ask(self, session: SessionPort, execution: Execution) -> HumanDecision | None:
        """Store a request to a person, or wait on if it exists. The manager gets the decision when it is closed.

        A user who is asked too much already is not asked: the decision is an error.
        """
        known, user = execution.request, session.user
        if known is None and user.requests >= self._max_per_user:
            message = f"{user.requests:,} calls of this user already wait for a person; the limit is "
            message += f"{self._max_per_user:,}. Nothing was done."
            return HumanDecision(ToolError(message, category=ErrorCategory.RESOURCE, retryable=False))
        row = known or self._new(execution)
        execution.set_request(row)
        self._waiting[row.id] = _Waiting(session, execution, self._timer(session, row, execution.tool))
        self._by_session.setdefault(session.id, {})[row.id] = None
        user.requests += 1
        if known is not None:
            await self._poll_or_retry(row.id)
            return None
        change = Change(
            session.id,
            executions=[ExecutionWrite(row_of(execution, self._owner), self._owner, new=not execution.stored)],
            requests=[RequestWrite(row)],
            events=(*opening_events(execution), _request_event(row, execution, self._clock.time())),
        )
        execution.mark_stored()
        try:
            await session.ledger.write(change)
        except Conflict:
            self._manager.disown(execution)
        return None

    def stop_waiting(self, execution: Execution) -> None:
        """Forget the request of an execution that has ended in this process, and withdraw it if that was its end."""
        row = execution.request
        waiting = None if row is None else self._forget(row.id)
        if row is not None and waiting is not None and row.status == "open" and not execution.lost:
            self._closing.run(self.close_unanswered(waiting.session, row, "withdrawn"))

    def use_answer(self, session: SessionPort, execution: Execution) -> None:
        """Mark the answer of an execution as used, in one change with the next events. Secrets in it are masked."""
        row = execution.request
        if row is not None and row.status == "answered":
            used = replace(row, status="used", answer=to_json(display_answer(row, execution.tool)))
            execution.set_request(used)
            session.ledger.use_answer(used)

    def _new(self, execution: Execution) -> RequestRow:
        tool, now = execution.tool, self._clock.time()
        execution.set_fingerprint(fingerprint_of(execution.document))
        return RequestRow(
            id=f"r{secrets.token_hex(8)}",
            session_id=execution.scope.id,
            user_id=execution.scope.user_id,
            execution_id=execution.id,
            kind=tool.asks,
            purpose=tool.request_purpose.value,
            tool=execution.name,
            payload=execution.display_arguments or b"null",
            schema=answer_schema(tool),
            fingerprint=binding(execution, execution.display_arguments or b"null"),
            status="open",
            answer=None,
            created_at=now,
            expires_at=_expiry(execution, now),
            answered_at=None,
        )

    def _timer(self, session: SessionPort, row: RequestRow, tool: Tool) -> Timer | None:
        if row.expires_at is None or tool.expires is None:  # the deadline of the execution is watched already
            return None
        delay = max(0.0, row.expires_at - self._clock.time())
        return self._clock.call_later(delay, lambda: self._background.run(self._expire(session, row)))

    def _forget(self, request_id: str) -> _Waiting | None:
        """Remove a request for which an execution of this process waits. None if there is no such request."""
        if (waiting := self._waiting.pop(request_id, None)) is not None:
            ids = self._by_session[waiting.session.id]
            del ids[request_id]
            if not ids:
                del self._by_session[waiting.session.id]
            waiting.session.user.requests -= 1
            if waiting.timer is not None:
                waiting.timer.cancel()
        return waiting

    async def poll(self, session_ids: Iterable[str] | None) -> None:
        """Check whether another process closed requests of this process: of these sessions, or of all."""
        if session_ids is None:
            await self._poll([*self._waiting])
        else:
            await self._poll([each for session_id in session_ids for each in self._by_session.get(session_id, ())])

    async def _poll(self, request_ids: Sequence[str]) -> None:
        for start in range(0, len(request_ids), PAGE):
            for row in await self._store.closed_requests(request_ids[start : start + PAGE]):
                self._deliver(row)

    async def _poll_or_retry(self, request_id: str) -> None:
        """Check whether a request is closed. If the store is away, its call waits on, and this is done again."""
        try:
            await self._poll([request_id])
        except StoreError as error:
            log.debug("the store was not reached: %s", error)
            self._background.run(self._retry_poll(request_id))

    async def _retry_poll(self, request_id: str) -> None:
        await self._clock.sleep(RETRY_DELAY)
        if request_id in self._waiting:
            await self._poll_or_retry(request_id)

    def _deliver(self, row: RequestRow) -> None:
        if (waiting := self._forget(row.id)) is None:
            return
        waiting.execution.set_request(row)
        try:
            decision = interpret_answer(row, waiting.execution)
        except Exception as error:  # an internal error must not leave the call waiting
            self._manager.fault(waiting.execution, error)
        else:
            self._manager.answered(waiting.execution, decision)

    # Answering

    async def answer(
        self,
        session: SessionPort,
        request_id: str,
        answer: Any,
        *,
        expected_hash: str | None = None,
        idempotency: IdempotencyRow | None = None,
    ) -> int:
        """Close a request with an answer. Returns the number of its event, once it is stored.

        `expected_hash` is the `arguments_hash` of the request that the person saw. Raises `ToolError` (not_found),
        `RequestClosed`, or `ArgumentsMismatch` and `AnswerInvalid`, after which it is still open.
        """
        row = await self._row(session, request_id)
        if expected_hash is not None and expected_hash != arguments_hash(row):
            raise ArgumentsMismatch(
                "The answer was given for other arguments than those of the request. Read the request again, and "
                "answer what it shows."
            )
        tool, now = self._tool_of(row), self._clock.time()
        status, value = check_answer(row, tool, answer)
        closed = replace(row, status=status, answer=value, answered_at=now)
        events = (_answer_event(closed, tool, now),)
        change = Change(session.id, requests=[RequestWrite(closed, "open")], events=events, idempotency=idempotency)
        written = session.ledger.write(change, lasting=True)
        # It is delivered to its execution also if the caller stops waiting.
        return await patience.confirmed(self._closing.start(self._answered(closed, written)))

    def _tool_of(self, row: RequestRow) -> Tool | None:
        """Return the tool that asks: of the waiting call, which may have a tool of its own, or else the registry's."""
        waiting = self._waiting.get(row.id)
        return self._find(row.tool) if waiting is None else waiting.execution.tool

    async def _answered(self, row: RequestRow, written: "asyncio.Future[int]") -> int:
        try:
            number = await written
        except (AlreadyWritten, IdempotencyConflict):
            raise
        except Conflict:
            stored = await self._store.request(row.id)
            decision = None if stored is None else decision_of(stored, self._find(stored.tool))
            message = "The request is no longer open: it was closed in the same moment."
            raise RequestClosed(message, decision) from None
        self._deliver(row)
        return number

    async def close_unanswered(self, session: SessionPort, row: RequestRow, status: str) -> None:
        """Close a request as `expired` or `withdrawn`, unless it was closed in the same moment."""
        closed = replace(row, status=status, answered_at=self._clock.time())
        with suppress(Conflict):
            await session.ledger.write(Change(session.id, requests=[RequestWrite(closed, "open")]))

    async def _expire(self, session: SessionPort, row: RequestRow) -> None:
        await self.close_unanswered(session, row, "expired")
        await self._poll([row.id])

    async def open(self, session: SessionPort) -> list[RequestRow]:
        """Return the rows of the requests of a session that can still be answered."""
        rows = await self._store.requests(session_id=session.id, user_id=session.user_id, status="open")
        return [row for row in rows if not self._has_expired(row)]

    async def _row(self, session: SessionPort, request_id: str) -> RequestRow:
        row = await self._store.request(request_id)
        if row is None or (row.session_id, row.user_id) != (session.id, session.user_id):  # ids are used again
            raise ToolError(f"There is no request {shorten(request_id, 80)!r}.", category=ErrorCategory.NOT_FOUND)
        if row.status == "open" and self._has_expired(row):
            await self._expire(session, row)
            row = await self._store.request(request_id) or replace(row, status="expired")
        elif row.status == "open" and (ended := await session.calls.ended_with(row.execution_id)) is not None:
            await self.close_unanswered(session, row, "withdrawn")
            withdrawn = replace(row, status="withdrawn", answered_at=self._clock.time())
            raise RequestClosed(f"The call that asked for it has ended: it {ended}.", decision_of(withdrawn, None))
        if row.status != "open":
            decision = decision_of(row, self._find(row.tool))
            raise RequestClosed(f"The request is no longer open: it is {row.status}.", decision)
        return row

    def _has_expired(self, row: RequestRow) -> bool:
        return row.expires_at is not None and row.expires_at <= self._clock.time()


def _expiry(execution: Execution, now: float) -> float | None:
    """Return when a request expires: as its tool says, and at the deadline of the execution at the latest."""
    times = [] if execution.tool.expires is None else [now + execution.tool.expires]
    if execution.deadline is not None:
        times.append(execution.queued_at + execution.deadline - execution.queued)
    return min(times, default=None)


def _request_event(row: RequestRow, execution: Execution, at: float) -> bytes:
    data: dict[str, Any] = {
        "request_id": row.id,
        "execution_id": execution.id,
        "call_id": execution.call_id,
        "tool": execution.name,
        "purpose": row.purpose,
        "answer_schema": from_json(row.schema),
        "expires_at": None if row.expires_at is None else datetime.fromtimestamp(row.expires_at, UTC),
        "arguments_hash": arguments_hash(row),
    }
    arguments = from_json(row.payload)
    content = arguments if row.kind == EventKind.WALLET_TX_REQUEST else {"payload": arguments}
    return encode_event(row.kind, at, to_json({**content, **data}))


def _answer_event(row: RequestRow, tool: Tool | None, at: float) -> bytes:
    answer, closing = display_answer(row, tool), {"request_id": row.id, "answered_by": row.user_id}
    if row.kind == EventKind.WALLET_TX_REQUEST:
        return encode_event(EventKind.WALLET_TX_RESPONSE, at, to_json({**answer, **closing}))
    return encode_event(EventKind.HUMAN_ANSWER, at, to_json({"answer": answer, "purpose": row.purpose, **closing}))
