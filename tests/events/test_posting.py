"""Posting: the permission of the side is checked first, then JSON and size, then the shape (B2, B3)."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import to_json

from callboard.errors import CallboardError
from callboard.events.event import Event
from callboard.events.kinds import EventKind
from callboard.events.posting import MAX_EVENT_BYTES, Posted, PostingRefused, accept
from callboard.events.problems import MAX_DEPTH, MAX_PROBLEMS, EventInvalid, EventTooLarge
from callboard.events.routing import Side, may_post, postable
from callboard.events.shapes import SHAPES

OF_TOOL = {"execution_id": "x1", "call_id": "c1", "tool": "add"}
OF_REQUEST = {**OF_TOOL, "request_id": "r1", "answer_schema": {"type": "object"}, "expires_at": "2027-01-15T08:00:00Z"}

EXAMPLES: dict[str, dict[str, Any]] = {
    "tool_started": {**OF_TOOL, "arguments": {"a": 1}},
    "tool_validating": {**OF_TOOL},
    "tool_executing": {**OF_TOOL, "attempt": 1, "maximum": 3},
    "tool_progress": {**OF_TOOL, "stage": "adding", "fraction": 0.5, "message": "half"},
    "tool_partial": {**OF_TOOL, "value": [1]},
    "tool_retrying": {
        **OF_TOOL,
        "attempt": 1,
        "maximum": 3,
        "error": {"category": "transient", "message": "The line is busy.", "retry_after": 1},
        "delay": 0.5,
    },
    "tool_result": {**OF_TOOL, "mode": "background", "status": "succeeded", "value": 3},
    "human_request": {**OF_REQUEST, "payload": {"a": 1}},
    "human_answer": {"request_id": "r1", "answer": {"approved": True}},
    "wallet_tx_request": {
        **OF_REQUEST,
        "to": "0x" + "0" * 40,
        "value": "1000000000000000000",
        "data": "0x",
        "gas_limit": 21_000,
        "description": "Send one ether",
    },
    "wallet_tx_response": {
        "request_id": "r1",
        "status": "confirmed",
        "transaction_hash": "0xab",
        "detail": "In block 7",
    },
    "user_request": {"request_id": "r2", "request_kind": "gas_price", "payload": {}, "priority": "urgent"},
    "user_response": {"request_id": "r2", "request_kind": "gas_price", "payload": 7, "error": {"message": "Stale."}},
    "system_notice": {"message": "Look.", "details": [1]},
    "system_error": {"message": "Out of paper.", "for_model": True},
    "connection": {"state": "missing_api_key", "name": "anthropic", "message": "Set the key."},
    "user_input": {"text": "Hello"},
    "turn_started": {"turn_id": "t1"},
    "text": {"turn_id": "t1", "message_id": "m1", "delta": "He"},
    "turn_finished": {"turn_id": "t1", "usage": {"requests": 1, "input_tokens": 5, "output_tokens": 6, "cost": 0.1}},
    "turn_failed": {"turn_id": "t1", "error": {"category": "resource", "message": "Too many turns."}},
    "turn_paused": {"turn_id": "t1", "usage": {"requests": 1}},
    "turn_interrupted": {"turn_id": "t1", "message": "The user stopped it."},
}
"""A full event of every kind, without its kind."""

ALLOWED = [(kind, side) for kind in EventKind for side in Side if may_post(kind, side)]
FORBIDDEN = [(kind, side) for kind in EventKind for side in Side if not may_post(kind, side)]
REQUIRED = [
    (kind, name)
    for kind, shape in SHAPES.items()
    for name, field in shape.model_fields.items()
    if field.is_required() and name != "kind"
]


def poster(kind: str) -> Side:
    """Return a side that may post a kind: not the runtime, if there is another."""
    return min((side for side in Side if may_post(kind, side)), key=lambda side: side is Side.RUNTIME)


def example(kind: str, **fields: Any) -> dict[str, Any]:
    return {"kind": str(kind), **EXAMPLES[kind], **fields}


def problems(event: Any, side: Side = Side.PEOPLE) -> list[tuple[str, str]]:
    """Return the paths and messages of the problems of an event."""
    with pytest.raises(EventInvalid) as caught:
        accept(event, side)
    assert caught.value.code == "event_invalid"
    return [(problem["path"], problem["message"]) for problem in caught.value.problems]


def judged(event: Any, side: Side) -> Posted | PostingRefused | EventInvalid:
    try:
        return accept(event, side)
    except (PostingRefused, EventInvalid) as error:
        return error


def read_back(posted: Posted) -> tuple[str, dict[str, Any]]:
    """Return an accepted event as a reader of a board gets it."""
    line = b'{"kind":"%b","at":"2027-01-15T08:00:00.000Z","data":%b}' % (posted.kind.encode(), to_json(posted.data))
    assert line.count(b"\n") == 0
    event = Event(1, line)
    return event.kind, event.data


def is_plain(error: EventInvalid) -> bool:
    """Return whether a text is short and printable."""
    return all(line.isprintable() for line in str(error).split("\n"))


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


# Who may


@pytest.mark.parametrize(("kind", "side"), ALLOWED)
def test_b3_side_posts_the_kinds_that_are_allowed(kind: EventKind, side: Side) -> None:
    posted = accept(example(kind), side)
    assert posted.kind is kind
    assert read_back(posted) == (kind, posted.data)
    assert set(posted.data) == set(SHAPES[kind].model_fields) - {"kind"}


@pytest.mark.parametrize(("kind", "side"), FORBIDDEN)
def test_b3_side_cannot_post_a_kind_that_is_not_allowed(kind: EventKind, side: Side) -> None:
    with pytest.raises(PostingRefused) as caught:
        accept(example(kind), side)
    error = caught.value
    assert (error.code, error.kind, error.side, error.allowed) == ("posting_refused", kind, side, postable(side))
    for word in (repr(str(kind)), str(side), *postable(side)):
        assert word in str(error)


def test_b3_refusal_lists_the_allowed_kinds() -> None:
    with pytest.raises(PostingRefused) as caught:
        accept({"kind": "tool_result"}, Side.WORKERS)
    assert str(caught.value) == (
        "The workers may not post 'tool_result'. "
        "Allowed for this side: user_response, system_notice, system_error, connection."
    )
    with pytest.raises(PostingRefused, match=r"The model may not post 'text'\. Allowed for this side: nothing\.$"):
        accept({"kind": "text"}, Side.MODEL)


CIRCULAR: list[Any] = []
CIRCULAR.append(CIRCULAR)
GARBAGE: list[dict[Any, Any]] = [
    {},
    {"made_up": 1},
    {"execution_id": math.nan, "value": math.inf},
    {"value": object()},
    {"value": CIRCULAR},
    {"value": nested(300)},
    {"value": "x" * (MAX_EVENT_BYTES + 1)},
    {"\ud800": "\ud800"},
    {5: None, None: 5, b"kind": "user_input"},
]


@pytest.mark.parametrize(("kind", "side"), FORBIDDEN)
def test_b3_permission_is_checked_before_the_shape(kind: EventKind, side: Side) -> None:
    for fields in GARBAGE:
        with pytest.raises(PostingRefused):
            accept({"kind": str(kind), **fields}, side)


LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.text(st.characters(categories=["Cs", "Cc", "Ll"]), max_size=3)
    | st.binary(max_size=3)
    | st.builds(object)
)
ANYTHING = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(LEAVES.filter(bool), inner, max_size=3),
    max_leaves=6,
)
NAMES = sorted({name for shape in SHAPES.values() for name in shape.model_fields})
HOSTILE = st.dictionaries(st.sampled_from(NAMES) | LEAVES, ANYTHING, max_size=4)
KINDS = st.sampled_from([*EventKind, *map(str, EventKind)]) | st.text() | ANYTHING


@given(KINDS, HOSTILE, st.sampled_from(Side), st.booleans())
def test_b3_no_mapping_yields_a_kind_that_its_side_may_not_post(
    kind: Any, fields: dict[Any, Any], side: Side, nearly_right: bool
) -> None:
    known = EXAMPLES.get(kind, {}) if isinstance(kind, str) and nearly_right else {}
    answer = judged({**known, **fields, "kind": kind}, side)
    if isinstance(answer, PostingRefused):
        assert not may_post(kind, side)
    elif isinstance(answer, EventInvalid):
        assert not isinstance(kind, str) or may_post(kind, side), "a refusal comes first"
        assert is_plain(answer)
    else:
        assert answer.kind == kind
        assert may_post(answer.kind, side)
        assert read_back(answer) == (answer.kind, answer.data)


ACCEPTABLE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(ACCEPTABLE)
def test_b2_any_json_is_a_payload_and_stays_unchanged(payload: Any) -> None:
    posted = accept({"kind": "user_request", "request_kind": "echo", "payload": payload}, Side.PEOPLE)
    assert posted.data["payload"] == payload
    assert read_back(posted)[1]["payload"] == payload
    assert accept({"kind": "human_answer", "request_id": "r", "answer": payload}, Side.PEOPLE).data["answer"] == payload


# Kinds


@pytest.mark.parametrize(
    "kind", ["hologram", "", "TOOL_RESULT", "user_input ", "user_input\x00", "\ud800", "x" * 100_000]
)
@pytest.mark.parametrize("side", [Side.PEOPLE, Side.WORKERS, Side.MODEL])
def test_b2_only_the_runtime_posts_unknown_kinds(kind: str, side: Side) -> None:
    with pytest.raises(PostingRefused, match="a kind that this version does not know") as caught:
        accept({"kind": kind, "anything": 1}, side)
    assert len(str(caught.value)) < 500
    assert str(caught.value).isprintable()


def test_b2_runtime_posts_kinds_of_newer_versions_unchanged() -> None:
    posted = accept({"kind": "hologram", "beam": {"colour": "blue"}, "data": None}, Side.RUNTIME)
    assert posted == ("hologram", {"beam": {"colour": "blue"}, "data": None})
    assert read_back(posted) == posted
    assert accept({"kind": "x" * 100}, Side.RUNTIME).data == {}


@pytest.mark.parametrize("kind", ["", 'a"b', "a\nb", "Hologram", "1st", "a-b", "x" * 101, "é"])
def test_b2_the_name_of_a_kind_cannot_break_a_line(kind: str) -> None:
    assert problems({"kind": kind}, Side.RUNTIME) == [("kind", "A kind is a name: at most 100 of a-z, 0-9 and _.")]


@pytest.mark.parametrize("kind", [None, 5, True, ["text"], {"kind": "text"}, b"text", math.nan, object(), CIRCULAR])
@pytest.mark.parametrize("side", Side)
def test_b2_a_kind_is_a_text(kind: Any, side: Side) -> None:
    assert problems({"kind": kind}, side) == [("kind", "Every event has a kind, which is a text.")]
    assert problems({}, side) == [("kind", "Every event has a kind, which is a text.")]


@pytest.mark.parametrize("event", [None, "user_input", ["kind", "user_input"], 5, b"{}", object(), CIRCULAR])
def test_b2_an_event_is_an_object(event: Any) -> None:
    assert problems(event) == [("", "An event is an object with a kind and the fields of that kind.")]


def test_b2_any_mapping_is_accepted_and_not_changed() -> None:
    given_fields = {"kind": EventKind.USER_INPUT, "text": "Hello"}
    assert accept(MappingProxyType(given_fields), Side.PEOPLE) == ("user_input", {"text": "Hello", "message_id": None})
    assert given_fields == {"kind": EventKind.USER_INPUT, "text": "Hello"}


# Shapes


@pytest.mark.parametrize(("kind", "name"), REQUIRED)
def test_b2_missing_field_is_named(kind: str, name: str) -> None:
    event = example(kind)
    del event[name]
    assert problems(event, poster(kind)) == [(name, "This field is required.")]


@pytest.mark.parametrize("kind", EventKind)
def test_b2_only_the_runtime_adds_fields(kind: str) -> None:
    for side in Side:
        if side is Side.RUNTIME and may_post(kind, side):
            assert accept(example(kind, extra=[1]), side).data["extra"] == [1]
        elif may_post(kind, side):
            ((path, message),) = problems(example(kind, extra=[1]), side)
            assert path == "extra"
            assert message.startswith("There is no such field. Its kind has: ")


def test_b2_fields_of_nested_objects_are_validated() -> None:
    response = example("user_response", error={"message": "No.", "stack": "…"})
    assert problems(response) == [("error.stack", "There is no such field.")]
    assert problems(example("user_response", error={"category": "bad luck"})) == [
        ("error.category", problems(example("user_response", error={"message": "", "category": "x"}))[0][1]),
        ("error.message", "This field is required."),
    ]


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("user_input", {"text": 5}, "text"),
    ("user_input", {"text": ""}, "text"),
    ("user_input", {"text": " \n\t\u00a0"}, "text"),
    ("user_input", {"text": None}, "text"),
    ("user_request", {"request_kind": ""}, "request_kind"),
    ("user_request", {"request_kind": "a\x00b"}, "request_kind"),
    ("user_request", {"request_kind": "a\nb"}, "request_kind"),
    ("user_request", {"request_kind": "x" * 201}, "request_kind"),
    ("user_request", {"request_id": "x" * 201}, "request_id"),
    ("user_request", {"request_id": 7}, "request_id"),
    ("user_request", {"priority": "very"}, "priority"),
    ("user_request", {"priority": 1}, "priority"),
    ("user_response", {"request_id": None}, "request_id"),
    ("user_response", {"error": "No."}, "error"),
    ("human_answer", {"request_id": "\u202e"}, "request_id"),
    ("wallet_tx_response", {"status": "maybe"}, "status"),
    ("wallet_tx_response", {"transaction_hash": ""}, "transaction_hash"),
    ("wallet_tx_response", {"detail": {}}, "detail"),
    ("system_error", {"for_model": "yes"}, "for_model"),
    ("system_error", {"for_model": 1}, "for_model"),
    ("system_error", {"message": "  "}, "message"),
    ("connection", {"state": "odd"}, "state"),
    ("tool_executing", {"attempt": 0}, "attempt"),
    ("tool_executing", {"attempt": 1.5}, "attempt"),
    ("tool_executing", {"attempt": True}, "attempt"),
    ("tool_progress", {"fraction": 1.01}, "fraction"),
    ("tool_result", {"status": "started"}, "status"),
    ("tool_result", {"mode": "sometimes"}, "mode"),
    ("human_request", {"expires_at": "tomorrow"}, "expires_at"),
    ("human_request", {"expires_at": "2027-01-15T08:00:00"}, "expires_at"),
    ("wallet_tx_request", {"value": 10**18}, "value"),
    ("turn_finished", {"usage": {"requests": -1}}, "usage.requests"),
    ("text", {"text": "Hello"}, ""),
    ("text", {"delta": None}, ""),
]


@pytest.mark.parametrize(("kind", "fields", "path"), WRONG, ids=range(len(WRONG)))
def test_b2_a_wrong_value_is_named_with_its_path(kind: str, fields: dict[str, Any], path: str) -> None:
    ((found, message),) = problems(example(kind, **fields), poster(kind))
    assert found == path
    assert message


def test_b2_ids_have_1_to_200_printable_characters() -> None:
    for good in ("x", "x" * 200, "é ü 漢字", "r:1/2"):
        assert accept(example("user_request", request_id=good), Side.PEOPLE).data["request_id"] == good


def test_b2_error_has_path_message_and_received_value() -> None:
    with pytest.raises(EventInvalid) as caught:
        accept({"kind": "user_request", "payload": {}, "priority": "very", "colour": "red"}, Side.PEOPLE)
    assert isinstance(caught.value, CallboardError)
    assert str(caught.value) == (
        "The event is not valid:\n"
        "- request_kind: This field is required.\n"
        "- priority: Input should be 'urgent', 'normal' or 'low'. Received: 'very'\n"
        "- colour: There is no such field. Its kind has: request_id, request_kind, payload, priority. Received: 'red'"
    )
    assert caught.value.problems[1] == {
        "path": "priority",
        "message": "Input should be 'urgent', 'normal' or 'low'.",
        "received": "'very'",
    }


def test_b2_omitted_field_has_its_default() -> None:
    assert accept({"kind": "user_request", "request_kind": "gas_price"}, Side.PEOPLE).data == {
        "request_id": None,
        "request_kind": "gas_price",
        "payload": None,
        "priority": "normal",
    }
    assert accept({"kind": "system_error", "message": "Oh."}, Side.WORKERS).data["for_model"] is False


# Sizes


def test_b3_event_up_to_the_size_limit_is_accepted() -> None:
    event = {"kind": "user_input", "text": "né" * 100}
    size = len(to_json(event))
    assert size > len(str(event)), "bytes are counted, not characters"
    assert accept(event, Side.PEOPLE, max_bytes=size).data == {"text": "né" * 100, "message_id": None}
    with pytest.raises(EventTooLarge, match=rf"too large: {size} bytes as JSON, and at most {size - 1} are") as caught:
        accept(event, Side.PEOPLE, max_bytes=size - 1)
    assert (caught.value.code, caught.value.size, caught.value.limit) == ("event_too_large", size, size - 1)


def test_b3_default_size_limit_is_256_kib() -> None:
    frame = len(to_json({"kind": "user_input", "text": ""}))
    accept({"kind": "user_input", "text": "x" * (256 * 1024 - frame)}, Side.PEOPLE)
    with pytest.raises(EventTooLarge, match="262,145 bytes"):
        accept({"kind": "user_input", "text": "x" * (256 * 1024 - frame + 1)}, Side.PEOPLE)


def test_b3_a_large_event_of_the_wrong_shape_is_too_large_first() -> None:
    with pytest.raises(EventTooLarge):
        accept({"kind": "user_input", "made_up": "x" * 10_000_000}, Side.PEOPLE)


# Hostile values


@pytest.mark.parametrize("wrap", [lambda inner: [inner], lambda inner: {"a": inner}], ids=["lists", "objects"])
def test_b2_depth_up_to_the_limit_is_accepted(wrap: Any) -> None:
    payload: Any = wrap(1)
    for _ in range(MAX_DEPTH - 2):  # the event itself is one
        payload = wrap(payload)
    posted = accept(example("user_request", payload=payload), Side.PEOPLE)
    assert read_back(posted)[1]["payload"] == payload
    ((path, message),) = problems(example("user_request", payload=wrap(payload)))
    assert path.startswith("payload")
    assert message == "It is nested too deeply: at most 100 lists and objects may lie in each other."


@pytest.mark.parametrize("depth", [150, 199, 200, 201, 254, 255, 256, 1_000, 100_000])
def test_b2_depth_beyond_every_decoders_limit_is_refused_with_the_same_message(depth: int) -> None:
    for side in (Side.PEOPLE, Side.RUNTIME):
        kind = "user_request" if side is Side.PEOPLE else "hologram"
        ((_, message),) = problems({"kind": kind, "request_kind": "a", "payload": nested(depth)}, side)
        assert message.startswith("It is nested too deeply")


def test_b2_many_lists_beside_each_other_are_not_deep() -> None:
    payload: list[Any] = [[[]] for _ in range(10_000)]
    assert accept(example("user_request", payload=payload), Side.PEOPLE).data["payload"] == payload


@pytest.mark.parametrize(
    "text", ["NaN", "-Infinity", "[" * 500, "{" * 500, '"[[' * 200, '\\"[' * 200, "]" * 500 + "\\"]
)
def test_b2_brackets_in_a_string_do_not_count_as_depth(text: str) -> None:
    for payload in (text, {text: [text]}, [[text]] * 60):
        assert accept(example("user_request", payload=payload), Side.PEOPLE).data["payload"] == payload


def test_b2_circular_event_is_refused() -> None:
    loop: dict[str, Any] = {}
    loop["self"] = loop
    for payload in (CIRCULAR, loop, [loop, CIRCULAR]):
        ((_, message),) = problems(example("user_request", payload=payload))
        assert message.startswith("It is nested too deeply")


NOT_JSON: list[tuple[Any, str, str, str]] = [
    (math.nan, "payload", "It is not a finite number; JSON has no other.", "NaN"),
    ([1, {"a": -math.inf}], "payload[1].a", "It is not a finite number; JSON has no other.", "-Infinity"),
    ({"a": ["\ud800"]}, "payload.a[0]", "It is not valid Unicode: it has a lone surrogate.", r"'\ud800'"),
    ({"\udfff": 1}, "payload", "It has a name that is not valid Unicode.", r"'\udfff'"),
    ([10**5_000], "payload[0]", "It has more digits than can be read back.", "1" + "0" * 99 + " … (5,001 characters)"),
    ([object()], "payload[0]", "A object cannot be written as JSON.", "<object>"),
    ([b"\xff"], "payload[0]", "A bytes cannot be written as JSON.", "<bytes>"),
    ([{math.nan}], "payload[0]", "A set cannot be written as JSON.", "[NaN]"),
    ({"a\nb": math.nan}, r"payload.a\nb", "It is not a finite number; JSON has no other.", "NaN"),
]


@pytest.mark.parametrize(("payload", "path", "message", "received"), NOT_JSON, ids=range(len(NOT_JSON)))
def test_b2_value_that_is_not_json_is_refused_with_its_path(
    payload: Any, path: str, message: str, received: str
) -> None:
    with pytest.raises(EventInvalid) as caught:
        accept(example("user_request", payload=payload), Side.PEOPLE)
    assert caught.value.problems == [{"path": path, "message": message, "received": received}]


def test_b2_invalid_value_in_a_large_event_is_refused_after_a_bounded_search() -> None:
    payload: list[Any] = [0] * 100_000
    payload.append(math.nan)
    assert problems(example("user_request", payload=payload)) == [("", "Something in it cannot be written as JSON.")]


@pytest.mark.parametrize("text", ["\x00", "a\x00b", "\u2028", "\U0001f3ad", "\ufeff", ']}\n\n{"seq":1'])
def test_b2_unusual_text_in_a_payload_is_kept(text: str) -> None:
    posted = accept(example("user_request", payload={text: text}), Side.PEOPLE)
    assert read_back(posted)[1]["payload"] == {text: text}


def test_b2_python_values_with_a_json_form_are_accepted() -> None:
    payload = {"at": datetime(2027, 1, 15, 8, tzinfo=UTC), "both": (1, 2), 3: EventKind.TEXT}
    data = accept(example("user_request", payload=payload), Side.PEOPLE).data["payload"]
    assert data == {"at": "2027-01-15T08:00:00Z", "both": [1, 2], "3": "text"}


@pytest.mark.parametrize(
    "fields",
    [
        {f"field {number}": number for number in range(5_000)},
        {"x" * 100_000: "x"},
        {"text": ["x" * 100_000]},
        {"text": {"x" * 100_000: [None] * 1_000}},
        {"\x1b[31m": "\x1b[31m\n"},
        {"text": {"\x00" * 100: "\u2028"}},
    ],
    ids=range(6),
)
def test_b2_error_is_short_and_printable_for_any_event(fields: Mapping[str, Any]) -> None:
    with pytest.raises(EventInvalid) as caught:
        accept({"kind": "user_input", "text": 5, **fields}, Side.PEOPLE)
    assert len(str(caught.value)) < 5_000
    assert len(caught.value.problems) <= MAX_PROBLEMS
    assert is_plain(caught.value)
    if len(fields) > MAX_PROBLEMS:
        assert str(caught.value).endswith("\n- and 4,981 more")


def test_b3_disguised_second_kind_is_refused() -> None:
    event = cast("dict[Any, Any]", {"kind": "user_input", "text": "Hello", b"kind": "tool_result"})
    assert problems(event) == [("kind", "Input should be <EventKind.USER_INPUT: 'user_input'>.")]
