"""`callboard events` for users and scripts (O3): the line of each kind, cursors, and following."""

import asyncio
import json
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic_core import to_json

from callboard.adapters.stores.memory import MemoryStore
from callboard.cli.commands.events import BoardReader
from callboard.cli.process import Exit
from callboard.cli.terminal.event_lines import STYLES, summarise
from callboard.cli.terminal.text import describe_answer, describe_event
from callboard.events.event import Event, encode_event
from callboard.events.kinds import EventKind
from callboard.sessions.ids import SessionNotFound
from callboard.storage.change import Change
from callboard.storage.store import Store
from callboard.testing.store_rows import session_row
from tests.cli.harness import Command, callboard, post, server, stored
from tests.servers import OwnPostgres

NOON = 1_800_014_400.25  # 2027-01-15, 12:00:00.250 in UTC


def encoded(kind: str, data: dict[str, Any], at: float = NOON) -> bytes:
    return encode_event(kind, at, to_json(data))


def notices(first: int, last: int) -> list[bytes]:
    return [encoded("system_notice", {"message": f"notice {number}"}) for number in range(first, last + 1)]


@pytest.fixture
def url(sqlite_url: str) -> str:
    return sqlite_url


@pytest.fixture
def run(url: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    return Command(url, capsys, monkeypatch)


@pytest.fixture(params=["sqlite", "postgresql"])
def shared(request: pytest.FixtureRequest, url: str) -> str:
    """A store that several processes use."""
    return url if request.param == "sqlite" else request.getfixturevalue("emptied_database")


@pytest.fixture
def tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "JST-9")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


# A line per event

TOOL = {"execution_id": "x1", "call_id": "c1", "tool": "build"}
REQUEST = {"request_id": "r1", "execution_id": "x1", "call_id": "c1", "tool": "pay"}
AWAY = {"category": "transient", "message": "The service is away."}

SHOWN: list[tuple[str, dict[str, Any], str]] = [
    ("tool_started", {**TOOL, "arguments": {"a": [1, "ü"]}}, 'build {"a": [1, "ü"]} [x1]'),
    ("tool_validating", TOOL, "build [x1]"),
    ("tool_executing", {**TOOL, "attempt": 2, "maximum": 3}, "build attempt 2 of 3 [x1]"),
    ("tool_progress", {**TOOL, "stage": "linking", "fraction": 0.5, "message": "A"}, "build linking 50%: A [x1]"),
    ("tool_progress", {**TOOL, "stage": "linking", "fraction": None, "message": None}, "build linking [x1]"),
    ("tool_partial", {**TOOL, "value": [1]}, "build [1] [x1]"),
    (
        "tool_retrying",
        {**TOOL, "attempt": 1, "maximum": 3, "delay": 2.0, "error": AWAY},
        "build attempt 1 of 3 failed (transient: The service is away); next attempt in 2.0 s [x1]",
    ),
    ("tool_result", {**TOOL, "status": "succeeded", "value": {"n": 1}}, 'build succeeded: {"n": 1} [x1]'),
    ("tool_result", {**TOOL, "status": "failed", "error": AWAY}, "build failed: transient: The service is away [x1]"),
    (
        "tool_result",
        {**TOOL, "status": "cancelled", "error": {"category": "cancelled", "message": "It was cancelled."}},
        "build cancelled: It was cancelled [x1]",
    ),
    ("human_request", {**REQUEST, "payload": {"amount": 5}, "expires_at": None}, 'pay {"amount": 5} [r1]'),
    (
        "human_request",
        {**REQUEST, "payload": 5, "expires_at": "2027-01-17T12:00:00.250Z"},
        "pay 5 (expires after 2 d) [r1]",
    ),
    ("human_answer", {"request_id": "r1", "answer": {"approved": True}}, "approved [r1]"),
    (
        "human_answer",
        {"request_id": "r1", "answer": {"approved": True, "arguments": {"amount": 6}}},
        'approved: with {"amount": 6} [r1]',
    ),
    ("human_answer", {"request_id": "r1", "answer": {"approved": False, "reason": "No."}}, "rejected: No. [r1]"),
    ("human_answer", {"request_id": "r1", "answer": {"colour": "red"}}, '{"colour": "red"} [r1]'),
    (
        "human_answer",
        {"request_id": "r1", "answer": {"approved": True, "score": 3}},
        'approved: {"score": 3} [r1]',
    ),
    (
        "human_answer",
        {"request_id": "r1", "purpose": "question", "answer": {"approved": True, "score": 3}},
        '{"approved": true, "score": 3} [r1]',
    ),
    ("human_answer", {"request_id": "r1", "purpose": "approval", "answer": {"approved": False}}, "rejected [r1]"),
    (
        "wallet_tx_request",
        {**REQUEST, "to": "0xb0b", "value": "10", "data": "0x", "description": "Rent"},
        "pay 10 wei to 0xb0b: Rent [r1]",
    ),
    (
        "wallet_tx_request",
        {**REQUEST, "to": None, "value": "0", "data": "0x60ff", "description": "A shop"},
        "pay 0 wei to a new contract: A shop [r1]",
    ),
    (
        "wallet_tx_response",
        {"request_id": "r1", "status": "confirmed", "transaction_hash": "0xabc", "contract_address": "0xc0de"},
        "confirmed: 0xabc 0xc0de [r1]",
    ),
    (
        "wallet_tx_response",
        {"request_id": "r1", "status": "confirmed", "transaction_hash": "0xabc", "detail": None},
        "confirmed: 0xabc [r1]",
    ),
    ("user_request", {"request_id": "q1", "request_kind": "gas", "payload": {}, "priority": "low"}, "gas {} [q1]"),
    ("user_response", {"request_id": "q1", "request_kind": "gas", "payload": 7, "error": None}, "gas 7 [q1]"),
    (
        "user_response",
        {"request_id": "q1", "request_kind": "gas", "payload": None, "error": AWAY},
        "gas failed: transient: The service is away [q1]",
    ),
    ("system_notice", {"message": "two\nlines"}, "two lines"),
    ("system_error", {"message": "Out of paper.", "for_model": False}, "Out of paper."),
    (
        "connection",
        {"state": "missing_api_key", "name": "claude", "message": "Set it."},
        "claude missing api key: Set it.",
    ),
    ("user_input", {"text": "Hello \x1b[31m!"}, "Hello \\x1b[31m!"),
    ("turn_started", {"turn_id": "t1"}, "[t1]"),
    ("text", {"turn_id": "t1", "text": "It is 5.", "delta": None}, "It is 5. [t1]"),
    (
        "turn_finished",
        {"turn_id": "t1", "usage": {"requests": 2, "input_tokens": 1200, "output_tokens": 0, "cost": 0.01}},
        "2 requests, 1,200 input tokens, $0.0100 [t1]",
    ),
    ("turn_finished", {"turn_id": "t1", "usage": None}, "[t1]"),
    ("turn_failed", {"turn_id": "t1", "error": AWAY}, "transient: The service is away [t1]"),
    ("turn_paused", {"turn_id": "t1", "usage": {"requests": 1, "input_tokens": 3}}, "waiting for a person [t1]"),
    ("turn_interrupted", {"turn_id": "t1", "message": "by ann"}, "by ann [t1]"),
    ("of_the_future", {"a": {"b": 1}}, '{"a": {"b": 1}}'),
    ("tool_of_the_future", TOOL, json.dumps(TOOL)),
    ("tool_progress", {"steps": 3}, '{"steps": 3}'),  # the fields of a newer version
    ("tool_validating", {**TOOL, "tool": 5}, json.dumps({**TOOL, "tool": 5})),
    (
        "human_request",
        {**REQUEST, "payload": 1, "expires_at": "soon"},
        json.dumps({**REQUEST, "payload": 1, "expires_at": "soon"}),
    ),
]


def test_o3_every_event_has_a_summary(run: Command, url: str, tokyo: None) -> None:
    assert {kind for kind, *_ in SHOWN} >= set(EventKind)
    post(url, *(encoded(kind, data) for kind, data, _ in SHOWN))
    done = run("events", "s1")
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        f"{number:>6}  2027-01-15 21:00:00.250  {kind:<18}  {said}" for number, (kind, _, said) in enumerate(SHOWN, 1)
    ]


DESCRIBED = {
    "tool_progress": "linking 50%: A",
    "human_request": "asks a person: amount: 5",
    "human_answer": "approved",
    "wallet_tx_request": "asks your wallet: 10 wei to 0xb0b: Rent",
    "wallet_tx_response": "confirmed: 0xabc 0xc0de",
    "user_input": None,
}


def test_o3_every_event_of_a_call_has_a_description() -> None:
    samples = {kind: data for kind, data, _ in reversed(SHOWN)}  # the first of each kind
    described = {kind: describe_event(Event(1, encoded(kind, samples[kind]))) for kind in EventKind}
    assert described | DESCRIBED == described
    assert [kind for kind, text in described.items() if text is not None and text.startswith(kind)] == []


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ({"approved": True, "arguments": {"amount": 6}}, "approved with amount: 6"),
        ({"approved": False}, "rejected"),
        ({"approved": False, "reason": "No."}, "rejected: No."),
        ({"colour": "red", "size": 2}, "colour: red, size: 2"),
        (True, "true"),
    ],
)
def test_o3_an_answer_is_described(answer: Any, text: str) -> None:
    assert describe_answer({"answer": answer}) == text, "of an earlier version"


@pytest.mark.parametrize(
    ("purpose", "answer", "text"),
    [
        ("approval", {"approved": True}, "yes"),
        ("approval", {"approved": False, "reason": "No."}, "no: No."),
        ("question", {"approved": True, "amount": 5}, "approved: true, amount: 5"),
        ("front_end_tool", {"approved": False}, "approved: false"),
        ("of_the_future", {"approved": True}, "approved: true"),
    ],
)
def test_o3_an_answer_is_described_by_the_purpose_of_its_request(purpose: str, answer: Any, text: str) -> None:
    assert describe_answer({"answer": answer, "purpose": purpose}, "yes", "no") == text


def test_o3_long_values_are_shortened(run: Command, url: str) -> None:
    post(url, encoded("tool_partial", {**TOOL, "value": "x" * 10_000}))
    [line] = run("events", "s1").out.splitlines()
    assert len(line) < 500


def test_o3_every_known_kind_has_its_colour() -> None:
    assert {kind for kind in EventKind if not kind.startswith("tool_")} == set(STYLES)


def test_o3_on_a_terminal_events_are_coloured_and_grouped_by_day(url: str) -> None:
    rejected = {"request_id": "r1", "answer": {"approved": False}}
    post(url, encoded("system_notice", {"message": "one"}), encoded("human_answer", rejected, NOON + 86_400))
    with callboard(url, "events", "s1", columns=100, TZ="JST-9") as command:
        done = command.end()
    assert "\x1b[33msystem_notice     " in done.out
    assert "\x1b[35mhuman_answer     " in done.out
    assert "\x1b[31mrejected\x1b[0m" in done.out
    plain = re.sub(r"\x1b\[[\d;]*m", "", done.out)
    assert plain.splitlines() == [
        "        Friday, 2027-01-15",
        "     1  21:00:00.250  system_notice       one",
        "        Saturday, 2027-01-16",
        "     2  21:00:00.250  human_answer        rejected  r1",
    ]


def test_o3_events_are_lines_of_json_for_programs(run: Command, url: str) -> None:
    posted = notices(1, 3)
    post(url, *posted)
    done = run("events", "s1", "--json")
    assert (done.code, done.err) == (0, "")
    assert done.out.encode() == b"".join(Event(number, line).line + b"\n" for number, line in enumerate(posted, 1))


def test_o3_control_characters_in_json_are_escaped(run: Command, url: str) -> None:
    message = "\x9b31m\u202eabc\x7f"
    post(url, encoded("system_notice", {"message": message}))
    done = run("events", "s1", "--json")
    assert json.loads(done.out)["data"]["message"] == message
    assert done.out.isascii()


# Cursors


def numbers(text: str) -> list[int]:
    return [json.loads(line)["seq"] for line in text.splitlines()]


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ([], [1, 2, 3, 4, 5]),
        (["--after", "3"], [4, 5]),
        (["--after", "5"], []),
        (["--after", "99999999999999999999"], []),
        (["--last", "2"], [4, 5]),
        (["--last", "0"], []),
        (["--last", "50"], [1, 2, 3, 4, 5]),
    ],
)
def test_o3_events_start_at_a_cursor(run: Command, url: str, options: list[str], shown: list[int]) -> None:
    post(url, *notices(1, 5))
    assert numbers(run("events", "s1", "--json", *options).out) == shown


def test_o3_more_events_than_a_page_are_all_shown(run: Command, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("callboard.cli.commands.events.PAGE", 2)
    post(url, *notices(1, 5))
    assert numbers(run("events", "s1", "--json").out) == [1, 2, 3, 4, 5]


def test_b8_an_expired_cursor_names_the_first_kept_event(run: Command, url: str) -> None:
    post(url, *notices(1, 5))
    stored(url, lambda store: store.trim("s1", keep=2, before=0.0))
    done = run("events", "s1", "--after", "1", "--json")
    assert (done.code, done.out) == (1, "")
    assert done.err == (
        "error: The events after 1 are no longer kept. Start again; the first kept one is 4. Use: --after 3\n"
    )
    assert numbers(run("events", "s1", "--after", "3", "--json").out) == [4, 5]


def test_o3_without_a_cursor_the_first_kept_event_is_first(run: Command, url: str) -> None:
    post(url, *notices(1, 5))
    stored(url, lambda store: store.trim("s1", keep=2, before=0.0))
    done = run("events", "s1", "--json")
    assert (done.code, done.err) == (0, "The first 3 events are no longer kept.\n")
    assert numbers(done.out) == [4, 5]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nowhere"], Exit.NOT_FOUND, "There is no session 'nowhere'. See: callboard sessions list"),
        (["s1", "--after", "1", "--last", "1"], Exit.USAGE, "--after and --last exclude each other."),
        (["s1", "--after", "-1"], Exit.USAGE, "Invalid value for '--after'"),
        ([], Exit.USAGE, "Missing argument"),
    ],
)
def test_o3_events_that_cannot_be_shown(run: Command, url: str, arguments: list[str], code: Exit, message: str) -> None:
    post(url)
    done = run("events", *arguments)
    assert (done.code, done.out) == (code, "")
    assert message in done.err


# Following


def test_o3_following_shows_events_of_another_process(shared: str) -> None:
    post(shared, *notices(1, 2))
    with callboard(shared, "events", "s1", "--after", "1", "--follow", "--json") as command:
        command.until("notice 2")
        for number in (3, 4):
            post(shared, *notices(number, number))
            command.until(f"notice {number}")
        command.interrupt()
        done = command.end()
    assert (done.code, done.err) == (Exit.INTERRUPTED, "")
    assert numbers(done.out) == [2, 3, 4]


def test_o3_following_beside_a_server_that_works(shared: str, run: Command) -> None:
    with server(shared, "pay") as running, callboard(shared, "events", "s1", "-f", "--last", "1") as command:
        command.until("human_request")
        [asked] = json.loads(run("requests", "list", "--json", "--store", shared).out)
        assert run("requests", "answer", asked["id"], "--approve", "--store", shared).code == 0
        running.until("pay succeeded")
        command.until("pay succeeded: paid 5 to bob")
        command.interrupt()
        done = command.end()
    assert (done.code, done.err) == (Exit.INTERRUPTED, "")
    kinds = [line.split()[3] for line in done.out.splitlines()]
    assert kinds == ["human_request", "human_answer", "tool_executing", "tool_result"]


def test_o3_following_survives_a_restart_of_the_database(own_postgres: OwnPostgres) -> None:
    with own_postgres.database() as url:
        post(url, *notices(1, 1))
        with callboard(url, "events", "s1", "--follow", "--json") as command:
            command.until("notice 1")
            own_postgres.stop(immediate=True)
            own_postgres.start()
            post(url, *notices(2, 2))
            command.until("notice 2")
            command.interrupt()
            done = command.end()
    assert done.code == Exit.INTERRUPTED
    assert numbers(done.out) == [1, 2]


def test_o3_following_a_session_that_is_removed_ends(shared: str) -> None:
    post(shared, *notices(1, 1))
    with callboard(shared, "events", "s1", "--follow") as command:
        command.until("notice 1")
        stored(shared, lambda store: store.delete("s1"))
        done = command.end()
    assert (done.code, done.err) == (Exit.NOT_FOUND, "error: The session 's1' was removed.\n")


def test_o3_closing_the_output_ends_the_events_without_an_error(url: str) -> None:
    post(url, *notices(1, 20_000))
    with callboard(url, "events", "s1", "--json") as command:
        command.until("notice 1")
        command.close("out")
        done = command.end()
    assert (done.code, done.err) == (Exit.OK, "")


def test_o3_closing_the_output_ends_the_following_of_a_quiet_session(url: str) -> None:
    post(url, *notices(1, 1))
    with callboard(url, "events", "s1", "--follow", "--json") as command:
        command.until("notice 1")
        command.close("out")
        done = command.end()
    assert (done.code, done.err) == (Exit.OK, "")


async def _lagging(show: list[int]) -> BoardReader:
    """Make a reader whose next events were removed."""
    store: Store = MemoryStore()
    await store.commit([Change("s1", session=session_row("s1"), events=notices(1, 5))])
    await store.trim("s1", keep=2, before=0.0)
    return BoardReader(store, "s1", 1, lambda event: show.append(event.seq))


def test_o3_events_removed_before_reading_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    shown: list[int] = []

    async def follow() -> None:
        await (await _lagging(shown)).catch_up()

    asyncio.run(follow())
    assert shown == [4, 5]
    assert capsys.readouterr().err == "The events from 2 to 3 were removed before they were read.\n"


def test_o3_an_empty_board_is_not_a_removed_session() -> None:
    async def look() -> None:
        store: Store = MemoryStore()
        await store.commit([Change("s1", session=session_row("s1"))])
        await BoardReader(store, "s1", 0, lambda _: None).catch_up()
        with pytest.raises(SessionNotFound):
            await BoardReader(store, "s2", 0, lambda _: None).catch_up()

    asyncio.run(look())


def test_o3_a_summary_has_the_related_id() -> None:
    entry = summarise(Event(1, encoded("tool_result", {**TOOL, "status": "succeeded", "value": None})))
    assert (entry.subject, entry.status, entry.text, entry.related_id) == ("build", "succeeded", "null", "x1")
