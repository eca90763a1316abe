"""`callboard doctor` for users and scripts (O3)."""

import json
import os
import re
import shutil
import socket
import sqlite3
import tomllib
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import create_engine

from callboard.adapters.stores.migrations import migrate_to
from callboard.adapters.stores.postgres.database import postgres_url as for_driver
from callboard.adapters.stores.tables import REVISION, VERSION_TABLE
from callboard.cli.commands.doctor import (
    EXTRAS,
    OLDEST_TIME,
    Mark,
    check_clock,
    check_engine,
    check_extras,
    check_python,
    unknown_variables,
)
from tests.cli.harness import Command, Done

NAMES = ["python", "extras", "settings", "store", "clock", "model", "port", "identity"]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    for name in ("ANTHROPIC_API_KEY", "CALLBOARD_JWKS", "CALLBOARD_MODEL", "CALLBOARD_HOST"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("CALLBOARD_PORT", "0")
    return Command(f"sqlite:///{tmp_path / 'doctor.db'}", capsys, monkeypatch)


def checks(done: Done) -> dict[str, dict[str, Any]]:
    report = json.loads(done.out)
    assert report["ok"] is (done.code == 0)
    assert [each["check"] for each in report["checks"]] == NAMES
    return {each["check"]: each for each in report["checks"]}


def test_o3_doctor_passes_and_changes_nothing(run: Command, tmp_path: Path) -> None:
    done = run("doctor")
    assert (done.code, done.err) == (0, "")
    header, *lines = done.out.splitlines()
    assert header.split() == ["check", "state", "found", "what", "to", "do"]
    assert [line.split()[0] for line in lines[: len(NAMES)]] == NAMES
    assert lines[-1] == "A server can start here."
    assert list(tmp_path.iterdir()) == [], "checks create no store"


def test_o3_doctor_prints_json(run: Command) -> None:
    run("migrate")
    found = checks(run("doctor", "--json"))
    assert {each["state"] for each in found.values()} <= {"ok", "warning"}
    assert found["store"]["found"] == f"sqlite: at the newest revision, {REVISION}"
    assert found["identity"]["found"] == "only this machine can use it, as one user"


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_o3_doctor_finds_old_tables_and_leaves_them(run: Command, kind: str, request: pytest.FixtureRequest) -> None:
    url = run.url if kind == "sqlite" else request.getfixturevalue("postgres_url")
    engine = create_engine(for_driver(url) if kind == "postgresql" else url)
    with engine.begin() as connection:
        migrate_to(connection, "0001")
    for _ in range(2):
        done = run("doctor", "--json", "--store", url)
        store = checks(done)["store"]
        assert (store["found"], store["state"]) == (
            f"{kind}: revision 0001, but {REVISION} is needed",
            "warning" if kind == "sqlite" else "problem",  # a file is migrated when it is opened
        )
        assert "callboard migrate" in store["advice"]
        assert done.code == (0 if kind == "sqlite" else 1)
    engine.dispose()


def test_o3_doctor_checks_a_database_and_its_clock(run: Command, postgres_url: str) -> None:
    assert checks(run("doctor", "--json", "--store", postgres_url))["store"]["found"].startswith("postgresql: empty")
    run("migrate", "--store", postgres_url)
    found = checks(run("doctor", "--json", "--store", postgres_url))
    assert (found["store"]["state"], found["clock"]["state"]) == ("ok", "ok")
    assert check_clock(OLDEST_TIME + 1, postgres_url).mark is Mark.WARNING


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("mysql://host/name", "There is no store for 'mysql' addresses."),
        ("postgresql://nobody:secret@127.0.0.1:1/x", "x at 127.0.0.1:1 does not answer. See that its server runs"),
        ("postgresql://nobody:secret[@127.0.0.1:1/x", "x at 127.0.0.1:1 does not answer. See that its server runs"),
        ("postgresql://nobody:else@secret@127.0.0.1:1/x", "special characters of the password in percent form"),
        ("nobody:secret@127.0.0.1:1/x", "There is no store for an address without a scheme."),
        ("sqlite:////no/such/folder/x.db", "/no/such/folder/x.db cannot be made: its folder does not exist. Make the"),
    ],
)
def test_o3_doctor_reports_problems_of_a_store(run: Command, url: str, said: str) -> None:
    done = run("doctor", "--json", "--store", url)
    assert done.code == 1
    store = checks(done)["store"]
    assert said in store["found"]
    assert store["advice"] == "", "the error already says what to do"
    assert "secret" not in done.out + done.err


def test_o3_doctor_finds_a_folder_that_may_not_be_written(
    run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # the tests may run as a user that may write everywhere
    store = checks(run("doctor", "--json"))["store"]
    assert (store["state"], store["found"]) == ("problem", f"sqlite: {tmp_path} may not be written")
    assert "the right to write the folder" in store["advice"]


def test_o3_doctor_finds_a_full_disk(run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=4096))
    store = checks(run("doctor", "--json"))["store"]
    assert (store["state"], store["found"]) == ("problem", f"sqlite: the disk of {tmp_path} is full")


def test_o3_doctor_advises_on_an_engine_that_does_not_answer() -> None:
    check = check_engine("nats://127.0.0.1:9", "memory://")
    assert check.mark is Mark.PROBLEM
    assert "See that its server runs with JetStream" in check.found
    assert "Remove the stream" not in check.found + check.advice


def test_o3_doctor_recognises_foreign_files(run: Command, tmp_path: Path) -> None:
    (tmp_path / "doctor.db").write_bytes(b"not a database at all")
    assert "is not a whole database" in checks(run("doctor", "--json"))["store"]["found"]
    (tmp_path / "doctor.db").unlink()
    run("migrate")
    with closing(sqlite3.connect(tmp_path / "doctor.db")) as connection:
        connection.execute(f"UPDATE {VERSION_TABLE} SET version_num = '9999'")
        connection.commit()
    assert "was made by a newer version" in checks(run("doctor", "--json"))["store"]["found"]


def test_o3_doctor_names_the_key_of_a_model_and_never_prints_it(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    without = run("doctor", "--json", "--model", "anthropic:claude-sonnet-4-5")
    assert without.code == 1
    assert "ANTHROPIC_API_KEY" in checks(without)["model"]["found"]
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-very-secret")
    with_key = run("doctor", "--json", "--model", "anthropic:claude-sonnet-4-5")
    assert checks(with_key)["model"]["state"] == "ok"
    assert "very-secret" not in with_key.out + with_key.err
    assert "There is no model" in checks(run("doctor", "--json", "--model", "nobody:none"))["model"]["found"]


def test_o3_doctor_finds_a_port_in_use(run: Command) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("doctor", "--json", "--port", str(port))
        assert (done.code, checks(done)["port"]["state"]) == (1, "problem")
    assert checks(run("doctor", "--json", "--port", str(port)))["port"]["found"] == f"127.0.0.1, port {port} is free"


def test_h5_doctor_requires_keys_for_other_machines(run: Command) -> None:
    alone = run("doctor", "--json", "--host", "0.0.0.0")
    assert alone.code == 1
    assert "callboard keys create" in checks(alone)["identity"]["advice"]
    run("migrate")
    key = run("keys", "create", "--user", "ann").out.strip()
    done = run("doctor", "--json", "--host", "0.0.0.0")
    assert (done.code, checks(done)["identity"]["found"]) == (0, "required: keys")
    assert key not in done.out


def test_h5_doctor_checks_the_key_set(run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALLBOARD_JWKS", str(tmp_path / "keys.json"))
    assert "jwt_audience" in checks(run("doctor", "--json"))["identity"]["found"]
    monkeypatch.setenv("CALLBOARD_JWT_AUDIENCE", "board")
    done = run("doctor", "--json")
    assert (done.code, checks(done)["identity"]["state"]) == (1, "problem")
    point = {"x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}
    (tmp_path / "keys.json").write_text(json.dumps({"keys": [{"kty": "OKP", "crv": "Ed25519", "kid": "a", **point}]}))
    assert checks(run("doctor", "--json"))["identity"]["found"] == "required: tokens"


@pytest.mark.parametrize("name", ["CALLBOARD_MAX_THREADS", "CALLBOARD_RATE_LIMIT"])
def test_o3_doctor_names_an_invalid_setting(run: Command, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "many")
    done = run("doctor", "--json")
    assert done.code == 1
    [bad] = [each for each in checks(done).values() if each["state"] == "problem"]
    assert name in bad["found"]


def test_o3_doctor_finds_a_misspelt_setting(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALLBOARD_GATE_ANYTHING", "1")
    assert checks(run("doctor", "--json"))["settings"]["state"] == "ok"
    monkeypatch.setenv("CALLBOARD_MAX_THREAD", "5")
    done = run("doctor", "--json")
    settings = checks(done)["settings"]
    assert (done.code, settings["state"]) == (0, "warning")
    assert settings["found"] == "unknown variables: CALLBOARD_MAX_THREAD"
    assert settings["advice"] == "Did you mean CALLBOARD_MAX_THREADS?"
    monkeypatch.delenv("CALLBOARD_MAX_THREAD")
    monkeypatch.setenv("CALLBOARD_XYZ", "5")
    assert checks(run("doctor", "--json"))["settings"]["advice"] == "Remove the unknown variables."


def test_o3_doctor_knows_every_variable() -> None:
    root = Path(__file__).parents[2]
    places = [each for name in ("src", "scripts", "docs") for each in (root / name).rglob("*")]
    texts = [each.read_text() for each in places if each.suffix in (".py", ".md", "") and each.is_file()]
    named = set(re.findall(r"CALLBOARD_[A-Z]+(?:_[A-Z]+)*\b", "".join(texts)))
    assert {"CALLBOARD_STORE", "CALLBOARD_JWKS", "CALLBOARD_GAS_PRICE_URL", "CALLBOARD_TEST_POSTGRES"} <= named
    assert unknown_variables(named) == {}


def test_o3_doctor_knows_the_needed_extras() -> None:
    def without(*missing: str) -> Any:
        return lambda module: module not in missing

    assert check_extras("sqlite:///x.db", without()).mark is Mark.OK
    assert check_extras("sqlite:///x.db", without("psycopg", "opentelemetry.sdk")).mark is Mark.WARNING
    for store, module, extra in (
        ("postgresql://h/n", "psycopg", "postgres"),
        ("sqlite:///x.db", "alembic", "sql"),
        ("memory://", "uvicorn", "server"),
        ("memory://", "pydantic_ai", "chat"),
    ):
        check = check_extras(store, without(module))
        assert (check.mark, check.advice) == (Mark.PROBLEM, f'pip install "callboard[{extra}]"')
    assert check_extras("memory://", without("alembic")).mark is Mark.WARNING


def test_o3_doctor_knows_all_extras() -> None:

    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    assert set(EXTRAS) == set(project["project"]["optional-dependencies"]) - {"all", "testing"}


def test_o3_doctor_knows_old_pythons_and_wrong_clocks(tmp_path: Path) -> None:
    assert check_python((3, 10, 9)).mark is Mark.PROBLEM
    assert check_python((3, 11, 0)).mark is Mark.OK
    assert check_clock(0.0, "memory://").mark is Mark.PROBLEM
    assert check_clock(OLDEST_TIME, "memory://").mark is Mark.OK
    (tmp_path / "x.db").touch()
    behind = check_clock(OLDEST_TIME, f"sqlite:///{tmp_path / 'x.db'}")
    assert (behind.mark, "behind the last change of the store" in behind.found) == (Mark.WARNING, True)
