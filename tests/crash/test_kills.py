"""A process is killed at random instants, under load, and started again: everything is accounted for (E5, B1, B6)."""

import random
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from callboard.adapters.stores import migrate_store as migrate
from tests.servers import Postgres

from .audit import Verdict
from .scenario import Scenario, Scenarios, a_seed

FEW, MANY, ROUND = 5, 100, 20
"""Kills of a process on each store by default, with --slow, and before each audit."""


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_e5_everything_acknowledged_is_accounted_for_after_kills(
    kind: str, tmp_path: Path, scenarios: Scenarios, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    config = request.config
    kills = config.getoption("--kills") or (MANY if config.getoption("--slow") else FEW)
    total, seed = Verdict(), a_seed()
    for number in range(0, kills, ROUND):
        with ExitStack() as stack:
            if kind == "sqlite":
                store = f"sqlite:///{tmp_path / f'{number}.db'}"
            else:
                server: Postgres = request.getfixturevalue("postgres")
                store = stack.enter_context(server.database())
                migrate(store)
            here = stack.enter_context(scenarios(store, tmp_path / str(number), seed + number))
            killed(here, min(ROUND, kills - number))
            here.rest()
            verdict = here.audit()
            assert verdict.clean, f"{verdict}\n{here.logs()}"
            assert verdict.calls, here.logs()
            total += verdict
    with capsys.disabled():
        sys.stdout.write(f"\n{kind}: {kills} kills (seed {seed}), {total}\n")


def killed(here: Scenario, kills: int) -> None:
    """Start a process and kill it, again and again: while it starts, while it recovers, while it works."""
    chance = random.Random(here.seed)
    beside = None
    for number in range(kills):
        child = here.start()
        if chance.random() < 0.75:
            child.until_ready()
            time.sleep(chance.random())  # a random instant is the point of this test
        else:
            time.sleep(chance.random() * 0.5)
        child.kill()
        if number == 0:  # from now on another process runs beside it and must keep its work
            beside = here.start(1, role="beside", visitors=1)
    assert beside is not None
    assert beside.alive, here.logs()
    beside.kill()
