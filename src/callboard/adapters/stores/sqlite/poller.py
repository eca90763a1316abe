"""Notices what other processes wrote to a SQLite file."""

import json
import logging
import threading

from sqlalchemy import Connection

from ....storage.change import Notice
from ....storage.errors import StoreError
from ....storage.store import Woken
from ..connections import Database, PinnedConnection
from ..statements import driver
from .statements import TEXTS

log = logging.getLogger("callboard.stores")

INTERVAL = 0.02
"""Seconds between two polls."""

RESULTS_LEFT = "+"
"""The mark behind the sender of a notification of results that wait for a process with a model."""


class DataVersionPoller:
    """Polls for notifications of other processes, over a connection of its own.

    A poll costs the same however many sessions there are: a number that SQLite maintains says whether anything was
    committed; if so, one query returns the new notifications. Heartbeats are not notified.
    """

    def __init__(self, database: Database, instance: str, woken: Woken) -> None:
        self._connection = PinnedConnection(database, writes=False)
        self._own = instance, f"{instance}{RESULTS_LEFT}"
        self._woken = woken
        self._ended = threading.Event()
        self._version: int | None = None
        """SQLite's count of commits at the last poll; None after an error."""
        self._last: int = self._connection.run(lambda c: driver(c).execute(TEXTS["last_notification"]).fetchone()[0])
        """The number of the newest notification that was read."""
        self._thread = threading.Thread(target=self._run, name="callboard-store-watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._ended.set()
        self._thread.join()
        self._connection.close()

    def _run(self) -> None:
        while not self._ended.wait(INTERVAL):
            try:
                self.poll()
            except StoreError as error:
                self._version = None
                log.debug("the notifications of other processes could not be read: %s", error)
            except Exception:
                self._version = None
                log.exception("the runtime failed while it read the notifications of other processes")

    def poll(self) -> None:
        """Report the sessions that other processes have written since the last poll."""
        for number, sender, session_ids in self._connection.run(self._notifications):
            missed, self._last = number > self._last + 1, number
            if missed:
                self._woken(None, Notice.RESULTS_LEFT)
            if session_ids is not None:
                notice = Notice.RESULTS_LEFT if sender.endswith(RESULTS_LEFT) else Notice.CHANGED
                for session_id in json.loads(session_ids) or [None]:
                    self._woken(session_id, notice)

    def _notifications(self, connection: Connection) -> list[tuple[int, str, str | None]]:
        """Return the notifications since the last poll, without the sessions of this store's own."""
        version = driver(connection).execute("PRAGMA data_version").fetchone()[0]
        if version == self._version:
            return []
        self._version = version
        return driver(connection).execute(TEXTS["read_notifications"], (*self._own, self._last)).fetchall()
