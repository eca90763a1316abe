"""Recovery of the work of processes that died, and the end of this one's work if it lost its lease.

Idempotent executions run again, others end as interrupted, and people's answers are used. A turn continues, and inputs
that the model has not received start one. `Heartbeat` claims the work; it is done in slices, in the background and in a
fair order, so that neither the start of a process nor another user's work waits for it.
"""

import asyncio
import logging
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from pydantic_core import from_json, to_json

from ..background_tasks import BackgroundTasks
from ..events.event import encode_event
from ..events.kinds import EventKind
from ..execution.execution import Execution
from ..execution.failures import cancelled
from ..execution.lifecycle import Status
from ..execution.manager import NO_TOOL
from ..execution.storing import fingerprint_of, restored
from ..storage.change import Change, TurnWrite
from ..storage.errors import StoreError
from ..storage.owners import Claim
from ..storage.queues import Claimed
from ..storage.rows import INPUT, TURN, ExecutionRow, RequestRow, TurnRow
from ..storage.store import NO_LIMIT
from ..tools.definition import Tool
from ..turns import TurnStatus
from ..types import Mode
from .backlog import Backlog
from .live_session import LiveSession
from .services import Services
from .session_cache import SessionCache
from .session_loader import SessionLoader

log = logging.getLogger("callboard.sessions")

SLICE = 32
"""Number of claims that are read and handled at once."""
RETRY_DELAY = 0.5
"""Seconds before the next attempt after the store did not answer."""
_ANNOTATIONS = {"title", "description"}
"""Keywords of a schema that accepts any value."""


class Recovery:
    """Continues the work that dead processes left behind, from `open` until `close`."""

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
        """Called when all work of dead processes is recovered, also if there was none. It must not wait."""
        self._results_left = False
        self._backlog = Backlog()
        self._more = asyncio.Event()
        self._tasks = BackgroundTasks()

    def open(self) -> None:
        """Start to handle the claims that `add` gets."""
        self._tasks.run(self._run(), "callboard: recovery")

    async def close(self) -> None:
        """Stop. The rest is left to the next process."""
        await self._tasks.close()

    def add(self, claims: list[Claim]) -> None:
        """Add claims of this process."""
        self._backlog.add(claims)
        if claims:
            self._more.set()

    def unattended(self, claims: Iterable[Claim]) -> list[Claim]:
        """Return those of this process' claims that nothing here carries out, has completed, or is about to start."""
        if self._more.is_set():  # they may be in the backlog
            return []
        known = self._cache.known
        return [
            claim
            for claim in claims
            if (session := known.get(claim.session_id)) is None
            or (session.ledger.idle and claim.id not in session.index.by_id)
        ]

    def results_left(self) -> None:
        """Note that processes that ended or died may have left results that the model has not received."""
        self._results_left = True
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
                    self._backlog.add(claims)  # those that are recovered are skipped
                    await asyncio.sleep(RETRY_DELAY)
                except Exception:
                    log.exception("the runtime failed to recover %d executions", len(claims))
            self._more.clear()
            if self._results_left:
                self._results_left = False
                self._wake_all()

    async def sessions_of(self, keys: Iterable[tuple[str, str]]) -> Mapping[str, LiveSession | None]:
        """Return the sessions of executions, to carry these out after they are claimed."""
        return await self._loader.find_all(session_id for session_id, _ in keys)

    async def carry_on(
        self,
        claimed: Claimed,
        sessions: Mapping[str, LiveSession | None],
        added: Callable[[Execution], object],
    ) -> None:
        """Carry out executions that this process has just claimed. Calls `added` with each before it continues.

        There is no wait before the calls are restored: a cancellation is in the row, or finds the execution. Only
        nested calls, which may have requests to people, are looked up first. Those of a session that is not the one
        in memory are left to the backlog, which loads it.
        """
        current = {
            session_id: session
            for session_id, session in sessions.items()
            if session is not None and session.created_at == claimed.sessions.get(session_id)
        }
        for session_id in claimed.sessions.keys() - current.keys():
            self._cache.mark_stale(session_id)
        self.add([_claim_of(row) for row in claimed.rows if row.session_id not in current])
        rows = [row for row in claimed.rows if row.session_id in current]
        nested = [(row.session_id, row.id) for row in rows if not row.queue]
        try:
            requests = await self._requests_of(nested) if nested else {}
        except StoreError as error:
            log.debug("the store was not reached: %s", error)
            self.add([_claim_of(row) for row in rows])
            return
        for row in rows:
            session = current[row.session_id]
            if not session.deleted and not session.index.holds(row.id):
                with _logged(f"{row.id} of {row.tool}"):
                    request = requests.get((row.session_id, row.id))
                    self._recover_execution(session, row, request, added)
        if nested:
            await self.stop_cancelled()

    async def take_over(self, claims: list[Claim]) -> None:
        """Continue claimed executions, or end them. Those that have ended or belong to another process are skipped."""
        sessions = {claim.session_id: await self._loader.find_or_load(claim.session_id) for claim in claims}
        await self._recover_executions(sessions, [claim for claim in claims if claim.kind not in (TURN, INPUT)])
        turns = {claim.session_id for claim in claims if claim.kind == TURN}
        for row in await self._store.running_turns(turns) if turns else ():
            session = sessions[row.session_id]
            if row.owner == self._services.owner and session is not None and not session.deleted:
                with _logged(f"the turn {row.turn_id}"):
                    await self._recover_turn(session, row)
        for session_id in {claim.session_id for claim in claims if claim.kind == INPUT}:
            session = sessions[session_id]
            if session is not None and not session.deleted:
                with _logged(f"an input of session {session_id}"):
                    self.wake(session)

    async def _recover_executions(self, sessions: Mapping[str, LiveSession | None], claims: list[Claim]) -> None:
        if not claims:
            return
        keys = [claim.key for claim in claims]
        requests = await self._requests_of(keys)
        # Last, and without a wait before the calls are restored: a cancellation is in the row, or finds the execution.
        rows = await self._store.executions_by_key(keys)
        owned = [row for row in rows if row.owner == self._services.owner and row.completed_at is None]
        for row in owned:
            session = sessions[row.session_id]
            if session is not None and not session.deleted and not session.index.holds(row.id):
                with _logged(f"{row.id} of {row.tool}"):
                    self._recover_execution(session, row, requests.get((row.session_id, row.id)))

    async def _requests_of(self, keys: list[tuple[str, str]]) -> dict[tuple[str, str], RequestRow]:
        """Return the requests of executions whose answers are not used."""
        requests: dict[tuple[str, str], RequestRow] = {}
        for request in await self._store.requests(executions=keys, limit=NO_LIMIT):
            if request.status != "used":
                requests.setdefault((request.session_id, request.execution_id), request)
        return requests

    def _recover_execution(
        self,
        session: LiveSession,
        row: ExecutionRow,
        request: RequestRow | None,
        added: Callable[[Execution], object] = lambda execution: None,
    ) -> None:
        if row.status != Status.WAITING:
            request = None
        tool = self._services.tool_of(row) or session.own_tool(row.tool) or _stand_in(row, request)
        execution = restored(row, tool or NO_TOOL, session, self._clock)
        execution.set_request(request)  # it is withdrawn if the execution ends
        added(execution)
        began = execution.status is Status.EXECUTING
        if row.parent_id is not None and not row.queue and not _rejoin_parent(session, execution):
            self._manager.interrupt(execution)
        elif row.cancelling:
            self._manager.end(execution, cancelled())
        elif tool is None and execution.request is not None and row.parent_id is None:
            self._manager.release(execution)  # another process may have the tool
        elif tool is None or row.document is None or (began and not tool.idempotent):
            if tool is None:
                log.warning("no process continues %s: its tool %s is missing here too", row.id, row.tool)
            self._manager.interrupt(execution)
        else:
            if execution.status is Status.WAITING and execution.request is None and not execution.attempt:
                execution.ask_again()
            self._manager.resume(execution)

    async def _recover_turn(self, session: LiveSession, row: TurnRow) -> None:
        """Continue a turn; without a model, end it: the next turn continues where it stopped."""
        if (conversation := session.find_conversation()) is not None:
            await conversation.resume_turn(row)
            return
        now = self._clock.time()
        ended = replace(row, status=TurnStatus.INTERRUPTED.value, completed_at=now)
        event = encode_event(EventKind.TURN_INTERRUPTED, now, to_json({"turn_id": row.turn_id}))
        turns = [TurnWrite(ended, self._services.owner)]
        await session.ledger.write(Change(session.id, turns=turns, events=(event,)))

    def wake(self, session: LiveSession) -> None:
        """Start a turn if there are results or inputs that the model has not received."""
        if (conversation := session.find_conversation()) is not None:
            conversation.wake()

    async def stop_cancelled(self) -> None:
        """Stop executions and turns that other processes cancelled. It takes one query, however much runs here."""
        for session_id, stopping_id, kind in await self._store.stopping(self._services.owner):
            if (session := self._cache.known.get(session_id)) is None:
                continue
            if kind == TURN:
                if session.current_conversation is not None:
                    session.current_conversation.stop()
            elif (execution := session.index.by_id.get(stopping_id)) is not None and not execution.lost:
                self._manager.cancel(execution)

    async def lease_lost(self) -> None:
        """Stop the executions that another process claimed after this one lost its lease.

        One that has ended meanwhile is stopped too: its end must not be written later, if this process claims it again.
        """
        log.error("this process lost its lease; it stops the executions that another process claimed")
        by_session: dict[str, list[Execution]] = {}
        for execution in self._manager.live:
            by_session.setdefault(execution.scope.id, []).append(execution)
        for session_id, executions in by_session.items():
            ids = [execution.id for execution in executions]
            held = {
                row.id: row.owner == self._services.owner
                for row in await self._store.executions(session_id, ids=ids, limit=len(ids))
            }
            lost = [execution for execution in executions if not held.get(execution.id, True)]
            if (session := self._cache.known.get(session_id)) is not None:
                session.ledger.disown(lost)


@contextmanager
def _logged(what: str) -> Generator[None]:
    """Log the errors of one recovery step, except errors after which the store is asked again."""
    try:
        yield
    except StoreError:
        raise
    except Exception:
        log.exception("the runtime failed to take over %s", what)


def _claim_of(row: ExecutionRow) -> Claim:
    return Claim(row.session_id, row.id, row.user_id, row.kind)


def _rejoin_parent(session: LiveSession, execution: Execution) -> bool:
    """Make a restored nested call one of its parent again, which was restored before it.

    False if the parent has ended, or does not ask for this call again because the call has no key.
    """
    parent = session.index.by_id.get(execution.parent_id or "")
    if parent is None or parent.terminal or not execution.is_keyed:
        return False
    parent.adopt(execution)
    return True


def _stand_in(row: ExecutionRow, request: RequestRow | None) -> Tool | None:
    """Return a stand-in for a tool that only the dead process had, such as a page's, and whose answer is its result.

    None if the answer has a schema, or if arguments are secret, which only the tool can mask.
    """
    if request is None or from_json(request.schema).keys() - _ANNOTATIONS:
        return None
    if fingerprint_of(row.display_arguments) != row.fingerprint:
        return None
    return replace(NO_TOOL, name=row.tool, answer=Any, mode=Mode.HUMAN)
