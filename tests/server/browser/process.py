"""`callboard serve` as a process, which can be ended, killed and started again where it was."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Self

from tests.server.browser.chromium import DEADLINE

PROGRAM = (sys.executable, "-c", "from callboard.cli import main; main()")


class Serving:
    """A server with a store of its own, until the end of its `with`. Started again, it has the same address."""

    def __init__(self, folder: Path, *options: str, **environment: str) -> None:
        folder.mkdir()
        self._folder = folder
        self._options = options
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("CALLBOARD_")}
        self._environment = {**inherited, "PYTHONUNBUFFERED": "1", **environment}
        self._process: subprocess.Popen[str] | None = None
        self._port = "0"
        self.url = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def start(self) -> str:
        """Start it, and wait until it listens. Returns its address."""
        command = [*PROGRAM, "serve", "--port", self._port, "--grace", "1", *self._options]
        with (self._folder / "stderr").open("a") as log:
            self._process = subprocess.Popen(
                command, cwd=self._folder, env=self._environment, stdout=subprocess.PIPE, stderr=log, text=True
            )
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if found := re.search(r"http://127\.0\.0\.1:(\d+)", line):
                self.url, self._port = found[0], found[1]
                return self.url
        raise AssertionError(f"callboard serve ended: {(self._folder / 'stderr').read_text()}")

    def stop(self, number: int = signal.SIGTERM) -> None:
        """End it, or kill it, and wait until it is gone."""
        if (process := self._process) is None:
            return
        self._process = None
        assert process.stdout is not None
        process.send_signal(number)
        try:
            process.wait(DEADLINE)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()

    def run(self, *command: str) -> str:
        """What another command says that uses the same store."""
        asked = [*PROGRAM, *command]
        done = subprocess.run(
            asked, cwd=self._folder, env=self._environment, capture_output=True, text=True, timeout=60, check=True
        )
        return done.stdout.strip()
