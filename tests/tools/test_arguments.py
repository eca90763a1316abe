"""Arguments of a call: invalid ones are validation errors that a model can act on (T5), small mistakes are repaired
(T6), and no input does harm.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import AliasPath, BaseModel, BeforeValidator, Field, Json, TypeAdapter, ValidationError, model_validator
from typing_extensions import TypedDict

import callboard
from callboard import Registry, Settings, Tool, ToolError, dynamic_tool, tool
from callboard.tools.problems import problems_of
from tests.examples import examples

pytestmark = pytest.mark.anyio


class Line(BaseModel):
    """One line."""

    sku: Annotated[str, Field(description="Article")]
    count: Annotated[int, Field(description="How many")] = 1
    price: Annotated[float, Field(description="For one")] = 0.0


class Order(BaseModel):
    """An order."""

    lines: Annotated[list[Line], Field(description="What is wanted")]
    address: Annotated[Line | None, Field(description="Where to")] = None
    labels: Annotated[dict[str, int], Field(description="Labels")] = {}


@dataclass
class Spot:
    """A point."""

    x: Annotated[int, Field(description="X")]


@tool
async def weather(
    hours: Annotated[int, "How far ahead"],
    place: Annotated[str, "Where"] = "Rome",
    exact: Annotated[bool, "Exact"] = False,
) -> Any:
    """Tell the weather."""
    return [hours, place, exact]


@tool
async def order(it: Order) -> Any:
    """Order."""
    return it.model_dump()


@tool
async def nested(one: Annotated[Line, "One"], rest: Annotated[list[Line], "Rest"] = []) -> Any:  # noqa: B006
    """Take lines."""
    return [one.model_dump(), len(rest)]


@tool
async def anything(value: Annotated[Any, "Anything"], scale: Annotated[float, "A factor"] = 1.0) -> Any:
    """Take anything."""
    return value


@tool
async def wide(
    a: Annotated[dict[str, float], "Numbers"] = {},  # noqa: B006
    b: Annotated[list[int | str], "Mixed"] = [],  # noqa: B006
    c: Annotated[Literal["x", "y"] | None, "Choice"] = None,
    d: Annotated[tuple[int, str] | None, "Pair"] = None,
) -> Any:
    """Take much."""
    return [a, b, c, d]


async def echo(arguments: dict[str, Any]) -> Any:
    return arguments


dynamic = dynamic_tool(
    "dynamic",
    {
        "type": "object",
        "properties": {
            "n": {"type": "integer", "description": "A number"},
            "o": {"type": "object", "description": "An object"},
            "any": {"description": "Anything"},
            "list": {"type": "array", "items": {"type": "number"}, "description": "Numbers"},
        },
    },
    echo,
    description="Take data.",
)


@tool
async def meet(
    at: Annotated[datetime | None, "When"],
    on: Annotated[date | None, "Day"],
    to: Annotated[time | None, "Until"],
) -> None:
    """Meet."""


TOOLS: list[Tool] = [weather, order, nested, anything, wide, dynamic, meet]

GOOD: dict[str, Any] = {
    "weather": {"hours": 1},
    "order": {"lines": [{"sku": "a"}]},
    "nested": {"one": {"sku": "a"}},
    "anything": {"value": 1},
    "wide": {},
    "dynamic": {"n": 1},
    "meet": {"at": None, "on": None, "to": None},
}


@pytest.fixture
def registry() -> Registry:
    return Registry(TOOLS, settings=Settings())


async def refused(registry: Registry, name: str, arguments: Any) -> ToolError:
    """Return the error of a call with invalid arguments, and check that the registry still works."""
    with pytest.raises(ToolError) as caught:
        await (registry.call_json if isinstance(arguments, str | bytes) else registry.call)(name, arguments)
    error = caught.value
    assert error.category == "validation", error.report
    assert not error.may_retry
    shown = json.dumps(error.to_model(), allow_nan=False)
    assert len(shown) < 20_000
    for secret in (
        str(Path(callboard.__file__).parent),
        "site-packages",
        "Traceback",
        "pydantic",
        "0x",
        ".py",
        "callboard.",
    ):
        assert secret not in shown
    for problem in error.details or ():
        assert set(problem) == {"path", "message", "received"}
    await registry.call(name, GOOD[name])
    return error


# T5: wrong, missing and undeclared


async def test_t5_a_wrong_type_is_reported_with_path_expectation_and_received_value(registry: Registry) -> None:
    error = await refused(registry, "weather", {"hours": "soon", "place": 5})
    assert error.details == [
        {
            "path": "hours",
            "message": "Input should be a valid integer, not 'soon'.",
            "received": "soon",
        },
        {"path": "place", "message": "Input should be a valid string, not 5.", "received": 5},
    ]
    assert error.message == (
        "The arguments of weather are not valid. Correct them and call again:\n"
        "- hours: Input should be a valid integer, not 'soon'.\n"
        "- place: Input should be a valid string, not 5."
    )
    assert error.to_model() == {"category": "validation", "message": error.message, "details": error.details}


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        (int, "x", "Input should be a valid integer, not 'x'."),
        (int, 2.5, "Input should be a valid integer, not 2.5."),
        (float, "x", "Input should be a valid number, not 'x'."),
        (bool, "x", "Input should be a valid boolean, not 'x'."),
        (date, "2026-02-30", "a valid date or datetime (day value is outside expected range), not '2026-02-30'."),
        (UUID, "", "a valid UUID (invalid length: found 0), not ''."),
    ],
)
def test_t5_a_value_that_cannot_be_converted_is_reported_in_one_sentence(kind: Any, value: Any, message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(kind).validate_python(value)
    [problem] = problems_of(caught.value)
    assert problem["message"].endswith(message)


async def test_t5_a_missing_property_is_named(registry: Registry) -> None:
    error = await refused(registry, "weather", {})
    assert error.details == [
        {"path": "hours", "message": "This property is required and was not given.", "received": None}
    ]


async def test_t5_paths_go_into_lists_and_objects(registry: Registry) -> None:
    error = await refused(registry, "order", {"lines": [{"sku": "a"}, {"count": []}], "labels": {"x": "y"}})
    assert [problem["path"] for problem in error.details] == ["lines[1].sku", "lines[1].count", "labels.x"]


async def test_t5_at_most_twenty_problems_are_shown(registry: Registry) -> None:
    error = await refused(registry, "order", {"lines": [{}] * 30})
    assert len(error.details) == 20
    assert error.message.endswith("- and 10 more")


@pytest.mark.parametrize(
    ("text", "received"),
    [("[]", []), ('"x"', "x"), ("3", 3), ("null", None), ("true", True), ("1.5", 1.5)],
)
@pytest.mark.parametrize("name", ["weather", "order", "dynamic"])
async def test_t5_arguments_must_be_an_object(registry: Registry, name: str, text: str, received: Any) -> None:
    error = await refused(registry, name, text)
    assert [(problem["path"], problem["received"]) for problem in error.details] == [("", received)]
    assert "object" in error.message


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "{",
        '{"hours": 1',
        '{"hours": 1,}',
        "{'hours': 1}",
        '{"hours": 1}{"hours": 2}',
        '{"hours": 1} x',
        "\ufeff{}",
        '{"hours": 01}',
        '{"place": "a\nb"}',
        '{"place": "\\x"}',
        b'{"place": "\xff"}',
        b"\xff\xfe{\x00}\x00",
        b'{"place": "\xed\xa0\x80"}',
        b"\x00",
        "undefined",
    ],
)
@pytest.mark.parametrize("name", ["weather", "order", "dynamic"])
async def test_t5_broken_json_is_refused(registry: Registry, name: str, text: str | bytes) -> None:
    error = await refused(registry, name, text)
    assert "Invalid JSON" in error.message
    assert error.details[0]["path"] == ""


@pytest.mark.parametrize("text", ['{"value": "\\ud800"}', '{"value": "\\udc00\\ud800"}', '{"\\ud800": 1}'])
@pytest.mark.parametrize("name", ["anything", "dynamic"])
async def test_t5_lone_surrogates_in_escapes_are_refused(registry: Registry, name: str, text: str) -> None:
    await refused(registry, name, text)


async def test_t5_lone_surrogates_in_python_text_are_refused(registry: Registry) -> None:
    for arguments in ({"value": "\ud800"}, {"\udfff": 1}, '{"value": "\ud800"}'):
        error = await refused(registry, "anything", arguments)
        assert "lone surrogate" in error.message


async def test_t5_valid_surrogate_pairs_and_nul_pass(registry: Registry) -> None:
    assert await registry.call_json("anything", '{"value": "\\ud83d\\ude00\\u0000"}') == b'"\xf0\x9f\x98\x80\\u0000"'


# Numbers that are none


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("anything", '{"value": 1, "scale": %s}'),
        ("anything", '{"value": %s}'),
        ("anything", '{"value": [{"deep": %s}]}'),
        ("nested", '{"one": {"sku": "a", "price": %s}}'),
        ("order", '{"lines": [{"sku": "a", "price": %s}]}'),
        ("wide", '{"a": {"k": %s}}'),
        ("dynamic", '{"any": %s}'),
        ("dynamic", '{"list": [%s]}'),
        ("dynamic", '{"o": {"k": %s}}'),
    ],
)
async def test_t5_a_number_that_is_not_finite_is_refused(registry: Registry, name: str, form: str, number: str) -> None:
    await refused(registry, name, form % number)


@pytest.mark.parametrize("number", ["1e999", "-1E+999", "9" * 400 + ".0", "1" + "0" * 320 + "e1"])
async def test_t5_a_number_that_overflows_is_refused(registry: Registry, number: str) -> None:
    await refused(registry, "anything", f'{{"value": 1, "scale": {number}}}')


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("shape", [lambda x: x, lambda x: [x], lambda x: {"k": {"l": x}}])
async def test_t5_a_python_number_that_is_not_finite_is_refused(
    registry: Registry, number: float, shape: Callable[[float], Any]
) -> None:
    await refused(registry, "anything", {"value": shape(number)})
    await refused(registry, "dynamic", {"any": shape(number)})
    await refused(registry, "weather", {"hours": shape(number)})


@pytest.mark.parametrize(
    "text", ['{"value": "NaN"}', '{"value": "1e999"}', '{"value": 1e308}', '{"value": "e999: Infinity"}']
)
async def test_t5_a_text_that_looks_infinite_is_accepted(registry: Registry, text: str) -> None:
    assert await registry.call_json("anything", text) is not None
    assert await registry.call("anything", json.loads(text)) == json.loads(text)["value"]


async def test_t5_a_number_of_too_many_digits_is_refused(registry: Registry) -> None:
    await refused(registry, "anything", '{"value": ' + "1" * 5000 + "}")
    await refused(registry, "anything", {"value": 10**5000})
    await refused(registry, "weather", '{"hours": 1, "place": ' + "1" * 4300 + "}")


# Depth and size


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
@pytest.mark.parametrize("levels", [300, 10_000])
@pytest.mark.parametrize(("name", "key"), [("anything", "value"), ("dynamic", "any"), ("weather", "hours")])
async def test_t5_deep_json_is_refused(
    registry: Registry, name: str, key: str, levels: int, opening: str, closing: str
) -> None:
    error = await refused(registry, name, f'{{"{key}":' + opening * levels + "1" + closing * levels + "}")
    assert "nested too deeply" in error.message


async def test_t5_deep_python_data_is_refused(registry: Registry) -> None:
    deep: Any = 1
    for _ in range(10_000):
        deep = {"value": deep}
    for name in ("anything", "dynamic"):
        error = await refused(registry, name, deep)
        assert "nested too deeply" in error.message
    while isinstance(deep, dict):  # taken apart by hand: the interpreter's own way is recursive
        deep = deep.pop("value")


@pytest.mark.parametrize("levels", [100, 190, 300, 600, 900, 10_000])
@pytest.mark.parametrize(("name", "key"), [("nested", "one"), ("dynamic", "o"), ("wide", "b")])
async def test_t6_a_deep_json_text_inside_a_text_is_refused(
    registry: Registry, name: str, key: str, levels: int
) -> None:
    if name == "wide":
        await refused(registry, name, json.dumps({"b": "[" * levels + "]" * levels}))
        return
    inner = json.dumps({"sku": "[" * levels + "]" * levels, "count": "{" * levels})
    await refused(registry, name, json.dumps({key: "[" * levels + inner + "]" * levels}))


async def test_t5_a_document_over_the_limit_is_refused_before_it_is_read() -> None:
    registry = Registry([anything], settings=Settings(max_argument_bytes=100))
    assert await registry.call_json("anything", '{"value": "' + "a" * 80 + '"}') == b'"' + b"a" * 80 + b'"'
    for big in ('{"value": "' + "a" * 100 + '"}', b"[" * 101, '{"value": "' + "ä" * 50 + '"}', {"value": "a" * 100}):
        error = await refused_large(registry, big)
        assert "the limit is 100" in error.message


async def refused_large(registry: Registry, arguments: Any) -> ToolError:
    with pytest.raises(ToolError, match="too large") as caught:
        await (registry.call_json if isinstance(arguments, str | bytes) else registry.call)("anything", arguments)
    assert caught.value.category == "validation"
    return caught.value


FIFTY_MEGABYTES = """
import asyncio, resource
from typing import Annotated, Any
from callboard import Registry, ToolError, tool

@tool
async def anything(value: Annotated[Any, "Anything"]) -> Any:
    '''Take.'''
    return value

async def main():
    registry = Registry([anything])
    await registry.call("anything", {"value": 1})
    big = "a" * 50_000_000
    for form, arguments in (("text", '{"value": "' + big + '"}'), ("data", {"value": big})):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        try:
            await (registry.call_json if form == "text" else registry.call)("anything", arguments)
        except ToolError as error:
            grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
            print(form, error.category, len(error.message) < 200, grown)
        assert await registry.call("anything", {"value": 1}) == 1

asyncio.run(main())
"""


def test_t5_fifty_megabytes_are_refused_and_cost_little_memory() -> None:
    """A text is not copied at all; data must be written once to be measured."""
    done = subprocess.run([sys.executable, "-c", FIFTY_MEGABYTES], capture_output=True, text=True, check=True)
    (text, *of_text, text_grown), (data, *of_data, data_grown) = (line.split() for line in done.stdout.splitlines())
    assert (text, of_text) == ("text", ["validation", "True"])
    assert (data, of_data) == ("data", ["validation", "True"])
    assert int(text_grown) < 10
    assert int(data_grown) < 200


async def test_t5_long_values_and_long_names_are_cut_in_the_error(registry: Registry) -> None:
    long = "z" * 100_000
    for name in ("weather", "dynamic", "order"):
        error = await refused(registry, name, {long: 1})
        assert len(error.message) < 1000
    for name, arguments in (
        ("weather", {"hours": long}),
        ("weather", {"hours": [long] * 10}),
        ("dynamic", {"n": long}),
        ("dynamic", {"list": [long]}),
    ):
        error = await refused(registry, name, arguments)
        assert len(error.message) < 1000
        assert "100,0" in str(error.details) or "1,000,0" in str(error.details)


# Python data that is not JSON


async def test_t5_circular_data_is_refused(registry: Registry) -> None:
    loop: dict[str, Any] = {}
    loop["value"] = loop
    ring: list[Any] = []
    ring.append(ring)
    for arguments in (loop, {"value": ring}):
        error = await refused(registry, "anything", arguments)
        assert "contain themselves" in error.message


@pytest.mark.parametrize("value", [object(), Registry, lambda: 1, {object(): 1}, {1: object()}, ...])
async def test_t5_objects_that_are_not_json_are_refused(registry: Registry, value: Any) -> None:
    error = await refused(registry, "anything", {"value": value})
    assert error.message == "The arguments cannot be written as JSON: they contain a value that is not JSON data."


# Keys given twice


class Filled(TypedDict):
    a: Annotated[int, Field(description="A")]
    b: Annotated[int, Field(description="B")]


class Computing(BaseModel):
    a: Annotated[int, Field(description="A")]
    b: Annotated[int, Field(description="B")] = 0

    @model_validator(mode="before")
    @classmethod
    def more(cls, data: Any) -> Any:
        return {**data, "b": 5}


class Pathed(BaseModel):
    a: Annotated[int, Field(description="A", validation_alias=AliasPath("pair", 0))]
    b: Annotated[int, Field(description="B", validation_alias=AliasPath("pair", 1))]


class Nullable(BaseModel):
    a: Annotated[int, Field(description="A")]
    b: Annotated[int | None, Field(description="B")]


@tool
async def optional(a: Annotated[int, "A"], b: Annotated[int, "B"] = 0, c: Annotated[int | None, "C"] = None) -> Any:
    """Take."""
    return a


@tool
async def filled(one: Annotated[Filled, "One"], b: Annotated[dict[str, int], "B"] = {"x": 1, "y": 2}) -> Any:  # noqa: B006
    """Take."""
    return one


@tool
async def computing(one: Annotated[Computing, "One"], two: Annotated[int, "Two"]) -> Any:
    """Take."""
    return two


@tool
async def pathed(one: Annotated[Pathed, "One"], two: Annotated[int, "Two"]) -> Any:
    """Take."""
    return two


@tool
async def nullable(one: Annotated[Nullable, "One"], two: Annotated[int, "Two"]) -> Any:
    """Take."""
    return two


class Texts(BaseModel):
    one: Annotated[Json[dict[str, Any]], Field(description="One")]
    below: Annotated["Json[Texts] | None", Field(description="More")] = None


@tool
async def texts(
    a: Annotated[Json[dict[str, Any]] | None, "A"] = None,
    b: Annotated[list[Texts], "B"] = [],  # noqa: B006
    c: Annotated[str | Json[dict[str, Any]], "C"] = "",
) -> Any:
    """Take."""
    return [a, len(b), c]


TWICE = [
    ("texts", '{"a": "{\\"k\\": 1, \\"k\\": 2}"}'),
    ("texts", '{"b": [{"one": "{\\"k\\": [{\\"k\\": 1, \\"k\\": 2}]}"}]}'),
    ("texts", '{"b": "[{\\"one\\": \\"{\\\\\\"k\\\\\\": 1, \\\\\\"k\\\\\\": 2}\\"}]"}'),
    ("weather", '{"hours": 1, "hours": 2}'),
    ("weather", '{"hours": 1, "hours": 1, "place": "x", "exact": true}'),
    ("weather", '{"hours": 1, "ho\\u0075rs": 2}'),
    ("weather", '{"hours": 1, "place": "a:b", "place": "c"}'),
    ("order", '{"lines": [], "lines": [{"sku": "a"}]}'),
    ("order", '{"lines": [{"sku": "a", "sku": "b"}]}'),
    ("order", '{"lines": [], "address": {"sku": "a", "count": 1, "count": 2}}'),
    ("order", '{"lines": [], "labels": {"x": 1, "x": 2}}'),
    ("nested", '{"one": {"sku": "a", "ignored": 1, "ignored": 2}}'),
    ("nested", '{"one": {"sku": "a", "sku": "b"}}'),
    ("nested", '{"one": {"sku": "a"}, "rest": [{"sku": "a"}, {"sku": "b", "sku": "c"}]}'),
    ("nested", '{"one": "{\\"sku\\": \\"a\\", \\"sku\\": \\"b\\"}"}'),
    ("anything", '{"value": [{"a": {"b": 1, "b": 2}}]}'),
    ("anything", '{"value": {"a": 1, "\\u0061": 2}}'),
    ("dynamic", '{"n": 1, "n": 2}'),
    ("dynamic", '{"o": {"a": [{"b": 1, "b": 2}]}}'),
    ("dynamic", '{"o": "{\\"a\\": 1, \\"a\\": 2}"}'),
    ("optional", '{"a": 1, "a": 2}'),
    ("optional", '{"a": 1, "a": 2, "b": null}'),
    ("optional", '{"a": 1, "a": 2, "a": 3}'),
    ("filled", '{"one": {"a": 1, "b": 1, "b": 2}}'),
    ("filled", '{"one": {"a": 1, "b": 1, "b": 2, "a": 1}}'),
    ("computing", '{"one": {"a": 1}, "two": 1, "two": 2}'),
    ("pathed", '{"one": {"pair": [1, 2]}, "two": 1, "two": 2}'),
    ("nullable", '{"one": {"a": 1}, "two": 1, "two": 2}'),
]


@pytest.mark.parametrize(("name", "text"), TWICE)
async def test_t5_a_key_given_twice_is_refused(name: str, text: str) -> None:
    registry = Registry([*TOOLS, optional, filled, computing, pathed, nullable, texts])
    with pytest.raises(ToolError, match=r"The arguments give '\w+' twice. Give each property once.") as caught:
        await registry.call_json(name, text)
    assert caught.value.category == "validation"


async def test_t5_a_key_given_twice_in_a_text_is_refused_at_every_call() -> None:
    registry = Registry([texts])
    good = '{"k": {"k": 1}, "l": ":"}'
    for _ in range(2):
        assert await registry.call("texts", {"a": good, "c": '{"k":1,"k":2}'}) == [
            {"k": {"k": 1}, "l": ":"},
            0,
            '{"k":1,"k":2}',
        ]
        for bad in ('{"k": 1, "k": 2}', '{"k": NaN}', '{"k": 1e999}'):
            with pytest.raises(ToolError, match=r"The arguments (give 'k' twice|contain \w+, which is not a finite)"):
                await registry.call("texts", {"a": bad})
        with pytest.raises(ToolError, match="a: Invalid JSON"):
            await registry.call("texts", {"a": "{"})


async def test_t5_the_same_key_in_different_objects_is_no_duplicate(registry: Registry) -> None:
    text = '{"value": {"a": {"a": [{"a": 1}, {"a": ":\\"a\\": 2"}]}, "b": {"a": "{\\"a\\":1,\\"a\\":2}"}}}'
    assert await registry.call_json("anything", text) is not None


# T6: what is put right


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("weather", {"hours": "168"}, [168, "Rome", False]),
        ("weather", {"hours": 168.0, "exact": "true"}, [168, "Rome", True]),
        ("weather", {"hours": 1, "place": None, "exact": None}, [1, "Rome", False]),
        ("nested", {"one": '{"sku": "a"}'}, [{"sku": "a", "count": 1, "price": 0.0}, 0]),
        ("nested", {"one": {"sku": "a", "count": None}}, [{"sku": "a", "count": 1, "price": 0.0}, 0]),
        ("nested", {"one": {"sku": "a"}, "rest": '[{"sku": "a"}]'}, [{"sku": "a", "count": 1, "price": 0.0}, 1]),
        ("nested", {"one": {"sku": "a"}, "rest": ['{"sku": "a"}']}, [{"sku": "a", "count": 1, "price": 0.0}, 1]),
        (
            "nested",
            {"one": {"sku": "a"}, "rest": '["{\\"sku\\": \\"a\\"}"]'},
            [{"sku": "a", "count": 1, "price": 0.0}, 1],
        ),
        ("order", '{"lines": []}', {"lines": [], "address": None, "labels": {}}),
        ("order", {"lines": "[]", "address": '{"sku": "a"}'}, None),
        ("dynamic", {"n": "168"}, {"n": 168}),
        ("dynamic", {"list": ["1.5", "2"]}, {"list": [1.5, 2]}),
        ("dynamic", {"o": '{"a": 1}', "list": "[1]"}, {"o": {"a": 1}, "list": [1]}),
        ("dynamic", {"n": None, "list": '["1"]'}, {"list": [1]}),
    ],
)
async def test_t6_common_mistakes_are_repaired(registry: Registry, name: str, arguments: Any, expected: Any) -> None:
    value = await registry.call(name, arguments)
    if expected is not None:
        assert value == expected


async def test_t6_arguments_that_are_wholly_a_json_text_are_read(registry: Registry) -> None:
    text = '{"hours": "3"}'
    assert await registry.call_json("weather", json.dumps(text)) == b'[3,"Rome",false]'
    assert await registry.call("weather", text) == [3, "Rome", False]
    assert await registry.call_json("dynamic", json.dumps('{"n": 1}')) == b'{"n":1}'


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("weather", {"hours": "168"}),
        ("weather", {"hours": 1, "place": None}),
        ("weather", {"hours": 1, "exact": "true"}),
        ("nested", {"one": '{"sku": "a"}'}),
        ("nested", {"one": {"sku": "a"}, "rest": "[]"}),
        ("weather", '"{\\"hours\\": 1}"'),
        ("dynamic", {"n": "168"}),
        ("dynamic", {"o": '{"a": 1}'}),
        ("dynamic", {"n": None}),
    ],
)
async def test_t6_lax_false_repairs_nothing(name: str, arguments: Any) -> None:
    strict = {
        "weather": tool(lax=False)(of(weather)),
        "nested": tool(lax=False)(of(nested)),
        "dynamic": dynamic_tool("dynamic", dynamic.arguments.schema(), echo, description="d", lax=False),
    }
    await refused(Registry([strict[name]]), name, arguments)


def of(made: Tool) -> Callable[..., Any]:
    """The function that a tool was made from."""
    assert made.handler is not None
    return made.handler.function


async def plan(
    start: Annotated[datetime | str, "When it starts"],
    days: Annotated[list[date], "Days"] = [],  # noqa: B006
    opens: Annotated[time | None, "When it opens"] = None,
) -> Any:
    """Plan."""
    return [repr(start), repr(days), repr(opens)]


@pytest.mark.parametrize("lax", [True, False])
async def test_t6_dates_and_times_in_iso_format_are_read(lax: bool) -> None:
    registry = Registry([tool(lax=lax)(plan)])
    arguments = {"start": "2024-01-01T10:00:00Z", "days": ["2024-01-01"], "opens": "09:30:00"}
    start = datetime(2024, 1, 1, 10, tzinfo=UTC)
    expected = [repr(start).replace("datetime.timezone.utc", "TzInfo(0)"), repr([date(2024, 1, 1)]), repr(time(9, 30))]
    assert await registry.call("plan", arguments) == expected


@pytest.mark.parametrize("lax", [True, False])
@pytest.mark.parametrize(
    "given",
    [
        *("20240101", 20240101, "1704067200", 1704067200, "2024", "-5", 1704067200.5, 930),
        *("1.7567e9", "1756700000.5e0", ".5", ".1e5", "+5.", " 5 ", "1_0", "inf", "nan"),
    ],
)
async def test_t6_a_number_is_not_a_date_or_a_time(lax: bool, given: Any) -> None:
    made = tool(lax=lax)(of(meet))
    for name, example in (("at", "'2026-09-01T14:30:00Z'"), ("on", "'2026-09-01'"), ("to", "'14:30:00'")):
        error = await refused(Registry([made]), "meet", {**GOOD["meet"], name: given})
        assert f"- {name}: Input should be a " in error.message
        assert f"such as {example}, not {given!r}." in error.message


async def test_t6_a_type_can_read_unix_times_itself() -> None:
    def read(given: Any) -> Any:
        return datetime.fromtimestamp(given, UTC) if isinstance(given, int) else given

    @tool
    async def seen(at: Annotated[datetime, BeforeValidator(read), Field(description="When")]) -> str:
        """Tell."""
        return at.isoformat()

    assert await Registry([seen]).call("seen", {"at": 1704067200}) == "2024-01-01T00:00:00+00:00"


async def test_t6_a_text_stays_a_text_where_one_is_wanted(registry: Registry) -> None:
    assert await registry.call("weather", {"hours": 1, "place": '{"a": 1}'}) == [1, '{"a": 1}', False]
    assert await registry.call("anything", {"value": '{"a": 1}'}) == '{"a": 1}'
    assert await registry.call("dynamic", {"any": "5"}) == {"any": "5"}


@pytest.mark.parametrize(
    ("name", "arguments", "path"),
    [
        ("weather", {"hours": None}, "hours"),
        ("order", {"lines": None}, "lines"),
        ("order", {"lines": [None]}, "lines[0]"),
        ("nested", {"one": '{"count": 1}'}, "one"),
        ("nested", {"one": '"just text"'}, "one"),
        ("nested", {"one": '{"sku": "a"'}, "one"),
        ("nested", {"one": '{"sku": NaN}'}, "one"),
        ("nested", {"one": '{"sku": "\\ud800"}'}, "one"),
        ("dynamic", {"n": "1.5"}, "n"),
        ("dynamic", {"n": "1e999"}, "n"),
        ("dynamic", {"o": "[1]"}, "o"),
    ],
)
async def test_t6_arguments_that_cannot_be_repaired_are_reported_as_they_were_sent(
    registry: Registry, name: str, arguments: Any, path: str
) -> None:
    error = await refused(registry, name, arguments)
    assert [problem["path"] for problem in error.details] == [path]


class Labelled(BaseModel):
    label: Annotated[str, BeforeValidator(str), Field(description="A label, also from a number")]
    note: Annotated[str | None, Field(description="A note")]


@tool
async def label(
    name: Annotated[str, BeforeValidator(str), Field(description="A name, also from a number")],
    pair: Annotated[tuple[Labelled, int], "A labelled number"] = (Labelled(label="a", note=None), 1),
) -> Any:
    """Label."""
    return [name, pair[0].label, pair[0].note]


whatever = dynamic_tool(
    "whatever",
    {"type": "object", "properties": {"x": {"description": "Anything"}}, "required": ["x"]},
    echo,
    description="Take anything.",
)


@pytest.mark.parametrize(
    ("required", "arguments", "path"),
    [
        (label, {}, "name"),
        (label, {"name": "a", "pair": [{}, 1]}, "pair[0].label"),
        (anything, {}, "value"),
        (whatever, {}, "x"),
    ],
)
async def test_t6_a_missing_required_property_is_never_replaced_by_null(
    required: Tool, arguments: Any, path: str
) -> None:
    with pytest.raises(ToolError) as caught:
        await Registry([required]).call(required.name, arguments)
    assert [problem["path"] for problem in caught.value.details] == [path, *["pair[0].note"] * ("pair" in arguments)]


async def test_t6_a_missing_nullable_property_in_a_tuple_is_null() -> None:
    assert await Registry([label]).call("label", {"name": 5, "pair": [{"label": 7}, 1]}) == ["5", "7", None]


async def test_t6_the_data_of_the_caller_is_not_changed(registry: Registry) -> None:
    arguments: dict[str, Any] = {"one": '{"sku": "a"}', "rest": ['{"sku": "b", "count": null}']}
    before = json.dumps(arguments)
    await registry.call("nested", arguments)
    assert json.dumps(arguments) == before


# Properties


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.sampled_from(["{", "[1]", '{"sku":"a"}', "NaN"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(max_size=3)
            | st.sampled_from(["hours", "one", "sku", "rest", "lines", "n", "o", "any", "list", "a", "b", "c"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)

SHARED = Registry(TOOLS, settings=Settings())


async def outcome(name: str, arguments: Any) -> Any:
    """The value as JSON text, or the error; any other exception is the test's failure."""
    try:
        if isinstance(arguments, str | bytes):
            return (await SHARED.call_json(name, arguments)).decode()
        return json.dumps(await SHARED.call(name, arguments), allow_nan=False)
    except ToolError as error:
        return error


def check_outcome(found: Any) -> None:
    if isinstance(found, ToolError):
        assert found.category == "validation", found.report
        json.dumps(found.to_model(), allow_nan=False)
    else:
        json.loads(found, parse_constant=pytest.fail)


@given(name=st.sampled_from(sorted(GOOD)), value=values)
@examples(300, 1500)
async def test_t5_any_json_value_gives_a_value_or_a_validation_error(name: str, value: Any) -> None:
    check_outcome(await outcome(name, value))
    check_outcome(await outcome(name, json.dumps(value)))


@given(name=st.sampled_from(sorted(GOOD)), data=st.binary(max_size=60) | st.text(max_size=60))
@examples(200, 1000)
async def test_t5_any_text_gives_a_value_or_a_validation_error(name: str, data: bytes | str) -> None:
    check_outcome(await outcome(name, data))


class Written:
    """JSON text of a value, with one key of one object given twice if `twice` says so. Remembers whether it was."""

    def __init__(self, choose: Callable[[int], int], twice: bool) -> None:
        self.choose, self.twice, self.done = choose, twice, False

    def text(self, value: Any) -> str:
        if isinstance(value, list):
            return "[" + ", ".join(self.text(item) for item in value) + "]"
        if not isinstance(value, dict):
            return json.dumps(value)
        pairs = [(self.key(key), self.text(inner)) for key, inner in value.items()]
        if self.twice and not self.done and pairs and self.choose(2):
            key = list(value)[self.choose(len(value))]
            pairs.insert(self.choose(len(pairs) + 1), (self.key(key), self.text(value[key])))
            self.done = True
        return "{" + ",".join(key + self.colon() + inner for key, inner in pairs) + "}"

    def colon(self) -> str:
        return (":", ": ", " : ", "\n:", "\t:", "\r:")[self.choose(6)]

    def key(self, key: str) -> str:
        if self.choose(4) or not key or ord(key[0]) > 0xFFFF:
            return json.dumps(key)
        return json.dumps(key)[:1] + f"\\u{ord(key[0]):04x}" + json.dumps(key[1:])[1:]


documents = st.recursive(
    st.none() | st.integers(-5, 5) | st.text(alphabet='a:{"\\,', max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(alphabet='ab:"é', max_size=2), inner, max_size=3)
    ),
    max_leaves=10,
)


class Document(NamedTuple):
    """A value, a JSON text of it, and whether the text gives a key twice."""

    value: Any
    text: str
    twice: bool


@st.composite
def written_documents(draw: st.DrawFn, of: st.SearchStrategy[Any]) -> Document:
    """Everything is drawn here: inside an async test it would be drawn in a task, which must not be stopped so."""
    value = draw(of)
    written = Written(lambda limit: draw(st.integers(0, limit - 1)), draw(st.booleans()))
    return Document(value, written.text(value), written.done)


@given(document=written_documents(documents))
@examples(400, 2000)
@pytest.mark.parametrize(("name", "key"), [("anything", "value"), ("dynamic", "any")])
async def test_t5_duplicates_are_always_found_and_never_made_up(name: str, key: str, document: Document) -> None:
    found = await outcome(name, f'{{"{key}": {document.text}}}')
    if document.twice:
        assert isinstance(found, ToolError)
        assert "twice" in found.message
    else:
        assert json.loads(found) == (document.value if name == "anything" else {key: document.value})


forecasts = st.fixed_dictionaries(
    {"hours": st.integers(0, 9)}, optional={"place": st.text(alphabet="a:", max_size=3), "exact": st.booleans()}
)


@given(document=written_documents(forecasts))
@examples(200, 1000)
async def test_t5_duplicates_are_found_whatever_defaults_are_filled_in(document: Document) -> None:
    found = await outcome("weather", document.text)
    if document.twice:
        assert isinstance(found, ToolError)
        assert "twice" in found.message
    else:
        value = document.value
        assert json.loads(found) == [value["hours"], value.get("place", "Rome"), value.get("exact", False)]


async def test_t5_a_missing_item_of_a_tuple_has_its_position() -> None:
    @tool
    async def move(to: Annotated[tuple[int, int], "Where"]) -> Any:
        """Move."""
        return to

    with pytest.raises(ToolError) as caught:
        await Registry([move]).call("move", {"to": [1]})
    assert caught.value.details == [
        {"path": "to[1]", "message": "This property is required and was not given.", "received": None}
    ]


async def test_t5_an_undeclared_property_of_a_dataclass_is_called_so() -> None:
    @tool
    async def draw(at: Annotated[Spot, "Where"]) -> Any:
        """Draw."""
        return at

    with pytest.raises(ToolError) as caught:
        await Registry([draw]).call("draw", {"at": {"x": 1, "z": 2}})
    assert caught.value.details == [
        {"path": "at.z", "message": "There is no such property. Leave it out.", "received": 2}
    ]


async def test_t5_the_items_of_an_iterable_are_validated_before_the_handler_runs() -> None:
    @tool
    async def add_up(
        numbers: Annotated[Iterable[int], "Numbers"], more: Annotated[Iterable[int] | None, "More"] = None
    ) -> Any:
        """Add numbers up."""
        return [sum(numbers), sum(numbers), *(more or ())]

    registry = Registry([add_up])
    assert await registry.call("add_up", {"numbers": [1, "2"], "more": [3]}) == [3, 3, 3]
    with pytest.raises(ToolError) as caught:
        await registry.call("add_up", {"numbers": [1, "x"]})
    assert caught.value.category == "validation"
    assert [each["path"] for each in caught.value.details] == ["numbers[1]"]
