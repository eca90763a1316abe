"""Child processes of a crash test, and the fork server that makes them."""

import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from .child import Options
from .witness import Fact, facts_in

ROOT = Path(__file__).parents[2]
DEADLINE = 90.0
"""Seconds after which a wait fails."""


class ForkServer:
    """Forks children, one after the other, between `with` and its end."""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.child"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        self._unread = b""
        self.child: Child | None = None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        try:
            self._process.wait(DEADLINE)
        finally:
            self._process.kill()
            self._process.stdout.close()

    def clear(self) -> None:
        """Kill the current child."""
        if self.child is not None:
            self.child.kill()

    def start(self, options: Options) -> "Child":
        """Start a child. The previous child must have ended."""
        assert self.child is None or not self.child.alive
        assert self._process.stdin is not None
        self._process.stdin.write(options.model_dump_json().encode() + b"\n")
        self._process.stdin.flush()
        pid = self.read_number(DEADLINE)
        assert pid is not None, "there is no child"
        self.child = Child(pid, self, options)
        return self.child

    def read_number(self, patience: float) -> int | None:
        """Return the next number that the fork server writes; None after the timeout."""
        assert self._process.stdout is not None
        deadline = time.monotonic() + patience
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._unread:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    return None
                more = os.read(self._process.stdout.fileno(), 1_000)
                if not more:
                    raise RuntimeError("The fork server ended.")
                self._unread += more
        line, _, self._unread = self._unread.partition(b"\n")
        return int(line)


class Child:
    """A process that was started, and may be killed, stopped and continued."""

    def __init__(self, pid: int, fork_server: ForkServer, options: Options) -> None:
        self.pid = pid
        self.who = options.who
        self.log = options.log
        self._fork_server = fork_server
        self._witness = options.witness
        self._start = self._witness.stat().st_size if self._witness.exists() else 0
        self._status: int | None = None

    @property
    def alive(self) -> bool:
        return self.ended(0) is None

    def ended(self, patience: float = DEADLINE) -> int | None:
        """Return its exit code, or minus the signal that ended it; None if it still runs."""
        if self._status is None:
            self._status = self._fork_server.read_number(patience)
        return self._status

    def kill(self) -> None:
        """Kill it at once, as a power cut would, and wait for its end."""
        self.signal(signal.SIGKILL)
        assert self.ended() is not None

    def end(self) -> None:
        """Ask it to end, and wait for its end."""
        self.signal(signal.SIGTERM)
        assert self.ended() == 0, self.log_tail

    def signal(self, number: signal.Signals) -> None:
        if self.alive:
            os.kill(self.pid, number)

    @property
    def log_tail(self) -> str:
        """The end of its log."""
        return self.log.read_text(errors="replace")[-4_000:] if self.log.exists() else ""

    def facts(self) -> list[Fact]:
        """Return the facts that it has written so far."""
        return [fact for fact in facts_in(self._witness, self._start) if fact["who"] == self.who]

    def until(self, condition: Callable[[Fact], bool], patience: float = DEADLINE) -> Fact:
        """Wait for its first fact that matches a condition, and return it."""
        deadline = time.monotonic() + patience
        while True:
            for fact in self.facts():
                if condition(fact):
                    return fact
            status = self.ended(0.01)
            if status is not None:
                raise AssertionError(f"It ended with {status}: {self.log_tail}")
            if time.monotonic() > deadline:
                raise AssertionError(f"It did not happen in time: {self.log_tail}")

    def until_ready(self) -> None:
        self.until(lambda fact: fact["what"] == "ready")
