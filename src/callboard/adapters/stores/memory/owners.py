"""Processes and their heartbeats in memory."""

from collections.abc import Collection
from dataclasses import replace

from ....storage.owners import LEFT, TAKEN, Claim, Recovered, Stopping
from ....storage.rows import ExecutionRow, OwnerRow
from .state import MemoryPart


class MemoryOwners(MemoryPart):
    """`Owners` in memory."""

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
        return [
            Stopping(row.session_id, row.id, row.kind)
            for row in self._state.unfinished()
            if row.owner == owner_id and row.cancelling
        ]

    async def leave(self, owner_id: str) -> None:
        owns_work = any(row.owner == owner_id for row in self._state.unfinished())
        with self._state.owners_lock:
            owner = self._state.owners.pop(owner_id, None)
            if owner is not None and owns_work:
                self._state.owners[owner_id] = replace(owner, beat=LEFT)
            self._state.locks.discard(owner_id)

    async def recover(self, owner_id: str | None, beat: int, heir: str, *, limit: int = 1000) -> Recovered:
        with self._state.owners_lock:
            owner = None if owner_id is None else self._state.owners.get(owner_id)
            if owner_id is not None and (owner is None or owner.beat != beat):
                return Recovered([])
            statuses = self._request_statuses()
            owned = [row for row in self._state.unfinished() if row.owner == owner_id]
            if owner is None:
                owned = [row for row in owned if _is_ready(row, statuses.get((row.session_id, row.id), ()))]
            first = set(sorted((row.session_id, row.id) for row in owned)[:limit])
            found, more = [row for row in owned if (row.session_id, row.id) in first], len(owned) > limit
            claims: list[Claim] = []
            for row in found:
                waits = owner is not None and _waits_for_person(row, statuses.get((row.session_id, row.id), ()))
                self._state.sessions[row.session_id].executions[row.id] = replace(row, owner=None if waits else heir)
                if not waits:
                    claims.append(Claim(row.session_id, row.id, row.user_id, row.kind))
            if owner is not None and more:
                self._state.owners[owner.id] = replace(owner, beat=TAKEN)
            elif owner is not None:
                del self._state.owners[owner.id]
            return Recovered(claims, len(found) - len(claims), more, found=owner is not None or bool(claims))

    def _request_statuses(self) -> dict[tuple[str, str], list[str]]:
        """Return the statuses of all requests, by session and execution."""
        statuses: dict[tuple[str, str], list[str]] = {}
        for request in self._state.requests.values():
            statuses.setdefault((request.session_id, request.execution_id), []).append(request.status)
        return statuses


def _is_ready(row: ExecutionRow, statuses: Collection[str]) -> bool:
    """Return whether an execution that no process owns can go on, given the statuses of its requests."""
    return row.cancelling or "answered" in statuses or (bool(statuses) and "open" not in statuses)


def _waits_for_person(row: ExecutionRow, statuses: Collection[str]) -> bool:
    """Return whether an execution of a dead process needs no process until a person answers."""
    waits = row.status == "waiting" and row.parent_id is None and not row.cancelling
    return waits and "open" in statuses and "answered" not in statuses
