"""What a handler returns: held against its promise, written once, silent about the host when it is wrong (T5, X4)."""

import dataclasses
import datetime
import json
import re
from collections.abc import AsyncIterator
from enum import Enum
from typing import Annotated, Any, Generic, TypeVar

import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from callboard import Registry, Tool, ToolError, tool

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
    assert error.message == "The tool read failed: it returned something other than what it promises."
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
