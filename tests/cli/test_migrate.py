"""`callboard migrate` for users and scripts (O3)."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import create_engine

from callboard.adapters.stores.migrations import migrate_to
from callboard.adapters.stores.postgres.database import postgres_url as for_driver
from callboard.adapters.stores.tables import REVISION, VERSION_TABLE
from tests.cli.harness import Command

OLDEST = "0001"


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    return Command(f"sqlite:///{tmp_path / 'new.db'}", capsys, monkeypatch)


def old_tables(url: str) -> None:
    """Create the tables of the oldest revision."""
    engine = create_engine(for_driver(url) if url.startswith("postgresql") else url)
    with engine.begin() as connection:
        migrate_to(connection, OLDEST)
    engine.dispose()


def test_o3_migrate_creates_a_store_and_is_harmless_twice(run: Command, tmp_path: Path) -> None:
    assert run("migrate") == (0, f"Created the tables at revision {REVISION}.\n", "")
    with closing(sqlite3.connect(tmp_path / "new.db")) as connection:
        assert connection.execute(f"SELECT version_num FROM {VERSION_TABLE}").fetchall() == [(REVISION,)]
    assert run("migrate") == (0, f"The tables are already at the newest revision, {REVISION}.\n", "")
    assert run("sessions", "list") == (0, "No sessions.\n", "")


def test_o3_migrate_prints_json(run: Command) -> None:
    assert json.loads(run("migrate", "--json").out) == {"before": None, "after": REVISION, "changed": True}
    assert json.loads(run("migrate", "--json").out) == {"before": REVISION, "after": REVISION, "changed": False}


def test_o3_migrate_updates_an_old_file(run: Command) -> None:
    old_tables(run.url)
    assert run("migrate").out == f"Migrated the tables from revision {OLDEST} to {REVISION}.\n"


def test_o3_an_old_database_needs_migrate(run: Command, postgres_url: str) -> None:
    old_tables(postgres_url)
    refused = run("sessions", "list", "--store", postgres_url)
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.endswith("Run: callboard migrate\n")
    done = run("migrate", "--store", postgres_url)
    assert (done.code, done.out) == (0, f"Migrated the tables from revision {OLDEST} to {REVISION}.\n")
    assert run("sessions", "list", "--store", postgres_url) == (0, "No sessions.\n", "")


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("memory://", "A store in memory is only visible to its own process."),
        ("mysql://host/name", "There is no store for 'mysql' addresses."),
        ("sqlite:////no/such/folder/x.db", "The SQLite file /no/such/folder/x.db cannot be made: its folder does"),
        ("postgresql://nobody:secret@127.0.0.1:1/x", "The PostgreSQL database x at 127.0.0.1:1 does not answer."),
    ],
)
def test_o3_migrate_reports_an_invalid_address(run: Command, url: str, message: str) -> None:
    done = run("migrate", "--store", url)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"error: {message}")
    assert "secret" not in done.err


def test_o3_migrate_leaves_tables_of_a_newer_version(run: Command, tmp_path: Path) -> None:
    run("migrate")
    with closing(sqlite3.connect(tmp_path / "new.db")) as connection:
        connection.execute(f"UPDATE {VERSION_TABLE} SET version_num = '9999'")
        connection.commit()
    done = run("migrate")
    assert done.code == 1
    assert "was made by a newer version of Callboard (its revision is 9999). Update Callboard to use it." in done.err
