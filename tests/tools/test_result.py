"""Results of handlers: validated, encoded once, and errors that reveal nothing about the host (T5, X4)."""

import dataclasses
import datetime
import json
import re
from collections.abc import AsyncIterator
from enum import Enum
from typing import Annotated, Any, Generic, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny, TypeAdapter
from pydantic_core import from_json, to_json
from typing_extensions import TypedDict

from callboard import Registry, Tool, ToolContext, ToolError, dynamic_tool, tool
from callboard.jsonrules.depth import MAX_DEPTH, MAX_READABLE_DEPTH, exceeds_depth
from callboard.testing import Harness
from callboard.tools.result import Result
from tests.examples import examples

pytestmark = pytest.mark.anyio

HOST = re.compile(r"/\w+/|\.py|0x[0-9a-f]+|<class|<object|tests\.|__main__|pydantic|Error:|Traceback|hunter2")


class Reading(BaseModel):
    degrees: float
    note: str | None = None


class Secret:
    def __repr__(self) -> str:
        return "hunter2"


def returning(value: Any, kind: Any) -> Tool:
    async def read() -> Any:
        """Read."""
        return value() if callable(value) and not isinstance(value, type) else value

    read.__annotations__["return"] = kind
    return tool(read)


async def failure(value: Any, kind: Any) -> ToolError:
    """The error for a result that must not get out; its message must hold nothing of the host."""
    registry = Registry([returning(value, kind)])
    for call in (lambda: registry.call("read"), lambda: registry.call_json("read", b"{}")):
        with pytest.raises(ToolError) as caught:
            await call()
        assert caught.value.category == "execution"
        assert not HOST.search(json.dumps(caught.value.to_model()))
        assert caught.value.report
    return caught.value


@pytest.mark.parametrize(
    ("value", "kind", "written"),
    [
        (Reading(degrees=1), Reading, b'{"degrees":1.0,"note":null}'),
        ({"degrees": 1}, Reading, b'{"degrees":1.0,"note":null}'),
        ([{"degrees": 1, "note": "x"}], list[Reading], b'[{"degrees":1.0,"note":"x"}]'),
        (None, None, b"null"),
        (None, int | None, b"null"),
        ("ü\n", str, b'"\xc3\xbc\\n"'),
        ({"a": (1, 2)}, Any, b'{"a":[1,2]}'),
        (datetime.date(2026, 3, 1), datetime.date, b'"2026-03-01"'),
        (datetime.date(2026, 3, 1), Any, b'"2026-03-01"'),
        ("NaN", Any, b'"NaN"'),
        (["Infinity", None], list[str | None], b'["Infinity",null]'),
    ],
)
async def test_t5_results_are_written_as_json(value: Any, kind: Any, written: bytes) -> None:
    registry = Registry([returning(value, kind)])
    assert await registry.call_json("read", b"{}") == written
    assert await registry.call("read") == json.loads(written)


async def test_t5_a_result_of_classes_is_written_by_its_type() -> None:
    @dataclasses.dataclass
    class Box:
        size: int

    class Colour(Enum):
        RED = "red"

    class Shown(TypedDict):
        box: Box
        colour: Colour

    assert await Registry([returning({"box": Box(1), "colour": Colour.RED}, Shown)]).call("read") == {
        "box": {"size": 1},
        "colour": "red",
    }


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("warm", Reading),
        ({"degrees": "warm"}, Reading),
        ({}, Reading),
        (None, Reading),
        ("x", int),
        (None, str),
        ([1, "x"], list[int]),
        (Secret(), Reading),
        (3, None),
    ],
)
async def test_t5_a_result_of_the_wrong_type_is_an_execution_error(value: Any, kind: Any) -> None:
    error = await failure(value, kind)
    assert error.message == "The tool read failed: its result does not match its declared type."
    assert error.details is None
    assert error.report is not None
    assert error.report.startswith("read returned a wrong type: ")


async def test_t5_the_report_says_where_the_result_is_wrong() -> None:
    assert "[1].degrees: Input should be a valid number" in str(
        (await failure([{"degrees": 1}, {"degrees": "x"}], list[Reading])).report
    )


def circular() -> Any:
    ring: list[Any] = []
    ring.append(ring)
    return ring


def deep() -> Any:
    value: Any = 1
    for _ in range(1000):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [
        Secret,
        lambda: Secret(),
        lambda: {"a": object()},
        circular,
        deep,
        lambda: float("nan"),
        lambda: {"a": [float("inf")]},
        lambda: "\ud800",
        lambda: {1, object()},
    ],
)
async def test_t5_a_result_that_is_not_json_is_an_execution_error(value: Any) -> None:
    error = await failure(value, Any)
    assert error.message == "The tool read failed: its result cannot be written as JSON."


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (float("nan"), float),
        (float("-inf"), float),
        ({"degrees": float("nan")}, Reading),
        (Reading(degrees=float("inf")), Reading),
        ([Reading(degrees=1), Reading(degrees=float("nan"))], list[Reading]),
        ({"a": {"b": (1.0, float("nan"))}}, dict[str, Any]),
    ],
)
async def test_t5_a_number_that_is_not_finite_is_not_turned_into_null(value: Any, kind: Any) -> None:
    error = await failure(value, kind)
    assert error.message == "The tool read failed: its result cannot be written as JSON."


class Constants(BaseModel):
    model_config = ConfigDict(ser_json_inf_nan="constants")

    degrees: float


class Anything(BaseModel):
    held: Any


LONG = 10**4300
"""The shortest number that no reader accepts."""


@pytest.mark.parametrize(
    ("value", "kind", "reason"),
    [
        (LONG, int, "a number has more than 4,300 digits"),
        (-LONG, Any, "a number has more than 4,300 digits"),
        ({"a": [LONG]}, dict[str, Any], "a number has more than 4,300 digits"),
        (Anything(held=LONG), Anything, "a number has more than 4,300 digits"),
        ([1, LONG], list[int], "a number has more than 4,300 digits"),
        (Constants(degrees=float("nan")), Constants, "it contains a number that is not finite"),
        ({"a": Constants(degrees=float("-inf"))}, dict[str, Constants], "it contains a number that is not finite"),
        (Anything(held=Constants(degrees=float("inf"))), Anything, "it contains a number that is not finite"),
        (Constants(degrees=float("nan")), Any, "it contains a number that is not finite"),
        ({1: "a", "1": "b"}, Any, "an object has the same key twice"),
        ([{"a": {-1.5: "a", "-1.5": "b"}}], list[Any], "an object has the same key twice"),
        ({1: 1, "1": 2}, dict[int | str, int], "an object has the same key twice"),
        (Anything(held={1: "a", "1": "b"}), Anything, "an object has the same key twice"),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_t5_a_result_that_not_every_reader_reads_alike_is_an_execution_error(
    value: Any, kind: Any, reason: str
) -> None:
    error = await failure(value, kind)
    assert error.message == "The tool read failed: its result cannot be written as JSON."
    assert error.report == f"read: {reason}"


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (LONG // 10, int),
        (-(LONG // 10), Any),
        (str(LONG // 10) * 2, str),
        ({"a": str(LONG // 10) * 2}, Any),
        ("NaN, Infinity", Any),
        (Constants(degrees=1), Constants),
        ({1: "a", 2: "1"}, Any),
        ([{"1": ":"}, {"1": '"1":'}], Any),
        ({1: {"1": 2}, "": {"": ""}}, dict[Any, Any]),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_t5_a_text_that_looks_unreadable_is_accepted_as_a_result(value: Any, kind: Any) -> None:
    written = await Registry([returning(value, kind)]).call_json("read", b"{}")
    assert from_json(written) == json.loads(written) == TypeAdapter(Any).dump_python(value, mode="json")


@pytest.mark.parametrize("value", [[LONG], {"a": LONG}, Constants(degrees=float("nan")), {1: 1, "1": 2}])
async def test_t5_a_part_that_could_not_be_read_again_does_not_reach_the_board(value: Any) -> None:
    @tool
    async def read(ctx: ToolContext) -> None:
        """Read."""
        await ctx.partial(value)

    async with Harness(read) as harness:
        outcome = await harness.session.call("read")
        assert outcome.error is not None
        assert outcome.error.message == "A partial result cannot be written as JSON."
        assert [event.data["tool"] for event in harness.events()] == ["read"] * len(harness.kinds())
        assert "tool_partial" not in harness.kinds()


async def test_t5_a_typed_result_that_cannot_be_written_is_an_execution_error() -> None:
    class Holder(BaseModel):
        value: Any

    error = await failure(lambda: Holder(value=Secret()), Holder)
    assert error.message == "The tool read failed: its result cannot be written as JSON."


async def test_t1_the_last_value_of_a_generator_is_the_result_and_is_checked() -> None:
    @tool
    async def good() -> AsyncIterator[Reading]:
        """Read."""
        for degrees in range(3):
            yield Reading(degrees=degrees)

    @tool
    async def bad() -> AsyncIterator[int]:
        """Read."""
        yield 1
        yield "x"  # type: ignore[misc]

    @tool
    async def empty() -> AsyncIterator[int | None]:
        """Read."""
        return
        yield

    registry = Registry([good, bad, empty])
    assert await registry.call("good") == {"degrees": 2.0, "note": None}
    with pytest.raises(ToolError) as caught:
        await registry.call("bad")
    assert caught.value.category == "execution"
    assert await registry.call("empty") is None


T = TypeVar("T")


class Page(BaseModel, Generic[T]):
    items: list[T]
    total: int = Field(ge=0)


async def test_t5_generic_results_are_checked() -> None:
    assert await Registry([returning({"items": [{"degrees": 1}], "total": 1}, Page[Reading])]).call("read") == {
        "items": [{"degrees": 1.0, "note": None}],
        "total": 1,
    }
    await failure({"items": [{"degrees": 1}], "total": -1}, Page[Reading])


async def test_t5_without_a_return_annotation_anything_is_admitted() -> None:
    async def free(a: Annotated[int, "A number"]):  # type: ignore[no-untyped-def]
        """Give."""
        return {"a": [a, None]}

    made = tool(free)
    assert (made.output_model, made.output_schema) == (Any, None)
    assert await Registry([made]).call("free", {"a": 1}) == {"a": [1, None]}


# Depth


class Node(BaseModel):
    """Contains itself."""

    below: "Node | None" = None


class Holder(BaseModel):
    held: Any


def lists(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def objects(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"a": value}
    return value


def hidden(levels: int) -> Any:
    """Brackets in strings would close open levels if they were counted."""
    value: Any = 1
    for _ in range(levels):
        value = ["]", value, "["]
    return value


def escaped(levels: int) -> Any:
    """The same, and quotes in its strings seem to end them."""
    value: Any = 1
    for _ in range(levels):
        value = ['"]"', value, '"["']
    return value


def quoted(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {'"]}\\"[{': value, "\\": '"'}
    return value


def wide(levels: int) -> Any:
    return [[{"a": [1, {}]}] * 300, lists(levels - 1), [[]] * 300]


def nodes(levels: int) -> Node:
    node = Node()
    for _ in range(levels - 1):
        node = Node(below=node)
    return node


SHAPES: list[tuple[Any, Any]] = [
    (lists, Any),
    (objects, Any),
    (hidden, Any),
    (escaped, Any),
    (quoted, Any),
    (wide, Any),
    (objects, dict[str, Any]),
    (lists, list[Any]),
    (nodes, Node),
    (nodes, Node | None),
    (lambda levels: Holder(held=lists(levels - 1)), Holder),
    (lambda levels: {"held": lists(levels - 1)}, Holder),
]


@pytest.mark.parametrize(("make", "kind"), SHAPES)
async def test_t5_a_result_that_could_not_be_read_again_is_an_execution_error(make: Any, kind: Any) -> None:
    for levels in (MAX_DEPTH + 1, MAX_READABLE_DEPTH, MAX_READABLE_DEPTH + 1, 250):
        error = await failure(lambda levels=levels: make(levels), kind)
        assert error.message == "The tool read failed: its result is nested too deeply."
        assert error.report == "read: the result is nested more than 190 levels deep"


@pytest.mark.parametrize(("make", "kind"), SHAPES)
async def test_t5_a_result_as_deep_as_can_be_is_read_wherever_it_is_sent(make: Any, kind: Any) -> None:
    read = returning(lambda: make(MAX_DEPTH), kind)
    expected = TypeAdapter(Any).dump_python(make(MAX_DEPTH), mode="json")
    async with Harness(read) as harness:
        outcome = await harness.session.call("read")
        assert outcome.value == expected
        assert harness.events()[-1].data["value"] == expected
        assert harness.session.executions()[0].value == expected


async def test_t5_a_deep_result_of_a_dynamic_tool_is_an_execution_error() -> None:
    async def give(arguments: Any) -> Any:
        return objects(MAX_READABLE_DEPTH + 1)

    schema = {"type": "object", "properties": {}}
    made = dynamic_tool("give", schema, give, description="Give.", output_schema={"type": "object"})
    with pytest.raises(ToolError, match="its result is nested too deeply") as caught:
        await Registry([made]).call("give")
    assert caught.value.category == "execution"


async def test_t5_a_call_whose_result_is_too_deep_has_failed() -> None:
    async with Harness(returning(lambda: lists(MAX_READABLE_DEPTH + 1), Any)) as harness:
        outcome = await harness.session.call("read")
        assert (outcome.status, outcome.value) == ("failed", None)
        assert harness.events()[-1].data["error"]["message"] == "The tool read failed: its result is nested too deeply."


async def test_m2_a_partial_result_that_could_not_be_read_again_is_refused() -> None:
    @tool
    async def give(ctx: ToolContext) -> str:
        """Give parts."""
        await ctx.partial(lists(MAX_DEPTH))
        with pytest.raises(ToolError) as caught:
            await ctx.partial(hidden(MAX_DEPTH + 1))
        assert caught.value.category == "execution"
        await ctx.partial(1)
        return caught.value.message

    async with Harness(give) as harness:
        assert (await harness.session.call("give")).value == "A partial result is nested too deeply."
        parts = [event.data["value"] for event in harness.events() if event.kind == "tool_partial"]
        assert parts == [lists(MAX_DEPTH), 1]


def levels_of(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + max(map(levels_of, value.values()), default=0)
    return 1 + max(map(levels_of, value), default=0) if isinstance(value, list) else 0


strings = st.text(alphabet='[]{}"\\a\n:,', max_size=4)
wrappers = st.tuples(st.sampled_from(["list", "object", "first", "last"]), strings)


@given(st.lists(wrappers, max_size=8), st.sampled_from([1, 20, 47, 48, 60]), st.integers(0, 3))
@examples(150, 1000)
def test_t5_depth_is_seen_whatever_is_in_the_strings(pattern: list[tuple[str, str]], times: int, more: int) -> None:
    value: Any = 1
    for kind, text in [*pattern * times, *[("list", "")] * more][:250]:
        match kind:
            case "object":
                value = {text: value, "": [1]}
            case "first":
                value = [value, text]
            case "last":
                value = [text, value]
            case _:
                value = [value]
    written = to_json(value)
    assert exceeds_depth(written, MAX_DEPTH) == (levels_of(value) > MAX_DEPTH)
    if not exceeds_depth(written, MAX_DEPTH):
        room = MAX_READABLE_DEPTH - MAX_DEPTH
        from_json(b"[" * room + written + b"]" * room)


@pytest.mark.parametrize("text", ["[[{{" * 200, '"]\\' * 200, "{}\n" * 200])
def test_t5_brackets_in_a_text_are_no_levels(text: str) -> None:
    for value in (text, [text], {text: {"a": [text] * 3}}, [[text, [text]], text]):
        assert from_json(Result().write("read", value)) == value
        assert from_json(Result().encode(value)) == value


class Free(BaseModel):
    model_config = ConfigDict(extra="allow")


class Shown(BaseModel):
    reading: SerializeAsAny[Reading]


@pytest.mark.parametrize(
    ("kind", "open_"),
    [
        (Reading, False),
        (list[Reading], False),
        (dict[str, list[Reading | None]], False),
        (tuple[int, str, datetime.date], False),
        (Any, True),
        (list[Any], True),
        (dict[str, object], True),
        (Node, True),
        (Free, True),
        (Shown, True),
        (dict[int, Reading], False),
        (dict[int | str, Reading], True),
        (Constants, True),
    ],
)
def test_t5_the_depth_of_a_result_is_not_checked_where_its_type_bounds_it(kind: Any, open_: bool) -> None:
    assert Result(kind, TypeAdapter(kind))._unbounded is open_
