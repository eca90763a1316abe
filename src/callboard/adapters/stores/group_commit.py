"""Commits groups of changes: each is written once, and a change with unacceptable data fails alone.

Such a change is logged: its session only learns that its data is not accepted.
"""

import logging
import operator
from collections.abc import Sequence
from functools import partial

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from ...storage.change import Change, Notice
from ...storage.committer import ChangeGroup, GroupWithdrawn
from ...storage.errors import Conflict, StoreError, StoreUnavailable, Unstorable
from .backend import Backend
from .connections import PinnedConnection
from .group_writer import GroupWriter
from .statements import Batch

log = logging.getLogger("callboard.stores")


class GroupCommit:
    """Commits groups for one store. Only one thread uses it."""

    def __init__(self, database: Backend) -> None:
        self._database = database
        self._writer = GroupWriter(database.statements)
        self._number = 0
        self._unsure: Sequence[Change] = ()
        """The last group, as long as it is unknown whether it was written."""

    def commit(self, connection: PinnedConnection, changes: Sequence[Change]) -> list[int | Conflict]:
        """Write a group, unless it is committed again after `StoreUnavailable` and was written the first time.

        Raises `GroupWithdrawn` if the group was withdrawn, and does not write it.
        """
        group = changes if isinstance(changes, ChangeGroup) else ChangeGroup(changes)
        again = bool(changes) and _same(changes, self._unsure)
        if not again:
            self._number += 1
        self._unsure = changes

        def write(c: Connection, *, carefully: bool = False) -> list[int | Conflict]:
            nonlocal again
            results = self._database.written_results(c, self._number) if again else None
            if results is None:
                again = True
                group.unseal()
                group.check()
                batch: Batch = {}
                if carefully:
                    self._writer.lock(c, {change.session_id for change in changes})
                    results = self._write_halves(c, changes)
                else:
                    results = self._writer.write(c, changes, batch=batch)
                self._database.finish_group(c, self._number, results, _written_sessions(changes, results), batch)
                group.seal()
            return results

        try:
            try:
                results = connection.run(write)
            except (StoreError, GroupWithdrawn):
                raise
            except Exception:  # the database does not accept the data of some change
                results = connection.run(partial(write, carefully=True))
        except StoreUnavailable:
            if self._database.is_certain:
                group.unseal()
            raise
        except BaseException:
            self._unsure = ()
            raise
        self._unsure = ()
        return results

    def _write_halves(self, connection: Connection, changes: Sequence[Change]) -> list[int | Conflict]:
        """Write all acceptable changes, by writing halves, and halves of halves, of a group that cannot be written."""
        results = self._try(connection, changes, careful=False)
        if not isinstance(results, Exception):
            return results
        if len(changes) > 1:
            middle = len(changes) // 2
            return [
                *self._write_halves(connection, changes[:middle]),
                *self._write_halves(connection, changes[middle:]),
            ]
        results = self._try(connection, changes, careful=True)
        if not isinstance(results, Exception):
            return results
        return [_refused(connection, changes[0].session_id, results)]

    def _try(
        self, connection: Connection, changes: Sequence[Change], *, careful: bool
    ) -> list[int | Conflict] | Exception:
        """Return the results, or the database's error about the data, after which everything is as before."""
        savepoint = connection.begin_nested()
        try:
            results = self._writer.write(connection, changes, careful=careful)
            savepoint.commit()
        except Exception as error:
            if self._database.translate_error(error) is not None:
                raise  # the whole transaction is over, and with it the savepoint
            savepoint.rollback()
            return error
        return results


def _refused(connection: Connection, session_id: str, error: Exception) -> Unstorable:
    """Log why a change is not written, and return its conflict. Messages of the database may quote the data."""
    reason = type(error.orig if isinstance(error, DBAPIError) else error).__name__
    is_by_database = isinstance(error, DBAPIError | connection.dialect.loaded_dbapi.Error)
    cause = None if is_by_database else error
    log.error("a change of session %s is not written: its data is not taken (%s)", session_id, reason, exc_info=cause)
    return Unstorable(f"The database does not take this change of session {session_id} ({reason}).")


def _written_sessions(changes: Sequence[Change], results: Sequence[int | Conflict]) -> dict[str, Notice]:
    """Return the sessions that a group writes to, in order, each with its notice for other processes."""
    written: dict[str, Notice] = {}
    for change, result in zip(changes, results, strict=True):
        if not isinstance(result, Conflict):
            written[change.session_id] = max(written.get(change.session_id, Notice.QUIET), change.notice)
    return dict(sorted(written.items()))


def _same(changes: Sequence[Change], others: Sequence[Change]) -> bool:
    return len(changes) == len(others) and all(map(operator.is_, changes, others))
