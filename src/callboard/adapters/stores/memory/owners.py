"""Processes and their heartbeats in memory."""

from collections.abc import Collection, Container, Iterable
from dataclasses import replace

from ....storage.owners import LEFT, RECOVERING, Claim, Recovered, Stopping
from ....storage.rows import INPUT, TURN, ExecutionRow, InputRow, OwnerRow, TurnRow
from .state import MemoryState


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
        work = (*state.unfinished(), *state.running_turns(), *state.undelivered_inputs())
        owns_work = any(row.owner == owner_id for row in work)
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
            owned = [row for row in state.unfinished() if row.owner == owner_id]
            if owner is None:
                owned = [row for row in owned if _is_ready(row, statuses.get((row.session_id, row.id), ()))]
            first = set(sorted((row.session_id, row.id) for row in owned)[:limit])
            executions = [row for row in owned if (row.session_id, row.id) in first]
            turns = [row for row in state.running_turns() if row.owner == owner_id]
            inputs = [row for row in state.undelivered_inputs() if row.owner == owner_id]
            more = len(owned) + len(turns) + len(inputs) > limit
            turns = turns[: limit - len(executions)]
            inputs = inputs[: limit - len(executions) - len(turns)]
            waiting = {
                (row.session_id, row.id)
                for row in executions
                if owner is not None and _waits_for_person(row, statuses.get((row.session_id, row.id), ()))
            }
            claims = [*self._give_executions(executions, waiting, heir), *self._give_conversations(turns, inputs, heir)]
            if owner is not None and more:
                state.owners[owner.id] = replace(owner, beat=RECOVERING)
            elif owner is not None:
                del state.owners[owner.id]
            return Recovered(claims, len(waiting), more, found=owner is not None or bool(claims))

    def _give_executions(
        self, rows: Iterable[ExecutionRow], waiting: Container[tuple[str, str]], heir: str
    ) -> Iterable[Claim]:
        """Give executions to the heir, or to no process if they wait for a person."""
        for row in rows:
            waits = (row.session_id, row.id) in waiting
            self._state.sessions[row.session_id].executions[row.id] = replace(row, owner=None if waits else heir)
            if not waits:
                yield Claim(row.session_id, row.id, row.user_id, row.kind)

    def _give_conversations(self, turns: Iterable[TurnRow], inputs: Iterable[InputRow], heir: str) -> Iterable[Claim]:
        """Give turns and inputs to the heir."""
        for turn in turns:
            self._state.sessions[turn.session_id].turns[turn.number] = replace(turn, owner=heir)
            yield Claim(turn.session_id, turn.turn_id, turn.user_id, TURN)
        for row in inputs:
            self._state.sessions[row.session_id].inputs[row.id] = replace(row, owner=heir)
            yield Claim(row.session_id, row.id, row.user_id, INPUT)

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
