"""The parent's hold on a child, and on the nursery that makes it."""

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
DEADLINE = 60.0
"""How many seconds anything may take."""


class Nursery:
    """Makes children, one after the other, between `with` and its end."""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.child"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
        self._said = b""
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
        """Let no child live on."""
        if self.child is not None:
            self.child.kill()

    def start(self, options: Options) -> "Child":
        """A new child; the one before must have ended."""
        assert self.child is None or not self.child.alive
        assert self._process.stdin is not None
        self._process.stdin.write(options.model_dump_json().encode() + b"\n")
        self._process.stdin.flush()
        pid = self.hear(DEADLINE)
        assert pid is not None, "there is no child"
        self.child = Child(pid, self, options)
        return self.child

    def hear(self, patience: float) -> int | None:
        """The next number that the nursery says, if it does in time."""
        assert self._process.stdout is not None
        deadline = time.monotonic() + patience
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._said:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    return None
                more = os.read(self._process.stdout.fileno(), 1_000)
                if not more:
                    raise RuntimeError("The nursery ended.")
                self._said += more
        line, _, self._said = self._said.partition(b"\n")
        return int(line)


class Child:
    """A process that was started, and may be killed, stopped and continued."""

    def __init__(self, pid: int, nursery: Nursery, options: Options) -> None:
        self.pid = pid
        self.who = options.who
        self.log = options.log
        self._nursery = nursery
        self._witness = options.witness
        self._start = self._witness.stat().st_size if self._witness.exists() else 0
        self._status: int | None = None

    @property
    def alive(self) -> bool:
        return self.ended(0) is None

    def ended(self, patience: float = DEADLINE) -> int | None:
        """How it ended: its exit code, or minus the signal. None where it lives on."""
        if self._status is None:
            self._status = self._nursery.hear(patience)
        return self._status

    def kill(self) -> None:
        """End it at once, as a power cut would, and return when it is gone."""
        self.signal(signal.SIGKILL)
        assert self.ended() is not None

    def end(self) -> None:
        """Ask it to come to its end, and return when it has."""
        self.signal(signal.SIGTERM)
        assert self.ended() == 0, self.said

    def signal(self, number: signal.Signals) -> None:
        if self.alive:
            os.kill(self.pid, number)

    @property
    def said(self) -> str:
        """The last that is in its log."""
        return self.log.read_text(errors="replace")[-4_000:] if self.log.exists() else ""

    def facts(self) -> list[Fact]:
        """What it has told the witness so far."""
        return [fact for fact in facts_in(self._witness, self._start) if fact["who"] == self.who]

    def until(self, condition: Callable[[Fact], bool], patience: float = DEADLINE) -> Fact:
        """The first fact of its that is so, once it is there."""
        deadline = time.monotonic() + patience
        while True:
            for fact in self.facts():
                if condition(fact):
                    return fact
            status = self.ended(0.01)
            if status is not None:
                raise AssertionError(f"It ended with {status}: {self.said}")
            if time.monotonic() > deadline:
                raise AssertionError(f"It did not happen in time: {self.said}")

    def until_ready(self) -> None:
        self.until(lambda fact: fact["what"] == "ready")
