"""The witness: a file to which processes write each fact before they continue.

It is independent of the store, and outlives the processes that write to it. An incomplete line counts as not written.
"""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

Fact = Mapping[str, Any]


class Witness:
    """Writes facts, each with one write at the end of the file, and returns when the disk has it."""

    def __init__(self, path: Path, who: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._who = who

    def write(self, what: str, **facts: Any) -> None:
        os.write(self._file, f"\n{json.dumps({'what': what, 'who': self._who, **facts})}\n".encode())
        os.fsync(self._file)


def facts_in(path: Path, start: int = 0) -> Iterator[Fact]:
    """Yield the facts in a file, in order."""
    if not path.exists():
        return
    with path.open("rb") as file:
        file.seek(start)
        for line in file:
            if line.startswith(b"{") and line.endswith(b"}\n"):
                yield json.loads(line)
