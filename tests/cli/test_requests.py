"""`callboard requests` for users and scripts (O3, M3): listing, and answering from another process."""

import asyncio
import io
import json
import re
import sys
from pathlib import Path

import pytest

from callboard import Outcome, Runtime
from callboard.cli.process import Exit
from callboard.storage.rows import RequestRow
from callboard.testing.store_rows import add, create, request_row
from tests.cli import sample_server
from tests.cli.harness import HERE, Command, call_and_close, callboard, post, server, stored


@pytest.fixture
def url(sqlite_url: str) -> str:
    return sqlite_url


@pytest.fixture
def run(url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.chdir(HERE)
    return Command(url, capsys, monkeypatch)


@pytest.fixture(params=["sqlite", "postgresql"])
def shared(request: pytest.FixtureRequest, url: str) -> str:
    """A store that several processes use."""
    return url if request.param == "sqlite" else request.getfixturevalue("emptied_database")


def requests(url: str) -> list[RequestRow]:
    return stored(url, lambda store: store.requests())


def store_request(url: str, row: RequestRow) -> None:
    stored(url, lambda store: store.commit([create("s1"), add(row)]))


def request_id(url: str) -> str:
    """Return the id of the only request."""
    [row] = requests(url)
    return row.id


def continued(url: str) -> Outcome:
    """Return the outcome of the only waiting call, in a runtime that is started now."""
    [row] = requests(url)

    async def work() -> Outcome:
        async with Runtime(sample_server.registry, store=url) as runtime:
            session = await sample_server.open_session(runtime)
            return await session.result(row.execution_id, timeout=90)

    return asyncio.run(work())


# Listing


def test_o3_open_requests_are_listed_oldest_first(run: Command, url: str) -> None:
    call_and_close(url, "pay", "choose")
    done = run("requests", "list")
    assert (done.code, done.err) == (0, "")
    header, *rows = done.out.splitlines()
    assert header.split() == ["request", "session", "user", "tool", "status", "age", "payload"]
    assert re.fullmatch(r'r\w+ +s1 +ann +pay +open +\d+ s +\{"amount": 5\}', rows[0])
    assert re.fullmatch(r'r\w+ +s1 +ann +choose +open, expires in 59 min +\d+ s +\{"question": .*\}', rows[1])
    assert len(rows) == 2


def test_o3_requests_are_filtered_and_printed_as_json(run: Command, url: str) -> None:
    call_and_close(url, "pay")
    post(url, session_id="s2")
    [shown] = json.loads(run("requests", "list", "--json", "--session", "s1", "--user", "ann").out)
    [row] = requests(url)
    assert (shown["id"], shown["execution_id"], shown["kind"]) == (row.id, row.execution_id, "human_request")
    assert (shown["status"], shown["payload"], shown["answer"]) == ("open", {"amount": 5}, None)
    assert shown["answer_schema"]["properties"].keys() == {"approved", "arguments", "reason"}
    assert run("requests", "list", "--json", "--user", "bob").out == "[]\n"
    assert run("requests", "list", "--session", "s2") == (0, "No open requests.\n", "")
    missing = run("requests", "list", "--session", "s3")
    assert (missing.code, missing.out) == (Exit.NOT_FOUND, "")


def test_o3_closed_requests_are_listed_with_all(run: Command, url: str) -> None:
    call_and_close(url, "pay")
    assert run("requests", "answer", request_id(url), "--reject", "--reason", "No.").code == 0
    assert run("requests", "list").out == "No open requests.\n"
    row = run("requests", "list", "--all").out.splitlines()[1]
    assert re.search(r'  refused +\d+ s +\{"amount": 5\} +\{"approved": false, "reason": "No."\}$', row)
    [shown] = json.loads(run("requests", "list", "--all", "--json").out)
    assert (shown["status"], shown["answer"]) == ("refused", {"approved": False, "reason": "No."})


def test_o3_an_expired_request_is_not_open(run: Command, url: str) -> None:
    late = request_row("r1", "s1", status="open", expires_at=1_000_000_000.0)
    store_request(url, late)
    assert run("requests", "list").out == "No open requests.\n"
    assert json.loads(run("requests", "list", "--all", "--json").out)[0]["status"] == "expired"


def test_o3_on_a_terminal_the_list_says_how_to_answer(url: str) -> None:
    call_and_close(url, "pay")
    with callboard(url, "requests", "list", columns=80) as command:
        shown = re.sub(r"\x1b\[[\d;]*m", "", command.end().out)
    assert re.search(r'^r\w+ +s1 +ann +pay +open +\d+ s +\{"amount": 5\} *$', shown, re.MULTILINE)
    assert "To answer: callboard requests answer REQUEST" in shown


# Answering beside a process, and without any


def test_m3_an_answer_from_another_process_completes_the_call(shared: str) -> None:
    with server(shared, "pay") as running:
        with callboard(shared, "requests", "answer", request_id(shared), "--approve") as command:
            done = command.end()
        running.until("pay succeeded paid 5 to bob")
    assert (done.code, re.sub(r"event \d+", "event N", done.out)) == (0, "pay is answered in session s1, as event N.\n")
    assert re.fullmatch(r"The call continues in \S+\.\n", done.err)


def test_m3_an_answer_continues_in_a_server_that_loaded_the_request(shared: str) -> None:
    with server(shared, "pay") as earlier:
        assert earlier.end().code == 0
    with server(shared) as running:
        with callboard(shared, "requests", "answer", request_id(shared), "--approve", "--json") as command:
            done = command.end()
        running.until("pay succeeded paid 5 to bob")
    assert json.loads(done.out)["goes_on"] is True
    with server(shared, "pay") as earlier:
        assert earlier.end().code == 0
    [row] = [row for row in requests(shared) if row.status == "open"]
    with server(shared) as running:
        with callboard(shared, "requests", "answer", row.id, "--approve") as command:
            done = command.end()
        running.until("pay succeeded paid 5 to bob")
    assert re.fullmatch(r"The call continues in \S+\.\n", done.err)


@pytest.mark.parametrize("end", ["ended", "killed"])
def test_m3_an_answer_without_a_process_waits_for_the_next_one(run: Command, url: str, end: str) -> None:
    with server(url, "pay") as running:
        if end == "killed":
            running.kill()
        else:
            assert running.end().code == 0
    done = run("requests", "answer", request_id(url), "--approve", "--arguments", '{"amount": 7, "to": "eve"}')
    assert (done.code, done.out[:15]) == (0, "pay is answered")
    assert "No process is waiting for it; the call continues when a runtime is started on this store.\n" in done.err
    assert continued(url).value == "paid 7 to eve"


def test_m3_a_refused_call_never_runs_and_the_model_learns_why(shared: str, run: Command) -> None:
    with server(shared, "pay") as running:
        done = run("requests", "answer", request_id(shared), "--reject", "--reason", "Too much.", "--store", shared)
        running.until("pay failed A person refused this call; it did not run. The reason: Too much.")
    assert (done.code, done.out[:14]) == (0, "pay is refused")
    assert "The call ends in " in done.err


def test_o3_the_beginning_of_a_request_id_is_enough(run: Command, url: str) -> None:
    for name in ("r1a", "r1b", "r2a"):
        store_request(url, request_row(name, "s1", execution_id=f"x{name}"))
    done = run("requests", "answer", "r1", "--reject")
    assert done == (2, "", "error: Several open requests begin with 'r1': r1a, r1b. Give more of the id.\n")
    assert run("requests", "answer", "r2", "{}").code == 0
    assert {row.id: row.status for row in requests(url)} == {"r1a": "open", "r1b": "open", "r2a": "answered"}


def test_m3_an_answer_to_other_arguments_is_refused(run: Command, url: str) -> None:
    call_and_close(url, "pay")
    [shown] = json.loads(run("requests", "list", "--json").out)
    refused = run("requests", "answer", request_id(url), "--approve", "--arguments-hash", "0" * 64)
    assert (refused.code, refused.out) == (1, "")
    assert "other arguments" in refused.err
    assert [row.status for row in requests(url)] == ["open"]
    done = run("requests", "answer", request_id(url), "--approve", "--arguments-hash", shown["arguments_hash"])
    assert done.code == 0
    assert continued(url).value == "paid 5 to bob"


def test_m3_a_typed_answer_is_the_result(run: Command, url: str) -> None:
    call_and_close(url, "choose")
    done = run("requests", "answer", request_id(url), '{"colour": "red", "amount": 4}', "--json")
    [row] = requests(url)
    assert (done.code, done.err) == (0, "")
    assert json.loads(done.out) == {
        "request_id": row.id,
        "session_id": "s1",
        "execution_id": row.execution_id,
        "tool": "choose",
        "status": "answered",
        "event": stored(url, lambda store: store.heads(["s1"]))["s1"].last_seq,
        "held_by": None,
        "goes_on": False,
    }
    assert continued(url).value == {"colour": "red", "amount": 4}


def test_m3_a_wallet_request_is_answered(run: Command, url: str) -> None:
    call_and_close(url, "send")
    refused = run("requests", "answer", request_id(url), "--approve")
    assert (refused.code, refused.out) == (Exit.INVALID, "")
    assert 'such as: {"status": "confirmed"' in refused.err
    assert run("requests", "answer", request_id(url), '{"status": "done"}').code == Exit.INVALID
    assert run("requests", "answer", request_id(url), '{"status": "confirmed", "transaction_hash": "0xabc"}').code == 0
    value = continued(url).value
    assert (value["status"], value["transaction_hash"]) == ("confirmed", "0xabc")


def test_m3_a_wallet_rejects(run: Command, url: str) -> None:
    call_and_close(url, "send")
    assert run("requests", "answer", request_id(url), "--reject", "--reason", "No gas.").code == 0
    event = json.loads(run("events", "s1", "--last", "1", "--json").out)
    assert event["kind"] == "wallet_tx_response"
    assert (event["data"]["status"], event["data"]["detail"]) == ("rejected", "No gas.")


def test_m3_an_answer_is_not_a_login(run: Command, url: str) -> None:
    call_and_close(url, "pay")
    assert run("sessions", "close", "s1").code == 0
    before = stored(url, lambda store: store.session("s1"))
    assert run("requests", "answer", request_id(url), "--approve").code == 0
    after = stored(url, lambda store: store.session("s1"))
    assert before is not None
    assert after is not None
    assert (after.open, after.tools, after.updated_at) == (False, before.tools, before.updated_at)
    assert after.last_seq == before.last_seq + 1


@pytest.mark.parametrize("given", ["@{}", "-"])
def test_o3_an_answer_is_in_a_file_or_on_standard_input(
    run: Command, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    document = b'{"colour": "blue", "amount": 2}'
    (tmp_path / "answer.json").write_bytes(document)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(document)))
    call_and_close(url, "choose")
    assert run("requests", "answer", request_id(url), given.format(tmp_path / "answer.json")).code == 0
    [row] = requests(url)
    assert json.loads(row.answer or b"") == {"colour": "blue", "amount": 2}


# Invalid answers


@pytest.mark.parametrize(
    ("tool", "answer", "problems"),
    [
        (
            "choose",
            '{"colour": 3}',
            ["  amount: This property is required", '  colour: 3 is not of type "string". Received: 3'],
        ),
        ("choose", '{"colour": "red", "amount": 1}', ["  amount: 1 is less than the minimum of 2. Received: 1"]),
        ("choose", "5", ['  (all): 5 is not of type "object". Received: 5']),
        (
            "pay",
            '{"approved": 1, "x": 2}',
            ["  approved: 1 is not of type", "  (all): There is no such property: 'x'."],
        ),
        ("pay", "{}", ["  approved: This property is required and was not given."]),
    ],
)
def test_o3_problems_of_an_answer_are_listed(
    run: Command, url: str, tool: str, answer: str, problems: list[str]
) -> None:
    call_and_close(url, tool)
    done = run("requests", "answer", request_id(url), answer)
    assert (done.code, done.out) == (Exit.INVALID, "")
    first, *listed = done.err.splitlines()
    assert first == "error: the answer is not valid:"
    assert len(listed) == len(problems)
    for problem in problems:
        assert any(line.startswith(problem) for line in listed), listed
    [row] = requests(url)
    assert (row.status, row.answer) == ("open", None)


def test_m3_with_the_tools_an_answer_is_validated_by_their_types(run: Command, url: str) -> None:
    call_and_close(url, "choose")
    odd = '{"colour": "red", "amount": 3}'  # allowed by the JSON schema
    done = run("requests", "answer", request_id(url), odd, "--tools", "sample_server:registry")
    assert (done.code, done.out) == (Exit.INVALID, "")
    assert re.search(r"^  amount: .*it must be even", done.err, re.MULTILINE)
    assert requests(url)[0].status == "open"


def test_m3_edited_arguments_are_validated_by_the_tool(run: Command, url: str) -> None:
    call_and_close(url, "pay")
    edited = ("--approve", "--arguments", '{"amount": "lots"}')
    done = run("requests", "answer", request_id(url), *edited, "--tools", "sample_server:registry")
    assert (done.code, done.out) == (Exit.INVALID, "")
    assert re.search(r'^  amount: Input should be a valid integer.* Received: "lots"$', done.err, re.MULTILINE)
    assert requests(url)[0].status == "open"
    done = run(
        "requests",
        "answer",
        request_id(url),
        "--approve",
        "--arguments",
        '{"amount": 6}',
        "--tools",
        "sample_server:registry",
    )
    assert (done.code, "With --tools" in done.err) == (0, False)
    assert continued(url).value == "paid 6 to bob"


def test_m3_without_the_tools_edited_arguments_are_validated_when_the_call_runs(run: Command, url: str) -> None:
    call_and_close(url, "pay")
    done = run("requests", "answer", request_id(url), "--approve", "--arguments", '{"amount": "lots"}')
    assert done.code == 0
    assert "The new arguments are validated when the call runs. With --tools" in done.err
    outcome = continued(url)
    assert outcome.error is not None
    assert outcome.error.category == "validation"


def test_o3_a_question_cannot_be_rejected(run: Command, url: str) -> None:
    call_and_close(url, "choose")
    done = run("requests", "answer", request_id(url), "--reject")
    assert (done.code, done.out) == (Exit.INVALID, "")
    assert "The request of choose needs an answer, not an approval. Give it as JSON." in done.err


TOOLSET = """
from callboard import Registry
import sample_server

class Toolset:
    async def __aenter__(self):
        raise SystemError("started")
    async def __aexit__(self, *exc):
        pass
    def tools(self):
        return []
    def on_change(self, callback):
        pass

registry = Registry([sample_server.pay, Toolset()])
"""


def test_o3_an_answer_does_not_start_the_toolsets(
    run: Command, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "cli_held.py").write_text(TOOLSET)
    monkeypatch.syspath_prepend(str(HERE))
    monkeypatch.chdir(tmp_path)
    call_and_close(url, "pay")
    assert run("requests", "answer", request_id(url), "--approve", "--tools", "cli_held:registry").code == 0


def test_o3_a_registry_without_the_tool_is_an_error(run: Command, url: str) -> None:
    call_and_close(url, "pay")
    done = run("requests", "answer", request_id(url), "--approve", "--tools", "callboard.toolkits.think:think")
    assert (done.code, done.out) == (Exit.NOT_FOUND, "")
    assert "There is no tool 'pay'." in done.err
    assert requests(url)[0].status == "open"


@pytest.mark.parametrize(
    ("status", "message"),
    [
        ("answered", "The request of add was answered 2 min ago."),
        ("used", "The request of add was answered 2 min ago."),
        ("refused", "The request of add was refused 2 min ago."),
        ("expired", "The request of add expired 2 min ago."),
        ("withdrawn", "The request of add was withdrawn when its call ended, 2 min ago."),
    ],
)
def test_o3_a_closed_request_says_when_it_was_closed(
    run: Command, url: str, monkeypatch: pytest.MonkeyPatch, status: str, message: str
) -> None:
    row = request_row("r1", "s1", status=status, tool="add", answered_at=1_800_000_000.0)
    store_request(url, row)
    monkeypatch.setattr("callboard.cli.commands.requests.time.time", lambda: 1_800_000_130.0)
    assert run("requests", "answer", "r1", "--approve") == (Exit.FAILED, "", f"error: {message}\n")


def test_o3_an_expired_request_cannot_be_answered(run: Command, url: str) -> None:
    row = request_row("r1", "s1", status="open", tool="add", expires_at=1_000_000_000.0)
    store_request(url, row)
    done = run("requests", "answer", "r1", "--approve")
    assert (done.code, done.out) == (Exit.FAILED, "")
    assert re.fullmatch(r"error: The request of add expired \d+ d ago\.\n", done.err)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["r1", "--approve"], Exit.NOT_FOUND, "There is no request 'r1'. See: callboard requests list"),
        (["r1"], Exit.USAGE, "Give exactly one of: an answer as JSON, --approve, --reject."),
        (["r1", "--approve", "--reject"], Exit.USAGE, "Give exactly one of"),
        (["r1", "{}", "--approve"], Exit.USAGE, "Give exactly one of"),
        (
            ["r1", "--approve", "--reason", "x"],
            Exit.USAGE,
            "--arguments needs --approve, and --reason needs --reject.",
        ),
        (["r1", "--reject", "--arguments", "{}"], Exit.USAGE, "--arguments needs --approve"),
        (["r1", "{"], Exit.INVALID, "ANSWER is not JSON: "),
        (["r1", ""], Exit.INVALID, "ANSWER is empty, which is not JSON."),
        (["r1", "@nowhere.json"], Exit.USAGE, "ANSWER @nowhere.json: the file cannot be read: No such file"),
        (["r1", "--approve", "--arguments", "[1"], Exit.INVALID, "--arguments is not JSON: "),
        (["r1", "--approve", "--tools", "nowhere:x"], Exit.FAILED, "There is no module 'nowhere'"),
    ],
)
def test_o3_the_exit_code_says_what_is_wrong(
    run: Command, url: str, arguments: list[str], code: Exit, message: str
) -> None:
    post(url)
    done = run("requests", "answer", *arguments)
    assert (done.code, done.out) == (code, "")
    assert message in done.err


def test_o3_the_help_of_answer_names_its_exit_codes(run: Command, url: str) -> None:
    done = run("requests", "answer", "--help")
    codes = set(map(int, re.findall(r"^ +(\d+)  \w", done.out, re.MULTILINE)))
    assert codes == set(Exit) - {Exit.TIMEOUT}
