"""Stores for processes that are killed."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from callboard.adapters.stores.sql import migrate
from tests.servers import Postgres

from .stage import Nurseries, Stage, Stages


@pytest.fixture(scope="session")
def stages() -> Iterator[Stages]:
    """Makes stages. Their processes come from nurseries that live as long as the tests."""
    with ExitStack() as stack:
        yield Stages(Nurseries(stack))


@pytest.fixture(params=["sqlite", "postgres"])
def any_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The address of an empty store of each kind that several processes can share."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'callboard.db'}"
        return
    postgres: Postgres = request.getfixturevalue("postgres")
    with postgres.database() as url:
        migrate(url)
        yield url


@pytest.fixture
def shared_postgres(postgres: Postgres) -> Iterator[str]:
    """The address of an empty PostgreSQL database with its tables."""
    with postgres.database() as url:
        migrate(url)
        yield url


@pytest.fixture
def file_stage(tmp_path: Path, stages: Stages) -> Iterator[Stage]:
    """A stage on a SQLite file."""
    with stages(f"sqlite:///{tmp_path / 'callboard.db'}", tmp_path) as made:
        yield made
