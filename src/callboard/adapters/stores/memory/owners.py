"""Processes and their heartbeats in memory."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import replace

from ....storage.owners import INTERRUPTED_CLAIM, LEFT, RECOVERING, Claim, QueuedCall, Recovered, Stopping
from ....storage.queues import Claimed, QueueDepth
from ....storage.rows import INPUT, TOOL, TURN, ExecutionRow, InputRow, OwnerRow, TurnRow
from ....types import RequestPurpose
from .state import MemoryState

Statuses = defaultdict[tuple[str, str], list[str]]
"""The statuses of requests, by session and execution."""


class MemoryOwners:
    """`Owners` in memory."""

    def __init__(self) -> None:
        self._state = MemoryState()

    async def join(self, owner: OwnerRow) -> None:
        with self._state.owners_lock:
            self._state.owners[owner.id] = owner
            self._state.locks.add(owner.id)

    def beat(self, owner_id: str) -> bool:
        with self._state.owners_lock:
            owner = self._state.owners.get(owner_id)
            self._state.locks.add(owner_id)
            if owner is None or owner.beat < 0:
                return False
            self._state.owners[owner_id] = replace(owner, beat=owner.beat + 1)
            return True

    async def living(self, owner_ids: Collection[str]) -> dict[str, bool]:
        return {owner_id: owner_id in self._state.locks for owner_id in owner_ids}

    async def owners(self) -> list[OwnerRow]:
        with self._state.owners_lock:
            return sorted(self._state.owners.values(), key=lambda owner: owner.id)

    async def stopping(self, owner_id: str) -> list[Stopping]:
        executions = [
            Stopping(row.session_id, row.id, row.kind)
            for row in self._state.unfinished()
            if row.owner == owner_id and row.cancelling
        ]
        turns = [
            Stopping(row.session_id, row.turn_id, TURN)
            for row in self._state.running_turns()
            if row.owner == owner_id and row.cancelling
        ]
        return executions + turns

    async def tools_under_way(self, owner_id: str) -> set[str]:
        return {row.tool for row in self._state.unfinished() if row.owner == owner_id and _is_under_way(row)}

    async def leave(self, owner_id: str) -> None:
        state = self._state
        owns_work = bool(self._work_of(owner_id))
        with state.owners_lock:
            owner = state.owners.pop(owner_id, None)
            if owner is not None and owns_work:
                state.owners[owner_id] = replace(owner, beat=LEFT)
            state.locks.discard(owner_id)

    async def recover(
        self,
        owner_id: str | None,
        beat: int,
        heir: str,
        *,
        limit: int = 1000,
        conversations: bool = True,
        tools: Collection[str] | None = None,
    ) -> Recovered:
        state = self._state
        with state.owners_lock:
            owner = None if owner_id is None else state.owners.get(owner_id)
            if owner_id is not None and (owner is None or owner.beat != beat):
                return Recovered([])
            statuses = self._request_statuses()
            owned = self._work_of(owner_id)
            if owner is None:
                work = [row for row in owned if isinstance(row, ExecutionRow) and _is_ready(row, statuses)]
                if tools is not None:
                    work = [row for row in work if row.cancelling or self._goes_on(row, tools)]
            else:
                foreign = {row.session_id for row in owned if tools is not None and _is_foreign(row, tools)}
                work = [
                    row
                    for row in owned
                    if _is_queued(row) or (row.session_id not in foreign and (conversations or _needs_no_model(row)))
                ]
            claims: list[Claim] = []
            requeued: list[QueuedCall] = []
            waiting = 0
            for row in work[:limit]:
                session = state.sessions[row.session_id]
                match row:
                    case ExecutionRow(queue=str(queue)) if owner is not None:
                        is_new = beat != LEFT and row.status != "executing" and row.errors == b"[]"
                        errors = INTERRUPTED_CLAIM if is_new else row.errors
                        session.executions[row.id] = replace(row, owner=None, errors=errors)
                        if queue and not row.cancelling:
                            requeued.append(_queued_call(row))
                    case ExecutionRow() if owner is not None and _waits_for_person(row, statuses):
                        session.executions[row.id] = replace(row, owner=None)
                        waiting += 1
                    case ExecutionRow():
                        session.executions[row.id] = replace(row, owner=heir)
                        claims.append(Claim(row.session_id, row.id, row.user_id, row.kind))
                    case TurnRow():
                        session.turns[row.number] = replace(row, owner=heir)
                        claims.append(Claim(row.session_id, row.turn_id, row.user_id, TURN))
                    case InputRow():
                        session.inputs[row.id] = replace(row, owner=heir)
                        claims.append(Claim(row.session_id, row.id, row.user_id, INPUT))
            more = len(work) > limit
            left = len(owned) > min(len(work), limit)
            if owner is not None and left:
                state.owners[owner.id] = replace(owner, beat=RECOVERING)
            elif owner is not None:
                del state.owners[owner.id]
            return Recovered(claims, waiting, more, found=owner is not None or bool(claims), requeued=tuple(requeued))

    async def claim(
        self, keys: Collection[tuple[str, str]], owner: str, limits: Mapping[str, int] | None = None
    ) -> Claimed:
        unfinished = {(row.session_id, row.id): row for row in self._state.unfinished()}
        room = dict(limits or {})
        for row in unfinished.values():
            if row.queue and row.owner is not None and row.tool in room:
                room[row.tool] -= 1
        rows: list[ExecutionRow] = []
        refused: list[tuple[str, str]] = []
        for row in (unfinished[key] for key in dict.fromkeys(keys) if key in unfinished):
            if row.queue is None or (row.owner is not None and (row.owner != owner or row.attempt)):
                continue
            if room.get(row.tool, 1) <= 0:
                refused.append((row.session_id, row.id))
                continue
            if row.tool in room:
                room[row.tool] -= 1
            rows.append(row)
        for caller in rows:  # grows by the nested calls that it finds
            key = caller.session_id, caller.id
            rows += [
                row
                for row in unfinished.values()
                if row.queue == "" and row.owner is None and (row.session_id, row.parent_id) == key
            ]
        rows = [replace(row, owner=owner) for row in rows]
        for row in rows:
            self._state.sessions[row.session_id].executions[row.id] = row
        sessions = {row.session_id: self._state.sessions[row.session_id].made_at for row in rows}
        return Claimed(rows, refused, sessions)

    async def queue_depths(self) -> list[QueueDepth]:
        waiting: defaultdict[str, list[ExecutionRow]] = defaultdict(list)
        for row in self._state.unfinished():
            if row.queue and row.owner is None:
                waiting[row.queue].append(row)
        return [
            QueueDepth(queue, len(rows), min(row.queued_at for row in rows), Counter(row.user_id for row in rows))
            for queue, rows in sorted(waiting.items())
        ]

    async def claimed_calls(self, owner_id: str) -> list[Claim]:
        claimed = [row for row in self._state.unfinished() if row.owner == owner_id and row.queue is not None]
        claimed.sort(key=lambda row: row.session_id)
        return [Claim(row.session_id, row.id, row.user_id, row.kind) for row in claimed if row.attempt == 0]

    async def queued_calls(
        self, queue: str, *, before: float, limit: int, tools: Collection[str] | None = None
    ) -> list[QueuedCall]:
        rows = (row for row in self._waiting(queue) if row.queued_at < before and (tools is None or row.tool in tools))
        return [_queued_call(row) for row in rows][:limit]

    async def queued_calls_of(self, queue: str, users: Mapping[str, int]) -> dict[str, list[QueuedCall]]:
        calls: dict[str, list[QueuedCall]] = {user_id: [] for user_id in users}
        for row in self._waiting(queue):
            if len(calls.get(row.user_id, ())) < users.get(row.user_id, 0):
                calls[row.user_id].append(_queued_call(row))
        return calls

    def _waiting(self, queue: str) -> list[ExecutionRow]:
        """Return the executions that wait in a queue, oldest first."""
        rows = (row for row in self._state.unfinished() if row.queue == queue and row.owner is None)
        return sorted(rows, key=lambda row: row.queued_at)

    def _work_of(self, owner_id: str | None) -> list[ExecutionRow | TurnRow | InputRow]:
        """Return the unfinished work of a process; None: of no process."""
        state = self._state
        work = (*state.unfinished(), *state.running_turns(), *state.undelivered_inputs())
        return [row for row in work if row.owner == owner_id]

    def _goes_on(self, row: ExecutionRow, tools: Collection[str]) -> bool:
        """Return whether an execution that is ready continues in a process with these tools."""
        purposes = (
            request.purpose
            for request in self._state.requests.values()
            if (request.session_id, request.execution_id) == (row.session_id, row.id)
        )
        return row.kind != TOOL or row.tool in tools or RequestPurpose.FRONT_END_TOOL in purposes

    def _request_statuses(self) -> Statuses:
        statuses: Statuses = defaultdict(list)
        for request in self._state.requests.values():
            statuses[request.session_id, request.execution_id].append(request.status)
        return statuses


def _queued_call(row: ExecutionRow) -> QueuedCall:
    return QueuedCall(row.session_id, row.id, row.tool, row.queue or "", row.user_id)


def _is_ready(row: ExecutionRow, statuses: Statuses) -> bool:
    """Return whether an execution that no process owns can continue."""
    found = statuses[row.session_id, row.id]
    return row.cancelling or (row.queue is None and ("answered" in found or (bool(found) and "open" not in found)))


def _is_foreign(row: ExecutionRow | TurnRow | InputRow, tools: Collection[str]) -> bool:
    """Return whether this is an execution that was under way, of a tool that is none of these."""
    return isinstance(row, ExecutionRow) and _is_under_way(row) and row.tool not in tools


def _is_under_way(row: ExecutionRow) -> bool:
    return row.kind == TOOL and not _is_queued(row) and row.status != "waiting"


def _is_queued(row: ExecutionRow | TurnRow | InputRow) -> bool:
    return isinstance(row, ExecutionRow) and row.queue is not None


def _needs_no_model(row: ExecutionRow | TurnRow | InputRow) -> bool:
    return isinstance(row, ExecutionRow) or (isinstance(row, TurnRow) and row.cancelling)


def _waits_for_person(row: ExecutionRow, statuses: Statuses) -> bool:
    """Return whether an execution of a dead process needs no process until a person answers."""
    found = statuses[row.session_id, row.id]
    waits = row.status == "waiting" and row.parent_id is None and not row.cancelling
    return waits and "open" in found and "answered" not in found
