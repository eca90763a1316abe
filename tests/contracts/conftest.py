"""Every store that there is, for the suites that hold over all of them."""

from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import psycopg
import pytest

from callboard.adapters.stores import open_store
from callboard.storage.port import Store
from tests.servers import Postgres


@pytest.fixture(scope="module")
def common_database(postgres: Postgres) -> Iterator[str]:
    """One database for the tests of a module: making one and its tables takes longer than most tests."""
    with postgres.database() as url:
        yield url


@pytest.fixture
def emptied_database(common_database: str) -> str:
    with psycopg.connect(common_database) as connection:
        if connection.execute("SELECT to_regclass('sessions')").fetchone() != (None,):
            connection.execute("DELETE FROM sessions")
            connection.execute("DELETE FROM owners")
    return common_database


@pytest.fixture(params=["sqlite", "postgres"])
def shared_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a store that several processes can use at once, in which there is nothing yet."""
    if request.param == "postgres":
        return request.getfixturevalue("emptied_database")
    return f"sqlite:///{tmp_path / 'callboard.db'}"


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a store in which there is nothing yet."""
    if request.param == "postgres":
        return request.getfixturevalue("emptied_database")
    return "memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'callboard.db'}"


@asynccontextmanager
async def opened(url: str, woken: Callable[[str | None], None] = lambda session_id: None) -> AsyncGenerator[Store]:
    store = open_store(url)
    await store.open(woken)
    try:
        yield store
    finally:
        await store.close()


Opening = Callable[..., AbstractAsyncContextManager[Store]]


@pytest.fixture
def opening() -> Opening:
    """Opens a store, between `async with` and its end."""
    return opened


@pytest.fixture
async def store(store_url: str) -> AsyncGenerator[Store]:
    async with opened(store_url) as store:
        yield store


@pytest.fixture
async def shared_store(shared_url: str) -> AsyncGenerator[Store]:
    async with opened(shared_url) as store:
        yield store
