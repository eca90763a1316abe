"""Processes and their heartbeats in memory."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import replace

from ....storage.owners import LEFT, RECOVERING, Claim, Recovered, Stopping
from ....storage.rows import INPUT, TURN, ExecutionRow, InputRow, OwnerRow, TurnRow
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

    async def leave(self, owner_id: str) -> None:
        state = self._state
        owns_work = bool(self._work_of(owner_id))
        with state.owners_lock:
            owner = state.owners.pop(owner_id, None)
            if owner is not None and owns_work:
                state.owners[owner_id] = replace(owner, beat=LEFT)
            state.locks.discard(owner_id)

    async def recover(self, owner_id: str | None, beat: int, heir: str, *, limit: int = 1000) -> Recovered:
        state = self._state
        with state.owners_lock:
            owner = None if owner_id is None else state.owners.get(owner_id)
            if owner_id is not None and (owner is None or owner.beat != beat):
                return Recovered([])
            statuses = self._request_statuses()
            work = self._work_of(owner_id)
            if owner is None:
                work = [row for row in work if isinstance(row, ExecutionRow) and _is_ready(row, statuses)]
            claims: list[Claim] = []
            waiting = 0
            for row in work[:limit]:
                session = state.sessions[row.session_id]
                match row:
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
            if owner is not None and more:
                state.owners[owner.id] = replace(owner, beat=RECOVERING)
            elif owner is not None:
                del state.owners[owner.id]
            return Recovered(claims, waiting, more, found=owner is not None or bool(claims))

    def _work_of(self, owner_id: str | None) -> list[ExecutionRow | TurnRow | InputRow]:
        """Return the unfinished work of a process; None: of no process."""
        state = self._state
        work = (*state.unfinished(), *state.running_turns(), *state.undelivered_inputs())
        return [row for row in work if row.owner == owner_id]

    def _request_statuses(self) -> Statuses:
        statuses: Statuses = defaultdict(list)
        for request in self._state.requests.values():
            statuses[request.session_id, request.execution_id].append(request.status)
        return statuses


def _is_ready(row: ExecutionRow, statuses: Statuses) -> bool:
    """Return whether an execution that no process owns can go on."""
    found = statuses[row.session_id, row.id]
    return row.cancelling or "answered" in found or (bool(found) and "open" not in found)


def _waits_for_person(row: ExecutionRow, statuses: Statuses) -> bool:
    """Return whether an execution of a dead process needs no process until a person answers."""
    found = statuses[row.session_id, row.id]
    waits = row.status == "waiting" and row.parent_id is None and not row.cancelling
    return waits and "open" in found and "answered" not in found
