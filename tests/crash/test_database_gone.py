"""An outage of the database: processes wait, none counts as dead, and nothing is lost (B6, D2)."""

import time
from pathlib import Path

import pytest

from callboard.adapters.stores import migrate_store as migrate
from callboard.sessions.liveness import LEASE
from tests.servers import OwnPostgres

from .scenario import Scenarios
from .waiting import busy, until

QUICK = 0.4
"""The pace of the processes: their leases end while the database is away."""


@pytest.mark.parametrize(
    ("seconds", "immediate"), [(2 * QUICK * LEASE, False), pytest.param(10.0, True, marks=pytest.mark.slow)]
)
@pytest.mark.slow
def test_b6_no_process_counts_as_dead_after_an_outage_of_the_database(
    seconds: float, immediate: bool, own_postgres: OwnPostgres, tmp_path: Path, scenarios: Scenarios
) -> None:
    with own_postgres.database() as url:
        migrate(url)
        with scenarios(url, tmp_path) as here:
            children = [here.start(number, pace=QUICK, visitors=2, machine=f"machine {number}") for number in range(2)]
            for child in children:
                child.until_ready()
                busy(child)
            own_postgres.stop(immediate=immediate)
            for child in children:
                until(lambda child=child: "the store does not answer" in child.log_tail)
            time.sleep(seconds)  # the duration of the outage
            own_postgres.start()
            for child in children:
                busy(child)
            for child in children:
                child.end()
            here.rest(visitors=2)  # the next process uses an answer that was given while both ended
            verdict = here.audit()
            assert verdict.clean, f"{verdict}\n{here.logs()}"
            assert verdict.interrupted == 0, f"no process died or was declared dead\n{here.logs()}"
            assert "lost its lease" not in here.logs()
