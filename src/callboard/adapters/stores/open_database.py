"""The threads and connections of an open store."""

from contextlib import suppress

from ...storage.errors import StoreError
from ...storage.store import Woken
from .backend import Backend, Watch
from .connections import ConnectionThreads, PinnedConnection
from .loop_notifier import LoopNotifier

READERS = 3
"""The number of threads that read."""


class OpenDatabase:
    """One thread that writes, one that claims executions, a few that read, and one that receives notifications.

    Its methods block. A thread begins with its first job.
    """

    def __init__(self, database: Backend, woken: Woken) -> None:
        self._database = database
        self._writer = PinnedConnection(database, writes=True)
        self._watch: Watch | None = None
        self.notifier = LoopNotifier(woken)
        self.writer = ConnectionThreads("callboard-store-writer", self._writer)
        self.readers = ConnectionThreads(
            "callboard-store-reader", *(PinnedConnection(database, writes=False) for _ in range(READERS))
        )
        self.claims = ConnectionThreads("callboard-store-claims", database.claim_connection(self._writer))
        self.heartbeats = database.heartbeat_connection(self._writer)
        self.locks = database.locks()

    def begin(self) -> None:
        self._database.prepare()
        self._writer.run(self._database.register)
        try:
            self._watch = self._database.watch(self.notifier)
        except Exception as error:
            raise self._database.translate_error(error) or error from error

    def end(self) -> None:
        if self._watch is not None:
            self._watch.close()
            with suppress(StoreError):
                self._writer.run(self._database.unregister)
        self.writer.close()
        self.claims.close()
        self.readers.close()
        self.heartbeats.close()
        self.locks.close()
