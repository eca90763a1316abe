"""What becomes of the work of processes that died, and of this one's if it was taken for dead.

Executions that may run twice run again, others end honestly, and people's answers are used. A turn goes on, and an
input that the model was not told of is told.
"""

import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from pydantic_core import from_json, to_json

from ..events.event import encode_event
from ..events.kinds import EventKind
from ..execution.failures import cancelled
from ..execution.lifecycle import Status
from ..execution.manager import NO_TOOL
from ..execution.storing import fingerprint_of, restored
from ..storage.port import EVERYTHING, Change, ExecutionWrite
from ..storage.rows import INPUT, TURN, WORKER, ExecutionRow, RequestRow
from ..tools.definition import Tool
from ..types import Mode
from .services import Services
from .session import Session

log = logging.getLogger("callboard.sessions")

PAGE = 1_000
"""How many sessions are read at once."""
_SAYS_NOTHING = {"title", "description"}
"""What a schema may have that takes anything."""


class Recovery:
    """Goes on with what others left behind."""

    def __init__(self, services: Services, bring: Callable[[str], Awaitable[Session | None]]) -> None:
        self._services = services
        self._manager = services.manager
        self._store = services.store
        self._clock = services.clock
        self._bring = bring
        """Gives a session, from memory or from the store, without logging anybody in."""

    async def take_over(self, row: ExecutionRow) -> None:
        """Go on with something that nobody holds any more, or end it honestly."""
        session = await self._bring(row.session_id)
        if session is None:
            return
        if row.kind == TURN:
            await self._take_turn_over(session, row)
        elif row.kind == INPUT:
            self.wake(session)
        else:
            await self._take_execution_over(session, row)

    async def _take_execution_over(self, session: Session, row: ExecutionRow) -> None:
        find = self._services.workers.get if row.kind == WORKER else self._services.registry.get
        request = await self._request_of(row)
        tool = find(row.tool) or session.lent(row.tool) or _stand_in(row, request)
        execution = restored(row, tool or NO_TOOL, session, self._clock)
        execution.request = request  # if it is open and the execution ends, it is withdrawn
        began = execution.status is Status.EXECUTING
        if row.cancelling and row.parent_id is None:
            self._manager.end(execution, cancelled())
        elif tool is None and execution.request is not None:  # another process may know the tool, and people can wait
            self._manager.release(execution)
        elif row.parent_id is not None or tool is None or row.document is None or (began and not tool.idempotent):
            self._manager.interrupt(execution)
        else:
            if execution.status is Status.WAITING and execution.request is None and not execution.attempt:
                execution.status = Status.VALIDATING  # it was about to ask a person
            self._manager.resume(execution)

    async def _request_of(self, row: ExecutionRow) -> RequestRow | None:
        """What a person was asked about it, if it waits for that."""
        if Status(row.status) is Status.WAITING:
            for request in await self._store.requests(session_id=row.session_id, limit=EVERYTHING):
                if request.execution_id == row.id and request.status != "used":
                    return request
        return None

    async def _take_turn_over(self, session: Session, row: ExecutionRow) -> None:
        """Go on with a turn; without a model, end it: the next one goes on where it was cut off."""
        if (talk := self._services.conversation(session)) is not None:
            await talk.go_on(row)
            return
        now = self._clock.time()
        ended = replace(row, status=Status.CANCELLED.value, completed_at=now)
        event = encode_event(EventKind.TURN_INTERRUPTED, now, to_json({"turn_id": row.turn_id}))
        rows = [ExecutionWrite(ended, self._services.owner)]
        await session.ledger.write(Change(session.id, executions=rows, events=(event,)))

    def wake(self, session: Session) -> None:
        """Let the model be told of what it was not told."""
        if (talk := self._services.conversation(session)) is not None:
            talk.wake()

    async def wake_all(self) -> None:
        """A process died: it may have left results of which the model was not told."""
        after = ""
        while rows := await self._store.sessions(after=after, limit=PAGE):
            after = rows[-1].id
            for row in rows:
                if row.open and row.unconsumed and (session := await self._bring(row.id)) is not None:
                    self.wake(session)

    async def stop_cancelled(self, find: Callable[[str], Session | None]) -> None:
        """Stop what another process asked this one to stop. It takes one query, however much runs here."""
        for session_id, execution_id, kind in await self._store.stopping(self._services.owner):
            if (session := find(session_id)) is None:
                continue
            execution = session.book.by_id.get(execution_id)
            if kind == TURN and session.talk is not None:
                session.talk.stop()
            elif execution is not None and not execution.lost:
                self._manager.cancel(execution)

    async def robbed(self) -> None:
        """This process was taken for dead: what it ran is another's, and only what began since then is its own."""
        log.error("this process was taken for dead by another; it stops what is not its own any more")
        for session in {each.scope.id: each.scope for each in self._manager.live}.values():
            here = {each.id: each for each in self._manager.live if each.scope is session}
            for row in await self._store.executions(session.id, ids=[*here], limit=len(here)):
                if row.owner != self._services.owner:
                    self._manager.disown(here[row.id])


def _stand_in(row: ExecutionRow, request: RequestRow | None) -> Tool | None:
    """For a tool that only the dead process knew, a page's for instance, if nothing of it is needed: a person's answer
    is the call's result, whatever it is. Where arguments are secret, only the tool knows which.
    """
    if request is None or from_json(request.schema).keys() - _SAYS_NOTHING:
        return None
    if fingerprint_of(row.shown) != row.fingerprint:
        return None
    return replace(NO_TOOL, name=row.tool, answer=Any, mode=Mode.HUMAN)
