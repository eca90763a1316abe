"""A server process that can be stopped, killed and started again at the same address."""

import os
import re
import signal
import subprocess
from pathlib import Path
from typing import Self, TextIO

from tests import forked
from tests.server.browser.chromium import DEADLINE


class Serving:
    """A server with its own store, until the end of the `with`. A restart keeps its address.

    It is `callboard serve`, or a script that takes `--port`.
    """

    def __init__(self, folder: Path, *options: str, port: str = "0", script: str = "", **environment: str) -> None:
        folder.mkdir()
        self._folder = folder
        self._options = options if script else ("--grace", "1", *options)
        self._script = script
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("CALLBOARD_")}
        self._environment = {**inherited, "PYTHONUNBUFFERED": "1", **environment}
        self._process: forked.Forked | subprocess.Popen[bytes] | None = None
        self._output: TextIO | None = None
        self._port = port
        self.url = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def start(self) -> str:
        """Start the server, and wait until it listens. Returns its address."""
        reading, writing = os.pipe()
        command = () if self._script else ("serve",)
        self._process = self._start_process(*command, "--port", self._port, *self._options, stdout=writing)
        os.close(writing)
        self._output = os.fdopen(reading)
        for line in self._output:
            if found := re.search(r"http://127\.0\.0\.1:(\d+)", line):
                self.url, self._port = found[0], found[1]
                return self.url
        raise AssertionError(f"the server ended: {(self._folder / 'stderr').read_text()}")

    def stop(self, number: int = signal.SIGTERM) -> None:
        """Stop or kill the server, and wait for its end."""
        if (process := self._process) is None:
            return
        self._process = None
        process.send_signal(number)
        try:
            process.wait(DEADLINE)
        finally:
            process.kill()
            process.wait()
            if self._output is not None:
                self._output.close()

    def signal(self, number: int) -> None:
        """Send a signal to the server, such as SIGSTOP."""
        assert self._process is not None
        self._process.send_signal(number)

    def run(self, *command: str) -> str:
        """Run another command on the same store. Returns its output."""
        return forked.run(*command, cwd=self._folder, env=self._environment).strip()

    def _start_process(self, *arguments: str, stdout: int) -> "forked.Forked | subprocess.Popen[bytes]":
        with open(os.devnull) as nothing, (self._folder / "stderr").open("a") as log:
            return forked.start(
                *arguments,
                stdin=nothing.fileno(),
                stdout=stdout,
                stderr=log.fileno(),
                cwd=self._folder,
                env=self._environment,
                script=self._script or None,
            )
