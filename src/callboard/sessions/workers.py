"""System workers: they answer requests of people to the system, which the model never sees.

A worker is a tool that is registered under the kind of request that it answers. Its executions take the path of every
call (validation, retries, timeouts, limits, deduplication by the request's id, recovery after a crash). Of their
events, the answer is written, and progress as notices that name the request.
"""

import asyncio
import secrets
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pydantic_core import to_json

from ..background_tasks import BackgroundTasks
from ..clock import Clock
from ..errors import ErrorCategory, RegistrationError, ToolError
from ..events.event import encode_event
from ..events.kinds import EventKind
from ..events.problems import EventInvalid, problem
from ..execution.execution import Execution, Priority
from ..execution.lifecycle_events import response_event
from ..execution.manager import ExecutionManager
from ..execution.storing import fingerprint_of, row_of
from ..shortening import shorten
from ..storage import patience
from ..storage.change import Change, ExecutionWrite
from ..storage.errors import AlreadyWritten, Conflict, IdempotencyConflict
from ..storage.rows import WORKER, IdempotencyRow
from ..tools.definition import Tool
from ..tools.document import encode
from ..types import Mode
from .calls import SessionPort


class Workers:
    """The workers of one runtime."""

    def __init__(self, workers: Iterable[Tool], manager: ExecutionManager, clock: Clock, owner: str) -> None:
        self._by_kind: dict[str, Tool] = {}
        for worker in workers:
            if worker.mode is Mode.HUMAN:
                raise RegistrationError(f"{worker.name} asks a person, so it cannot be a worker.")
            if worker.name in self._by_kind:
                raise RegistrationError(f"There are two workers for {worker.name!r} requests.")
            self._by_kind[worker.name] = worker
        self._manager = manager
        self._clock = clock
        self._owner = owner
        self._beginning = BackgroundTasks()

    async def close(self) -> None:
        """Wait until the executions that are being stored have begun."""
        await self._beginning.finish()

    def get(self, kind: str) -> Tool | None:
        return self._by_kind.get(kind)

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._by_kind.values())

    async def handle(
        self, session: SessionPort, request: Mapping[str, Any], idempotency: IdempotencyRow | None = None
    ) -> int:
        """Post a request and start its worker. Returns the number of its event, once it is stored.

        The same request id again is the same request: it is neither posted nor run a second time, and the number is
        that of the newest event. Raises `EventInvalid` if the id was used for another request.
        """
        at = self._clock.time()
        request_id, kind = request["request_id"] or f"q{secrets.token_hex(8)}", request["request_kind"]
        posted = {**request, "request_id": request_id}
        event = encode_event(EventKind.USER_REQUEST, at, to_json(posted))
        worker = self._by_kind.get(kind)
        if worker is None:
            error = ToolError(
                f"There is no worker for {shorten(kind, 80)!r} requests.", category=ErrorCategory.NOT_FOUND
            )
            refusal = response_event(at, request_id, kind, b"null", to_json(error.to_model()))
            written = Change(session.id, events=(event, refusal), idempotency=idempotency)
            return await session.ledger.write(written) - 1
        document = encode({} if request["payload"] is None else request["payload"])
        if (known := session.index.by_call(request_id)) is not None:
            await session.ledger.settle()  # it may be on its way to the store
            used = known.kind, known.name, known.fingerprint or fingerprint_of(known.document)
            return _repeated(session, request_id, used == (WORKER, kind, fingerprint_of(document)))
        execution = self._manager.prepare(session, worker, document, request_id, Priority[request["priority"].upper()])
        begun = ExecutionWrite(row_of(execution, self._owner), self._owner, new=True)
        execution.mark_stored()  # by this change, before any other: the execution may be stopped at once
        change = Change(session.id, executions=[begun], events=(event,), idempotency=idempotency)
        written = session.ledger.write(change, lasting=True)
        # Once it is stored it runs, whether its poster still waits or not.
        return await patience.confirmed(self._beginning.start(self._begin(session, execution, written)))

    async def _begin(self, session: SessionPort, execution: Execution, written: "asyncio.Future[int]") -> int:
        try:
            number = await written
        except (AlreadyWritten, IdempotencyConflict):
            self._manager.disown(execution)
            raise
        except Conflict:  # the id was used before, perhaps in another process
            self._manager.disown(execution)
            row = await session.calls.stored_call(execution.call_id)
            wanted = WORKER, execution.name, fingerprint_of(execution.document)
            same = row is not None and (row.kind, row.tool, row.fingerprint) == wanted
            return _repeated(session, execution.call_id, same)
        except BaseException:
            self._manager.disown(execution)
            raise
        self._manager.begin(execution)
        return number


def _repeated(session: SessionPort, request_id: str, same: bool) -> int:
    """Return the newest number for a repeated id. Raises `EventInvalid` if it was used for another request."""
    if not same:
        raise EventInvalid(
            problem(("request_id",), "It was used before, for another request. Use a new one.", request_id)
        )
    return session.board.last_seq
