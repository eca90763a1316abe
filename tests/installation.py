"""A lock for installations: the processes of one test run install a program once, and the others wait for it."""

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path


def cache() -> Path:
    """Return the folder outside the project in which installed programs are kept. It is created."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "callboard-tests"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def installation(name: str) -> Generator[None]:
    """Wait for other processes that install this program. Check afterwards whether it is still missing."""
    with (cache() / f".{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # released when the file is closed
        yield
