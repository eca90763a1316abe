"""What becomes of the work of processes that died, and of this one's if it lost its lease.

Executions that may run twice run again, others end honestly, and people's answers are used. A turn goes on, and an
input that the model was not told of is told. `Heartbeat` says what there is to do; it is done in slices, in the
background and in a fair order, so that neither the start of a process nor another user's work waits for it.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pydantic_core import from_json, to_json

from ..events.event import encode_event
from ..events.kinds import EventKind
from ..execution.execution import Execution
from ..execution.failures import cancelled
from ..execution.lifecycle import Status
from ..execution.manager import NO_TOOL
from ..execution.storing import fingerprint_of, restored
from ..storage.port import EVERYTHING, Change, Claim, ExecutionWrite, StoreError
from ..storage.rows import INPUT, TURN, WORKER, ExecutionRow, RequestRow
from ..tools.definition import Tool
from ..types import Mode
from .backlog import Backlog
from .live_session import LiveSession
from .services import Services
from .session_cache import SessionCache
from .session_loader import SessionLoader

log = logging.getLogger("callboard.sessions")

PAGE = 1_000
"""How many sessions are read at once."""
SLICE = 32
"""How many executions are read and taken over at once."""
PAUSE = 0.5
"""Seconds before the next attempt after the store did not answer."""
_SAYS_NOTHING = {"title", "description"}
"""What a schema may have that takes anything."""


class Recovery:
    """Goes on with what others left behind, from `open` until `close`."""

    def __init__(
        self,
        services: Services,
        cache: SessionCache,
        loader: SessionLoader,
        wake_all: Callable[[], object],
    ) -> None:
        self._services = services
        self._manager = services.manager
        self._store = services.store
        self._clock = services.clock
        self._cache = cache
        self._loader = loader
        self._wake_all = wake_all
        """Called when all is taken over that dead processes held. It must not wait."""
        self._found_dead = False
        self._backlog = Backlog()
        self._more = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def open(self) -> None:
        """Begin to take over what `add` hands in."""
        self._task = asyncio.get_running_loop().create_task(self._run(), name="callboard: recovery")

    async def close(self) -> None:
        """Stop. What was not taken over yet is left to the next process."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    def add(self, claims: list[Claim]) -> None:
        """Hand in what this process holds from now on."""
        self._backlog.add(claims)
        if claims:
            self._more.set()

    def died(self) -> None:
        """Another process died: it may have left results of which the model was not told."""
        self._found_dead = True
        self._more.set()

    async def _run(self) -> None:
        while True:
            await self._more.wait()
            while self._backlog:
                claims = self._backlog.take(SLICE)
                try:
                    await self.take_over(claims)
                except StoreError as error:
                    log.debug("the store was not reached: %s", error)
                    self._backlog.add(claims)  # those that were taken over are skipped
                    await asyncio.sleep(PAUSE)
                except Exception:
                    log.exception("the runtime failed to take over %d executions", len(claims))
            self._more.clear()
            if self._found_dead:
                self._found_dead = False
                self._wake_all()

    async def take_over(self, claims: list[Claim]) -> None:
        """Go on with what this process holds, or end it honestly. What has ended or is another's by now is skipped."""
        sessions = {claim.session_id: await self._loader.bring(claim.session_id) for claim in claims}
        keys = [claim.key for claim in claims]
        asked: dict[tuple[str, str], RequestRow] = {}
        for request in await self._store.requests(executions=keys, limit=EVERYTHING):
            if request.status != "used":
                asked.setdefault((request.session_id, request.execution_id), request)
        # Last, and nothing waits until the calls are taken over: a cancellation is in the row, or finds the execution.
        rows = await self._store.executions_by_key(keys)
        mine = [row for row in rows if row.owner == self._services.owner and row.completed_at is None]
        for row in sorted(mine, key=lambda row: not row.is_call):
            session = sessions[row.session_id]
            if session is None or session.gone:
                continue
            try:
                if row.kind == TURN:
                    await self._take_turn_over(session, row)
                elif row.kind == INPUT:
                    self.wake(session)
                elif not session.index.holds(row.id):
                    self._take_execution_over(session, row, asked.get((row.session_id, row.id)))
            except StoreError:
                raise
            except Exception:
                log.exception("the runtime failed to take %s of %s over", row.id, row.tool)

    def _take_execution_over(self, session: LiveSession, row: ExecutionRow, request: RequestRow | None) -> None:
        find = self._services.workers.get if row.kind == WORKER else self._services.registry.get
        if Status(row.status) is not Status.WAITING:
            request = None
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

    async def _take_turn_over(self, session: LiveSession, row: ExecutionRow) -> None:
        """Go on with a turn; without a model, end it: the next one goes on where it was cut off."""
        if (conversation := session.find_conversation()) is not None:
            await conversation.go_on(row)
            return
        now = self._clock.time()
        ended = replace(row, status=Status.CANCELLED.value, completed_at=now)
        event = encode_event(EventKind.TURN_INTERRUPTED, now, to_json({"turn_id": row.turn_id}))
        rows = [ExecutionWrite(ended, self._services.owner)]
        await session.ledger.write(Change(session.id, executions=rows, events=(event,)))

    def wake(self, session: LiveSession) -> None:
        """Let the model be told of what it was not told."""
        if (conversation := session.find_conversation()) is not None:
            conversation.wake()

    async def wake_all(self) -> None:
        """Have the model told of all results of which it was not told, in all sessions."""
        after = ""
        while rows := await self._store.sessions(after=after, limit=PAGE):
            after = rows[-1].id
            for row in rows:
                if row.open and row.unconsumed and (session := await self._loader.bring(row.id)) is not None:
                    self.wake(session)

    async def stop_cancelled(self) -> None:
        """Stop what another process asked this one to stop. It takes one query, however much runs here."""
        for session_id, execution_id, kind in await self._store.stopping(self._services.owner):
            if (session := self._cache.known.get(session_id)) is None:
                continue
            execution = session.index.by_id.get(execution_id)
            if kind == TURN and session.current_conversation is not None:
                session.current_conversation.stop()
            elif execution is not None and not execution.lost:
                self._manager.cancel(execution)

    async def robbed(self) -> None:
        """Stop what this process does not hold any more after it lost its lease to another process."""
        log.error("this process lost its lease; it stops what was given to another process")
        here: dict[str, list[Execution]] = {}
        for execution in self._manager.live:
            here.setdefault(execution.scope.id, []).append(execution)
        for session_id, executions in here.items():
            ids = [execution.id for execution in executions]
            held = {
                row.id: row.owner == self._services.owner
                for row in await self._store.executions(session_id, ids=ids, limit=len(ids))
            }
            for execution in executions:
                if not held.get(execution.id, True):
                    self._manager.disown(execution)


def _stand_in(row: ExecutionRow, request: RequestRow | None) -> Tool | None:
    """For a tool that only the dead process knew, a page's for instance, if nothing of it is needed: a person's answer
    is the call's result, whatever it is. Where arguments are secret, only the tool knows which.
    """
    if request is None or from_json(request.schema).keys() - _SAYS_NOTHING:
        return None
    if fingerprint_of(row.shown) != row.fingerprint:
        return None
    return replace(NO_TOOL, name=row.tool, answer=Any, mode=Mode.HUMAN)
