"""Which process carries an execution out, and what becomes of it when that process dies."""

from dataclasses import replace

from sqlalchemy import ColumnElement, Connection, Dialect, and_, delete, exists, func, or_, select, update

from ...storage.rows import ExecutionRow, OwnerRow
from .reading import EXECUTION
from .sheets import Sheet, among, keys
from .tables import executions, owners, requests

LEFT = -1
"""The beat of a process that has ended and left executions behind."""

_unfinished = executions.c.completed_at.is_(None)
_asked = and_(requests.c.session_id == executions.c.session_id, requests.c.execution_id == executions.c.id)
_goes_on = or_(
    executions.c.cancelling,
    exists().where(_asked, requests.c.status == "answered"),
    and_(exists().where(_asked), ~exists().where(_asked, requests.c.status == "open")),
)
"""Whether an execution that nobody holds has something to go on with."""


class Ownership:
    """The statements about processes and what they hold."""

    def __init__(self, dialect: Dialect) -> None:
        self._join = Sheet(dialect, "replace", owners, *OwnerRow.__dataclass_fields__, key=["id"])
        self._listed = among(dialect, executions.c.session_id, executions.c.id)
        self._given: set[tuple[str, str]] = set()
        """What was given away by a transaction of which it is not known whether it was committed."""

    def join(self, connection: Connection, owner: OwnerRow) -> None:
        self._join.write(connection, [(owner.id, owner.host, owner.pid, owner.started, owner.beat)])

    def beat(self, connection: Connection, owner_id: str) -> bool:
        lives = update(owners).where(owners.c.id == owner_id, owners.c.beat != LEFT).values(beat=owners.c.beat + 1)
        return connection.execute(lives).rowcount == 1

    def leave(self, connection: Connection, owner_id: str) -> None:
        mine = select(func.count()).select_from(executions).where(executions.c.owner == owner_id, _unfinished)
        if connection.execute(mine).scalar_one():
            connection.execute(update(owners).where(owners.c.id == owner_id).values(beat=LEFT))
        else:
            connection.execute(delete(owners).where(owners.c.id == owner_id))

    def recover(self, connection: Connection, owner_id: str | None, beat: int, heir: str) -> list[ExecutionRow]:
        """Of two who come for the same, the second waits for the first, and finds nothing left.

        `settle` follows when it is committed. Where that is not known, the next one finds out: the heir must hear of
        whatever it holds.
        """
        unheard = self._locked(connection, executions.c.owner == heir, self._listed, given=True) if self._given else []
        if owner_id is None:
            found = self._locked(connection, executions.c.owner.is_(None), _goes_on)
        else:
            stored = select(owners.c.beat).where(owners.c.id == owner_id).with_for_update()
            if connection.execute(stored).scalar_one_or_none() != beat:
                return unheard
            found = self._locked(connection, executions.c.owner == owner_id)
            connection.execute(delete(owners).where(owners.c.id == owner_id))
        ids = {(row.session_id, row.id) for row in found}
        if ids:
            self._given |= ids
            connection.execute(update(executions).where(self._listed).values(owner=heir), {"keys": keys(ids)})
        return [*unheard, *(replace(row, owner=heir) for row in found)]

    def settle(self) -> None:
        """What was given away is committed, and the heir hears of it."""
        self._given.clear()

    def _locked(self, connection: Connection, *wanted: ColumnElement[bool], given: bool = False) -> list[ExecutionRow]:
        """Unfinished executions. They are locked in the order in which writers lock them, and come in their own."""
        rows = connection.execute(
            select(*EXECUTION, executions.c.place)
            .where(_unfinished, *wanted)
            .order_by(executions.c.session_id, executions.c.id)
            .with_for_update(of=executions),
            {"keys": keys(self._given)} if given else {},
        ).mappings()
        placed = sorted(rows, key=lambda row: (row["session_id"], row["place"]))
        return [ExecutionRow(**{name: row[name] for name in ExecutionRow.__dataclass_fields__}) for row in placed]
