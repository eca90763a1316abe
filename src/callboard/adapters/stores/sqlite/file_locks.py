"""Locks of processes beside a SQLite file: one empty file per process, locked with `flock` as long as it lives.

The kernel holds such a lock: it needs neither the interpreter nor the disk, and ends with the process. Every container
on the machine that has the folder mounted sees it. Without such locks on the file system or the platform, nothing is
known of any process, and callers have to rely on heartbeats.
"""

import hashlib
import os
import threading
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from weakref import WeakSet

from sqlalchemy import Connection

try:
    import fcntl
except ModuleNotFoundError:  # Windows
    fcntl = None

ATTEMPTS = 3
"""The number of attempts to create and lock a file that another process removes meanwhile."""

_open: "WeakSet[FileLocks]" = WeakSet()


class FileLocks:
    """The locks of the processes that use one SQLite file."""

    def __init__(self, path: Path) -> None:
        self._path = os.path.realpath(path)  # as SQLite names its own files beside it
        self._guard = threading.Lock()
        self._files: dict[str, int] = {}
        """The locked files of the processes that joined through this object, by owner id."""
        _open.add(self)

    def hold(self, connection: Connection, owner_id: str) -> None:
        if fcntl is None:
            return
        with self._guard, suppress(OSError):
            if owner_id in self._files:
                if _is_at(self._files[owner_id], self._name(owner_id)):
                    return
                os.close(self._files.pop(owner_id))  # the file was removed, so other processes do not see the lock
            for _ in range(ATTEMPTS):
                if (file := self._locked(self._name(owner_id))) is not None:
                    self._files[owner_id] = file
                    return

    def held(self, connection: Connection, owner_ids: Collection[str]) -> dict[str, bool]:
        known: dict[str, bool] = {}
        if fcntl is None:
            return known
        for owner_id in owner_ids:
            with suppress(OSError):
                file = os.open(self._name(owner_id), os.O_RDONLY | os.O_CLOEXEC)
                try:
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                    known[owner_id] = False
                except BlockingIOError:
                    known[owner_id] = True
                finally:
                    os.close(file)
        return known

    def release(self, connection: Connection, owner_id: str) -> None:
        self._release(owner_id)

    def _release(self, owner_id: str) -> None:
        with self._guard:
            file = self._files.pop(owner_id, None)
            if file is not None:
                self.forget(owner_id)
                os.close(file)

    def forget(self, owner_id: str) -> None:
        with suppress(OSError):
            os.unlink(self._name(owner_id))

    def close(self) -> None:
        for owner_id in tuple(self._files):
            self._release(owner_id)

    def drop(self) -> None:
        """Close the files of a parent process in its forked child: the parent alone holds the locks."""
        self._guard = threading.Lock()
        files, self._files = self._files, {}
        for file in files.values():
            with suppress(OSError):
                os.close(file)

    def _name(self, owner_id: str) -> str:
        return f"{self._path}-owner-{hashlib.sha256(owner_id.encode(errors='replace')).hexdigest()[:16]}"

    def _locked(self, name: str) -> int | None:
        """Create and lock a file; None if another process removed it meanwhile."""
        assert fcntl is not None
        file = os.open(name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            with suppress(OSError):  # other users of the database may check the lock
                os.fchmod(file, os.stat(self._path).st_mode & 0o666)
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(file, name):
                return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)
        return None


def _is_at(file: int, name: str) -> bool:
    try:
        return os.path.samestat(os.fstat(file), os.stat(name))
    except OSError:
        return False


def _in_child() -> None:
    for locks in tuple(_open):
        locks.drop()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)
