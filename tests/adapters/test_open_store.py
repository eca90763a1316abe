"""The address chooses the store: only that store is loaded, and no error repeats a password (D1, D2)."""

import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

from callboard.adapters.stores import migrate_store as migrate
from callboard.adapters.stores import open_store
from callboard.adapters.stores.address import Reach, StoreAddress, file_address, store_address
from callboard.adapters.stores.memory import MemoryStore
from callboard.adapters.stores.sql import SqlStore
from callboard.storage.errors import StoreError, StoreUnavailable
from callboard.testing.store_rows import create

pytestmark = pytest.mark.anyio


def test_d1_address_chooses_the_store() -> None:
    assert isinstance(open_store("memory://"), MemoryStore)
    for url in ("sqlite:///file.db", "sqlite:////tmp/file.db", "postgresql://host/name", "postgres://u:p@host:1/name"):
        assert isinstance(open_store(url), SqlStore)


def test_d1_address_says_what_the_store_is() -> None:
    file = Path("/tmp/file.db")
    assert store_address("memory://") == StoreAddress("memory", Reach.PROCESS)
    assert store_address(file_address(file)) == StoreAddress("sqlite", Reach.MACHINE, ("sql",), file, True)
    assert store_address("sqlite:///file.db").file == Path("file.db")
    for url in ("postgresql://host/name", "postgres://u:p@host:1/name"):
        assert store_address(url) == StoreAddress("postgresql", Reach.NETWORK, ("sql", "postgres"))


@pytest.mark.parametrize(
    "url", ["", "memory", "memory://x", "mysql://host/x", "file.db", "postgresql+asyncpg://host/x"]
)
def test_d1_other_addresses_are_refused(url: str) -> None:
    with pytest.raises(StoreError, match="There is no store for"):
        open_store(url)


@pytest.mark.parametrize(
    ("url", "suggested"),
    [("file.db", "sqlite:///file.db"), ("/tmp/file.db", "sqlite:////tmp/file.db"), ("sqlite:a.db", "sqlite:///a.db")],
)
def test_d1_the_address_of_a_file_is_suggested(url: str, suggested: str) -> None:
    with pytest.raises(StoreError, match=f"For a SQLite file, use {suggested}. "):
        open_store(url)
    assert isinstance(open_store(suggested), SqlStore)


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///", "sqlite:///:memory:", "sqlite://file.db"])
def test_d1_sqlite_needs_a_file(url: str) -> None:
    with pytest.raises(StoreError, match="needs a file"):
        open_store(url)


@pytest.mark.parametrize("url", ["sqlite:///file.db?mode=ro", "sqlite:///file:x"])
def test_d1_sqlite_takes_no_options(url: str) -> None:
    with pytest.raises(StoreError, match="no options"):
        open_store(url)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://ann:s3cret@host:port/name", "cannot be read"),
        ("postgresql://ann:else@s3cret@host:1/name", "cannot be read"),
        ("postgresql://ann:s3cret[@host:s3cret/name", "cannot be read"),
        ("ann:s3cret@host:1/name", "address without a scheme"),
        ("ann:s3cret://x@host:1/name", "no store for such addresses"),
    ],
)
def test_d2_address_that_cannot_be_read_is_not_repeated(url: str, said: str) -> None:
    with pytest.raises(StoreError, match=said) as caught:
        open_store(url)
    assert "s3cret" not in str(caught.value)
    assert caught.value.__cause__ is None, "the driver's error has parts of the address"


@pytest.mark.parametrize("option", ["ssl=true", "schema=public", "sslmode=require&pool_size=5"])
def test_d2_an_unknown_option_is_named(option: str) -> None:
    name = option.rpartition("&")[2].partition("=")[0]
    with pytest.raises(StoreError, match=f"has the unknown option '{name}'. Options are those of libpq, such as ssl"):
        open_store(f"postgresql://ann:s3cret@host/name?{option}")


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("postgresql://ann:s3cret@127.0.0.1:1/name", "127.0.0.1:1"),
        ("postgresql://ann:s3cret@[::1]:1/name", "[::1]:1"),
        ("postgresql://ann:s3cret@/name?host=127.0.0.1&port=1", "127.0.0.1:1"),
        ("postgresql://ann:s3cret@/name?host=127.0.0.1:1&host=127.0.0.1:2", "127.0.0.1:1, 127.0.0.1:2"),
        ("postgresql://ann:s3cret@/name?host=/no/such/folder", "/no/such/folder"),
    ],
)
async def test_d2_missing_server_is_unavailable(url: str, place: str) -> None:
    with pytest.raises(StoreUnavailable) as caught:
        await open_store(url).open(lambda *_: None)
    advice = "See that its server runs, and that this is its address."
    assert str(caught.value) == f"The PostgreSQL database name at {place} does not answer. {advice}"
    with pytest.raises(StoreUnavailable):
        migrate(url)


def loaded_by(statements: str) -> set[str]:
    """Return the packages that a fresh process has loaded after some statements."""
    code = f"{statements}\nimport sys; print(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_d1_only_the_chosen_store_is_loaded() -> None:
    chosen = "from callboard.adapters.stores import open_store; open_store({!r})"
    drivers = {"sqlalchemy", "alembic", "psycopg", "sqlite3"}
    assert loaded_by(chosen.format("memory://")) & drivers == set()
    assert loaded_by(chosen.format("sqlite:///file.db")) & drivers == {"sqlalchemy", "sqlite3"}


@pytest.mark.parametrize(
    ("missing", "url", "extra"),
    [
        ("sqlalchemy", "sqlite:///file.db", "sql"),
        ("sqlalchemy", "postgresql://host/name", "postgres"),
        ("psycopg", "postgresql://host/name", "postgres"),
    ],
)
def test_d1_missing_package_is_named_by_its_extra(missing: str, url: str, extra: str) -> None:
    code = f"""
import sys
sys.modules[{missing!r}] = None
from callboard.adapters.stores import open_store
from callboard.errors import MissingExtraError
try:
    open_store({url!r})
except MissingExtraError as error:
    print(error.extra)
"""
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == extra


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_d1_tables_that_another_process_creates_meanwhile_are_used(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between any two questions about the database."""
    url = f"sqlite:///{tmp_path / 'new.db'}" if kind == "sqlite" else request.getfixturevalue("postgres_url")
    database, asked = import_module(f"callboard.adapters.stores.{kind}.database"), 0

    def then_migrate(question: Callable[[Connection], Any]) -> Callable[[Connection], Any]:
        def ask(connection: Connection) -> Any:
            nonlocal asked
            answer = question(connection)
            asked += 1
            if asked == 1:
                migrate(url)
            return answer

        return ask

    for name in ("stored_revision", "is_empty"):
        monkeypatch.setattr(database, name, then_migrate(getattr(database, name)))
    store = open_store(url)
    await store.open(lambda *_: None)
    assert await store.commit([create("s")]) == [0]
    await store.close()
    assert asked > 1
