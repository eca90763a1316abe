"""Shows the phases of a long setup with their times, so that no second passes in silence.

On a terminal, the line of the running phase is rewritten while it runs. Elsewhere, as in CI, each phase is a line at
its start and one at its end, with a line in between if it takes long. Needs only the standard library.
"""

import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

TICK = 0.2
"""Seconds between two updates of a line on a terminal."""
REMINDER = 30.0
"""Seconds between two lines of a phase elsewhere."""
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x1f\x7f]")

Report = Callable[[str], object]


class Phases:
    """Shows one phase after another."""

    def __init__(
        self, stream: TextIO | None = None, *, live: bool | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stream = stream if stream is not None else sys.stderr
        self._live = live if live is not None else self._stream.isatty()
        self._clock = clock

    @contextmanager
    def phase(self, name: str) -> Generator[Report]:
        """Show a phase while the block runs. The block may report details, such as what is being installed."""
        began = self._clock()
        detail = ""
        ended = threading.Event()

        def report(text: str) -> None:
            nonlocal detail
            detail = _ESCAPES.sub("", text).strip() or detail

        def show() -> None:
            while not ended.wait(TICK if self._live else REMINDER):
                self.show(name, self._clock() - began, detail)

        if not self._live:
            self._write(f"{name} …\n")
        thread = threading.Thread(target=show, daemon=True)
        thread.start()
        try:
            yield report
        except BaseException:
            self._finish(ended, thread, f"{name}: failed after {self._clock() - began:.1f} s")
            raise
        self._finish(ended, thread, f"{name}: {self._clock() - began:.1f} s")

    def show(self, name: str, seconds: float, detail: str) -> None:
        """Show that a phase is still running."""
        text = f"{name} … {seconds:.0f} s{f'  {detail}' if detail else ''}"
        width = shutil.get_terminal_size().columns - 1
        self._write(f"\r\x1b[K{text[:width]}" if self._live else f"{text}\n")

    def _finish(self, ended: threading.Event, thread: threading.Thread, text: str) -> None:
        ended.set()
        thread.join()
        self._write(f"\r\x1b[K{text}\n" if self._live else f"{text}\n")

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def run(command: tuple[str | Path, ...], folder: Path, report: Report) -> None:
    """Run a command, and report each line that it prints. Raises `CommandFailed` with all of them."""
    parts = [str(part) for part in command]
    lines: list[str] = []
    with subprocess.Popen(
        parts, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        for line in process.stdout or ():
            lines.append(line)
            report(line)
    if process.returncode:
        raise CommandFailed(f"setting up failed at: {' '.join(parts)}\n{''.join(lines)}")


class CommandFailed(Exception):
    """A command failed; the message has the command and its output."""
