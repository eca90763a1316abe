"""Queries of the processes that own executions, turns and inputs, and the recovery of the work of dead processes."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Row,
    Table,
    and_,
    delete,
    exists,
    literal,
    not_,
    select,
    tuple_,
    update,
)

from ...storage.owners import LEFT, RECOVERING, Claim, Recovered
from ...storage.rows import INPUT, TURN, OwnerRow
from .statements import Statements, key_document
from .tables import executions, incomplete, inputs, owners, requests, running, turns, undelivered

_of_execution = and_(requests.c.session_id == executions.c.session_id, requests.c.execution_id == executions.c.id)
_is_open = exists().where(_of_execution, requests.c.status == "open")
_is_answered = exists().where(_of_execution, requests.c.status == "answered")

_is_ready = and_(executions.c.owner.is_(None), executions.c.ready)
_waits_for_person = and_(
    executions.c.status == "waiting",
    executions.c.parent_id.is_(None),
    not_(executions.c.cancelling),
    _is_open,
    not_(_is_answered),
)
"""Whether an execution of a dead process needs no process until a person answers."""


@dataclass(frozen=True, slots=True, eq=False)
class _Work:
    """A kind of work that processes own."""

    table: Table
    id: Column[Any]
    kind: ColumnElement[str]
    pending: ColumnElement[bool]
    """The condition that it is not done."""
    place: Column[Any]
    """Its order within a session."""
    lock_order: Column[Any]
    """The order within a session in which writers lock it."""


_EXECUTIONS = _Work(executions, executions.c.id, executions.c.kind, incomplete, executions.c.place, executions.c.id)
_TURNS = _Work(turns, turns.c.turn_id, literal(TURN), running, turns.c.number, turns.c.number)
_INPUTS = _Work(inputs, inputs.c.id, literal(INPUT), undelivered, inputs.c.id, inputs.c.id)
_ALL = (_EXECUTIONS, _TURNS, _INPUTS)


class OwnerQueries:
    """The queries of `Owners`, for one kind of database."""

    def __init__(self, statements: Statements, key_filter: Callable[..., ColumnElement[bool]]) -> None:
        self._statements = statements
        self._listed = {work: key_filter(work.table.c.session_id, work.id) for work in _ALL}
        """The conditions that work is one of those in the parameter `keys`."""
        self._given: set[Claim] = set()
        """Work that was given by a transaction with an unknown result."""

    @property
    def settled(self) -> bool:
        """Whether the heir knows of everything that was given to it."""
        return not self._given

    def join(self, connection: Connection, owner: OwnerRow) -> None:
        row = (owner.id, owner.host, owner.pid, owner.started, owner.beat)
        self._statements.write(connection, "write_owners", [row])

    def beat(self, connection: Connection, owner_id: str) -> bool:
        lives = update(owners).where(owners.c.id == owner_id, owners.c.beat >= 0).values(beat=owners.c.beat + 1)
        return connection.execute(lives).rowcount == 1

    def leave(self, connection: Connection, owner_id: str) -> None:
        _remove(connection, owner_id, LEFT)

    def any_ready(self, connection: Connection) -> bool:
        """Return whether there is an execution that no process owns and that can go on."""
        found = select(literal(1)).select_from(executions).where(_is_ready, incomplete).limit(1)
        return connection.execute(found).first() is not None

    def recover(self, connection: Connection, owner_id: str | None, beat: int, heir: str, limit: int) -> Recovered:
        """See `Owners.recover`. Of two heirs that recover the same process, the second finds nothing left.

        Call `settle` when it is committed. If the result is unknown, the next call finds out: the heir must learn of
        everything that it owns.
        """
        unreported = self._unreported(connection, heir) if self._given else []
        if owner_id is None:
            claims = _claims(_locked(connection, _EXECUTIONS, limit, _is_ready))
            self._give(connection, claims, heir)
            given = [*unreported, *claims]
            return Recovered(given, more=len(claims) == limit, found=bool(given))
        stored = select(owners.c.beat).where(owners.c.id == owner_id).with_for_update()
        if connection.execute(stored).scalar_one_or_none() != beat:
            return Recovered(unreported, found=bool(unreported))
        held, waits = executions.c.owner == owner_id, executions.c.status == "waiting"
        urgent = _locked(connection, _EXECUTIONS, limit, held, not_(waits))
        waiting = _locked(connection, _EXECUTIONS, limit - len(urgent), held, waits)
        left = limit - len(urgent) - len(waiting)
        of_turns = _locked(connection, _TURNS, left, turns.c.owner == owner_id)
        of_inputs = _locked(connection, _INPUTS, left - len(of_turns), inputs.c.owner == owner_id)
        idle = _waiting_for_people(connection, held, waiting)
        calls = [claim for claim in _claims([*urgent, *waiting]) if claim.key not in idle]
        claims = [*calls, *_claims(of_turns), *_claims(of_inputs)]
        self._give(connection, claims, heir)
        self._set_owner(connection, _EXECUTIONS, idle, None)  # until their requests close
        more = _remove(connection, owner_id, RECOVERING)
        return Recovered([*unreported, *claims], len(idle), more, found=True)

    def settle(self) -> None:
        """Note that what was given is committed, and that the heir learns of it."""
        self._given.clear()

    def _give(self, connection: Connection, claims: Iterable[Claim], heir: str) -> None:
        self._given.update(claims)
        for work in self._listed:
            self._set_owner(connection, work, [claim.key for claim in claims if _work_of(claim) is work], heir)

    def _set_owner(
        self, connection: Connection, work: _Work, keys: Collection[tuple[str, str]], owner: str | None
    ) -> None:
        if keys:
            values = {"owner": owner, "ready": False} if work is _EXECUTIONS else {"owner": owner}
            given = update(work.table).where(self._listed[work], work.pending).values(values)
            connection.execute(given, {"keys": key_document(keys)})

    def _unreported(self, connection: Connection, heir: str) -> list[Claim]:
        """Return what was given to the heir without its knowledge."""
        found: list[Claim] = []
        for work, listed in self._listed.items():
            given = {claim.key: claim for claim in self._given if _work_of(claim) is work}
            held = select(work.table.c.session_id, work.id).where(work.table.c.owner == heir, work.pending, listed)
            ordered = held.order_by(work.table.c.session_id, work.place)
            if given:
                found += [given[row[0], row[1]] for row in connection.execute(ordered, {"keys": key_document(given)})]
        return found


def _remove(connection: Connection, owner_id: str, beat: int) -> bool:
    """Delete a process, or store this beat for it if it owns work. Return whether it owns work."""
    owned = (
        select(literal(1)).select_from(work.table).where(work.table.c.owner == owner_id, work.pending).limit(1)
        for work in _ALL
    )
    owns_work = any(connection.execute(each).first() is not None for each in owned)
    change = update(owners).values(beat=beat) if owns_work else delete(owners)
    connection.execute(change.where(owners.c.id == owner_id))
    return owns_work


def _locked(
    connection: Connection, work: _Work, limit: int, *wanted: ColumnElement[bool]
) -> Sequence[Row[*tuple[Any, ...]]]:
    """Lock work that is not done, and return its claims and places."""
    of_session = work.table.c.session_id
    columns = of_session, work.id.label("id"), work.table.c.user_id, work.kind, work.place.label("place")
    locked = select(*columns).where(*wanted, work.pending).with_for_update(of=work.table)
    return connection.execute(locked.order_by(of_session, work.lock_order).limit(limit)).all()


def _waiting_for_people(
    connection: Connection, held: ColumnElement[bool], waiting: Sequence[Row[*tuple[Any, ...]]]
) -> set[tuple[str, str]]:
    """Return those of the locked executions, the first of their process, that wait for a person.

    This is a separate query: the query that locks them may have waited for an answer that is committed by now, and
    does not see it.
    """
    if not waiting:
        return set()
    key = executions.c.session_id, executions.c.id
    last = tuple_(literal(waiting[-1].session_id), literal(waiting[-1].id))
    query = select(*key).where(held, incomplete, _waits_for_person, tuple_(*key) <= last)
    return {(row[0], row[1]) for row in connection.execute(query)}


def _claims(rows: Iterable[Row[*tuple[Any, ...]]]) -> list[Claim]:
    """Return claims by session, and by their places within a session."""
    return [Claim(*row[:-1]) for row in sorted(rows, key=lambda row: (row.session_id, row.place))]


def _work_of(claim: Claim) -> _Work:
    return {TURN: _TURNS, INPUT: _INPUTS}.get(claim.kind, _EXECUTIONS)
