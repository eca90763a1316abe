"""Queries of the processes that own executions, turns and inputs, and the recovery of the work of dead processes."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    FromClause,
    Row,
    Table,
    Text,
    and_,
    bindparam,
    case,
    cast,
    delete,
    exists,
    false,
    func,
    literal,
    not_,
    or_,
    select,
    tuple_,
    update,
)

from ...storage.owners import INTERRUPTED_CLAIM, LEFT, RECOVERING, Claim, QueuedCall, Recovered
from ...storage.queues import Claimed
from ...storage.rows import INPUT, TOOL, TURN, ExecutionRow, OwnerRow
from ...storage.store import NO_LIMIT
from ...types import RequestPurpose
from .backend import Backend
from .queue_queries import calls_over_limit, nested_calls, waiting_calls
from .revisions import is_current, verify
from .statements import key_document
from .tables import (
    REVISION,
    columns_of,
    executions,
    incomplete,
    inputs,
    made_at,
    owners,
    queued,
    requests,
    running,
    sessions,
    turns,
    undelivered,
)

_of_execution = and_(requests.c.session_id == executions.c.session_id, requests.c.execution_id == executions.c.id)
_is_ready = and_(executions.c.owner.is_(None), executions.c.ready)


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

_JSON = ("display_arguments", "errors", "value", "error")
_FLAGS = ("late", "cancelling")


class OwnerQueries:
    """The queries of `Owners`, for one kind of database."""

    def __init__(self, database: Backend) -> None:
        self._statements, self._read_json = database.statements, database.json.read
        self._key_filter = database.key_filter
        self._listed = {work: database.key_filter(work.table.c.session_id, work.id) for work in _ALL}
        """The conditions that work is one of those in the parameter `keys`."""
        self._made_at = database.select_listed(select(sessions.c.id, made_at), sessions.c.id)
        lives = owners.c.id == bindparam("owner_id"), owners.c.beat >= 0, is_current()
        self._beat = update(owners).where(*lives).values(beat=owners.c.beat + 1)
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
        """See `Owners.beat`. Raises `StoreOutdated` if the tables have another revision."""
        if connection.execute(self._beat, {"owner_id": owner_id}).rowcount == 1:
            return True
        verify(connection)
        return False

    def leave(self, connection: Connection, owner_id: str) -> None:
        _remove(connection, owner_id, LEFT)

    def any_ready(self, connection: Connection, tools: Collection[str] | None) -> bool:
        """Return whether there is an execution that no process owns and a process with these tools can continue."""
        if not _any(connection, _EXECUTIONS, _is_ready):  # a poll seldom needs the tools
            return False
        return tools is None or _any(connection, _EXECUTIONS, *self._ready(tools))

    def recover_ready(self, connection: Connection, heir: str, limit: int, tools: Collection[str] | None) -> Recovered:
        """See `Owners.recover` without an owner, and `recover` about `settle`."""
        unreported = self._unreported(connection, heir) if self._given else []
        wanted, listed = self._ready(tools)
        claims = _claims(_locked(connection, _EXECUTIONS, limit, wanted, parameters=listed))
        self._give(connection, claims, heir)
        given = [*unreported, *claims]
        return Recovered(given, more=len(claims) == limit, found=bool(given))

    def _ready(self, tools: Collection[str] | None) -> tuple[ColumnElement[bool], Mapping[str, str]]:
        """Return the condition that an execution without an owner continues in a process with these tools."""
        if tools is None:
            return _is_ready, {}
        of_front_end = exists().where(_of_execution, requests.c.purpose == RequestPurpose.FRONT_END_TOOL.value)
        goes_on = or_(
            executions.c.cancelling, executions.c.kind != TOOL, self._key_filter(executions.c.tool), of_front_end
        )
        return and_(_is_ready, goes_on), _tool_keys(tools)

    def recover(
        self,
        connection: Connection,
        owner_id: str,
        beat: int,
        heir: str,
        limit: int,
        *,
        conversations: bool,
        tools: Collection[str] | None,
    ) -> Recovered:
        """See `Owners.recover`. Of two heirs that recover the same process, the second finds nothing left.

        Call `settle` when it is committed. If the result is unknown, the next call finds out: the heir must learn of
        everything that it owns.
        """
        unreported = self._unreported(connection, heir) if self._given else []
        stored = select(owners.c.beat).where(owners.c.id == owner_id).with_for_update()
        if connection.execute(stored).scalar_one_or_none() != beat:
            return Recovered(unreported, found=bool(unreported))
        requeued = self._requeue(connection, executions.c.owner == owner_id, has_died=beat != LEFT)
        wanted, listed = self._claimable(owner_id, conversations, tools)
        held, waits = wanted[_EXECUTIONS], executions.c.status == "waiting"
        urgent = _locked(connection, _EXECUTIONS, limit, held, not_(waits), parameters=listed)
        waiting = _locked(connection, _EXECUTIONS, limit - len(urgent), held, waits, parameters=listed)
        left = limit - len(urgent) - len(waiting)
        of_turns = _locked(connection, _TURNS, left, wanted[_TURNS], parameters=listed)
        of_inputs = _locked(connection, _INPUTS, left - len(of_turns), wanted[_INPUTS], parameters=listed)
        idle = _waiting_for_people(connection, held, waiting, listed)
        calls = [claim for claim in _claims([*urgent, *waiting]) if claim.key not in idle]
        claims = [*calls, *_claims(of_turns), *_claims(of_inputs)]
        self._give(connection, claims, heir)
        self._set_owner(connection, _EXECUTIONS, idle, None)  # until their requests close
        more = _remove(connection, owner_id, RECOVERING)
        if more and not (conversations and tools is None):
            more = any(_any(connection, work, condition, listed) for work, condition in wanted.items())
        return Recovered([*unreported, *claims], len(idle), more, found=True, requeued=tuple(requeued))

    def _claimable(
        self, owner_id: str, conversations: bool, tools: Collection[str] | None
    ) -> tuple[dict[_Work, ColumnElement[bool]], Mapping[str, str]]:
        """Return the conditions of the work of a process that its heir gets, by the kind of work."""
        wanted = {work: work.table.c.owner == owner_id for work in _ALL}
        if not conversations:
            wanted[_TURNS] = and_(wanted[_TURNS], turns.c.cancelling)
            wanted[_INPUTS] = false()
        if tools is None:
            return wanted, {}
        call = executions.alias("call")
        foreign = select(call.c.session_id).where(is_under_way(call, owner_id), not_(self._key_filter(call.c.tool)))
        return {
            work: and_(condition, work.table.c.session_id.not_in(foreign)) for work, condition in wanted.items()
        }, _tool_keys(tools)

    def _requeue(self, connection: Connection, held: ColumnElement[bool], *, has_died: bool) -> list[QueuedCall]:
        """Let the executions of a dead worker wait in their queues again."""
        locked = _claims(_locked(connection, _EXECUTIONS, NO_LIMIT, held, executions.c.queue.is_not(None)))
        keys = [claim.key for claim in locked]
        if not keys:
            return []
        listed, document = self._listed[_EXECUTIONS], {"keys": key_document(keys)}
        freed = update(executions).where(listed, incomplete).values(owner=None, ready=executions.c.cancelling)
        connection.execute(freed, document)
        if has_died:
            errors, is_new = executions.c.errors, executions.c.status != "executing"
            noted = cast(literal(INTERRUPTED_CLAIM.decode()), errors.type)
            connection.execute(
                update(executions).where(listed, is_new, cast(errors, Text) == "[]").values(errors=noted), document
            )
        return waiting_calls(connection, listed, document)

    def claim_new(self, connection: Connection, keys: Sequence[tuple[str, str]], owner: str) -> Claimed:
        """Claim those of these executions that have never begun, without limits, with one statement.

        It can be repeated if its result is unknown. It claims nothing if the tables have another revision.
        """
        cursor = self._statements.execute(connection, "claim_new", keys, claimer=owner, revision=REVISION)
        names = [column[0] for column in cursor.description]
        rows: dict[tuple[str, str], ExecutionRow] = {}
        sessions: dict[str, float] = {}
        for values in cursor.fetchall():
            fields = dict(zip(names, values, strict=True))
            sessions[fields["session_id"]] = fields.pop("made_at")
            row = self._execution_row(fields)
            rows[row.session_id, row.id] = row
        return Claimed([rows[key] for key in keys if key in rows], [], sessions)

    def _execution_row(self, fields: dict[str, Any]) -> ExecutionRow:
        """Return a row from the driver's values: JSON is text there, and SQLite has no booleans."""
        for name in _JSON:
            if fields[name] is not None:
                fields[name] = self._read_json(fields[name])
        for name in _FLAGS:
            fields[name] = bool(fields[name])
        return ExecutionRow(**fields)

    def claim(
        self, connection: Connection, keys: Collection[tuple[str, str]], owner: str, limits: Mapping[str, int]
    ) -> Claimed:
        """See `Queues.claim`, and `recover` about `settle`."""
        unreported = self._unreported(connection, owner) if self._given else []
        listed, document = self._listed[_EXECUTIONS], {"keys": key_document(keys)}
        refused: list[tuple[str, str]] = []
        waiting = waiting_calls(connection, listed, document) if limits else []
        if waiting and any(call.tool in limits for call in waiting):
            refused = calls_over_limit(connection, waiting, limits)
            document = {"keys": key_document(set(keys).difference(refused))}
        claims = _claims(_locked(connection, _EXECUTIONS, NO_LIMIT, listed, queued, parameters=document))
        rows = [*self._rows(connection, unreported), *self._give_rows(connection, claims, owner)]
        callers = [row for row in rows if row.attempt]  # they began on another worker, and may have nested calls
        while callers and (nested := nested_calls(connection, callers)):
            callers = self._give_rows(connection, nested, owner)
            rows += callers
        named = {(row.session_id,) for row in rows}
        made = connection.execute(self._made_at, {"keys": key_document(named)}) if named else ()
        return Claimed(rows, refused, {row.id: row.made_at for row in made})

    def _give_rows(self, connection: Connection, claims: Collection[Claim], owner: str) -> list[ExecutionRow]:
        """Give executions to a process, and return them in the order of the claims."""
        if not claims:
            return []
        self._given.update(claims)
        given = update(executions).where(self._listed[_EXECUTIONS], incomplete).values(owner=owner, ready=False)
        returning = given.returning(*columns_of(executions, ExecutionRow))
        found = connection.execute(returning, {"keys": key_document([claim.key for claim in claims])}).mappings()
        rows = {(row["session_id"], row["id"]): ExecutionRow(**row) for row in found}
        return [rows[claim.key] for claim in claims if claim.key in rows]

    def _rows(self, connection: Connection, claims: Collection[Claim]) -> list[ExecutionRow]:
        if not claims:
            return []
        wanted = select(*columns_of(executions, ExecutionRow)).where(self._listed[_EXECUTIONS])
        ordered = wanted.order_by(executions.c.session_id, executions.c.place)
        found = connection.execute(ordered, {"keys": key_document([claim.key for claim in claims])})
        return [ExecutionRow(**row) for row in found.mappings()]

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


def is_under_way(table: FromClause, owner_id: str) -> ColumnElement[bool]:
    """Return the condition that a process owns an execution, which waits neither for a person nor in a queue."""
    is_call = table.c.kind == TOOL, table.c.queue.is_(None), table.c.status != "waiting"
    return and_(table.c.owner == owner_id, table.c.completed_at.is_(None), *is_call)


def tools_under_way(connection: Connection, owner_id: str) -> set[str]:
    """See `Owners.tools_under_way`."""
    found = select(executions.c.tool).where(is_under_way(executions, owner_id)).distinct()
    return set(connection.execute(found).scalars())


def _remove(connection: Connection, owner_id: str, beat: int) -> bool:
    """Delete a process, or store this beat for it if it owns work. Return whether it owns work."""
    owns_work = any(_any(connection, work, work.table.c.owner == owner_id) for work in _ALL)
    change = update(owners).values(beat=beat) if owns_work else delete(owners)
    connection.execute(change.where(owners.c.id == owner_id))
    return owns_work


def _any(
    connection: Connection, work: _Work, wanted: ColumnElement[bool], parameters: Mapping[str, Any] | None = None
) -> bool:
    """Return whether there is such work that is not done."""
    found = select(literal(1)).select_from(work.table).where(wanted, work.pending).limit(1)
    return connection.execute(found, parameters).first() is not None


def _tool_keys(tools: Collection[str]) -> Mapping[str, str]:
    return {"keys": key_document((name,) for name in tools)}


def _locked(
    connection: Connection,
    work: _Work,
    limit: int,
    *wanted: ColumnElement[bool],
    parameters: Mapping[str, Any] | None = None,
) -> Sequence[Row[*tuple[Any, ...]]]:
    """Lock work that is not done, and return its claims and places."""
    of_session = work.table.c.session_id
    columns = of_session, work.id.label("id"), work.table.c.user_id, work.kind, work.place.label("place")
    locked = select(*columns).where(*wanted, work.pending).with_for_update(of=work.table)
    return connection.execute(locked.order_by(of_session, work.lock_order).limit(limit), parameters).all()


def _waiting_for_people(
    connection: Connection,
    held: ColumnElement[bool],
    waiting: Sequence[Row[*tuple[Any, ...]]],
    parameters: Mapping[str, Any],
) -> set[tuple[str, str]]:
    """Return those of the locked executions, the first of their process, that need no process until a person answers.

    This is a separate query: the query that locks them may have waited for an answer that is committed by now, and
    does not see it.
    """
    if not waiting:
        return set()
    key = executions.c.session_id, executions.c.id
    last = tuple_(literal(waiting[-1].session_id), literal(waiting[-1].id))
    at_rest = executions.c.status == "waiting", executions.c.parent_id.is_(None), not_(executions.c.cancelling)
    found = select(*key).join(requests, _of_execution).where(held, incomplete, *at_rest, tuple_(*key) <= last)
    waits = _any_request("open") == 1, _any_request("answered") == 0
    return {(row[0], row[1]) for row in connection.execute(found.group_by(*key).having(*waits), parameters)}


def _any_request(status: str) -> ColumnElement[int]:
    """Return 1 if a request of the group has this status, otherwise 0."""
    return func.max(case((requests.c.status == status, 1), else_=0))


def _claims(rows: Iterable[Row[*tuple[Any, ...]]]) -> list[Claim]:
    """Return claims by session, and by their places within a session."""
    return [Claim(*row[:-1]) for row in sorted(rows, key=lambda row: (row.session_id, row.place))]


def _work_of(claim: Claim) -> _Work:
    return {TURN: _TURNS, INPUT: _INPUTS}.get(claim.kind, _EXECUTIONS)
