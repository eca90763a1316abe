"""Queries of the processes that own executions, turns and inputs, and the recovery of what dead ones leave behind."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    and_,
    delete,
    exists,
    false,
    literal,
    not_,
    select,
    tuple_,
    update,
)

from ...storage.owners import LEFT, TAKEN, Claim, Recovered
from ...storage.rows import INPUT, TURN, OwnerRow
from .statements import Statements, key_document
from .tables import executions, inputs, owners, requests, running, turns, undelivered

_unfinished = executions.c.completed_at.is_(None)
_of_execution = and_(requests.c.session_id == executions.c.session_id, requests.c.execution_id == executions.c.id)
_is_open = exists().where(_of_execution, requests.c.status == "open")
_is_answered = exists().where(_of_execution, requests.c.status == "answered")

_unowned = and_(executions.c.owner.is_(None), _unfinished)
_waits_for_person = and_(
    executions.c.status == "waiting",
    executions.c.parent_id.is_(None),
    not_(executions.c.cancelling),
    _is_open,
    not_(_is_answered),
)
"""Whether an execution of a dead process needs no process until a person answers."""

_CLAIM = tuple(executions.c[name] for name in Claim._fields)
_IN_ORDER = (executions.c.session_id, executions.c.id)
"""The order in which writers lock executions."""


class OwnerQueries:
    """The queries of `Owners`, for one kind of database."""

    def __init__(self, statements: Statements, key_filter: Callable[..., ColumnElement[bool]]) -> None:
        self._statements = statements
        self._listed = key_filter(executions.c.session_id, executions.c.id)
        self._listed_turns = key_filter(turns.c.session_id, turns.c.turn_id)
        self._listed_inputs = key_filter(inputs.c.session_id, inputs.c.id)
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
        if self._holds_any(connection, owner_id):
            connection.execute(update(owners).where(owners.c.id == owner_id).values(beat=LEFT))
        else:
            connection.execute(delete(owners).where(owners.c.id == owner_id))

    def any_ready(self, connection: Connection) -> bool:
        """Return whether there is an execution that no process owns and that can go on."""
        found = select(literal(1)).select_from(executions).where(executions.c.ready, _unowned).limit(1)
        return connection.execute(found).first() is not None

    def recover(self, connection: Connection, owner_id: str | None, beat: int, heir: str, limit: int) -> Recovered:
        """See `Owners.recover`. Of two heirs that recover the same process, the second finds nothing left.

        Call `settle` when it is committed. If the result is unknown, the next call finds out: the heir must learn of
        everything that it owns.
        """
        unreported = self._unreported(connection, heir) if self._given else []
        if owner_id is None:
            found = self._locked(connection, limit, _unowned, executions.c.ready)
            claims = _claims(found)
            self._give(connection, claims, heir)
            given = [*unreported, *claims]
            return Recovered(given, more=len(found) == limit, found=bool(given))
        stored = select(owners.c.beat).where(owners.c.id == owner_id).with_for_update()
        if connection.execute(stored).scalar_one_or_none() != beat:
            return Recovered(unreported, found=bool(unreported))
        held = and_(executions.c.owner == owner_id, _unfinished)
        running = self._locked(
            connection, limit, held, executions.c.status != "waiting"
        )  # waiting executions are less urgent
        waiting = self._locked(connection, limit - len(running), held, executions.c.status == "waiting")
        found = _claims([*running, *waiting])
        idle = self._waiting_for_people(connection, held, waiting)
        claims = [claim for claim in found if claim.key not in idle]
        idle_claims = [claim for claim in found if claim.key in idle]
        claims += self._locked_turns(connection, owner_id, limit - len(found))
        claims += self._locked_inputs(connection, owner_id, limit - len(claims) - len(idle_claims))
        self._give(connection, claims, heir)
        self._release(connection, idle_claims)
        more = self._holds_any(connection, owner_id)
        if more:
            connection.execute(update(owners).where(owners.c.id == owner_id).values(beat=TAKEN))
        else:
            connection.execute(delete(owners).where(owners.c.id == owner_id))
        return Recovered([*unreported, *claims], len(idle_claims), more, found=True)

    def settle(self) -> None:
        """Note that what was given is committed, and that the heir learns of it."""
        self._given.clear()

    def _holds_any(self, connection: Connection, owner_id: str) -> bool:
        held = (
            select(literal(1)).select_from(executions).where(executions.c.owner == owner_id, _unfinished),
            select(literal(1)).select_from(turns).where(turns.c.owner == owner_id, running),
            select(literal(1)).select_from(inputs).where(inputs.c.owner == owner_id, undelivered),
        )
        return any(connection.execute(each.limit(1)).first() is not None for each in held)

    def _locked(self, connection: Connection, limit: int, *wanted: ColumnElement[bool]) -> Sequence[Row[Any]]:
        return connection.execute(
            select(*_CLAIM, executions.c.place)
            .where(*wanted)
            .order_by(*_IN_ORDER)
            .limit(limit)
            .with_for_update(of=executions)
        ).all()

    def _locked_turns(self, connection: Connection, owner_id: str, limit: int) -> list[Claim]:
        """Lock and return the running turns of a process."""
        columns = turns.c.session_id, turns.c.turn_id, turns.c.user_id, literal(TURN)
        held = select(*columns).where(turns.c.owner == owner_id, running)
        ordered = held.order_by(turns.c.session_id, turns.c.number).limit(limit).with_for_update(of=turns)
        return [Claim(*row) for row in connection.execute(ordered)]

    def _locked_inputs(self, connection: Connection, owner_id: str, limit: int) -> list[Claim]:
        """Lock and return the undelivered inputs of a process."""
        columns = inputs.c.session_id, inputs.c.id, inputs.c.user_id, literal(INPUT)
        held = select(*columns).where(inputs.c.owner == owner_id, undelivered)
        ordered = held.order_by(inputs.c.session_id, inputs.c.id).limit(limit).with_for_update(of=inputs)
        return [Claim(*row) for row in connection.execute(ordered)]

    def _waiting_for_people(
        self, connection: Connection, held: ColumnElement[bool], waiting: Sequence[Row[Any]]
    ) -> set[tuple[str, str]]:
        """Return those of the locked executions, the first of their process, that wait for a person.

        This is a query of its own: the one that locks them may have waited for an answer that is committed by now, and
        does not see it.
        """
        if not waiting:
            return set()
        last = tuple_(literal(waiting[-1].session_id), literal(waiting[-1].id))
        query = select(*_IN_ORDER).where(held, _waits_for_person, tuple_(*_IN_ORDER) <= last)
        return {(row[0], row[1]) for row in connection.execute(query)}

    def _give(self, connection: Connection, claims: list[Claim], heir: str) -> None:
        self._given.update(claims)
        for update_owner, listed in (
            (update(executions).where(self._listed).values(owner=heir, ready=false()), _executions_of(claims)),
            (update(turns).where(self._listed_turns, running).values(owner=heir), _keys_of(claims, TURN)),
            (update(inputs).where(self._listed_inputs).values(owner=heir), _keys_of(claims, INPUT)),
        ):
            if listed:
                connection.execute(update_owner, {"keys": key_document(listed)})

    def _release(self, connection: Connection, claims: list[Claim]) -> None:
        """Leave executions without a process until their request closes."""
        if claims:
            without_owner = update(executions).where(self._listed).values(owner=None, ready=false())
            connection.execute(without_owner, {"keys": key_document(claim.key for claim in claims)})

    def _unreported(self, connection: Connection, heir: str) -> list[Claim]:
        """Return what was given to the heir without its knowledge."""
        held = select(*_CLAIM, executions.c.place).where(executions.c.owner == heir, _unfinished, self._listed)
        found = _claims(connection.execute(held, {"keys": key_document(_executions_of(self._given))}).all())
        for query, kind in (
            (select(turns.c.session_id, turns.c.turn_id).where(turns.c.owner == heir, running), TURN),
            (select(inputs.c.session_id, inputs.c.id).where(inputs.c.owner == heir, undelivered), INPUT),
        ):
            if given := {claim.key: claim for claim in self._given if claim.kind == kind}:
                held_now = {(row[0], row[1]) for row in connection.execute(query)}
                found += [given[key] for key in sorted(given.keys() & held_now)]
        return found


def _executions_of(claims: Iterable[Claim]) -> set[tuple[str, str]]:
    return {claim.key for claim in claims if claim.kind not in (TURN, INPUT)}


def _keys_of(claims: Iterable[Claim], kind: str) -> set[tuple[str, str]]:
    return {claim.key for claim in claims if claim.kind == kind}


def _claims(rows: Iterable[Row[Any]]) -> list[Claim]:
    """Return claims by session, and in the order of queueing within a session."""
    placed = sorted(rows, key=lambda row: (row.session_id, row.place))
    return [Claim(*row[: len(Claim._fields)]) for row in placed]
