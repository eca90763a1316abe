"""Groups of changes on their way into the database: each is written once, and what is wrong with one harms no other."""

import operator
from collections.abc import Sequence

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from ...storage.change import Change
from ...storage.change_group import ChangeGroup, GroupWithdrawn
from ...storage.errors import Conflict, StoreError, StoreUnavailable
from .backend import Backend
from .bulk_statements import StatementBatch
from .connections import PinnedConnection
from .writing import Writing


class Groups:
    """Used by one thread alone."""

    def __init__(self, database: Backend) -> None:
        self._database = database
        self._writing = Writing(database.dialect)
        self._number = 0
        self._unsure: Sequence[Change] = ()
        """The last group, while it is not known whether it was written."""

    def commit(self, line: PinnedConnection, changes: Sequence[Change]) -> list[int | Conflict]:
        """Write a group. One that comes again after `StoreUnavailable` is looked for first.

        Raises `GroupWithdrawn`, and then it is not written.
        """
        group = changes if isinstance(changes, ChangeGroup) else ChangeGroup(changes)
        again = bool(changes) and _same(changes, self._unsure)
        if not again:
            self._number += 1
        self._unsure = changes

        def write(connection: Connection) -> list[int | Conflict]:
            nonlocal again
            written = self._database.earlier(connection, self._number) if again else None
            if written is None:
                again = True
                group.unseal()
                group.check()
                batch = StatementBatch()
                written = self._writing.write(connection, changes, batch=batch)
                self._tell(connection, changes, written, batch)
                group.seal()
            return written

        def write_carefully(connection: Connection) -> list[int | Conflict]:
            written = self._database.earlier(connection, self._number)
            if written is None:
                group.unseal()
                group.check()
                self._writing.lock(connection, {change.session_id for change in changes})
                written = self._halved(connection, changes)
                self._tell(connection, changes, written, StatementBatch())
                group.seal()
            return written

        try:
            try:
                results = line.run(write)
            except (StoreError, GroupWithdrawn):
                raise
            except Exception:  # something in the group does not suit the database
                results = line.run(write_carefully)
        except StoreUnavailable:
            if self._database.is_certain:
                group.unseal()
            raise
        except BaseException:
            self._unsure = ()
            raise
        self._unsure = ()
        return results

    def _tell(
        self,
        connection: Connection,
        changes: Sequence[Change],
        results: Sequence[int | Conflict],
        batch: StatementBatch,
    ) -> None:
        written = {
            change.session_id
            for change, result in zip(changes, results, strict=True)
            if not isinstance(result, Conflict)
        }
        self._database.tell(connection, self._number, results, sorted(written), batch)

    def _halved(self, connection: Connection, changes: Sequence[Change]) -> list[int | Conflict]:
        """Write what can be written, by writing halves, and halves of halves, where the whole cannot be."""
        results = self._tried(connection, changes, careful=False)
        if not isinstance(results, Exception):
            return results
        if len(changes) > 1:
            middle = len(changes) // 2
            return [*self._halved(connection, changes[:middle]), *self._halved(connection, changes[middle:])]
        results = self._tried(connection, changes, careful=True)
        if not isinstance(results, Exception):
            return results
        reason = type(results.orig if isinstance(results, DBAPIError) else results).__name__
        return [Conflict(f"The database does not take this change of session {changes[0].session_id} ({reason}).")]

    def _tried(
        self, connection: Connection, changes: Sequence[Change], *, careful: bool
    ) -> list[int | Conflict] | Exception:
        """The results, or what the database says against the data, after which everything is as before."""
        savepoint = connection.begin_nested()
        try:
            results = self._writing.write(connection, changes, careful=careful)
            savepoint.commit()
        except Exception as error:
            if self._database.explained(error) is not None:
                raise  # the whole transaction is over, and with it the savepoint
            savepoint.rollback()
            return error
        return results


def _same(changes: Sequence[Change], others: Sequence[Change]) -> bool:
    return len(changes) == len(others) and all(map(operator.is_, changes, others))
