"""Structured logs: one line per record, with its context, and with secrets masked (O2)."""

import asyncio
import io
import json
import logging
import re
from collections.abc import Iterator
from typing import Annotated, Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from callboard import Runtime, ToolContext, ToolError, tool
from callboard.schemas.secrets import MASK
from callboard.sessions.conversation_scope import ConversationScope
from callboard.sessions.session import live_session
from callboard.telemetry.log_context import LogContext, attach_log_context, log_context
from callboard.telemetry.logs import JsonFormatter, PlainFormatter, configure
from callboard.telemetry.masking import Masker, is_secret_name

pytestmark = pytest.mark.anyio

log = logging.getLogger("tests.telemetry")


def record(message: str, *args: Any, **fields: Any) -> logging.LogRecord:
    made = logging.LogRecord("a.logger", logging.WARNING, __file__, 1, message, args, fields.pop("exc_info", None))
    made.__dict__.update(fields)
    return made


def as_json(made: logging.LogRecord, *secrets: str) -> dict[str, Any]:
    line = JsonFormatter(Masker(secrets)).format(made)
    assert len(line.splitlines()) == 1
    assert line.isascii()
    return json.loads(line)


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield io.StringIO()
    root.handlers[:] = handlers
    root.setLevel(level)
    logging.getLogger("httpx2").setLevel(logging.NOTSET)


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_o2_a_line_of_json_has_its_fields() -> None:
    made = record("%s failed", "it", session_id="s1", execution_id="x1", tool="add", count=3, details={"a": [1, None]})
    made.created = 1_800_000_000.25
    assert as_json(made) == {
        "time": "2027-01-15T08:00:00.250+00:00",
        "level": "WARNING",
        "logger": "a.logger",
        "message": "it failed",
        "session": "s1",
        "execution": "x1",
        "tool": "add",
        "extra": {"count": 3, "details": {"a": [1, None]}},
    }


def failure() -> Any:
    try:
        raise ValueError("the password=hunter2\n2027-01-15 ERROR forged: line")
    except ValueError as error:
        return type(error), error, error.__traceback__


def test_o2_a_traceback_is_for_operators_and_masked() -> None:
    line = as_json(record("no", exc_info=failure()))
    assert line["error"] == "ValueError"
    assert line["trace"][0] == "Traceback (most recent call last):"
    assert "hunter2" not in json.dumps(line)


def test_o2_logged_text_cannot_start_a_new_line() -> None:
    formatter = PlainFormatter(Masker())
    text = formatter.format(record("a\r\nb\x1b[31m\u2028c\x85d", session_id="s\n1", exc_info=failure()))
    head, *rest = text.split("\n")
    assert head.endswith(r"WARNING  a.logger: a\r\nb\x1b[31m\u2028c\x85d [s\n1]")
    assert rest
    assert all(line.startswith("    | ") for line in rest)
    assert [line for line in text.splitlines() if line not in (head, *rest)] == []


@given(st.text(), st.text(min_size=6, max_size=40), st.text())
def test_o2_a_known_secret_is_in_no_line(before: str, secret: str, after: str) -> None:
    if set(secret) <= {"*"}:
        return
    text, masker = before + secret + after, Masker([secret])
    assert secret not in masker.text(text)
    made = record("%s and %r", text, text, note=text, nested={"key": [text]}, session_id=text)
    line = as_json(made, secret)
    for part in (line["message"], line["session"], line["extra"]["note"], line["extra"]["nested"]["key"][0]):
        assert secret not in part
    assert len(PlainFormatter(masker).format(made).splitlines()) == 1


@given(st.text(), st.text())
def test_o2_every_text_is_one_line_of_valid_json(message: str, session: str) -> None:
    line = as_json(record("%s", message, session_id=session))
    assert set(line) == {"time", "level", "logger", "message", "session"}


KEY = "abcdefgh0123456789ABCDEFGH"


@pytest.mark.parametrize(
    "text",
    [
        f"Authorization: Bearer {KEY}",
        f"authorization: Basic {KEY}",
        f"GET / with bearer {KEY}",
        f'{{"headers": {{"Authorization": "Token {KEY}"}}}}',
        f"sk-ant-{KEY}",
        f"(sk_live_{KEY})",
        f"ghp_{KEY}",
        f"github_pat_{KEY}",
        f"xoxb-{KEY}",
        "AKIAABCDEFGH01234567",
        f"eyJhbGciOiJIUzI1NiJ9.{KEY}.{KEY}",
        f"postgresql://alice:{KEY}@host/db",
        f"postgresql://alice:p@ss{KEY}@host/db",
        f"https://host/path?api_key={KEY}&x=1",
        f"https://host/path?x=1&access_token={KEY}",
        f'{{"password": "{KEY}"}}',
        f'{{"password": "with \\" quote {KEY}"}}',
        f"{{'client_secret': '{KEY}'}}",
        f'"{{\\"api_key\\": \\"{KEY}\\"}}"',
        f"OPENAI_API_KEY={KEY}",
        f"password: {KEY}",
        f"Login(name='a', password='{KEY}')",
        f"Cookie: a=b; session={KEY}",
        f"-----BEGIN RSA PRIVATE KEY-----\n{KEY}\n-----END RSA PRIVATE KEY-----",
        f"-----BEGIN PRIVATE KEY-----\n{KEY}",
    ],
)
def test_o2_text_that_looks_like_a_secret_is_masked(text: str) -> None:
    masked = Masker().text(f"before {text} after")
    assert KEY not in masked
    assert "01234567" not in masked
    assert masked.startswith("before ")
    assert MASK in masked


@pytest.mark.parametrize(
    "text",
    [
        "input_tokens=12 output_tokens: 5",
        "alice_1 called get_weather in https://example.org/a@b?x=1",
        "the store answers again",
        "task_result of x1f2-3 was asked for; sk-8 is a road",
        "mail to bob@example.org about tokens",
    ],
)
def test_o2_ordinary_words_are_not_masked(text: str) -> None:
    assert Masker().text(text) == text


@pytest.mark.parametrize(
    "unit", ['password="', "password='\\", "://a", "bearer ", "eyJaaaaaaaa.", "eyJ-", "-----BEGIN KEY-----", "token="]
)
def test_o2_hostile_texts_are_masked_in_bounded_time(unit: str) -> None:
    import time

    masker, text = Masker(["a known secret"]), unit * (200_000 // len(unit))
    began = time.process_time()
    masker.text(text)
    assert time.process_time() - began < 2.0


def test_o2_fields_with_secret_names_are_masked_completely() -> None:
    made = record("x", details={"api_key": [1, 2], "deep": {"Password": {"a": "b"}}, "tokens": 7}, token="abc")
    extra = as_json(made)["extra"]
    assert extra == {"details": {"api_key": MASK, "deep": {"Password": MASK}, "tokens": 7}, "token": MASK}
    assert is_secret_name("X-Api-Key")
    assert not is_secret_name("max_tokens")


def test_o2_data_that_is_not_json_is_logged_as_text() -> None:
    class Shy:
        def __repr__(self) -> str:
            raise ValueError("no")

    loop: list[Any] = []
    loop.append(loop)
    extra = as_json(record("x", nan=float("nan"), huge=10**5000, shy=Shy(), loop=loop, many=[0] * 1000))["extra"]
    assert extra["nan"] == "nan"
    assert extra["huge"] == "(int)"
    assert extra["shy"] == "(Shy)"
    assert "too deep" in str(extra["loop"])
    assert len(extra["many"]) == 100


def test_o2_arguments_that_do_not_match_the_format_lose_no_line() -> None:
    assert "do not match" in as_json(record("%d calls", "x"))["message"]


def test_o2_long_messages_are_masked_before_they_are_cut() -> None:
    secret = "the-very-secret"
    line = as_json(record("x" * 9_995 + secret + "y" * 1_000), secret)
    assert "the-v" not in line["message"]
    assert line["message"].endswith(" characters)")
    assert len(line["message"]) < 10_100


def test_o2_secrets_of_the_environment_are_known() -> None:
    masker = Masker.of_environment("given-one", environment={"MY_API_KEY": "plain words", "HOME": "/home/alice"})
    assert masker.text("plain words in /home/alice, given-one") == f"{MASK} in /home/alice, {MASK}"


@pytest.mark.parametrize(("level", "logged"), [("info", False), ("debug", True)])
def test_o2_urls_of_requests_are_logged_for_debugging_only(stream: io.StringIO, level: str, logged: bool) -> None:
    configure(json=True, level=level, stream=stream)
    transport = httpx2.MockTransport(lambda _: httpx2.Response(204))
    with httpx2.Client(transport=transport) as client:
        client.get("https://example.com/hooks/only-for-you?key=abc")
    assert ("only-for-you" in stream.getvalue()) == logged


def test_o2_the_working_folder_is_not_a_secret() -> None:
    """Although the names of its variables look like those of a password."""
    masker = Masker.of_environment(environment={"PWD": "/srv/shop", "OLDPWD": "/srv/old", "DB_PWD": "hunter22"})
    assert masker.text('File "/srv/shop/tools.py", not /srv/old, hunter22') == (
        f'File "/srv/shop/tools.py", not /srv/old, {MASK}'
    )


async def test_o2_configure_replaces_its_earlier_handler(stream: io.StringIO) -> None:
    before = len(logging.getLogger().handlers)
    configure(json=True, level="debug", secrets=["open sesame"], stream=io.StringIO())
    configure(json=True, level="debug", secrets=["open sesame"], stream=stream)
    assert len(logging.getLogger().handlers) == before + 1
    log.debug("say %s", "open sesame")
    assert [line["message"] for line in lines(stream)] == [f"say {MASK}"]
    with pytest.raises(ValueError):
        configure(level="loud")


async def test_o2_lines_of_handlers_and_turns_have_their_context(stream: io.StringIO) -> None:
    @tool
    async def speak(ctx: ToolContext, what: Annotated[str, "A word"]) -> None:
        """Log a word, also from a task."""
        log.info(what)
        await asyncio.create_task(asyncio.to_thread(log.info, "thread"))

    @tool
    async def fail() -> None:
        """Fail."""
        raise ToolError("no", report="the api_key=abcdef123 is wrong")

    configure(json=True, stream=stream)
    async with Runtime([speak, fail]) as runtime:
        session = await runtime.open("s1", user_id="u")
        scope = ConversationScope(live_session(session))
        stop = attach_log_context(runtime)
        spoken = await session.call("speak", {"what": "hello"})
        failed = await session.call("fail")

        async def turn() -> None:
            scope.turn_began("t1")
            log.info("turn")
            scope.turn_ended("t1", "finished")
            log.info("after")

        await asyncio.create_task(turn())
        stop()
        await session.call("speak", {"what": "unknown"})
    assert log_context() == LogContext()
    found_lines = {line["message"]: line for line in reversed(lines(stream))}
    for message in ("hello", "thread"):
        found = found_lines[message]
        assert (found["session"], found["execution"], found["tool"]) == ("s1", spoken.execution_id, "speak")
    (report,) = [line for message, line in found_lines.items() if message.startswith("fail failed")]
    assert (report["session"], report["execution"], report["tool"]) == ("s1", failed.execution_id, "fail")
    assert "abcdef123" not in report["message"]
    assert found_lines["turn"]["session"] == "s1"
    assert "session" not in found_lines["after"]
    assert "session" not in found_lines["unknown"]


@tool
async def divide(by: Annotated[int, "A number"]) -> float:
    """Divide one by a number."""
    if by < 0:
        raise ToolError("The number is negative.", report="a negative number")
    return 1 / by


async def test_o2_a_failing_tool_is_logged_with_its_traceback_which_no_model_sees(stream: io.StringIO) -> None:
    configure(json=True, stream=stream)
    async with Runtime([divide]) as runtime:
        session = await runtime.open("s1", "ann")
        outcome = await session.call("divide", {"by": 0})
        await session.call("divide", {"by": -1})
        seen = [event.encoded.decode() for event in live_session(session).board.read(0)]
    unexpected, deliberate = lines(stream)
    trace = "\n".join(unexpected["trace"])
    assert re.search(r'test_logs.py", line \d+, in divide\n +return 1 / by\n', trace)
    assert trace.endswith("ZeroDivisionError: division by zero")
    assert (deliberate["message"].rpartition(": ")[2], "trace" in deliberate) == ("a negative number", False)
    assert outcome.error is not None
    for text in (*seen, json.dumps(outcome.error.to_model())):
        assert not any(word in text for word in ("Traceback", "test_logs", "ZeroDivisionError", "negative number"))
