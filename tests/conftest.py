"""Fixtures and options of all tests: flags, the event loop, golden files, and real servers."""

import asyncio
import json
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NoReturn

import psycopg
import pytest
from xdist.scheduler import LoadFileScheduling

from callboard.adapters.stores import open_store
from tests import examples, forked
from tests.servers import OwnPostgres, Postgres, Unavailable, postgres_server

GOLDEN = Path(__file__).parent / "golden"


if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell script's background job ignores Ctrl-C, and so would every child process of the tests.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="also run the long tests")
    parser.addoption("--kills", type=int, help="number of processes that the crash tests kill, on each store")
    parser.addoption("--update-golden", action="store_true", help="rewrite the golden files instead of comparing them")


def pytest_configure(config: pytest.Config) -> None:
    forked.fresh = examples.slow = config.getoption("--slow")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if "slow" in item.keywords and not config.getoption("--slow"):
            item.add_marker(pytest.mark.skip(reason="long; run with --slow"))


class Scheduling(LoadFileScheduling):
    """Runs the tests of a file, which share servers, in one process, and so those of a folder that use one browser."""

    def _split_scope(self, nodeid: str) -> str:
        path = super()._split_scope(nodeid)
        folder = path.rpartition("/")[0]
        return folder if folder.endswith("/browser") else path


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduling:
    return Scheduling(config, log)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, Any], None]:
    """Compare JSON data with a stored file, byte for byte; `--update-golden` stores it."""

    def compare(name: str, data: Any) -> None:
        text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        assert path.exists(), f"{name} is not stored yet: run ./scripts/test --update-golden"
        assert path.read_text() == text, f"{name} differs: look at the change, then run ./scripts/test --update-golden"

    return compare


def without(what: str, why: Unavailable) -> NoReturn:
    """Skip a test whose server is not available. If `CI` is set, the test fails instead."""
    reason = f"{what} is not available: {why}"
    if os.environ.get("CI", "") in {"", "0", "false"}:
        pytest.skip(reason)
    pytest.fail(reason, pytrace=False)


@pytest.fixture(scope="session")
def own_postgres() -> Iterator[OwnPostgres]:
    """A PostgreSQL server that a test may stop and start. It is started again before the next test uses it."""
    with ExitStack() as stack:
        try:
            server = stack.enter_context(postgres_server())
        except Unavailable as why:
            without("PostgreSQL", why)
        yield server


@pytest.fixture(scope="session")
def postgres(request: pytest.FixtureRequest) -> Postgres:
    """The PostgreSQL server in `CALLBOARD_TEST_POSTGRES`, or a new one that starts when the first test needs it."""
    if url := os.environ.get("CALLBOARD_TEST_POSTGRES"):
        return Postgres(url)
    return request.getfixturevalue("own_postgres")


@pytest.fixture
def postgres_url(postgres: Postgres) -> Iterator[str]:
    """A new, empty PostgreSQL database for one test, as `postgresql://…`; other processes can use it too."""
    with postgres.database() as url:
        yield url


# Empty stores


@pytest.fixture(scope="session")
def common_database(postgres: Postgres) -> Iterator[str]:
    """One database for all tests that empty it: creating a database and its tables takes longer than most tests."""
    with postgres.database() as url:
        yield url


@pytest.fixture
def emptied_database(common_database: str) -> str:
    with psycopg.connect(common_database) as connection:
        if connection.execute("SELECT to_regclass('sessions')").fetchone() != (None,):
            connection.execute("DELETE FROM sessions")
            connection.execute("DELETE FROM owners")
            connection.execute("DELETE FROM api_keys")
            connection.execute("DELETE FROM notes")
            connection.execute("DELETE FROM documents")
    return common_database


@pytest.fixture(scope="session")
def empty_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite file with empty tables."""
    path = tmp_path_factory.mktemp("empty") / "callboard.db"

    async def make() -> None:
        store = open_store(f"sqlite:///{path}")
        await store.open(lambda *_: None)
        await store.close()

    asyncio.run(make())
    return path


@pytest.fixture
def sqlite_url(empty_file: Path, tmp_path: Path) -> str:
    """The address of an empty SQLite store."""
    shutil.copy(empty_file, tmp_path / "callboard.db")
    return f"sqlite:///{tmp_path / 'callboard.db'}"


@pytest.fixture(params=["sqlite", "postgres"])
def shared_url(request: pytest.FixtureRequest) -> str:
    """The address of a store that several runtimes can use at once."""
    return request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "emptied_database")


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store_url(request: pytest.FixtureRequest) -> str:
    """The address of a store."""
    if request.param == "memory":
        return "memory://"
    return request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "emptied_database")
