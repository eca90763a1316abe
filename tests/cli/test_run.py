"""`callboard tools run` for users and scripts (O3): output, Ctrl-C, and exit codes."""

import io
import json
import re
import select
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from callboard.cli.process import Exit
from tests.cli.harness import HERE, Done, Process, run_here

Start = Callable[..., Process]
Run = Callable[..., Done]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start `callboard tools run` in a new process, with a tool of `sample_tools` or another."""
    with ExitStack() as stack:

        def begin(name: str, *options: str, tools: str = "sample_tools:registry", **how: Any) -> Process:
            return stack.enter_context(Process("tools", "run", name, "--tools", tools, *options, **how))

        yield begin


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `callboard tools run` in this process."""
    monkeypatch.chdir(HERE)
    monkeypatch.delitem(sys.modules, "sample_tools", raising=False)

    def command(name: str, *options: str, tools: str = "sample_tools:registry") -> Done:
        done = run_here(capsys, monkeypatch, "tools", "run", name, "--tools", tools, *options)
        return done._replace(err=done.err.removeprefix("imported\n"))

    return command


# Output


def test_o3_only_the_result_is_on_standard_output(run: Run) -> None:
    done = run("build")
    assert done.code == 0
    assert json.loads(done.out) == {"contracts": 3, "names": ["Token", "Vault"], "größe": 1.5}
    assert done.out == json.dumps(json.loads(done.out), indent=2, ensure_ascii=False) + "\n"
    *lines, last = done.err.splitlines()
    assert lines == [
        "build: preparing",
        "build: compiling 0%: 0 of 3 contracts",
        "build: compiling 33%: 1 of 3 contracts",
        "build: compiling 66%: 2 of 3 contracts",
        'build: partial: {"compiled": 3}',
        "build: linking 100%",
    ]
    assert re.fullmatch(r"build: succeeded in \S+ m?s, 1 attempt", last)


def test_o3_a_text_is_printed_unchanged(run: Run) -> None:
    done = run("count")
    assert (done.code, done.out) == (0, "number 3\n")
    assert "count: partial: number 1\ncount: partial: number 2\n" in done.err


def test_o3_attempts_and_retries_are_shown(run: Run) -> None:
    done = run("flaky")
    assert (done.code, done.out) == (0, "It answered.\n")
    failed = r"flaky: attempt {} of 3 failed \(transient: The service is away \(try {}\)\); next attempt in \d+ ms\n"
    assert re.search(failed.format(1, 1), done.err)
    assert re.search(failed.format(2, 2), done.err)
    assert "flaky: attempt 3 of 3\n" in done.err
    assert re.search(r"flaky: succeeded in \S+ m?s, 3 attempts\n$", done.err)


def test_o3_a_failure_names_its_cause(run: Run) -> None:
    done = run("doomed")
    assert (done.code, done.out) == (1, "")
    assert "error: A service that the tool needs is not available at the moment.\n" in done.err
    assert re.search(r"  ConnectionError: no route to \[bold\]host\[/bold\] \(sample_tools.py, line \d+\)\n", done.err)
    assert re.search(r"doomed: failed in \S+ m?s, 3 attempts\n$", done.err)
    assert "KeyError: 'missing' (sample_tools.py, line" in run("broken").err


def test_o3_nested_calls_are_named(run: Run) -> None:
    done = run("parent")
    assert (done.code, json.loads(done.out)) == (0, ["It answered.", 3])
    assert "parent: delegating 10%\nflaky: asking 50%: the service\n" in done.err
    assert "flaky: succeeded\nadd: succeeded\nparent: succeeded in" in done.err


@pytest.mark.parametrize(("name", "value"), [("later", "[\n  1,\n  2\n]\n"), ("promoted", "after its budget\n")])
def test_o3_late_results_are_waited_for(run: Run, name: str, value: str) -> None:
    done = run(name)
    assert (done.code, done.out) == (0, value)
    assert f"{name}: succeeded" in done.err


def test_o3_printed_output_of_a_tool_is_not_its_result(run: Run) -> None:
    done = run("noisy")
    assert (done.code, done.out) == (0, "\x1b[2Jcleared\nnext line — ü\n")
    assert "printed by the tool\n" in done.err


def test_o3_control_characters_are_escaped(run: Run, start: Start) -> None:
    lines = ["noisy: \\x1b[31mred\\x1b[0m: two lines", "noisy: partial: \\x1b]0;title\\x07"]
    assert run("noisy").err.splitlines()[1:3] == lines
    on_terminal = start("noisy", terminal="err").end()
    assert "\\x1b]0;title\\x07" in on_terminal.err
    assert "\x1b]0;" not in on_terminal.err


def test_o3_control_characters_in_json_are_escaped(run: Run, start: Start) -> None:
    value = {"x\x9b": "\x9b31m\u202eabc\x7f"}
    done = run("disguised")
    assert (done.code, json.loads(done.out)) == (0, value)
    assert done.out.isascii()
    on_terminal = start("disguised", terminal="out").end()
    assert json.loads(re.sub(r"\x1b\[[\d;]*m", "", on_terminal.out)) == value
    as_events = run("disguised", "--json")
    assert as_events.out.isascii()
    assert events(as_events.out)[-1]["data"]["value"] == value


def test_o3_events_that_come_too_fast_are_counted(run: Run) -> None:
    done = run("flood")
    assert (done.code, done.out) == (0, "null\n")
    assert re.search(r"^[\d,]+ events came too fast and are not shown\.$", done.err, re.MULTILINE)


# Events for programs


def events(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_o3_every_event_is_a_line_of_json(run: Run) -> None:
    done = run("flaky", "--json")
    assert (done.code, done.err) == (0, "")
    shown = events(done.out)
    assert [each["seq"] for each in shown] == list(range(1, len(shown) + 1))
    attempt = ["tool_executing", "tool_progress"]
    kinds = ["tool_started", "tool_validating", *attempt, "tool_retrying", *attempt, "tool_retrying", *attempt]
    assert [each["kind"] for each in shown] == [*kinds, "tool_result"]
    assert shown[-1]["data"]["value"] == "It answered."
    assert all(each["data"]["tool"] == "flaky" for each in shown)


@pytest.mark.parametrize(
    ("name", "code", "category"), [("doomed", 1, "transient"), ("add", 3, "validation"), ("broken", 1, "execution")]
)
def test_o3_a_failure_is_the_last_line_of_json(run: Run, name: str, code: int, category: str) -> None:
    done = run(name, "--json")
    last = events(done.out)[-1]
    assert (done.code, done.err) == (code, "")
    assert (last["kind"], last["data"]["status"]) == ("tool_result", "failed")
    assert last["data"]["error"]["category"] == category


def test_o3_the_last_line_of_json_is_not_of_a_nested_call(run: Run) -> None:
    shown = events(run("parent", "--json").out)
    assert [each["data"]["tool"] for each in shown if each["kind"] == "tool_result"] == ["flaky", "add", "parent"]
    assert shown[-1]["data"]["tool"] == "parent"


@pytest.mark.parametrize("name", ["nope", "gated"])
def test_o3_without_a_call_there_is_no_json(run: Run, name: str) -> None:
    done = run(name, "--json")
    assert (done.code != 0, done.out) == (True, "")
    assert done.err.startswith("error: The")


@pytest.mark.parametrize("last", ["tool_started", "for ever"])
def test_o3_closing_the_output_ends_the_command_without_an_error(start: Start, last: str) -> None:
    """At the next event, and also if there is none, as in `callboard tools run … --json | head -1`."""
    running = start("hang", "--json", '--args={"failures": 1}')
    running.until(last, "out")
    running.close("out")
    done = running.end()
    assert done.code == Exit.OK
    assert done.err in ("imported\n", "imported\ncleaned up\n")


# Arguments


def test_o3_arguments_are_json_text(run: Run) -> None:
    assert run("add", "--args", '{"first": 1, "second": 2}').out == "3\n"


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_o3_arguments_are_in_a_file(run: Run, tmp_path: Path, mark: bytes) -> None:
    file = tmp_path / "arguments.json"
    file.write_bytes(mark + b'{"first": 40,\n"second": 2}\n')
    assert run("add", "--args", f"@{file}").out == "42\n"


def test_o3_arguments_are_on_standard_input(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b'{"first": 5, "second": 2}')))
    assert run("add", "--args", "-").out == "7\n"


def test_o3_typed_arguments_end_with_ctrl_d(start: Start) -> None:
    running = start("add", "--args", "-", terminal="err")
    running.until("Ctrl-D", "err")
    running.press(b'{"first": 1, "second": 2}\n\x04')
    done = running.end()
    assert (done.code, done.out) == (0, "3\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"first": 1,}', "--args is not JSON: Illegal trailing comma|Expecting property name"),
        ('{"first" 1}', r"at line 1, column 10\.\n  \{\"first\" 1\}\n           \^\n"),
        ('{\n  "first": one\n}', r"at line 2, column 12\.\n    \"first\": one\n             \^\n"),
        ("{'first': 1}", "at line 1, column 2"),
        ('{"' + "x" * 200 + '": }', r"column 206\.\n  x+\": \}\n +\^\n"),
        ("", r"--args is empty, which is not JSON\. For no arguments, use \{\}\."),
        ("[" * 100_000, "--args is nested too deeply"),
        ("9" * 5000, "--args cannot be used"),
    ],
)
def test_o3_a_syntax_error_shows_its_position(run: Run, text: str, message: str) -> None:
    done = run("add", "--args", text)
    assert (done.code, done.out) == (Exit.INVALID, "")
    assert done.err.startswith("error: ")
    assert re.search(message, done.err)


def test_o3_a_file_that_is_not_text_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "latin.json").write_bytes(b'{"first": "\xe9"}')
    done = run("add", "--args", f"@{tmp_path / 'latin.json'}")
    assert done.code == Exit.INVALID
    assert "is not UTF-8 text: see byte 12." in done.err


PROBLEMS = '{"first": "one", "third": [1, 2]}'


def test_o3_problems_of_the_arguments_are_listed(run: Run) -> None:
    done = run("add", "--args", PROBLEMS)
    assert (done.code, done.out) == (Exit.INVALID, "")
    assert done.err.splitlines() == [
        "error: the arguments of add are not valid:",
        '  first: Input should be a valid integer. Received: "one"',
        "  second: This property is required and was not given.",
        "  third: There is no such property. Leave it out. Received: [1, 2]",
        "For its parameters, run: callboard tools schema add --tools sample_tools:registry",
        "add: failed before it ran",
    ]


def test_o3_a_problem_is_printed_whole_whatever_the_received_value_is(run: Run) -> None:
    done = run("add", "--args", '{"first": "one, not two", "second": 2}')
    assert '  first: Input should be a valid integer. Received: "one, not two"' in done.err.splitlines()


def test_o3_on_a_terminal_it_is_a_table(start: Start) -> None:
    done = start("add", "--args", PROBLEMS, terminal="err").end()
    shown = re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", done.err)
    assert re.search(r"  argument +problem +received", shown)
    assert re.search(r"  second +This property is required and was not given\.", shown)
    assert re.search(r"  third +There is no such property\. Leave it out\. +\[1, 2\]", shown)


# Requests to people


PAYMENT = ("send_payment", "--args", '{"to": "Ada", "amount": "5"}')


def test_o3_a_call_that_is_approved_runs(start: Start) -> None:
    with start(*PAYMENT, tools="callboard.demo.tools:tools") as process:
        process.until("send_payment: approve? y(es), n(o), e(dit) > ", "err")
        process.write("perhaps\nyes\n")
        done = process.end()
    assert (done.code, json.loads(done.out)["amount"]) == (0, "5.00")
    assert done.err.count("approve? y(es)") == 2
    assert "send_payment: asks a person: to: Ada, amount: 5" in done.err
    assert "send_payment: approved\n" in done.err
    assert '{"' not in done.err


def test_o3_a_call_that_is_rejected_fails_and_does_not_run(start: Start) -> None:
    with start(*PAYMENT, tools="callboard.demo.tools:tools") as process:
        process.write("n\nToo much.\n")
        done = process.end()
    assert (done.code, done.out) == (Exit.FAILED, "")
    assert "send_payment: rejected: Too much.\n" in done.err
    assert "A person refused this call; it did not run. The reason: Too much." in done.err


def test_o3_edited_arguments_are_validated_before_the_call_runs(start: Start) -> None:
    with start(*PAYMENT, tools="callboard.demo.tools:tools") as process:
        process.write('e\n{"to": "Ada", "amount": -1}\n{"to": "Ada", "amount": 7}\n')
        done = process.end()
    assert (done.code, json.loads(done.out)["amount"]) == (0, "7.00")
    assert "amount: " in done.err


def test_o3_a_question_is_answered_field_by_field(start: Start) -> None:
    with start("ask_delivery", "--args", '{"parcel": "lamp"}', tools="callboard.demo.tools:tools") as process:
        process.write("2\nn\n\n")
        done = process.end()
    assert json.loads(done.out) == {"how": "to a neighbour", "ring": False, "note": ""}
    assert "ask_delivery: how: to a neighbour, ring: false, note:\n" in done.err
    assert re.search(r"ask_delivery: succeeded in \S+ m?s\n$", done.err)
    assert "ask_delivery: how (1 to my door, 2 to a neighbour, 3 to a parcel shop) > " in done.err


def test_o3_a_call_that_is_not_answered_is_cancelled(start: Start) -> None:
    with start("approve") as process:
        done = process.end()
    assert (done.code, done.out) == (Exit.FAILED, "")
    assert "approve was not answered: the input has ended." in done.err


def test_o3_ctrl_c_ends_a_call_that_waits_for_an_answer(start: Start) -> None:
    with start("approve") as process:
        process.until("answer as JSON > ", "err")
        process.interrupt()
        process.until("approve: cancelled", "err")
        assert process.end().code == Exit.INTERRUPTED


def test_o3_a_terminal_asks_below_the_progress(start: Start) -> None:
    with start(*PAYMENT, tools="callboard.demo.tools:tools", terminal="err") as process:
        process.until("approve? y(es), n(o), e(dit) > ", "err")
        process.press(b"y\n")
        shown = process.until("succeeded", "err")
    assert "send_payment asks a person: to: Ada, amount: 5" in shown
    assert "send_payment approved" in shown


# Exit codes


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["build"], Exit.OK, "build: succeeded"),
        (["doomed"], Exit.FAILED, "doomed: failed"),
        (["add", "--args", "@nowhere.json"], Exit.USAGE, "--args @nowhere.json: the file cannot be read: No such"),
        (["add", "--args", "@"], Exit.USAGE, "--args @ needs the name of a file"),
        (["build", "--timeout", "0"], Exit.USAGE, "--timeout must be a number of seconds above 0."),
        (["build", "--timeout", "nan"], Exit.USAGE, "--timeout must be a number of seconds above 0."),
        (["build", "--timeout", "soon"], Exit.USAGE, "Invalid value for '--timeout'"),
        (["build", "--nonsense"], Exit.USAGE, "--nonsense"),
        (["add"], Exit.INVALID, "first: This property is required"),
        (["add", "--args", "5"], Exit.INVALID, "(all): Input should be an object."),
        (["add", "--args", '{"first": 1, "first": 1, "second": 1}'], Exit.INVALID, "give 'first' twice"),
        (["buld"], Exit.NOT_FOUND, "There is no tool 'buld'. Did you mean build?"),
        (["qqqq"], Exit.NOT_FOUND, "There is no tool 'qqqq'. See: callboard tools list --tools sample_tools:registry"),
        (["gated"], Exit.NOT_FOUND, "The tool 'gated' is hidden: beta is off. Turn it on with CALLBOARD_GATE_BETA=1."),
    ],
)
def test_o3_the_exit_code_says_how_it_ended(run: Run, arguments: list[str], code: Exit, message: str) -> None:
    done = run(*arguments)
    assert done.code == code
    assert message in done.err


def test_o3_a_gate_that_is_open_lets_it_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALLBOARD_GATE_BETA", "1")
    assert run("gated").out == "shown\n"


@pytest.mark.parametrize("name", ["hang", "sleep_in_a_thread", "tomorrow"])
def test_o3_a_timeout_ends_it(start: Start, name: str) -> None:
    done = start(name, "--timeout", "0.1").end()
    assert (done.code, done.out) == (Exit.TIMEOUT, "")
    assert f"error: The tool {name} did not finish in time." in done.err
    assert re.search(rf"{name}: failed in \S+ m?s, 1 attempt\n$", done.err)
    assert ("cleaned up" in done.err) == (name == "hang")


def test_o3_the_help_names_every_exit_code(run: Run) -> None:
    done = run("build", "--help")
    assert done.code == 0
    for code in Exit:
        assert re.search(rf"^ +{code.value}  \w", done.out, re.MULTILINE)


# Ctrl-C


@pytest.mark.parametrize("terminal", [False, True])
def test_o3_an_interrupt_cancels_and_waits_for_the_clean_up(start: Start, terminal: bool) -> None:
    running = start("hang", terminal="err" if terminal else None)
    running.until("for ever", "err")
    if terminal:
        running.press(b"\x03")
    else:
        running.interrupt()
    done = running.end()
    assert (done.code, done.out) == (Exit.INTERRUPTED, "")
    said, cleaned, ended = (done.err.index(text) for text in ("Press Ctrl-C again", "cleaned up", "cancelled"))
    assert said < cleaned < ended


def test_o3_an_interrupt_is_the_last_line_of_json(start: Start) -> None:
    running = start("hang", "--json")
    running.until("tool_progress", "out")
    running.interrupt()
    done = running.end()
    assert done.code == Exit.INTERRUPTED
    assert events(done.out)[-1]["data"]["status"] == "cancelled"


def test_o3_an_interrupt_ends_the_delay_before_a_retry(start: Start) -> None:
    running = start("tomorrow")
    running.until("next attempt in 1:00 min", "err")
    running.interrupt()
    done = running.end()
    assert done.code == Exit.INTERRUPTED
    assert "tomorrow: cancelled in" in done.err


@pytest.mark.parametrize("terminal", [False, True])
def test_o3_a_second_interrupt_exits_at_once(start: Start, terminal: bool) -> None:
    running = start("stubborn", terminal="err" if terminal else None)
    running.until("hanging", "err")
    running.interrupt()
    running.until("not now", "err")
    running.interrupt()
    done = running.end()
    assert (done.code, done.out) == (Exit.INTERRUPTED, "")
    assert "stubborn: cancelled" not in done.err
    assert not terminal or "\x1b[?25h" in done.err  # the cursor is back


def test_o3_a_second_interrupt_exits_a_blocked_event_loop(start: Start) -> None:
    running = start("block")
    running.until("blocking", "err")
    while not running.has_ended:  # pending signals of one kind are merged
        running.interrupt()
        select.select([], [], [], 0.05)
    assert running.end().code == Exit.INTERRUPTED


BLOCKING = """
import os, sys, time
from callboard import Registry, tool

@tool
async def block() -> str:
    '''Block the event loop until there is a file.'''
    print("blocking", file=sys.stderr, flush=True)
    while not os.path.exists("go"):
        time.sleep(0.01)
    return "unblocked"

registry = Registry([block])
"""


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_o3_a_call_that_ends_despite_an_interrupt_is_shown(
    start: Start, tmp_path: Path, options: tuple[str, ...]
) -> None:
    (tmp_path / "blocking.py").write_text(BLOCKING)
    running = start("block", *options, tools="blocking:registry", folder=tmp_path)
    running.until("blocking", "err")
    running.interrupt()
    (tmp_path / "go").touch()
    done = running.end()
    assert done.code == Exit.OK
    assert "Cancelling" not in done.err
    if options:
        last = events(done.out)[-1]
        assert (last["kind"], last["data"]["value"]) == ("tool_result", "unblocked")
    else:
        assert done.out == "unblocked\n"


def test_o3_an_interrupt_while_the_tools_end_keeps_the_code_of_the_call(start: Start, held: Path) -> None:
    running = start("hello", tools="held:lingering", folder=held)
    running.until("disconnecting", "err")
    running.interrupt()
    done = running.end()
    assert (done.code, done.out) == (Exit.OK, "hello\n")
    assert done.err.endswith("The toolsets were not closed cleanly: stopped.\n")


def test_o3_a_thread_that_does_not_stop_does_not_delay_the_exit(start: Start) -> None:
    running = start("sleep_in_a_thread")
    running.until("asleep", "err")
    running.interrupt()
    assert running.end().code == Exit.INTERRUPTED


# On a terminal


def test_o3_a_bar_with_stage_fraction_and_message(start: Start) -> None:
    running = start("hang", terminal="err")
    shown = running.until("for ever", "err")
    assert "\x1b[?25l" in shown  # the cursor would flicker
    assert "━" in shown
    assert " 40%" in shown
    assert "hanging" in shown
    running.interrupt()
    assert running.end().err.rstrip().count("\x1b[?25h") == 1


def test_o3_a_spinner_where_the_fraction_is_unknown(start: Start) -> None:
    running = start("stubborn", terminal="err")
    shown = running.until("hanging", "err")
    assert re.search("[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]", shown)
    assert "━" not in shown


def test_o3_the_attempt_and_the_error_before_it(start: Start) -> None:
    running = start("hang", "--args", '{"failures": 1}', terminal="err")
    shown = running.until("attempt 2 of 3", "err")
    assert "attempt 1 of 3 failed" in shown
    assert "transient: Not yet" in shown


def test_o3_the_delay_before_a_retry_counts_down(start: Start) -> None:
    running = start("tomorrow", terminal="err")
    running.wait_for(lambda shown: len(set(re.findall(r"next attempt in (\d\d\.\d) s", shown))) > 1, "err")


def test_o3_the_result_does_not_mix_with_the_view(start: Start) -> None:
    done = start("build", terminal="err").end()
    assert done.code == 0
    assert "\x1b" not in done.out
    assert json.loads(done.out)["contracts"] == 3
    assert '{"compiled": 3}' in done.err
    assert re.search(r"✓ .*build.* succeeded.* in ", done.err)


@pytest.mark.parametrize("environment", [{"TERM": "dumb"}, {"PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}])
def test_o3_a_simple_terminal_gets_plain_lines(start: Start, environment: dict[str, str]) -> None:
    done = start("build", terminal="err", **environment).end()
    assert done.code == 0
    assert "build: compiling 33%: 1 of 3 contracts" in done.err
    assert "\x1b" not in done.err.replace("\x1b[0m", "")


# Toolsets

TOOLSET = """
import asyncio
from callboard import Registry, tool

@tool
async def hello() -> str:
    '''Greet.'''
    return "hello"

class Toolset:
    def __init__(self, at_start=None, at_end=None):
        self.at_start, self.at_end = at_start, at_end
    async def __aenter__(self):
        if self.at_start == "hang":
            import sys
            print("connecting", file=sys.stderr, flush=True)
            await asyncio.Event().wait()
        elif self.at_start:
            raise self.at_start
        return self
    async def __aexit__(self, *exc):
        if self.at_end == "hang":
            import sys
            print("disconnecting", file=sys.stderr, flush=True)
            await asyncio.Event().wait()
        elif self.at_end:
            raise self.at_end
    def tools(self):
        return [hello]
    def on_change(self, callback):
        pass

fine = Registry([Toolset()])
refused = Registry([Toolset(at_start=ConnectionRefusedError("port 1"))])
hanging = Registry([Toolset(at_start="hang")])
lingering = Registry([Toolset(at_end="hang")])
unclean = Registry([Toolset(at_end=ExceptionGroup("several", [RuntimeError("half closed")]))])
"""


@pytest.fixture
def held(tmp_path: Path) -> Path:
    (tmp_path / "held.py").write_text(TOOLSET)
    return tmp_path


def test_o3_tools_of_a_toolset_are_run(start: Start, held: Path) -> None:
    done = start("hello", tools="held:fine", folder=held).end()
    assert (done.code, done.out) == (0, "hello\n")


def test_o3_a_toolset_that_does_not_start_is_an_error(start: Start, held: Path) -> None:
    done = start("hello", tools="held:refused", folder=held).end()
    assert (done.code, done.out) == (1, "")
    assert done.err == "error: The toolsets cannot be started: ConnectionRefusedError: port 1.\n"


def test_o3_a_toolset_that_fails_to_close_keeps_the_result(start: Start, held: Path) -> None:
    done = start("hello", tools="held:unclean", folder=held).end()
    assert (done.code, done.out) == (0, "hello\n")
    assert done.err.endswith("The toolsets were not closed cleanly: RuntimeError: half closed.\n")


def test_o3_an_interrupt_ends_a_start_that_hangs(start: Start, held: Path) -> None:
    running = start("hello", tools="held:hanging", folder=held)
    running.until("connecting", "err")
    running.interrupt()
    done = running.end()
    assert (done.code, done.out) == (Exit.INTERRUPTED, "")
    assert done.err.endswith("error: stopped\n")
