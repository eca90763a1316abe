"""Liveness of processes that share a store, as far as another process can tell.

There are three signs. The operating system knows the processes of the same machine. A lock, which the kernel or
PostgreSQL holds for a process, proves that it lives even while its interpreter is blocked or it is stopped. Otherwise
the beat decides: a counter that a live process keeps incrementing. Pure decisions; `Heartbeat` acts.
"""

import os
import secrets
import socket
from enum import Enum
from pathlib import Path

from ..storage.owners import LEFT
from ..storage.rows import OwnerRow

LEASE = 6.0
"""Seconds without a beat after which a process counts as dead whose lock is free."""
LONG_LEASE = 20.0
"""Seconds without a beat after which a process counts as dead if no other sign exists, or if it runs on this machine
without its lock. Longer than a handler is likely to block the interpreter."""


class ProcessState(Enum):
    """The state of a process, as another process sees it."""

    LIVES = "lives"
    """It lives, or may live: it keeps its work."""
    LEFT = "left"
    """It ended normally, and left executions behind."""
    TAKEN = "taken"
    """It was found dead before, and a part of its executions was recovered."""
    DIED = "died"
    """It is known to have died."""
    LAPSED = "lapsed"
    """It lost its lease: it died on another machine, or cannot reach the store."""


def process_state(beat: int, lives_here: bool | None, locked: bool | None, silence: float) -> ProcessState:
    """Decide the state of a process.

    `lives_here` is the operating system's answer, `locked` whether its lock is held; None: not known. `silence` is for
    how many seconds its beat has not changed.
    """
    if beat < 0:
        return ProcessState.LEFT if beat == LEFT else ProcessState.TAKEN
    if lives_here is False:
        return ProcessState.DIED
    if locked or (locked is None and lives_here):
        return ProcessState.LIVES
    lease = LEASE if locked is False and not lives_here else LONG_LEASE
    return ProcessState.LAPSED if silence >= lease else ProcessState.LIVES


def this_process() -> OwnerRow:
    """Describe this process so that others can recognise it. Every description has an id of its own."""
    pid = os.getpid()
    name = f"{socket.gethostname()[:60]}-{pid}-{secrets.token_hex(6)}"
    return OwnerRow(id=name, host=_machine(), pid=pid, started=_started(pid) or "", beat=0)


def lives_here(owner: OwnerRow) -> bool | None:
    """Return whether a process of this machine exists. None if it runs elsewhere, or if that is not known."""
    if owner.host != _machine():
        return None
    try:
        os.kill(owner.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it is another user's
        pass
    started = _started(owner.pid)
    if not owner.started or started is None:
        return None
    return started == owner.started


def is_dead(owner: OwnerRow) -> bool:
    """Return whether a process of this machine is known to be gone."""
    return lives_here(owner) is False


def _machine() -> str:
    """Name this machine, its boot and its process ids' namespace: process ids are comparable if all are equal."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        return f"{socket.gethostname()}-{secrets.token_hex(8)}"  # nothing is comparable then
    return f"{boot} {namespace}"


def _started(pid: int) -> str | None:
    """Return when a process was started. Empty for a zombie; None if it is not known."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return "" if fields[0] in "ZXx" else fields[19]
