"""Real servers under attack, a bystander who must not notice, and what is measured.

A test starts one or two nodes (`callboard serve` as a separate process) on one store, lets a bystander call, attacks
as another user, and asks for the verdict. `report` keeps the figures for the table in `bench/RESULTS.md`.
"""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NamedTuple

import httpx2

from callboard.adapters.stores import open_store
from callboard.storage.api_keys import new_key
from tests import forked

ROOT = Path(__file__).parents[2]
DEADLINE = 60.0
"""Seconds that anything may take before a test gives up."""
LONGEST_DELAY = 0.25
"""Seconds that a bystander's call may take, at worst, while an attack goes on."""
PAUSE = 0.05
"""Seconds from which a call of the control server is a pause of the machine."""
LEFT = 32.0
"""MB that a server may hold more than before an attack, when the attack has been over for a while."""
GIVEN_BACK = 20.0
"""Seconds within which memory is given back after an attack."""
REPORT = "CALLBOARD_ATTACKS_REPORT"
"""The variable that names the file to which figures are appended, a line of JSON each."""


class Node:
    """One `callboard serve`. Started again, it has the same address."""

    def __init__(self, folder: Path, store: str, *options: str, **environment: str) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self._store = store
        self._options = options
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("CALLBOARD_")}
        self._environment = {**inherited, "PYTHONUNBUFFERED": "1", "PYTHONPATH": str(ROOT), **environment}
        self._process: forked.Forked | subprocess.Popen[bytes] | None = None
        self._stdout: IO[str] | None = None
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def log(self) -> str:
        """What it has written to standard error."""
        return (self.folder / "stderr").read_text()

    def start(self) -> None:
        """Start it, and wait until it listens."""
        arguments = ["serve", "--grace", "1", "--port", str(self.port), "--store", self._store]
        arguments += ["--tools", "tests.attacks.tools:registry", *self._options]
        reading, writing = os.pipe()
        self._stdout = os.fdopen(reading)
        with open(os.devnull) as nothing, (self.folder / "stderr").open("a") as log, os.fdopen(writing, "w") as stdout:
            self._process = forked.start(
                *arguments,
                stdin=nothing.fileno(),
                stdout=stdout.fileno(),
                stderr=log.fileno(),
                cwd=self.folder,
                env=self._environment,
            )
        for line in self._stdout:
            if found := re.search(r"http://127\.0\.0\.1:(\d+)", line):
                self.port = int(found[1])
                return
        raise AssertionError(f"callboard serve ended: {self.log}")

    def send(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """End or kill it, and wait until it is gone."""
        if self._process is None:
            return
        process, self._process = self._process, None
        process.send_signal(signal.SIGCONT)
        process.send_signal(number)
        try:
            process.wait(DEADLINE)
        finally:
            process.kill()
            process.wait()
            assert self._stdout is not None
            self._stdout.close()

    def memory(self) -> float:
        """What it holds now, in MB."""
        return self._status("VmRSS")

    def peak(self) -> float:
        """The most that it has held, in MB."""
        return self._status("VmHWM")

    def _status(self, name: str) -> float:
        text = Path(f"/proc/{self.pid}/status").read_text()
        found = re.search(rf"^{name}:\s+(\d+) kB", text, re.MULTILINE)
        assert found is not None
        return int(found[1]) / 1024


@dataclass
class User:
    """A user with a key, and with a client for each node."""

    name: str
    key: str

    @property
    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.key}"}

    def client(self, node: Node, timeout: float = DEADLINE) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(base_url=node.url, headers=self.headers, timeout=timeout, verify=False)


async def make_users(store: str, *names: str) -> list[User]:
    """Users with a key each. From the first one on, the servers of this store ask for keys."""
    opened = open_store(store)
    await opened.open(lambda *_: None)
    try:
        users: list[User] = []
        for name in names:
            row, text = new_key(name, time.time())
            await opened.add_key(row)
            users.append(User(name, text))
        return users
    finally:
        await opened.close()


@dataclass(frozen=True)
class Control:
    """A server that nothing attacks, on the same machine, and its only user."""

    node: Node
    user: User


class Users(NamedTuple):
    """Who attacks, who must not notice, and who uses a server that nothing attacks."""

    attacker: User
    victim: User
    control: Control


class Delayed(AssertionError):
    """A call of a bystander took too long."""


Call = tuple[float, float]
"""When a call was due, and how many seconds later its response had come."""


@dataclass
class Seen:
    """What a bystander saw, known when its `with` has ended."""

    calls: list[Call] = field(default_factory=list[Call])
    control: list[Call] = field(default_factory=list[Call])
    """The calls of a server without an attack, made at the same time."""
    failures: list[str] = field(default_factory=list[str])

    @property
    def delays(self) -> list[float]:
        """The seconds that each call took, without the pauses of the machine: those that the control server had too."""
        return [seconds - self._pauses(due, due + seconds) for due, seconds in self.calls]

    @property
    def worst(self) -> float:
        """The longest that a call took, in seconds."""
        return max(self.delays)

    def unharmed(self, longest: float = LONGEST_DELAY) -> None:
        """Fail the test if a call failed or took too long. If only a call took too long, the test runs again."""
        assert not self.failures, self.failures[:3]
        if self.worst > longest:
            raise Delayed(f"a call took {self.worst * 1e3:.0f} ms; {len(self.calls)} were made")

    def _pauses(self, start: float, end: float) -> float:
        slow = ((due, due + seconds) for due, seconds in self.control if seconds > PAUSE)
        return sum(max(0.0, min(end, slow_end) - max(start, slow_start)) for slow_start, slow_end in slow)


@contextmanager
def bystander(node: Node, users: Users) -> Generator[Seen]:
    """Have the victim call all the time, from before the attack until after it. The session `bystander` must exist."""
    seen = Seen()
    with subprocess.Popen(
        [sys.executable, "-I", str(Path(__file__).with_name("bystander.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            targets = [_target(node, users.victim), _target(users.control.node, users.control.user)]
            process.stdin.write(json.dumps(targets) + "\n")
            process.stdin.flush()
            assert process.stdout.readline() == "ready\n"
            yield seen
            process.stdin.close()
            attacked, controlled = json.loads(process.stdout.read().splitlines()[-1])
            seen.calls, seen.failures = attacked["calls"], attacked["failures"]
            assert not controlled["failures"], controlled["failures"][:3]
            seen.control = controlled["calls"]
        finally:
            process.kill()


def _target(node: Node, user: User) -> dict[str, Any]:
    called = {"host": "127.0.0.1", "port": node.port, "key": user.key}
    return {**called, "session_id": "bystander", "timeout": DEADLINE}


async def given_back(node: Node, before: float, most: float = LEFT) -> float:
    """Wait until a server holds at most so many MB more than before. Returns how many MB it still holds more."""
    deadline = time.monotonic() + GIVEN_BACK
    while (left := node.memory() - before) > most:
        assert time.monotonic() < deadline, f"{left:.0f} MB are not given back"
        await asyncio.sleep(0.1)
    return left


def report(attack: str, store: str, seen: Seen, **figures: float) -> None:
    """Keep what was measured, where the benchmark asks for it. Memory is in MB."""
    if path := os.environ.get(REPORT):
        kind = "SQLite" if store.startswith("sqlite") else "PostgreSQL"
        row = {"attack": attack, "store": kind, "calls": len(seen.calls), "worst": seen.worst, **figures}
        with Path(path).open("a") as file:
            file.write(json.dumps(row) + "\n")
