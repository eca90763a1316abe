"""Approved definitions of tools, pinned by their hashes: a server cannot change a tool that was approved.

The first definition of a tool is approved when it is seen, a different one only by `approve`. With a file, that holds
over restarts, and for all processes that share the file.
"""

import json
import os
import time
from collections.abc import Collection, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from callboard import RegistrationError

try:
    import fcntl
except ModuleNotFoundError:  # Windows
    fcntl = None

MAX_PINS = 10_000
"""Tools of a server that are ever approved: one that shows new names again and again fills no memory."""
LOCK_TIMEOUT = 2.0
"""Seconds to wait for another process that writes the file, which takes milliseconds."""


class Pins:
    """The hashes of the approved definitions of one server, by the names on the server."""

    def __init__(self, server: str, path: Path | None = None) -> None:
        self._server = server
        self._path = path
        self._known: dict[str, str] = {}
        self.reload()

    def reload(self) -> bool:
        """Read the file again, which another process may have changed. Returns whether it has other hashes."""
        if self._path is None:
            return False
        before, self._known = self._known, self._read().get(self._server, {})
        return before != self._known

    @property
    def is_kept(self) -> bool:
        """Whether the hashes are kept in a file."""
        return self._path is not None

    @property
    def names(self) -> Collection[str]:
        """The tools of which a definition is approved."""
        return self._known.keys()

    @property
    def is_full(self) -> bool:
        """Whether no further tools are approved."""
        return len(self._known) >= MAX_PINS

    def admits(self, name: str, fingerprint: str) -> bool:
        """Return whether a definition is approved. The first definition of a tool is."""
        return self._known.get(name, fingerprint) == fingerprint

    def add(self, definitions: dict[str, str]) -> None:
        """Approve the first definitions of tools. For a tool that another process has added, its definition counts."""
        if not definitions.keys() <= self._known.keys():
            self._update(definitions, replace=False)

    def approve(self, definitions: dict[str, str]) -> None:
        """Approve definitions, in place of earlier ones."""
        if not definitions.items() <= self._known.items():
            self._update(definitions, replace=True)

    def _update(self, definitions: dict[str, str], *, replace: bool) -> None:
        if self._path is None:
            self._known = {**self._known, **definitions} if replace else {**definitions, **self._known}
            return
        try:
            with _locked(self._path):
                stored = self._read()
                before = stored.get(self._server, {})
                known = {**before, **definitions} if replace else {**definitions, **before}
                if known != before:
                    new = self._path.with_name(f"{self._path.name}.{os.getpid()}.new")
                    new.write_text(json.dumps({**stored, self._server: known}, indent=2, sort_keys=True) + "\n")
                    new.replace(self._path)
        except OSError as error:
            raise RegistrationError(
                f"The approved tools cannot be written to {self._path}: {error.strerror}."
            ) from None
        self._known = known

    def _read(self) -> dict[str, dict[str, str]]:
        assert self._path is not None
        try:
            read: Any = json.loads(self._path.read_text())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise RegistrationError(f"The approved tools in {self._path} cannot be read: {error}.") from None
        if not isinstance(read, dict) or not all(
            isinstance(each, dict) for each in cast("dict[str, Any]", read).values()
        ):
            raise RegistrationError(
                f"{self._path} is not a file of approved tools: it must have hashes by server and tool."
            )
        return cast("dict[str, dict[str, str]]", read)


@contextmanager
def _locked(path: Path) -> Generator[None]:
    """Keep other processes from writing a file. Its folder is locked, since the file itself is replaced."""
    if fcntl is None:
        yield
        return
    folder = os.open(path.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        deadline = time.monotonic() + LOCK_TIMEOUT
        while True:
            try:
                fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise RegistrationError(
                        f"The approved tools cannot be written to {path}: another process has locked its folder."
                    ) from None
                time.sleep(0.01)
        yield
    finally:
        os.close(folder)
