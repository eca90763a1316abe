"""`callboard sessions` for users and scripts (O3): beside a server, after it, and without one."""

import json
import os
import re
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from callboard.cli.terminal.text import span
from callboard.storage.change import Change, TitleWrite
from callboard.storage.rows import ExecutionRow, SessionRow
from callboard.storage.store import Store
from callboard.testing.store_rows import event, session_row
from tests.cli.harness import HERE, Command, call_and_close, callboard, post, server, stored


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'sample.db'}"


@pytest.fixture
def run(url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.chdir(HERE)
    return Command(url, capsys, monkeypatch)


@pytest.fixture(params=["sqlite", "postgresql"])
def shared(request: pytest.FixtureRequest, url: str) -> str:
    """A store that several processes use."""
    return url if request.param == "sqlite" else request.getfixturevalue("emptied_database")


def session(url: str, session_id: str = "s1") -> SessionRow:
    found = stored(url, lambda store: store.session(session_id))
    assert found is not None
    return found


def unfinished(url: str) -> dict[str, ExecutionRow]:
    async def load(store: Store) -> list[ExecutionRow]:
        return await store.executions("s1", unfinished=True)

    return {row.tool: row for row in stored(url, load)}


# The store


STORE_COMMANDS = [
    ("sessions", "list"),
    ("sessions", "show", "s1"),
    ("sessions", "close", "s1"),
    ("events", "s1"),
    ("events", "s1", "--follow"),
    ("requests", "list"),
    ("requests", "answer", "r1", "--approve"),
]


@pytest.mark.parametrize("command", STORE_COMMANDS, ids=" ".join)
def test_o3_a_missing_file_is_an_error_and_not_created(run: Command, tmp_path: Path, command: tuple[str]) -> None:
    done = run(*command)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"error: There is no file {tmp_path / 'sample.db'}. Name the store with --store")
    assert os.listdir(tmp_path) == []


def test_o3_the_default_store_is_in_the_current_folder(
    run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CALLBOARD_STORE")
    monkeypatch.chdir(tmp_path)
    assert "There is no file callboard.db." in run("sessions", "list").err
    run("migrate")
    assert (tmp_path / "callboard.db").exists()
    assert run("sessions", "list") == (0, "No sessions.\n", "")


def test_o3_the_option_overrides_the_environment(run: Command, tmp_path: Path) -> None:
    other = f"sqlite:///{tmp_path / 'other.db'}"
    post(other, session_id="elsewhere")
    assert "elsewhere" in run("sessions", "list", "--store", other).out
    assert run("sessions", "list").code == 1


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("memory://", "A store in memory is only visible to its own process. Name another one with --store."),
        ("nonsense", "There is no store for the address 'nonsense'. For a SQLite file, use"),
        ("sqlite:///", "A SQLite store needs a file: sqlite:///file.db."),
        (f"sqlite:////tmp/{'x' * 300}.db", "The SQLite file /tmp/xxx"),
        ("sqlite:////dev/null/x.db", "There is no file /dev/null/x.db."),
        ("postgresql://nobody:secret@127.0.0.1:1/x", "The PostgreSQL database x at 127.0.0.1:1 does not answer."),
    ],
)
def test_o3_a_store_that_cannot_be_used_is_an_error(run: Command, url: str, message: str) -> None:
    done = run("sessions", "list", "--store", url)
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith(f"error: {message}")
    assert "secret" not in done.err


def test_o3_a_foreign_database_is_left_unchanged(run: Command, tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "sample.db") as connection:
        connection.execute("CREATE TABLE recipes (name)")
    connection.close()
    before = (tmp_path / "sample.db").read_bytes()
    done = run("sessions", "list")
    assert (done.code, done.err) == (
        1,
        f"error: The SQLite file {tmp_path}/sample.db is a database of something else. Choose another name for "
        "Callboard's.\n",
    )
    assert (tmp_path / "sample.db").read_bytes() == before


# Listing


def test_o3_sessions_are_listed_with_requests_and_results(run: Command, url: str) -> None:
    call_and_close(url, "pay", "choose", "stumble", "add")
    post(url, session_id="another")
    done = run("sessions", "list")
    assert (done.code, done.err) == (0, "")
    header, *rows = done.out.splitlines()
    assert header.split() == ["session", "user", "state", "events", "requests", "results", "last", "activity", "title"]
    assert re.fullmatch(r"another +ann +open +\d+ \w+ ago", rows[0])
    assert re.fullmatch(rf"s1 +ann +open +{session(url).last_seq} +2 +1 +\d+ s ago", rows[1])


def test_o3_sessions_are_listed_with_their_last_activity(run: Command, url: str) -> None:
    now = time.time()
    events = [event(at=now - 900), event(at=now - 125)]
    old = session_row("s1", created_at=now - 9 * 86_400, updated_at=now - 9 * 86_400)
    stored(url, lambda store: store.commit([Change("s1", session=old), Change("s1", events=events)]))
    assert run("sessions", "list").out.splitlines()[1].endswith(" 2 min ago"), "and not nine days"
    [shown] = json.loads(run("sessions", "list", "--json").out)
    assert shown["last_activity"] > shown["updated_at"]
    assert re.search(r"^active .*, 2 min ago$", run("sessions", "show", "s1").out, re.MULTILINE)


def test_o3_sessions_are_filtered_by_user_and_printed_as_json(run: Command, url: str) -> None:
    call_and_close(url, "pay")
    [shown] = json.loads(run("sessions", "list", "--json", "--user", "ann").out)
    row = session(url)
    assert shown["id"] == "s1"
    assert (shown["open"], shown["namespaces"], shown["channel"]) == (True, ["sample"], "text")
    assert (shown["last_seq"], shown["open_requests"], shown["tools"]) == (row.last_seq, 1, list(row.tools))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", shown["created_at"])
    assert run("sessions", "list", "--json", "--user", "bob") == (0, "[]\n", "")
    assert run("sessions", "list", "--user", "bob") == (0, "No sessions.\n", "")


def test_o3_more_sessions_than_a_page_are_all_listed(run: Command, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("callboard.cli.commands.sessions.PAGE", 2)
    for number in range(5):
        post(url, session_id=f"s{number}")
    assert [each["id"] for each in json.loads(run("sessions", "list", "--json").out)] == ["s0", "s1", "s2", "s3", "s4"]


def test_o3_the_last_active_session_is_listed_first_with_its_title(run: Command, url: str) -> None:
    now = time.time()
    titles = {"a": "Holidays", "b": "Red \x1b[31m", "c": None}
    times = {"created_at": now - 9 * 86_400, "updated_at": now - 9 * 86_400}
    changes = [
        Change(name, session=session_row(name, **times), title=TitleWrite(title), events=[event(at=now - age)])
        for age, (name, title) in zip((300, 60, 86_400), titles.items(), strict=True)
    ]
    stored(url, lambda store: store.commit(changes))
    rows = run("sessions", "list").out.splitlines()[1:]
    assert [row.split()[0] for row in rows] == ["b", "a", "c"]
    assert [re.split(r" ago *", row)[1] for row in rows] == ["Red \\x1b[31m", "Holidays", ""]
    listed = json.loads(run("sessions", "list", "--json").out)
    assert [(each["id"], each["title"]) for each in listed] == [("b", titles["b"]), ("a", "Holidays"), ("c", None)]


def test_o3_names_cannot_control_the_terminal(run: Command, url: str) -> None:
    post(url, session_id="red \x1b[31m \u202e")
    assert "red \\x1b[31m \\u202e" in run("sessions", "list").out
    assert "red \\x1b[31m \\u202e" in run("sessions", "show", "red \x1b[31m \u202e").out


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(-3, "0 s"), (59.9, "59 s"), (60, "1 min"), (7199, "1 h"), (172_799, "47 h"), (172_800, "2 d")],
)
def test_o3_ages_have_one_unit(seconds: float, said: str) -> None:
    assert span(seconds) == said


# Showing


def test_o3_a_session_is_shown_beside_the_process_that_runs_it(shared: str, run: Command) -> None:
    with server(shared, "pay", "choose", "sweep", "stumble") as running:
        running.until("stumble failed")
        shown = json.loads(run("sessions", "show", "s1", "--json", "--store", shared).out)
        text = run("sessions", "show", "s1", "--store", shared).out
        last_seq = session(shared).last_seq  # a process that ends may still write
    assert (shown["id"], shown["user_id"], shown["open"], shown["first_seq"]) == ("s1", "ann", True, 1)
    assert shown["last_seq"] == last_seq
    executions: dict[str, Any] = {each["tool"]: each for each in shown["unfinished"]}
    assert {name: each["status"] for name, each in executions.items()} == {
        "pay": "waiting",
        "choose": "waiting",
        "sweep": "executing",
    }
    assert (executions["sweep"]["attempt"], executions["sweep"]["cancelling"]) == (1, False)
    assert executions["pay"]["arguments"] == {"amount": 5}
    assert {each["held_by"] for each in shown["unfinished"]} == {executions["pay"]["owner"]}
    pay, choose = shown["open_requests"]
    assert (pay["tool"], pay["payload"], pay["expires_at"]) == ("pay", {"amount": 5}, None)
    assert choose["expires_at"] > choose["created_at"]
    assert choose["answer_schema"]["required"] == ["colour", "amount"]
    [result] = shown["results"]
    assert (result["tool"], result["status"], result["error"]["category"]) == ("stumble", "failed", "permanent")
    holder = re.escape(executions["pay"]["owner"].rpartition("-")[0])
    assert re.search(r"^state +open$", text, re.MULTILINE)
    assert re.search(r"^namespaces +sample$", text, re.MULTILINE)
    assert re.search(
        rf"^x\S+ +pay +waiting for a person +0 of 3 +\d+ s +{holder} +{{\"amount\": 5}}$", text, re.MULTILINE
    )
    assert re.search(rf"^x\S+ +sweep +executing +1 of 3 +\d+ s +{holder} ", text, re.MULTILINE)
    assert re.search(r"^r\S+ +choose +\d+ s +in 59 min +\{", text, re.MULTILINE)
    assert re.search(r"^x\S+ +stumble +failed +permanent: The stairs are wet$", text, re.MULTILINE)


def test_e5_a_command_reports_dead_processes_and_recovers_nothing(run: Command, url: str) -> None:
    with server(url, "pay", "write") as running:
        running.kill()
    before = unfinished(url)
    text = run("sessions", "show", "s1").out
    shown = json.loads(run("sessions", "show", "s1", "--json").out)
    assert re.search(r"^x\S+ +write +executing .* \(gone\)", text, re.MULTILINE)
    assert [each["held_by"] for each in shown["unfinished"]] == [None, None]
    for command in (["sessions", "list"], ["events", "s1"], ["requests", "list"], ["sessions", "close", "s1"]):
        assert run(*command).code == 0
    assert unfinished(url) == before


def test_o3_an_idle_session_is_shown(run: Command, url: str) -> None:
    post(url)
    text = run("sessions", "show", "s1").out
    assert re.search(r"^namespaces +all$", text, re.MULTILINE)
    assert re.search(r"^channel +any$", text, re.MULTILINE)
    assert re.search(r"^last event +none$", text, re.MULTILINE)
    assert text.endswith("\n\nNo running calls, no open requests, no unread results.\n")


@pytest.mark.parametrize("command", [("show",), ("close",)])
def test_o3_an_unknown_session_is_an_error(run: Command, url: str, command: tuple[str]) -> None:
    post(url)
    done = run("sessions", *command, "s2")
    assert done == (4, "", "error: There is no session 's2'. See: callboard sessions list\n")


def test_o3_the_beginning_of_an_id_is_enough(run: Command, url: str) -> None:
    for name in ("alpha-1", "alpha-2", "beta", "beta-2"):
        post(url, session_id=name)
    assert json.loads(run("sessions", "show", "alpha-1", "--json").out)["id"] == "alpha-1"
    assert json.loads(run("sessions", "show", "beta", "--json").out)["id"] == "beta", "an exact id wins"
    shown = json.loads(run("sessions", "show", "beta-", "--json").out)
    assert (shown["id"], len(shown["open_requests"])) == ("beta-2", 0)
    assert run("events", "beta-") == run("events", "beta-2")
    assert run("requests", "list", "--session", "beta-").code == 0
    assert run("sessions", "close", "beta-").out.startswith("beta-2 of ann is closed.")
    assert (session(url, "beta").open, session(url, "beta-2").open) == (True, False)


def test_o3_an_ambiguous_beginning_is_an_error(run: Command, url: str) -> None:
    for name in ("alpha-1", "alpha-2", "beta"):
        post(url, session_id=name)
    done = run("sessions", "close", "alpha")
    message = "error: Several sessions begin with 'alpha': alpha-1, alpha-2. Give more of the id.\n"
    assert done == (2, "", message)
    assert all(session(url, name).open for name in ("alpha-1", "alpha-2"))
    assert run("sessions", "show", "").code == 4, "nothing is the beginning of no id"


def test_o3_on_a_terminal_lists_are_tables_that_fit(url: str) -> None:
    call_and_close(url, "pay")
    plain: Callable[[str], str] = lambda text: re.sub(r"\x1b\[[\d;]*m", "", text)  # noqa: E731
    with callboard(url, "sessions", "show", "s1", columns=150) as wide:
        shown = wide.end().out
    assert "\x1b[36m" in shown
    assert re.search(r"^x\S+ +pay +waiting for a person .* none +\{\"amount\": 5\}", plain(shown), re.MULTILINE)
    with callboard(url, "sessions", "show", "s1", columns=60) as narrow:
        shown = plain(narrow.end().out)
    assert re.search(r"^x\S+ +pay .* none *\n    arguments \{\"amount\": 5\} *$", shown, re.MULTILINE)


# Closing


def test_o3_closing_cancels_by_policy_and_lists_running_calls(shared: str, run: Command) -> None:
    with server(shared, "pay", "sweep", "write") as running:
        done = run("sessions", "close", "s1", "--tools", "sample_server:registry", "--store", shared)
        assert (done.code, done.err) == (0, "")
        first, *rest = done.out.splitlines()
        assert first == "s1 of ann is closed."
        cancelling, running_on = rest.index("Cancelling"), rest.index("Still running")
        assert [line.split()[1] for line in rest[cancelling + 2 : running_on - 1]] == ["sweep"]
        assert [line.split()[1] for line in rest[running_on + 2 :]] == ["pay", "write"]
        running.until("sweep cancelled")
        assert set(unfinished(shared)) == {"pay", "write"}
        assert not session(shared).open


def test_o3_closing_without_the_tools_cancels_nothing(run: Command, url: str) -> None:
    with server(url, "sweep"):
        before = session(url)
        done = run("sessions", "close", "s1")
        assert done.code == 0
        assert "Cancelling" not in done.out
        said = " ".join(done.err.split())  # a long path of the store moves the line break
        assert said == "To cancel the calls whose tools end with the session, name the tools with --tools."
        assert not unfinished(url)["sweep"].cancelling
        after = session(url)
        assert (after.open, after.tools, after.namespaces) == (False, before.tools, before.namespaces)


def test_o3_closing_prints_json(run: Command, url: str) -> None:
    call_and_close(url, "pay", "stumble")
    first, second = (json.loads(run("sessions", "close", "s1", "--json").out) for _ in range(2))
    assert (first["was_open"], second["was_open"]) == (True, False)
    [pay] = first["unfinished"]
    assert (pay["tool"], pay["status"], pay["held_by"], first["asked_to_stop"]) == ("pay", "waiting", None, [])
    assert run("sessions", "close", "s1").out.startswith("s1 of ann was already closed.\n")
    row = session(url)
    assert len(row.unconsumed) == 1, "results wait for the next login"
    assert "closed" in run("sessions", "list").out
