"""System workers: they answer what people ask of the system, which the model never sees.

A worker is a tool that is registered under the kind of request that it answers. Its executions take the path of every
call (validation, retries, timeouts, limits, deduplication by the request's id, recovery after a crash); only what is
told of them differs: nothing but the answer.
"""

import secrets
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from ..clock import Clock
from ..errors import ErrorCategory, RegistrationError, ToolError
from ..events.event import encode_event
from ..events.kinds import EventKind
from ..execution.execution import Priority
from ..execution.manager import ExecutionManager
from ..execution.storing import row_of
from ..storage.port import Change, Conflict, ExecutionWrite
from ..tools.definition import Tool
from ..tools.document import encode, shorten
from ..types import Mode

if TYPE_CHECKING:
    from .session import Session


class Workers:
    """The workers of one runtime."""

    def __init__(self, workers: Iterable[Tool], manager: ExecutionManager, clock: Clock, owner: str) -> None:
        self._by_kind: dict[str, Tool] = {}
        for worker in workers:
            if worker.mode is Mode.HUMAN:
                raise RegistrationError(f"{worker.name} asks a person, so it cannot answer one.")
            if worker.name in self._by_kind:
                raise RegistrationError(f"There are two workers for {worker.name!r} requests.")
            self._by_kind[worker.name] = worker
        self._manager = manager
        self._clock = clock
        self._owner = owner

    def get(self, kind: str) -> Tool | None:
        return self._by_kind.get(kind)

    async def handle(self, session: "Session", request: Mapping[str, Any]) -> int:
        """Post a request and have it answered. Returns the number of its event, once it is stored.

        The same request id again is the same request: it is neither posted nor carried out a second time.
        """
        at = self._clock.time()
        request_id, kind = request["request_id"] or f"q{secrets.token_hex(8)}", request["request_kind"]
        posted = {**request, "request_id": request_id}
        event = encode_event(EventKind.USER_REQUEST, at, to_json(posted))
        worker = self._by_kind.get(kind)
        if worker is None:
            error = ToolError(f"Nobody handles {shorten(kind, 80)!r} requests.", category=ErrorCategory.NOT_FOUND)
            answer = {"request_id": request_id, "request_kind": kind, "payload": None, "error": error.to_model()}
            refusal = encode_event(EventKind.USER_RESPONSE, at, to_json(answer))
            return await session.ledger.write(Change(session.id, events=(event, refusal))) - 1
        if session.book.by_call(request_id) is not None:
            return session.board.last_seq
        document = encode({} if request["payload"] is None else request["payload"])
        priority = Priority[request["priority"].upper()]
        execution = self._manager.prepare(session, worker, document, request_id, priority)
        begun = ExecutionWrite(row_of(execution, self._owner), self._owner, new=True)
        change = Change(session.id, executions=[begun], events=(event,))
        execution.stored = True
        try:
            number = await session.ledger.write(change)
        except Conflict:  # the same id was used before, in this process or another
            self._manager.disown(execution)
            return session.board.last_seq
        self._manager.begin(execution)
        return number
