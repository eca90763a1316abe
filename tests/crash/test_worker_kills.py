"""Gateways and workers are killed and stopped, NATS and PostgreSQL are restarted: all is accounted for (E5, D3)."""

import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from callboard.adapters.stores import migrate_store as migrate
from tests.conftest import without
from tests.nats_servers import NatsServer, nats_server
from tests.servers import OwnPostgres, Unavailable

from .audit import Verdict
from .process import Child
from .scenario import Scenario, Scenarios, a_seed

FEW, MANY, ROUND = 2, 500, 25
"""Faults by default, with --slow, and before each audit."""
GATEWAYS, WORKERS = 2, 3
PACE = 0.5
"""Factor on the intervals of beats and leases."""


@pytest.fixture(scope="module")
def nats() -> Iterator[NatsServer]:
    with ExitStack() as stack:
        try:
            server = stack.enter_context(nats_server())
        except Unavailable as why:
            without("NATS", why)
        yield server


def test_d3_everything_acknowledged_is_accounted_for_after_faults(
    nats: NatsServer,
    own_postgres: OwnPostgres,
    tmp_path: Path,
    scenarios: Scenarios,
    request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
) -> None:
    config = request.config
    faults = config.getoption("--kills") or (MANY if config.getoption("--slow") else FEW)
    total, seed, done = Verdict(), a_seed(), Counter[str]()
    for number in range(0, faults, ROUND):
        with own_postgres.database() as store:
            migrate(store)
            with scenarios(store, tmp_path / str(number), seed + number) as here:
                nats.start()
                here.engine = f"{nats.url}/round{number}"
                done += Faults(here, nats, own_postgres).run(min(ROUND, faults - number))
                worker = here.start(WORKERS + GATEWAYS, role="serve", pace=PACE)
                here.rest(pace=PACE)
                worker.kill()
                verdict = here.audit()
                assert verdict.clean, f"{done}\n{verdict}\n{here.logs()}"
                assert verdict.calls, here.logs()
                total += verdict
    with capsys.disabled():
        sys.stdout.write(f"\n{faults} faults (seed {seed}): {dict(done)}; {total}\n")


class Faults:
    """Two gateways with visitors and three workers, to which things happen."""

    def __init__(self, here: Scenario, nats: NatsServer, postgres: OwnPostgres) -> None:
        self._here = here
        self._nats = nats
        self._postgres = postgres
        self._chance = random.Random(here.seed)
        self._children: list[Child] = []

    def run(self, faults: int) -> Counter[str]:
        """Let faults happen, and end all processes without warning."""
        self._children = [self._start(number) for number in range(GATEWAYS + WORKERS)]
        for child in self._children:
            child.until_ready()
        done = Counter[str]()
        for _ in range(faults):
            time.sleep(self._chance.random() * 0.6)  # a random instant is the point of this test
            self._children = [
                child if child.alive else self._start(number) for number, child in enumerate(self._children)
            ]
            name = self._chance.choices(
                ["kill", "stop", "restart_nats", "lose_nats", "restart_postgres"], [14, 4, 2, 1, 1]
            )[0]
            getattr(self, f"_{name}")()
            done[name] += 1
        for child in self._children:
            child.kill()
        return done

    def _start(self, number: int) -> Child:
        role = "work" if number < GATEWAYS else "serve"
        sessions = ("s1", "s2") if number == 0 else ("s2", "s3")
        return self._here.start(number, role=role, pace=PACE, visitors=2, sessions=sessions)

    def _kill(self) -> None:
        number = self._chance.randrange(len(self._children))
        self._children[number].kill()
        self._children[number] = self._start(number)

    def _stop(self) -> None:
        child = self._children[self._chance.randrange(GATEWAYS, len(self._children))]
        child.signal(signal.SIGSTOP)
        time.sleep(self._chance.random() * 5.0)  # beyond the lease, at times
        child.signal(signal.SIGCONT)

    def _restart_nats(self) -> None:
        self._nats.stop(kill=self._chance.random() < 0.5)
        time.sleep(self._chance.random())
        self._nats.start()

    def _lose_nats(self) -> None:
        """Restart NATS without its data."""
        self._nats.stop(kill=True)
        self._nats.forget()
        self._nats.start()

    def _restart_postgres(self) -> None:
        self._postgres.stop(immediate=True)
        time.sleep(self._chance.random())
        self._postgres.start()
