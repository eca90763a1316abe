"""`callboard serve` as a process, which can be ended, killed and started again where it was."""

import os
import re
import signal
import subprocess
from pathlib import Path
from typing import Self, TextIO

from tests import forked
from tests.server.browser.chromium import DEADLINE


class Serving:
    """A server with a store of its own, until the end of its `with`. Started again, it has the same address."""

    def __init__(self, folder: Path, *options: str, **environment: str) -> None:
        folder.mkdir()
        self._folder = folder
        self._options = options
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("CALLBOARD_")}
        self._environment = {**inherited, "PYTHONUNBUFFERED": "1", **environment}
        self._process: forked.Forked | subprocess.Popen[bytes] | None = None
        self._said: TextIO | None = None
        self._port = "0"
        self.url = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def start(self) -> str:
        """Start it, and wait until it listens. Returns its address."""
        reading, writing = os.pipe()
        self._process = self._begin("serve", "--port", self._port, "--grace", "1", *self._options, stdout=writing)
        os.close(writing)
        self._said = os.fdopen(reading)
        for line in self._said:
            if found := re.search(r"http://127\.0\.0\.1:(\d+)", line):
                self.url, self._port = found[0], found[1]
                return self.url
        raise AssertionError(f"callboard serve ended: {(self._folder / 'stderr').read_text()}")

    def stop(self, number: int = signal.SIGTERM) -> None:
        """End it, or kill it, and wait until it is gone."""
        if (process := self._process) is None:
            return
        self._process = None
        process.send_signal(number)
        try:
            process.wait(DEADLINE)
        finally:
            process.kill()
            process.wait()
            if self._said is not None:
                self._said.close()

    def signal(self, number: int) -> None:
        """Send it a signal, such as one that holds it up."""
        assert self._process is not None
        self._process.send_signal(number)

    def run(self, *command: str) -> str:
        """What another command says that uses the same store."""
        return forked.run(*command, cwd=self._folder, env=self._environment).strip()

    def _begin(self, *arguments: str, stdout: int) -> "forked.Forked | subprocess.Popen[bytes]":
        with open(os.devnull) as nothing, (self._folder / "stderr").open("a") as log:
            return forked.start(
                *arguments,
                stdin=nothing.fileno(),
                stdout=stdout,
                stderr=log.fileno(),
                cwd=self._folder,
                env=self._environment,
            )
