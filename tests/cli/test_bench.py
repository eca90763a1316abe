"""`callboard bench` for users and scripts (O3)."""

import json
from pathlib import Path

import pytest

from tests.cli.harness import Command

FIGURES = ["tool", "call_in_memory", "call_stored", "first_event", "calls_at_once", "logout_and_login"]
QUICK = ("--seconds", "0.05")


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    run = Command(f"sqlite:///{tmp_path / 'bench.db'}", capsys, monkeypatch)
    monkeypatch.delenv("CALLBOARD_STORE")
    return run


def test_o3_bench_measures_without_any_option(run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("bench", *QUICK)
    assert (done.code, done.err) == (0, "")
    header, *lines = done.out.splitlines()
    assert header.split() == ["measured", "median", "99th", "percentile", "per", "second"]
    assert len([line for line in lines if line.endswith(tuple("0123456789"))]) == len(FIGURES)
    assert lines[-1] == "The tool add, and a temporary SQLite file as the store."
    assert list(tmp_path.iterdir()) == []


def test_o3_bench_deletes_its_sessions_and_leaves_others(run: Command) -> None:
    assert run("migrate", "--store", run.url).code == 0
    done = run("bench", "--store", run.url, *QUICK, "--json")
    assert done.code == 0
    report = json.loads(done.out)
    assert (report["tool"], report["store"], list(report["figures"])) == ("add", "sqlite", FIGURES)
    for figure in report["figures"].values():
        assert 0 < figure["median_seconds"] <= figure["p99_seconds"]
        assert figure["per_second"] > 0
        assert figure["samples"] >= 1
    assert json.loads(run("sessions", "list", "--store", run.url, "--json").out) == []


def test_o3_bench_calls_a_tool_of_yours(run: Command) -> None:
    done = run("bench", "get_current_time", "--args", '{"timezone": "Asia/Tokyo"}', *QUICK, "--json")
    assert done.code == 0
    assert json.loads(done.out)["tool"] == "get_current_time"


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("nothing",), 4, "There is no tool 'nothing'."),
        (("http_post",), 2, "http_post is called thousands of times, so it must be declared with idempotent=True"),
        (("ask", "--tools", "tests.cli.sample_tools:registry"), 4, "There is no tool 'ask'."),
        (("get_current_time", "--args", "{"), 3, "--args is not JSON"),
        (("get_current_time", "--args", '{"timezone": 1}'), 3, "get_current_time was not measured: "),
        (("--store", "sqlite:///missing.db"), 1, "There is no file missing.db."),
        (("--store", "memory://"), 1, "A store in memory is only visible to its own process."),
        (("--seconds", "0"), 2, "Invalid value for '--seconds'"),
    ],
)
def test_o3_bench_says_what_is_wrong(run: Command, arguments: tuple[str, ...], code: int, message: str) -> None:
    done = run("bench", *arguments, *([] if "--seconds" in arguments else QUICK))
    assert (done.code, done.out) == (code, "")
    assert message in done.err
