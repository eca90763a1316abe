"""Receives notifications of other processes through PostgreSQL's LISTEN."""

import json
import logging
import selectors
import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from sqlalchemy import Connection

from ....storage.change import Notice
from ....storage.store import Woken
from ..connections import Database
from ..statements import driver

log = logging.getLogger("callboard.stores")

CHANNEL = "callboard"
"""The channel of notifications `<instance><mark>:<session ids>`. The ids are a JSON list; an empty list stands for all.
"""

MARKS = {Notice.QUIET: "~", Notice.CHANGED: "", Notice.RESULTS_LEFT: "+"}
"""The marks behind the instance."""

NOTICES = {mark: notice for notice, mark in MARKS.items() if mark}

LONGEST = 7_900
"""The longest notification, in bytes. PostgreSQL accepts 7,999."""

DELAYS = (0.1, 0.2, 0.5, 1.0, 2.0)
"""Seconds before each attempt to reconnect. The last value is for all further attempts."""


def notifications(instance: str, sessions: Mapping[str, Notice]) -> list[str]:
    """Return notifications of sessions that were written, as few as possible."""
    messages: list[str] = []
    for notice, mark in MARKS.items():
        session_ids = [session_id for session_id, each in sessions.items() if each is notice]
        messages += _messages(f"{instance}{mark}", session_ids)
    return messages


def _messages(sender: str, session_ids: Sequence[str]) -> list[str]:
    if not session_ids:
        return []
    message = f"{sender}:{json.dumps(session_ids)}"
    if len(message) <= LONGEST:
        return [message]
    if len(session_ids) == 1:
        return [f"{sender}:[]"]
    middle = len(session_ids) // 2
    return [*_messages(sender, session_ids[:middle]), *_messages(sender, session_ids[middle:])]


class Listener:
    """A thread with a connection of its own. After a reconnection it reports that it may have missed anything."""

    def __init__(
        self,
        database: Database,
        instance: str,
        woken: Woken,
        prepare: Callable[[Connection], None] = lambda connection: None,
    ) -> None:
        self._database = database
        self._prepare = prepare
        """Called with each new connection."""
        self._own = {f"{instance}{mark}" for mark in MARKS.values()}
        self._woken = woken
        self._ended = threading.Event()
        self._interrupt, self._interrupted = socket.socketpair()
        try:
            self._connection = self._connected()
        except BaseException:
            self._interrupt.close()
            self._interrupted.close()
            raise
        self._thread = threading.Thread(target=self._run, name="callboard-store-watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._ended.set()
        self._interrupt.send(b".")
        self._thread.join()
        self._interrupt.close()
        self._interrupted.close()

    def _connected(self) -> Connection:
        connection = self._database.connect(writes=False)
        try:
            self._prepare(connection)
            connection.exec_driver_sql(f"LISTEN {CHANNEL}")
        except BaseException:
            connection.close()
            raise
        return connection

    def _run(self) -> None:
        while not self._ended.is_set():
            try:
                self._receive()
            except Exception:
                log.warning("the connection that receives notifications broke; it is opened again", exc_info=True)
            with suppress(Exception):
                self._connection.close()
            if self._reconnect():
                self._woken(None, Notice.RESULTS_LEFT)

    def _receive(self) -> None:
        connection = driver(self._connection)
        with selectors.DefaultSelector() as selector:
            selector.register(connection.fileno(), selectors.EVENT_READ)
            selector.register(self._interrupted, selectors.EVENT_READ)
            while not self._ended.is_set():
                for received in connection.notifies(timeout=0):
                    sender, _, session_ids = received.payload.partition(":")
                    if sender not in self._own:
                        notice = NOTICES.get(sender[-1:], Notice.CHANGED)
                        for session_id in json.loads(session_ids) or [None]:
                            self._woken(session_id, notice if session_id else max(notice, Notice.CHANGED))
                selector.select()

    def _reconnect(self) -> bool:
        delays = iter(DELAYS)
        delay = 0.0
        while not self._ended.wait(delay := next(delays, delay)):
            try:
                self._connection = self._connected()
            except Exception:
                log.debug("the connection that receives notifications could not be opened", exc_info=True)
            else:
                return True
        return False
