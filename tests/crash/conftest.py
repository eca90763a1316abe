"""Stores and scenarios of the crash tests."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from callboard.adapters.stores import migrate_store as migrate
from tests.servers import Postgres

from .scenario import ForkServers, Scenario, Scenarios


@pytest.fixture(scope="session")
def scenarios() -> Iterator[Scenarios]:
    """Make scenarios. Their fork servers live as long as the tests."""
    with ExitStack() as stack:
        yield Scenarios(ForkServers(stack))


@pytest.fixture(params=["sqlite", "postgres"])
def any_store(request: pytest.FixtureRequest) -> str:
    """The address of an empty store of each kind that several processes can share."""
    return request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "shared_postgres")


@pytest.fixture
def shared_postgres(postgres: Postgres) -> Iterator[str]:
    """The address of an empty PostgreSQL database with its tables."""
    with postgres.database() as url:
        migrate(url)
        yield url


@pytest.fixture
def file_scenario(sqlite_url: str, tmp_path: Path, scenarios: Scenarios) -> Iterator[Scenario]:
    """Make a scenario on a SQLite file."""
    with scenarios(sqlite_url, tmp_path) as made:
        yield made
