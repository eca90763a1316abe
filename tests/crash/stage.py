"""Where a crash test plays: a store, a witness, and the processes that use the store."""

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
from .process import Child, Nursery

FAULTS = ("the runtime failed", "was never retrieved", "was never awaited", "Task was destroyed")
"""What nobody should have to read in a log."""


def a_seed() -> int:
    """The seed of a test: a new one, or that of `CALLBOARD_CRASH_SEED`, to see again what was seen before."""
    return int(os.environ.get("CALLBOARD_CRASH_SEED") or random.SystemRandom().randrange(1_000_000))


@dataclass
class Stage:
    """Starts processes and, in the end, holds the store against the witness."""

    store: str
    folder: Path
    seed: int
    nurseries: "Nurseries"
    children: list[Child] = field(default_factory=list[Child])

    @property
    def witness(self) -> Path:
        return self.folder / "witness"

    def start(self, nursery: int = 0, **options: Any) -> Child:
        """A new process, from the first nursery or another: each has one at a time."""
        who = f"p{len(self.children) + 1}"
        given = Options(
            store=self.store,
            witness=self.witness,
            log=self.folder / f"log-{nursery}",
            who=who,
            seed=self.seed,
            **options,
        )
        child = self.nurseries[nursery].start(given)
        self.children.append(child)
        return child

    def rest(self, **options: Any) -> None:
        """Have everything brought to its end by one more process."""
        child = self.start(role="rest", **options)
        assert child.ended() == 0, self.said()

    def audit(self, *robbed: Child) -> Verdict:
        verdict = asyncio.run(audit(self.store, self.witness, [child.who for child in robbed]))
        for log in self.folder.glob("log-*"):
            said = log.read_text(errors="replace")
            verdict.wrong += [said[said.index(word) :][:3_000] for word in FAULTS if word in said]
        return verdict

    def kept(self, session_id: str = "s1") -> Kept:
        """What the store has of a session."""
        return asyncio.run(kept_in(self.store))[session_id]

    def said(self) -> str:
        """What the processes logged, for a test that fails."""
        logs = [log.read_text(errors="replace")[-4_000:] for log in sorted(self.folder.glob("log-*"))]
        return "\n".join([f"seed {self.seed}", *logs])


class Nurseries:
    """As many nurseries as are asked for, each made when it is first used."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._made: dict[int, Nursery] = {}

    def __getitem__(self, number: int) -> Nursery:
        if number not in self._made:
            self._made[number] = self._stack.enter_context(Nursery())
        return self._made[number]

    def clear(self) -> None:
        for nursery in self._made.values():
            nursery.clear()


class Stages:
    """Makes stages, on nurseries that all of them share."""

    def __init__(self, nurseries: Nurseries) -> None:
        self._nurseries = nurseries

    @contextmanager
    def __call__(self, store: str, folder: Path, seed: int | None = None) -> Generator[Stage]:
        """A stage, between `with` and its end, after which no process of it lives."""
        folder.mkdir(parents=True, exist_ok=True)
        try:
            yield Stage(store, folder, a_seed() if seed is None else seed, self._nurseries)
        finally:
            self._nurseries.clear()
