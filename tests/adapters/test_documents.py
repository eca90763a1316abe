"""Documents survive the conversions of JSONB unaltered (E5, E7)."""

import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

from callboard.adapters.stores.event_header import event_header
from callboard.adapters.stores.postgres import jsonb
from callboard.adapters.stores.postgres.jsonb import storable, unwrapped, wrapped
from callboard.events.event import encode_event
from tests.examples import examples


@pytest.fixture
def connection(postgres_url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        yield connection


numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(st.characters(exclude_categories=[])) | st.sampled_from(["$json", "\0", "\ud800", "1e5", "-0"])
values = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
tokens = st.from_regex(r"-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,30})?([eE][+-]?[0-9]{1,3})?", fullmatch=True)


def through(connection: psycopg.Connection, document: str) -> bytes:
    row = connection.execute("SELECT %s::text::jsonb::text", [storable(document)]).fetchone()
    assert row is not None
    return unwrapped(row[0])


def exact(document: str | bytes) -> Any:
    """Parse a document into values that distinguish 1 from 1.0 and 0.0 from -0.0."""
    return json.loads(document, parse_float=lambda text: repr(float(text)))


@given(value=values, ascii_only=st.booleans(), spaces=st.booleans())
@example(value={"longer than that": 1, "$json": "{}"}, ascii_only=True, spaces=False)
@examples(300, 1000, suppress=[HealthCheck.function_scoped_fixture])
def test_e5_values_come_back_equal(connection: psycopg.Connection, value: Any, ascii_only: bool, spaces: bool) -> None:
    document = json.dumps(value, ensure_ascii=ascii_only, indent=1 if spaces else None)
    try:
        document.encode()
    except UnicodeEncodeError:
        document = json.dumps(value)
    assert exact(through(connection, document)) == exact(document)


@given(token=tokens)
@examples(200, 1000, suppress=[HealthCheck.function_scoped_fixture])
def test_e5_numbers_come_back_equal_however_they_are_written(connection: psycopg.Connection, token: str) -> None:
    for document in (token, f"[{token}]", f'{{"n": {token} }}', f"[{token},1]"):
        assert exact(through(connection, document)) == exact(document)


@pytest.mark.parametrize(
    "document",
    ['{"a":1}', '{"t":"it costs 5e and -0 more","id":"0x3e4","u":"\\u00e4"}', "[0.5,1.0,-1,1000]", '"text"', "null"],
)
def test_e7_common_documents_are_not_wrapped(document: str) -> None:
    assert storable(document) == document


@pytest.mark.parametrize("number", ["1e5", "1E+400", "-0", "-0.000", "1e-" + "7" * 40, "1e5" + " " * 40])
@pytest.mark.parametrize("window", [10, 16, 33])
def test_e5_rare_documents_are_found_wherever_a_window_ends(
    monkeypatch: pytest.MonkeyPatch, number: str, window: int
) -> None:
    monkeypatch.setattr(jsonb, "WINDOW", window)
    for place in range(40):
        before, after = " " * place, " " * (40 - place)
        assert storable(f"[{before}{number},1{after}]") == wrapped(f"[{before}{number},1{after}]")
        assert storable(f"{before}{number}") == wrapped(f"{before}{number}")
        text = f'["{"x" * place}{number.strip()}x", 1{after}]'
        assert storable(text) == text


@pytest.mark.parametrize("unit", ["e1", "E1", "-0", "\\u00e4"])
def test_h5_long_document_lets_other_threads_run_while_it_is_checked(unit: str) -> None:
    document = f'"{unit * 2_000_000}"'
    assert any(_longest_pause(document) < 0.4 for _ in range(5)), "the machine may pause a thread too, but not always"


def _longest_pause(document: str) -> float:
    """The longest pause of another thread while a document is checked, as a part of the check.

    Both are measured in the processor time of the check, which other processes do not lengthen.
    """
    ended, pauses, clock = threading.Event(), [0.0], time.pthread_getcpuclockid(threading.get_ident())

    def watch() -> None:
        last = time.clock_gettime(clock)
        while not ended.is_set():
            now = time.clock_gettime(clock)
            pauses.append(now - last)
            last = now

    watching = threading.Thread(target=watch)
    watching.start()
    began = time.clock_gettime(clock)
    try:
        assert storable(document) == document
    finally:
        duration = time.clock_gettime(clock) - began
        ended.set()
        watching.join()
    return max(pauses) / duration


@given(st.text())
def test_e5_wrapped_documents_are_unwrapped_unaltered(document: str) -> None:
    assert unwrapped(wrapped(document)) == document.encode()


@given(st.text(st.characters(exclude_characters='"\\', exclude_categories=["Cs", "Cc"])), st.integers(0, 4 * 10**12))
def test_b2_kind_and_time_are_read_from_an_event(kind: str, milliseconds: int) -> None:
    event = encode_event(kind, milliseconds / 1000, b'{"kind":"other","at":1}')
    found = event_header(event)
    assert found.kind == kind
    assert abs(found.at - milliseconds / 1000) < 0.0015, "to the millisecond"


def test_b2_events_with_other_spaces_and_order_are_read() -> None:
    spaced = b'{ "data": {}, "at": "2027-01-15T08:00:00+01:00", "kind": "a\\u0022,\\"data\\":" }'
    assert event_header(spaced) == ('a","data":', 1799996400.0)
    hidden = b'{"kind":"a\\",\\"data\\":","at":"2027-01-15T08:00:00.000Z","data":{}}'
    assert event_header(hidden).kind == 'a","data":'
    for wrong in (
        b"",
        b"[]",
        b"null",
        b'{"kind":"k"}',
        b'{"kind":"k","at":3,"data":{}}',
        b'{"kind":"k","at":"x","data":1}',
    ):
        with pytest.raises(ValueError):
            event_header(wrong)
