"""The routing of events, cell by cell, against the agreed table (B3)."""

import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callboard.events.kinds import EventKind
from callboard.events.routing import (
    ROUTES,
    Family,
    Side,
    Transcript,
    enters_transcript,
    family,
    is_stored,
    may_post,
    postable,
    route,
    seen_by,
)

TABLE = """
user_input         | people          | people, model   | yes              | chat
turn_started       | runtime         | people          | finished_message | chat
text               | runtime         | people          | finished_message | chat
turn_paused        | runtime         | people          | finished_message | chat
turn_finished      | runtime         | people          | finished_message | chat
turn_failed        | runtime         | people          | finished_message | chat
turn_interrupted   | runtime         | people          | finished_message | chat
tool_started       | runtime         | people          | no               | by mode
tool_validating    | runtime         | people          | no               | by mode
tool_executing     | runtime         | people          | no               | by mode
tool_retrying      | runtime         | people          | no               | by mode
tool_progress      | runtime         | people          | no               | by mode
tool_partial       | runtime         | people          | no               | by mode
tool_result        | runtime         | people, model   | yes              | by mode
human_request      | runtime         | people          | no               | system
wallet_tx_request  | runtime         | people          | no               | system
human_answer       | people          | people, model   | as_result        | system
wallet_tx_response | people          | people, model   | as_result        | system
user_request       | people          | people, workers | no               | system
user_response      | workers, people | people          | no               | system
system_notice      | runtime, workers | people         | no               | system
connection         | runtime, workers | people         | no               | system
system_error       | runtime, workers | people         | where_said       | system
"""


class Row(NamedTuple):
    posted_by: set[str]
    seen_by: set[str]
    transcript: str
    family: str


def rows() -> dict[str, Row]:
    lines = [[cell.strip() for cell in line.split("|")] for line in TABLE.strip().splitlines()]
    return {kind: Row(set(by.split(", ")), set(seen.split(", ")), *rest) for kind, by, seen, *rest in lines}


AGREED = rows()
CELLS = [(kind, side) for kind in AGREED for side in ("people", "model", "runtime", "workers")]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
FIELDS = st.text() | st.sampled_from(["text", "delta", "for_model", "mode"])
DATA = st.none() | st.dictionaries(FIELDS, JSON, max_size=4)


def is_unknown(kind: str) -> bool:
    return kind not in AGREED


UNKNOWN = st.text().filter(is_unknown) | st.sampled_from(["TEXT", "tool_", "user_input ", "hologram"])


def test_b3_the_table_has_a_row_for_every_kind() -> None:
    assert set(AGREED) == {kind.value for kind in EventKind} == set(ROUTES)
    assert len(AGREED) == 23


@pytest.mark.parametrize(("kind", "side"), CELLS)
def test_b3_sides_that_may_post_each_kind(kind: str, side: str) -> None:
    assert may_post(kind, Side(side)) is (side in AGREED[kind].posted_by)
    assert (kind in postable(Side(side))) is (side in AGREED[kind].posted_by)


@pytest.mark.parametrize(("kind", "side"), CELLS)
def test_b3_sides_that_see_each_kind(kind: str, side: str) -> None:
    agreed = side in AGREED[kind].seen_by or side == "runtime"  # it keeps the board
    assert seen_by(kind, Side(side)) is agreed
    assert seen_by(kind, Side(side), {"message": "hello"}) is agreed


@pytest.mark.parametrize("kind", AGREED)
def test_b3_kinds_that_enter_the_transcript(kind: str) -> None:
    agreed = AGREED[kind].transcript
    assert route(kind).transcript == agreed
    always = agreed in ("yes", "as_result")
    assert enters_transcript(kind) is always
    assert enters_transcript(kind, {}) is always
    assert enters_transcript(kind, {"text": "All of it."}) is (always or agreed == "finished_message")
    assert enters_transcript(kind, {"delta": "All"}) is always
    assert enters_transcript(kind, {"for_model": True}) is (always or agreed == "where_said")


@pytest.mark.parametrize("kind", AGREED)
def test_b3_family_of_each_kind(kind: str) -> None:
    agreed = AGREED[kind].family
    for mode, of_tool in (("inline", "chat"), ("background", "system"), ("human", "system"), ("newer", "system")):
        assert family(kind, {"mode": mode}) == (of_tool if agreed == "by mode" else agreed)
    for data in (None, {}, {"mode": None}):
        assert family(kind, data) == ("chat" if agreed == "by mode" else agreed)


@pytest.mark.parametrize(
    ("for_model", "seen"),
    [(True, True), (False, False), (None, False), ("true", False), (1, False), ([], False)],
)
def test_b3_model_sees_a_system_error_only_with_for_model(for_model: Any, seen: bool) -> None:
    data = {"message": "Out of paper.", "for_model": for_model}
    assert seen_by("system_error", Side.MODEL, data) is seen
    assert enters_transcript("system_error", data) is seen
    assert not seen_by("system_error", Side.WORKERS, data)


@pytest.mark.parametrize("kind", [kind for kind in AGREED if AGREED[kind].transcript != "where_said"])
def test_b3_for_model_has_no_effect_on_other_kinds(kind: str) -> None:
    assert seen_by(kind, Side.MODEL, {"for_model": True}) is ("model" in AGREED[kind].seen_by)


def test_b3_requests_are_opened_and_closed_by_their_own_kinds() -> None:
    assert {kind for kind in EventKind if route(kind).opens_request} == {"human_request", "wallet_tx_request"}
    assert {kind: row.closes for kind, row in ROUTES.items() if row.closes} == {
        "human_answer": "human_request",
        "wallet_tx_response": "wallet_tx_request",
    }


@pytest.mark.parametrize("kind", AGREED)
def test_b3_only_pieces_of_text_are_not_stored(kind: str) -> None:
    assert is_stored(kind, {"delta": "He"}) is (kind != "text")
    assert is_stored(kind, {"delta": None, "text": "Hello"})
    assert is_stored(kind) is (kind != "text")


@given(UNKNOWN, DATA)
def test_b3_an_unknown_kind_is_for_people_and_never_for_the_model(kind: str, data: dict[str, Any] | None) -> None:
    assert [side for side in Side if may_post(kind, side)] == [Side.RUNTIME]
    assert {side for side in Side if seen_by(kind, side, data)} == {Side.PEOPLE, Side.RUNTIME}
    assert not enters_transcript(kind, data)
    assert (family(kind, data), is_stored(kind, data)) == (Family.SYSTEM, True)


@given(st.sampled_from(EventKind) | UNKNOWN, DATA)
def test_b3_system_event_enters_the_transcript_only_if_its_route_says_so(
    kind: str, data: dict[str, Any] | None
) -> None:
    allowed = {"tool_result", "human_answer", "wallet_tx_response"}
    if family(kind, data) is Family.SYSTEM and enters_transcript(kind, data):
        assert kind in allowed or (kind == "system_error" and data is not None and data["for_model"] is True)
    if enters_transcript(kind, data):
        assert seen_by(kind, Side.MODEL, data) or route(kind).transcript is Transcript.FINISHED_MESSAGE


def test_b3_model_cannot_post() -> None:
    assert postable(Side.MODEL) == ()


def test_b3_kinds_and_routes_load_no_other_package() -> None:
    code = (
        "import sys, callboard.events.kinds, callboard.events.routing\n"
        "print(*(name for name in sys.modules if name.partition('.')[0] == 'pydantic' or 'events' in name))"
    )
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {"callboard.events", "callboard.events.kinds", "callboard.events.routing"}


def test_b3_the_page_has_the_table() -> None:
    lines = (Path(__file__).parents[2] / "docs" / "events.md").read_text().splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| `")]
    found = {
        kind.strip("`"): Row(set(by.split(", ")), set(seen.split(", ")), *rest)
        for kind, by, seen, *rest in (row for row in cells if len(row) == 5)
    }
    assert found == AGREED
