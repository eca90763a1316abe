"""The scenario of a crash test: a store, a witness, and the processes that use the store."""

import asyncio
import os
import random
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .audit import Kept, Verdict, audit, kept_in
from .child import Options
from .process import Child, ForkServer

FAULTS = ("the runtime failed", "was never retrieved", "was never awaited", "Task was destroyed")
"""Texts that must not be in a log."""


def a_seed() -> int:
    """Return the seed of a test: `CALLBOARD_CRASH_SEED`, to repeat a run, or a random one."""
    return int(os.environ.get("CALLBOARD_CRASH_SEED") or random.SystemRandom().randrange(1_000_000))


@dataclass
class Scenario:
    """Starts processes and, at the end, compares the store with the log of the witness."""

    store: str
    folder: Path
    seed: int
    fork_servers: "ForkServers"
    children: list[Child] = field(default_factory=list[Child])
    engine: str | None = None

    @property
    def witness(self) -> Path:
        return self.folder / "witness"

    def start(self, fork_server: int = 0, **options: Any) -> Child:
        """Start a process, from the first fork server or another: each has one at a time."""
        who = f"p{len(self.children) + 1}"
        given = Options(
            store=self.store,
            witness=self.witness,
            log=self.folder / f"log-{fork_server}",
            who=who,
            seed=self.seed,
            engine=self.engine,
            **options,
        )
        child = self.fork_servers[fork_server].start(given)
        self.children.append(child)
        return child

    def rest(self, **options: Any) -> None:
        """Run one more process, which ends all work."""
        child = self.start(role="rest", **options)
        assert child.ended() == 0, self.logs()

    def audit(self, *declared_dead: Child) -> Verdict:
        verdict = asyncio.run(audit(self.store, self.witness, [child.who for child in declared_dead]))
        for log in self.folder.glob("log-*"):
            text = log.read_text(errors="replace")
            verdict.wrong += [text[text.index(fault) :][:3_000] for fault in FAULTS if fault in text]
        return verdict

    def kept(self, session_id: str = "s1") -> Kept:
        """Return the stored rows and events of a session."""
        return asyncio.run(kept_in(self.store))[session_id]

    def logs(self) -> str:
        """Return the ends of all logs, for a test that fails."""
        logs = [log.read_text(errors="replace")[-4_000:] for log in sorted(self.folder.glob("log-*"))]
        return "\n".join([f"seed {self.seed}", *logs])


class ForkServers:
    """Fork servers by number, each made when it is first used."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._made: dict[int, ForkServer] = {}

    def __getitem__(self, number: int) -> ForkServer:
        if number not in self._made:
            self._made[number] = self._stack.enter_context(ForkServer())
        return self._made[number]

    def clear(self) -> None:
        for fork_server in self._made.values():
            fork_server.clear()


class Scenarios:
    """Makes scenarios that share their fork servers."""

    def __init__(self, fork_servers: ForkServers) -> None:
        self._fork_servers = fork_servers

    @contextmanager
    def __call__(self, store: str, folder: Path, seed: int | None = None) -> Generator[Scenario]:
        """Make a scenario. Its processes are killed at the end of the `with`."""
        folder.mkdir(parents=True, exist_ok=True)
        try:
            yield Scenario(store, folder, a_seed() if seed is None else seed, self._fork_servers)
        finally:
            self._fork_servers.clear()
