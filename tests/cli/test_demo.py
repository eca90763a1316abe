"""`callboard demo`: the tour without a terminal, and the chat on one (C6, O3)."""

import asyncio
import json
import os
import re
import select
import signal
import termios
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Self

import pytest
from pydantic import BaseModel
from pydantic_core import to_json

from callboard import Event, OpenRequest
from callboard.cli.commands.demo import Tour
from callboard.cli.terminal.keyboard import LineEditor
from callboard.cli.terminal.request_form import RequestForm
from callboard.cli.terminal.screen import JsonScreen, line_of
from callboard.demo.tools import Delivery
from callboard.events.event import encode_event
from callboard.sessions.answers import Approval
from callboard.types import RequestPurpose
from tests import forked
from tests.cli.harness import PATIENCE, Done, run_here

APPROVAL = Approval.model_json_schema()
DELIVERY = Delivery.model_json_schema()


@pytest.fixture
def demo(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    for name in [name for name in os.environ if name.endswith("_API_KEY")]:
        monkeypatch.delenv(name)

    def run(*arguments: str) -> Done:
        done = run_here(capsys, monkeypatch, "demo", *arguments)
        assert "\x1b" not in done.out
        return done

    return run


def test_c6_the_tour_shows_every_mode_without_a_key(demo: Any) -> None:
    done = demo("--script", "--pace", "0")
    assert (done.code, done.err) == (0, "")
    lines = [line.strip() for line in done.out.splitlines()]
    for expected in (
        "you    what is 7 * 6",
        "model  7 * 6 = 42.",
        "→ build_report subject: coffee",
        "· build_report writing 40%: chapter 2 of 3",
        "model  A result came in from build_report: 'All about coffee' is ready: 22 pages in 3 chapters.",
        "? send_payment asks a person: amount: 25, to: Ada, currency: EUR, purpose: lunch",
        "you    yes",
        "you    no: I do not know Mallory.",
        "↻ check_stock attempt 1 of 3 failed (transient: The warehouse did not answer); next attempt in 0 ms",
    ):
        assert expected in lines, expected
    late = lines.index(
        "model  A result came in from build_report: 'All about coffee' is ready: 22 pages in 3 chapters."
    )
    assert lines.index("model  7 * 6 = 42.") < lines.index("· build_report writing 20%: chapter 1 of 3") < late


def test_c6_the_tour_is_the_same_each_time(demo: Any) -> None:
    assert demo("--script", "--pace", "0").out == demo("--script", "--pace", "0").out


def test_o3_the_tour_as_json_is_the_board(demo: Any) -> None:
    done = demo("--json", "--pace", "0")
    assert done.code == 0
    events = [json.loads(line) for line in done.out.splitlines()]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    kinds = [event["kind"] for event in events]
    assert kinds.count("human_request") == kinds.count("human_answer") == 2
    assert {"tool_progress", "tool_partial", "tool_retrying", "turn_finished"} <= set(kinds)
    assert kinds.count("tool_started") == kinds.count("tool_result") == 7


def test_c6_the_conversation_is_kept_where_a_store_is_named(demo: Any, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'demo.db'}"
    first = demo("--json", "--pace", "0", "--store", url)
    second = demo("--json", "--pace", "0", "--store", url)
    assert first.code == second.code == 0
    last = json.loads(first.out.splitlines()[-1])["seq"]
    assert json.loads(second.out.splitlines()[0])["seq"] > last


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("--model", "anthropic:claude-sonnet-4-5"), 1, "set the environment variable ANTHROPIC_API_KEY"),
        (("--model", "openai:gpt-5"), 1, "set the environment variable OPENAI_API_KEY"),
        (("--model", "nobody"), 1, "There is no model 'nobody'"),
        (("--store", "nowhere://x"), 1, "There is no store for 'nowhere' addresses"),
        (("--pace", "-1"), 2, "--pace must be a number of seconds"),
        (("--pace", "nan"), 2, "--pace must be a number of seconds"),
    ],
)
def test_c6_an_error_is_one_line(demo: Any, arguments: tuple[str, ...], code: int, said: str) -> None:
    done = demo("--script", *arguments)
    assert (done.code, done.out) == (code, "")
    [line] = done.err.splitlines()
    assert said in line


def test_a_tool_of_the_tour_waits_for_the_conversation() -> None:
    async def work() -> None:
        tour = Tour()
        async with tour.conversing:
            waiting = asyncio.ensure_future(tour.sleep(0))
            for _ in range(10):
                await asyncio.sleep(0)
            assert not waiting.done()
        await waiting

    asyncio.run(work())


# On a terminal


HIDE_CURSOR, SHOW_CURSOR = b"\x1b[?25l", b"\x1b[?25h"


class Terminal:
    """The demo on a terminal, with typed input."""

    def __init__(self, *arguments: str) -> None:
        environment = {**os.environ, "TERM": "xterm-256color", "PYTHONUTF8": "1"}
        for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES"):
            environment.pop(name, None)
        self._terminal, theirs = os.openpty()
        termios.tcsetwinsize(self._terminal, (40, 120))
        self._process = forked.start(
            "demo",
            *arguments,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=Path.cwd(),
            env=environment,
            terminal=True,
        )
        os.close(theirs)
        self._got = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._process.kill()
        self._process.wait()
        os.close(self._terminal)

    def type(self, text: str) -> None:
        os.write(self._terminal, text.encode())

    def until(self, text: str) -> None:
        """Wait for a text on the screen, and discard everything up to it."""
        deadline = time.monotonic() + PATIENCE
        while (found := self._plain().find(text)) < 0:
            ready, _, _ = select.select([self._terminal], [], [], max(0.0, deadline - time.monotonic()))
            data = self._read() if ready else b""
            assert data, f"{text!r} did not come: {self._plain()[-3000:]}"
            self._got += data
        self._got = self._plain()[found + len(text) :].encode()

    def until_codes(self, codes: bytes) -> None:
        """Wait for control codes, and discard everything up to them."""
        deadline = time.monotonic() + PATIENCE
        while codes not in self._got:
            data = self._read()
            assert data and time.monotonic() < deadline, f"{codes!r} did not come"  # noqa: PT018
            self._got += data
        self._got = self._got.partition(codes)[2]

    def terminate(self) -> None:
        self._process.send_signal(signal.SIGTERM)

    def end(self) -> int:
        """Wait for its end, and return its exit code."""
        while self._read():
            pass
        return self._process.wait(PATIENCE)

    def _read(self) -> bytes:
        try:
            return os.read(self._terminal, 65536)
        except OSError:  # the other side is closed
            return b""

    def _plain(self) -> str:
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self._got.decode(errors="replace"))


def test_c6_you_chat_while_work_runs_and_get_its_result() -> None:
    with Terminal("--pace", "0.3") as terminal:
        terminal.until("Type help")
        terminal.type("build a report on tea\r")
        terminal.until("build_report is running in the background")
        terminal.type("what is 6 * 7\r")
        terminal.until("6 * 7 = 42.")
        terminal.until("%")
        terminal.until("A result came in from build_report: 'All about tea' is ready")
        terminal.type("\x04")
        assert terminal.end() == 0


def test_m3_you_approve_edit_and_refuse_in_the_chat() -> None:
    with Terminal("--pace", "0") as terminal:
        terminal.until("Type help")
        terminal.type("pay 25 EUR to Ada\r")
        terminal.until("send_payment: approve? y(es), n(o), e(dit) >")
        terminal.type("what is 1 + 1\r")  # a request need not be answered first
        terminal.until("1 + 1 = 2.")
        terminal.type("y\r")
        terminal.until("25.00 EUR went to Ada")
        terminal.type("pay 30 EUR to Bob\r")
        terminal.until("send_payment: approve?")
        terminal.type("e\r")
        terminal.until('new arguments (or: later) > {"amount"')
        terminal.type('\x15{"to": "Bob", "amount": "-3"}\r')
        terminal.until("amount: ")  # refused, and can be corrected; nothing else is approved meanwhile
        terminal.type("\x15y\r")
        terminal.until("That is not JSON")
        terminal.type('\x15{"to": "Bob", "amount": "3"}\r')
        terminal.until("3.00 EUR went to Bob")
        terminal.type("pay 900 EUR to Mallory\r")
        terminal.until("send_payment: approve?")
        terminal.type("n\r")
        terminal.until("reason (Enter for none)")
        terminal.type("unknown recipient\r")
        terminal.until("The reason: unknown recipient.")
        terminal.type("quit\r")
        assert terminal.end() == 0


def test_m3_a_question_is_answered_field_by_field() -> None:
    with Terminal("--pace", "0") as terminal:
        terminal.until("Type help")
        terminal.type("deliver the lamp\r")
        terminal.until("ask_delivery: a(nswer)?")
        terminal.type("a\r")
        terminal.until("how (1 to my door, 2 to a neighbour, 3 to a parcel shop) >")
        terminal.type("2\r")
        terminal.until("ring (y/n; Enter for true) >")
        terminal.type("n\r")
        terminal.until("optional) >")
        terminal.type("\r")
        terminal.until("The parcel goes to a neighbour, without ringing.")
        terminal.type("exit\r")
        assert terminal.end() == 0


def test_c3_ctrl_c_stops_the_turn_and_a_second_one_exits() -> None:
    with Terminal("--pace", "30") as terminal:
        terminal.until("Type help")
        terminal.type("check the stock of lamps\r")
        terminal.until("attempt 1 of 3 failed")
        terminal.type("\x03")
        terminal.until("(stopped)")
        terminal.type("what is 2 + 2\r")
        terminal.until("2 + 2 = 4.")
        terminal.type("\x03")
        terminal.until("Press Ctrl-C again to exit")
        terminal.type("\x03")
        assert terminal.end() == 130


def test_c6_a_stopped_chat_gives_the_terminal_back_until_it_is_continued() -> None:
    with Terminal("--pace", "0") as terminal:
        terminal.until("Type help")
        terminal.type("\x1a")  # the process is continued at once, because no shell controls it
        terminal.until_codes(SHOW_CURSOR)
        terminal.until_codes(HIDE_CURSOR)
        terminal.type("what is 6 * 7\r")
        terminal.until("6 * 7 = 42.")
        terminal.type("\x04")
        assert terminal.end() == 0


def test_c6_sigterm_ends_the_chat_and_shows_the_cursor() -> None:
    with Terminal("--pace", "0") as terminal:
        terminal.until("Type help")
        terminal.terminate()
        terminal.until_codes(SHOW_CURSOR)
        assert terminal.end() == 0


# Without a terminal


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        (["a", "b", "\r"], "ab"),
        (["a", "b", "\x7f", "c", "\n"], "ac"),
        (["a", "\x1b[D", "b", "\r"], "ba"),
        (["a", "b", "\x01", "c", "\x05", "d", "\r"], "cabd"),
        (["a", " ", "b", "c", "\x17", "d", "\r"], "ad"),
        (["a", "b", "\x15", "c", "\r"], "c"),
        (["a", "\r", "\x1b[A", "b", "\r"], "ab"),
        (["a", "\r", "\x1b[A", "\x1b[B", "b", "\r"], "b"),
        (["\x1b[5~", "\x00", "ü", "\r"], "ü"),
    ],
)
def test_keys_make_a_line(keys: list[str], expected: str) -> None:
    line = LineEditor()
    assert [done for key in keys if (done := line.press(key)) is not None][-1] == expected


def request(
    tool: str, payload: Any, schema: dict[str, Any], purpose: RequestPurpose = RequestPurpose.QUESTION
) -> OpenRequest:
    return OpenRequest(
        id="r1",
        execution_id="x1",
        kind="human_request",
        purpose=purpose,
        tool=tool,
        payload=payload,
        answer_schema=schema,
        arguments_hash="0" * 64,
        created_at=datetime.now(UTC),
        expires_at=None,
    )


def test_a_started_form_can_be_left_open() -> None:
    form = RequestForm(request("ask_delivery", {"parcel": "lamp"}, DELIVERY))
    assert not form.accepts("y")
    assert form.accepts("a")
    assert form.enter("a") is None
    assert form.accepts("anything")
    assert form.enter("") is None
    assert form.problem == "how is required."
    assert form.enter("later") is None
    assert form.is_idle


class Parcel(BaseModel):
    """A parcel, asked for field by field."""

    zip_code: str | None = None
    pieces: Literal[10, 5, 2, 1] | None = None
    size: Literal["s", "m"] | None = None
    floor: int | str = 0
    fragile: bool | None = None


@pytest.mark.parametrize(
    ("lines", "values"),
    [
        (["10115", "2", "2", "2", "y"], ["10115", 2, "m", 2, True]),
        (["null", "10", "s", "0a", "no"], ["null", 10, "s", "0a", False]),
        (["007", "3", "3", "true", "true"], ["007", "3", "3", "true", True]),
    ],
)
def test_m3_a_line_is_the_value_that_the_field_accepts(lines: list[str], values: list[Any]) -> None:
    form = RequestForm(request("ask_parcel", {}, Parcel.model_json_schema()))
    form.enter("a")
    *_, answer = [form.enter(line) for line in lines]
    assert answer is not None
    assert answer.value == dict(zip(Parcel.model_fields, values, strict=True))


def test_m3_numbers_to_choose_from_have_no_positions() -> None:
    form = RequestForm(request("ask_parcel", {}, Parcel.model_json_schema()))
    form.enter("a")
    assert form.prompt.text == "ask_parcel: zip_code (optional) > "
    prompts = [form.prompt.text for _ in Parcel.model_fields if form.enter("") is None and not form.is_idle]
    assert prompts[:2] == ["ask_parcel: pieces (10, 5, 2, 1) > ", "ask_parcel: size (1 s, 2 m) > "]


def test_a_failed_turn_is_a_line() -> None:
    error = {"category": "resource", "message": "The session had 2 turns, which is the limit."}
    event = Event(1, encode_event("turn_failed", 0.0, to_json({"turn_id": "t1", "error": error})))
    assert str(line_of(event)) == "error  resource: The session had 2 turns, which is the limit"


def test_control_characters_in_json_are_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    text = "\x9b31m\u202eabc\x7f"
    JsonScreen().show(Event(1, encode_event("user_input", 0.0, to_json({"text": text}))))
    shown = capsys.readouterr().out
    assert (json.loads(shown)["data"]["text"], shown.isascii()) == (text, True)
    form = RequestForm(request("send_payment", {"to": text}, APPROVAL, RequestPurpose.APPROVAL))
    form.enter("e")
    assert (json.loads(form.prompt.initial), form.prompt.initial.isascii()) == ({"to": text}, True)


def test_arguments_that_are_not_json_answer_nothing() -> None:
    form = RequestForm(request("send_payment", {"amount": 1}, APPROVAL, RequestPurpose.APPROVAL))
    assert form.enter("e") is None
    assert form.prompt.initial == '{"amount": 1}'
    assert form.enter("{") is None
    assert form.problem
    assert not form.is_idle, "the edited arguments can be corrected"
    assert form.prompt.initial == "{"
    assert form.enter("y") is None, "and the old arguments are not approved meanwhile"
    assert "not JSON" in form.problem
    answer = form.enter('{"amount": 2}')
    assert answer is not None
    assert answer.value == {"approved": True, "arguments": {"amount": 2}}
    assert form.prompt.initial == '{"amount": 2}', "refused arguments can be corrected"
    assert form.enter("later") is None
    assert form.is_idle


def test_an_answer_that_is_not_an_object_is_typed_as_json() -> None:
    form = RequestForm(request("count", {}, {"type": "integer"}))
    assert form.enter("a") is None
    answer = form.enter("3")
    assert answer is not None
    assert answer.value == 3
