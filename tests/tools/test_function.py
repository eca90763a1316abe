"""`@tool`: what becomes of a function's parameters, docstring and return type, and what is refused (T1, T2, T7)."""

import asyncio
import dataclasses
import functools
import importlib
import typing
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from datetime import timedelta
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    InstanceOf,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from callboard import (
    BreakerPolicy,
    RegistrationError,
    Registry,
    RetryPolicy,
    Tool,
    ToolContext,
    ToolError,
    dynamic_tool,
    tool,
)
from callboard.types import Logout, Mode, Wake

pytestmark = pytest.mark.anyio


class Point(BaseModel):
    """A place."""

    x: Annotated[int, Field(description="Along")]
    y: Annotated[int, Field(description="Up")] = 0


def properties(made: Tool) -> dict[str, Any]:
    return made.input_schema["properties"]


async def refused(function: Any, **options: Any) -> str:
    with pytest.raises(RegistrationError) as caught:
        tool(**options)(function)
    return str(caught.value)


# T1: the three kinds of function


@pytest.mark.parametrize("bare", [AsyncIterator, AsyncGenerator, typing.AsyncIterator, typing.AsyncIterable])
async def test_m2_a_stream_may_leave_out_the_type_of_its_values(bare: Any) -> None:
    async def count() -> Any:
        """Count."""
        yield 1
        yield "two"

    count.__annotations__["return"] = bare
    made = tool(count)
    assert (made.mode, made.output_schema) == ("background", None)
    assert await Registry([made]).call("count") == "two"


async def test_t1_a_class_is_no_type_of_a_parameter() -> None:
    async def build(kind: Annotated[type[int], "Which class"]) -> None:
        """Build."""

    assert "The type of the parameter 'kind' of the tool build cannot be used: a class" in await refused(build)


async def test_t1_an_async_function_becomes_a_tool() -> None:
    @tool
    async def add(a: Annotated[int, "First"], b: Annotated[int, "Second"] = 2) -> int:
        """Add two numbers."""
        return a + b

    assert isinstance(add, Tool)
    assert (add.name, add.namespace, add.description, add.mode) == ("add", "default", "Add two numbers.", Mode.INLINE)
    assert add.input_schema == {
        "type": "object",
        "properties": {
            "a": {"description": "First", "type": "integer"},
            "b": {"description": "Second", "type": "integer", "default": 2},
        },
        "required": ["a"],
        "additionalProperties": False,
    }
    assert add.output_schema == {"type": "integer"}
    assert await Registry([add]).call("add", {"a": 1}) == 3
    assert await Registry([add]).call_json("add", b'{"a": 1, "b": 5}') == b"6"


async def test_t1_a_sync_function_runs_in_a_thread() -> None:
    import threading

    @tool
    def where() -> bool:
        """Tell whether this is the main thread."""
        return threading.current_thread() is threading.main_thread()

    assert await Registry([where]).call("where") is False


async def test_t1_an_async_generator_is_a_background_tool_whose_last_value_is_the_result() -> None:
    @tool
    async def count(upto: Annotated[int, "Where to stop"]) -> AsyncIterator[int]:
        """Count."""
        for number in range(upto):
            yield number

    assert count.mode is Mode.BACKGROUND
    assert count.output_schema == {"type": "integer"}
    assert await Registry([count]).call("count", {"upto": 4}) == 3


async def test_t1_a_mode_given_by_hand_wins_for_a_generator() -> None:
    @tool(mode="human")
    async def count() -> AsyncIterator[int]:
        """Count."""
        yield 1

    assert count.mode is Mode.HUMAN


async def test_t1_an_async_wrapper_around_a_sync_function_is_awaited() -> None:
    def on_the_loop(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        async def inner(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return inner

    @tool
    @on_the_loop
    def double(a: Annotated[int, "A number"]) -> int:
        """Double."""
        return 2 * a

    assert await Registry([double]).call("double", {"a": 4}) == 8


async def test_t1_a_sync_wrapper_around_an_async_function_is_awaited() -> None:
    def quiet(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def inner(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return inner

    @tool
    @quiet
    async def double(a: Annotated[int, "A number"]) -> int:
        """Double."""
        return 2 * a

    assert await Registry([double]).call("double", {"a": 4}) == 8


# T1: descriptions


def test_t1_descriptions_come_from_annotated_text_and_from_field() -> None:
    @tool
    async def describe(
        a: Annotated[int, "By text"],
        b: Annotated[int, Field(description="By field", ge=1)],
        c: int = Field(description="By default", le=9),
        d: Annotated[int, Field(ge=3), "Text beside a field"] = 4,
    ) -> None:
        """Describe."""

    assert properties(describe) == {
        "a": {"description": "By text", "type": "integer"},
        "b": {"description": "By field", "type": "integer", "minimum": 1},
        "c": {"description": "By default", "type": "integer", "maximum": 9},
        "d": {"description": "Text beside a field", "type": "integer", "minimum": 3, "default": 4},
    }
    assert describe.input_schema["required"] == ["a", "b", "c"]


def google(place: str, days: int = 1) -> str:
    """Tell the weather.

    It looks far ahead.

    Args:
        place: A city, as people
            write it.
        days (int): How far ahead.

    Returns:
        A sentence.
    """
    return f"{place} {days}"


def numpy(place: str, days: int = 1) -> str:
    """Tell the weather.

    It looks far ahead.

    Parameters
    ----------
    place : str
        A city, as people
        write it.
    days : int, optional
        How far ahead.

    Returns
    -------
    str
        A sentence.
    """
    return f"{place} {days}"


def sphinx(place: str, days: int = 1) -> str:
    """Tell the weather.

    It looks far ahead.

    :param place: A city, as people
        write it.
    :param int days: How far ahead.
    :returns: A sentence.
    """
    return f"{place} {days}"


@pytest.mark.parametrize("function", [google, numpy, sphinx])
def test_t1_parameters_are_described_by_docstrings_of_three_styles(function: Callable[..., str]) -> None:
    made = tool(function)
    assert made.description == "Tell the weather.\n\nIt looks far ahead."
    assert properties(made)["place"]["description"].split() == ["A", "city,", "as", "people", "write", "it."]
    assert properties(made)["days"] == {"description": "How far ahead.", "type": "integer", "default": 1}
    assert Registry([made]).names() == (function.__name__,)


def test_t1_parameters_that_numpy_style_documents_together_are_described() -> None:
    def move(x: float, y: float, z: float) -> str:
        """Move.

        Parameters
        ----------
        x, y : float
            Metres on the ground
        z : float
            Metres above it
        """
        return f"{x} {y} {z}"

    described = {name: each["description"] for name, each in properties(tool(move)).items()}
    assert described == {"x": "Metres on the ground", "y": "Metres on the ground", "z": "Metres above it"}


def test_t1_annotated_text_wins_over_the_docstring() -> None:
    @tool
    def both(a: Annotated[int, "Nearer"]) -> None:
        """Do.

        Args:
            a: Farther.
        """

    assert properties(both)["a"]["description"] == "Nearer"


def test_t1_a_docstring_without_sections_is_the_description_character_for_character() -> None:
    @tool
    def odd() -> None:
        """First: *this*.

        - and `that` (100 %)
        """

    assert odd.description == "First: *this*.\n\n- and `that` (100 %)"


def test_t1_a_given_description_wins() -> None:
    assert tool(description="Other words")(google).description == "Other words"


# T1: one model as the only parameter


async def test_t1_a_lone_model_is_flattened() -> None:
    got: list[Any] = []

    @tool
    async def go(to: Point) -> str:
        """Go."""
        got.append(to)
        return f"{to.x},{to.y}"

    assert go.input_model is Point
    assert properties(go) == {
        "x": {"description": "Along", "type": "integer"},
        "y": {"description": "Up", "type": "integer", "default": 0},
    }
    assert await Registry([go]).call("go", {"x": 1}) == "1,0"
    assert type(got[0]) is Point
    assert got[0].model_fields_set == {"x"}


async def test_t1_a_lone_described_model_beside_a_context_is_flattened() -> None:
    @tool
    async def go(ctx: ToolContext, to: Annotated[Point, "Where to"]) -> str:
        """Go."""
        return f"{ctx.tool} {type(to).__name__}"

    assert list(properties(go)) == ["x", "y"]
    assert await Registry([go]).call("go", {"x": 1}) == "go Point"


async def test_t1_flatten_false_keeps_the_parameter() -> None:
    @tool(flatten=False)
    async def go(to: Annotated[Point, "Where to"]) -> list[Any]:
        """Go."""
        return [type(to) is Point, to.x]

    assert list(properties(go)) == ["to"]
    assert await Registry([go]).call("go", {"to": {"x": 1}}) == [True, 1]


@pytest.mark.parametrize("default", [None, Point(x=1)])
async def test_t1_a_model_with_a_default_is_not_flattened(default: Point | None) -> None:
    @tool
    async def go(to: Annotated[Point | None, "Where to"] = default) -> int | None:
        """Go."""
        return to.x if to else None

    assert list(properties(go)) == ["to"]
    assert await Registry([go]).call("go") == (default.x if default else None)


async def test_t1_two_models_are_not_flattened() -> None:
    @tool
    async def go(a: Annotated[Point, "From"], b: Annotated[Point, "To"]) -> int:
        """Go."""
        return b.x - a.x

    assert list(properties(go)) == ["a", "b"]
    assert await Registry([go]).call("go", {"a": {"x": 1}, "b": {"x": 3}}) == 2


async def test_t1_a_model_with_validators_is_flattened_and_they_run() -> None:
    class Checked(BaseModel):
        a: Annotated[int, Field(description="A number")]

        @field_validator("a")
        @classmethod
        def even(cls, value: int) -> int:
            if value % 2:
                raise ValueError("an even number is wanted")
            return value

        @model_validator(mode="before")
        @classmethod
        def early(cls, data: Any) -> Any:
            return data

        @model_validator(mode="after")
        def late(self) -> "Checked":
            return self

    @tool
    async def take(it: Checked) -> list[Any]:
        """Take."""
        return [it.a, type(it) is Checked]

    registry = Registry([take])
    assert await registry.call("take", {"a": 2}) == [2, True]
    with pytest.raises(ToolError, match="an even number is wanted") as caught:
        await registry.call("take", {"a": 3})
    assert caught.value.category == "validation"
    with pytest.raises(ToolError, match="no such property"):
        await registry.call("take", {"a": 2, "b": 1})


# T7: undeclared arguments


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: Annotated[int, Field(description="A number")]


class Ignoring(BaseModel):
    a: Annotated[int, Field(description="A number")]


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")
    a: Annotated[int, Field(description="A number")]


class Outer(BaseModel):
    open: Annotated[Open, Field(description="Takes all")]
    ignoring: Annotated[Ignoring, Field(description="Drops the rest")]


async def test_t7_an_undeclared_argument_is_refused_at_the_top() -> None:
    @tool
    async def spread(a: Annotated[int, "A number"]) -> int:
        """Take."""
        return a

    @tool
    async def flat(it: Ignoring) -> int:
        """Take."""
        return it.a

    registry = Registry([spread, flat])
    for name in ("spread", "flat"):
        with pytest.raises(ToolError) as caught:
            await registry.call(name, {"a": 1, "b": {"c": 2}})
        assert caught.value.category == "validation"
        assert caught.value.details == [
            {"path": "b", "message": "There is no such property. Leave it out.", "received": {"c": 2}}
        ]
        assert registry[name].input_schema["additionalProperties"] is False


async def test_t7_below_the_top_the_models_decide() -> None:
    @tool
    async def nested(it: Outer) -> Any:
        """Take."""
        return [it.open.model_extra, it.ignoring.model_dump()]

    @tool
    async def closed(a: Annotated[Closed, "Closed"], b: Annotated[int, "A number"] = 0) -> Any:
        """Take."""

    registry = Registry([nested, closed])
    given = {"open": {"a": 1, "more": 2}, "ignoring": {"a": 1, "more": 2}}
    assert await registry.call("nested", given) == [{"more": 2}, {"a": 1}]
    with pytest.raises(ToolError) as caught:
        await registry.call("closed", {"a": {"a": 1, "more": 2}})
    assert [problem["path"] for problem in caught.value.details] == ["a.more"]


async def test_t7_a_model_that_allows_more_is_respected_at_the_top() -> None:
    @tool
    async def everything(it: Open) -> Any:
        """Take."""
        return it.model_extra

    assert "additionalProperties" not in everything.input_schema or everything.input_schema["additionalProperties"]
    assert await Registry([everything]).call("everything", {"a": 1, "b": 2}) == {"b": 2}


class Unfinished(BaseModel):
    a: "NeverDefined"  # type: ignore[name-defined]  # noqa: F821


class Node(BaseModel):
    """A tree."""

    value: Annotated[int, Field(description="Its number")]
    below: Annotated[list["Node"], Field(description="Its branches")] = []


async def test_t7_a_recursive_model_refuses_undeclared_arguments_at_the_top_too() -> None:
    @tool
    async def walk(tree: Node) -> list[Any]:
        """Walk."""
        return [tree.value, type(tree) is Node, type(tree.below[0]) is Node]

    registry = Registry([walk])
    assert await registry.call("walk", {"value": 1, "below": [{"value": 2, "more": 3}]}) == [1, True, True]
    with pytest.raises(ToolError) as caught:
        await registry.call("walk", {"value": 1, "more": 2})
    assert [problem["path"] for problem in caught.value.details] == ["more"]


# T7: the context


@tool
async def whoami(ctx: ToolContext, note: Annotated[str, "Anything"] = "") -> Any:
    """Tell what the context says."""
    return [ctx.tool, ctx.session_id, ctx.user_id, ctx.call_id, ctx.execution_id, ctx.attempt, ctx.idempotency_key]


async def test_t7_the_context_is_found_by_its_annotation_and_never_in_the_schema() -> None:
    @tool
    def anywhere(a: Annotated[int, "A number"], *, where_i_am: Annotated[ToolContext, "Mine"]) -> str:
        """Tell."""
        return f"{where_i_am.tool} {a}"

    assert list(properties(anywhere)) == ["a"]
    assert "where_i_am" not in str(anywhere.schema("mcp"))
    assert await Registry([anywhere]).call("anywhere", {"a": 1}) == "anywhere 1"


@pytest.mark.parametrize("name", ["session_id", "user_id", "call_id", "ctx", "context", "idempotency_key", "_reporter"])
async def test_t7_a_model_cannot_send_the_fields_of_the_context(name: str) -> None:
    registry = Registry([whoami])
    assert await registry.call("whoami", {"note": "x"}) == ["whoami", None, None, None, None, 1, None]
    with pytest.raises(ToolError) as caught:
        await registry.call("whoami", {name: "mallory"})
    assert caught.value.category == "validation"
    assert [problem["path"] for problem in caught.value.details] == [name]


async def test_t7_an_open_model_cannot_reach_the_context_either() -> None:
    @tool
    async def lenient(ctx: ToolContext, it: Open) -> Any:
        """Take."""
        return [ctx.session_id, ctx.user_id, it.model_extra]

    sent = {"a": 1, "ctx": {"session_id": "x"}, "session_id": "mallory", "user_id": "mallory"}
    assert await Registry([lenient]).call("lenient", sent) == [
        None,
        None,
        {"ctx": {"session_id": "x"}, "session_id": "mallory", "user_id": "mallory"},
    ]


async def test_t7_a_declared_argument_named_like_the_context_is_only_an_argument() -> None:
    @tool
    async def both(ctx: ToolContext, session_id: Annotated[str, "Which one to look at"]) -> Any:
        """Look."""
        return [ctx.session_id, session_id]

    assert await Registry([both]).call("both", {"session_id": "s"}) == [None, "s"]


async def test_t7_progress_is_checked_and_other_tools_need_a_session() -> None:
    failures: list[str] = []

    @tool
    async def work(ctx: ToolContext) -> list[Any]:
        """Work."""
        await ctx.progress("half", 0.5, "so far")
        await ctx.partial({"a": 1})
        with pytest.raises(ValueError, match="from 0 to 1"):
            await ctx.progress("too much", 1.5)
        try:
            await ctx.call("other")
        except ToolError as error:
            failures.append(error.category)
        return [ctx.cancelled, ctx.remaining]

    assert await Registry([work]).call("work") == [False, None]
    assert failures == ["configuration"]


def test_t7_a_context_inside_a_model_is_refused() -> None:
    with pytest.raises(TypeError, match="cannot be part of a tool's input"):

        class Sly(BaseModel):  # pyright: ignore[reportUnusedClass]
            ctx: ToolContext


# T1: defaults


async def test_t1_defaults_are_filled_in_and_mutable_ones_are_not_shared() -> None:
    @tool
    async def gather(
        more: Annotated[list[int], "Numbers"] = [],  # noqa: B006
        names: Annotated[dict[str, list[int]], "Names"] = {"a": []},  # noqa: B006
        made: list[int] = Field(default_factory=lambda: [7], description="Made"),  # noqa: B008
    ) -> Any:
        """Gather."""
        more.append(1)
        names["a"].append(2)
        made.append(3)
        return [more, names, made]

    registry = Registry([gather])
    for _ in range(3):
        assert await registry.call("gather") == [[1], {"a": [2]}, [7, 3]]
    assert "required" not in gather.input_schema


async def test_t1_an_optional_parameter_without_a_default_may_be_left_out() -> None:
    @tool
    async def maybe(a: Annotated[int | None, "A number"], b: Annotated[str, "Text"]) -> Any:
        """Take."""
        return [a, b]

    assert maybe.input_schema["required"] == ["b"]
    registry = Registry([maybe])
    assert await registry.call("maybe", {"b": "x"}) == [None, "x"]
    assert await registry.call("maybe", {"a": None, "b": "x"}) == [None, "x"]
    assert await registry.call("maybe", {"a": 3, "b": "x"}) == [3, "x"]


@pytest.mark.parametrize(
    "name",
    ["schema", "model_config", "self_", "json", "copy", "model_fields", "self", "cls", "arguments", "context", "keys"],
)
async def test_t1_awkward_parameter_names_work(name: str) -> None:
    scope: dict[str, Any] = {"Annotated": Annotated}
    exec(
        f"async def odd({name}: Annotated[int, 'A number'], b: Annotated[int, 'B'] = 1) -> int:\n return {name}", scope
    )
    made = tool(name="odd", description="Take.")(scope["odd"])
    assert list(properties(made)) == [name, "b"]
    assert await Registry([made]).call("odd", {name: 5}) == 5


async def test_t1_enums_literals_and_dataclasses_reach_the_handler_as_such() -> None:
    class Colour(Enum):
        RED = "red"

    @dataclasses.dataclass
    class Box:
        """A box."""

        size: Annotated[int, Field(description="How big")]

    @tool
    async def take(
        colour: Annotated[Colour, "Which"], kind: Annotated[Literal["a", "b"], "Kind"], box: Annotated[Box, "Box"]
    ) -> list[Any]:
        """Take."""
        return [colour is Colour.RED, kind, type(box) is Box, box.size]

    given = {"colour": "red", "kind": "a", "box": {"size": 2}}
    assert await Registry([take]).call("take", given) == [True, "a", True, 2]


# T1: postponed annotations


POSTPONED = '''
from __future__ import annotations
from typing import Annotated, Any
from pydantic import BaseModel, Field
from callboard import ToolContext, tool

class Item(BaseModel):
    """An item."""
    sku: Annotated[str, Field(description="Its number")]

@tool
async def module_level(ctx: ToolContext, item: Item) -> list[Any]:
    """Take."""
    return [ctx.tool, type(item) is Item]

def make():
    class Local(BaseModel):
        """Local."""
        n: Annotated[int, Field(description="A number")]

    @tool
    async def local_type(one: Annotated[Local, "One"], many: Annotated[list[Local], "Many"]) -> Local:
        """Take."""
        return one

    @tool(namespace="x")
    async def local_flat(ctx: ToolContext, one: Local) -> Local:
        """Take."""
        return one

    @tool
    class LocalState:
        """Hold."""
        async def __call__(self, one: Local) -> int:
            return one.n

    return [local_type, local_flat, LocalState()]
'''


async def test_t1_postponed_annotations_are_resolved_in_modules_and_in_functions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "postponed_tools.py").write_text(POSTPONED)
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("postponed_tools")
    registry = Registry([module.module_level, *module.make()])
    assert await registry.call("module_level", {"sku": "a"}) == ["module_level", True]
    assert await registry.call("local_type", {"one": {"n": 1}, "many": [{"n": 2}]}) == {"n": 1}
    assert await registry.call("local_flat", {"n": 3}) == {"n": 3}
    assert await registry.call("local_state", {"n": 4}) == 4


# What is refused


async def test_t1_refuses_signatures_that_a_model_could_not_call() -> None:
    async def many(*args: int) -> None: ...
    async def named(**kwargs: int) -> None: ...
    async def positional(a: int, /) -> None: ...
    async def bare(a) -> None: ...  # type: ignore[no-untyped-def]

    for function in (many, named):
        assert "accepts any number of arguments" in await refused(function, description="d")
    assert "positional-only" in await refused(positional, description="d")
    advice = """'a' of the tool bare has no type. Annotate it, such as a: Annotated[str, "What it is"]."""
    assert advice in await refused(bare, description="d")


async def test_t1_refuses_a_function_whose_parameters_cannot_be_read() -> None:
    assert "The parameters of <built-in function min> cannot be read." in await refused(min)
    with pytest.raises(RegistrationError, match="parameters of <built-in function min> cannot be read"):
        dynamic_tool("least", {}, min, description="d")


async def test_t1_says_how_a_method_and_a_context_become_part_of_a_tool() -> None:
    class Shop:
        async def sell(self, article: Annotated[str, "Article"]) -> str:
            """Sell."""
            return article

    async def watch(ctx) -> None: ...  # type: ignore[no-untyped-def]

    assert "A method becomes a tool when it is bound, as in tool(instance.sell)." in await refused(Shop.sell)
    assert await Registry([tool(Shop().sell)]).call("sell", {"article": "lamp"}) == "lamp"
    assert "Annotate it: ctx: ToolContext." in await refused(watch)


async def test_t1_refuses_a_tool_and_positional_options() -> None:
    assert "google is a tool already. Apply @tool once" in await refused(tool(google))
    assert "not str. Give options by name, as in @tool(name=…)." in await refused("google")
    waiting = asyncio.sleep(0)
    assert "not coroutine" in await refused(waiting)
    waiting.close()


async def test_t1_refuses_a_generator_that_is_not_async() -> None:
    def count():
        """Count."""
        yield 1

    @functools.wraps(count)
    def collected() -> list[int]:
        return list(count())

    assert "Make it an async generator, whose values are partial results, or return a list." in await refused(count)
    assert "Make it an async generator" in await refused(functools.partial(count), name="count")
    assert await Registry([tool(collected)]).call("count") == [1]


async def test_t1_refuses_types_that_json_cannot_represent() -> None:
    class Foreign: ...

    class Holder(BaseModel):
        model_config = ConfigDict(arbitrary_types_allowed=True)
        foreign: Annotated[Foreign, Field(description="Foreign", default_factory=Foreign)]

    async def calls(n: Annotated[int, "N"], back: Annotated[Callable[[int], int], "Back"]) -> None: ...
    async def holds(n: Annotated[int, "N"], of: Annotated[list[Holder], "Of"]) -> None: ...
    async def flat(of: Holder) -> None: ...
    async def gives() -> Callable[[], int]: ...
    async def describes(
        at: Annotated[Path, "At"],
        of: Annotated[
            InstanceOf[Foreign],
            BeforeValidator(lambda _: Foreign()),
            WithJsonSchema({"type": "string", "description": "Of"}),
            Field(description="Of"),
        ],
    ) -> str:
        return type(of).__name__

    message = await refused(calls, description="d")
    assert message.startswith("The type of the parameter 'back' of the tool calls cannot be used: ")
    assert "Use a type that JSON can represent, or add pydantic.WithJsonSchema to its annotation." in message
    assert "The type of the parameter 'of' of the tool holds" in await refused(holds, description="d")
    assert "The type of the parameter 'of' of the tool flat" in await refused(flat, description="d")
    assert "The type of the result of the tool gives cannot be used" in await refused(gives, description="d")
    registry = Registry([tool(description="d")(describes)], dialects=("claude", "mcp"))
    assert await registry.call("describes", {"of": "x", "at": "y"}) == "Foreign"


async def test_t1_refuses_types_that_cannot_be_used() -> None:
    class Foreign: ...

    async def takes(a: Annotated[Foreign, "A"]) -> None: ...
    async def gives() -> Foreign: ...
    async def unknown(a: "Missing") -> None: ...  # type: ignore[name-defined]  # noqa: F821
    async def asks(a: Annotated[int, "A"]) -> None: ...
    async def unfinished(a: Unfinished) -> None: ...

    assert "The type of the parameter 'a' of the tool takes cannot be used" in await refused(takes, description="d")
    assert "The type of the result of the tool gives cannot be used" in await refused(gives, description="d")
    assert "annotation of the tool unknown cannot be resolved" in await refused(unknown, description="d")
    assert "The type of the parameter 'a' of the tool unfinished cannot" in await refused(unfinished, description="d")
    message = await refused(asks, description="d", answer=Foreign)
    assert message.startswith("The type of the result of the tool asks cannot be used: Unable to generate")
    assert "arbitrary_types_allowed" not in message


@pytest.mark.parametrize("name", ["a b", "9a", "", "a" * 65, "a.b", "ä", "a\n", "-a", "a/b"])
def test_t2_refuses_names_that_a_provider_does_not_take(name: str) -> None:
    with pytest.raises(RegistrationError, match="cannot be the name of a tool"):
        tool(google).with_(name=name)


@pytest.mark.parametrize("name", ["a", "_", "a-b_9", "a" * 64, "A"])
def test_t2_takes_names_that_every_provider_takes(name: str) -> None:
    assert tool(name=name)(google).name == name


async def test_t2_refuses_an_empty_description() -> None:
    async def silent() -> None: ...
    async def blank() -> None:
        """ """

    assert "has no description" in await refused(silent)
    assert "has no description" in await refused(blank)


WRONG_FIELDS: list[tuple[dict[str, Any], str]] = [
    ({"mode": "sideways"}, "sideways"),
    ({"logout": "never"}, "never"),
    ({"wake": "maybe"}, "maybe"),
    ({"timeout": 0}, "timeout is 0"),
    ({"timeout": -1}, "timeout is -1"),
    ({"total_timeout": 0}, "total_timeout is 0"),
    ({"inline_budget": 0}, "inline_budget is 0"),
    ({"result_limit": 0}, "result_limit is 0"),
    ({"concurrency": 0}, "concurrency is 0"),
    ({"expires": 0}, "expires is 0"),
    ({"retry": 3}, "retry is 3; it must be a RetryPolicy, as in retry=RetryPolicy(…)."),
    ({"breaker": True}, "breaker is True; it must be a BreakerPolicy"),
    ({"timeout": "10"}, "timeout is '10'; it must be a number of seconds."),
    ({"timeout": timedelta(seconds=3)}, "seconds=3); it must be a number of seconds, such as 3."),
    ({"namespace": None}, "namespace is None; it must be a non-empty string."),
    ({"namespace": ""}, "namespace is ''; it must be a non-empty string."),
    ({"usage": 3}, "usage is 3; it must be a string or None."),
    ({"queue": 3}, "queue is 3; it must be a string or None."),
    ({"idempotent": "no"}, "idempotent is 'no'; it must be True or False."),
    ({"destructive": "no"}, "destructive is 'no'; it must be True, False or None."),
    ({"tags": None}, "tags is None; it must be a list of strings."),
    ({"tags": [3]}, "tags is [3]; it must be a list of strings."),
    ({"channels": {"text": 1}}, "channels is {'text': 1}; it must be a list of strings."),
    ({"icons": [3]}, "icons is [3]; it must be a list of strings."),
    ({"examples": {"query": "x"}}, "it must be a list of dicts of arguments."),
    ({"examples": ["x"]}, "examples is ['x']; it must be a list of dicts of arguments."),
    ({"renderers": {"voice": "short"}}, "it must be a dict of functions by channel."),
    ({"asks": None}, "asks is None. Known: human_request, wallet_tx_request."),
    ({"name": ""}, "'' cannot be the name of a tool"),
    ({"name": 3}, "3 cannot be the name of a tool"),
    ({"description": 3}, "The description of the tool google is 3; it must be a string."),
    ({"expires": float("nan")}, "expires is nan; it must be a number of seconds."),
    ({"expires": 1e12}, "expires is 1000000000000.0; it must be at most 100,000,000,000 seconds, or None."),
    ({"total_timeout": 10**12}, "total_timeout is 1000000000000; it must be at most 100,000,000,000 seconds, or None."),
    ({"inline_budget": None}, "inline_budget is None; it must be a number of seconds."),
    ({"concurrency": 1.5}, "concurrency is 1.5; it must be a whole number."),
    ({"gate": 5}, "A gate must be"),
    ({"gate": ""}, "A gate must be"),
]
"""Fields of a tool that `@tool` and `Tool.with_` refuse, and what they say."""
WRONG_OPTIONS: list[tuple[dict[str, Any], str]] = [
    ({"lax": "no"}, "lax is 'no'; it must be True or False."),
    ({"flatten": 0}, "flatten is 0; it must be True or False."),
    ({"answer": int, "mode": "inline"}, "its mode must be 'human'"),
]


@pytest.mark.parametrize(("options", "message"), WRONG_FIELDS + WRONG_OPTIONS)
async def test_t2_refuses_options_that_make_no_sense(options: dict[str, Any], message: str) -> None:
    assert message in await refused(google, **options)


@pytest.mark.parametrize(
    ("changes", "message"),
    [*WRONG_FIELDS, ({"timeot": 3}, "google.with_ has no option 'timeot'. Did you mean 'timeout'?")],
)
def test_t2_a_copy_refuses_fields_that_make_no_sense(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(RegistrationError) as raised:
        tool(google).with_(**changes)
    assert message in str(raised.value)


def test_t2_a_copy_takes_options_in_the_same_forms() -> None:
    made = tool(google).with_(tags=["a"], channels=["text"], topic=None, mode="background", renderers={"text": str})
    assert (made.tags, made.channels, made.topic) == (("a",), frozenset({"text"}), "Google")
    assert (made.mode, dict(made.renderers)) == (Mode.BACKGROUND, {"text": str})


def test_t2_an_infinite_duration_is_none() -> None:
    durations = ("timeout", "total_timeout", "estimated_duration", "expires")
    made = tool(**dict.fromkeys(durations, float("inf")))(google)
    for copy in (made, made.with_(**dict.fromkeys(durations, float("inf")))):
        assert [getattr(copy, name) for name in durations] == [None] * 4


async def test_t2_refuses_an_async_gate_because_it_would_always_look_open() -> None:
    async def gate() -> bool:
        return False

    assert "cannot be an async function" in await refused(google, gate=gate)


async def test_t1_refuses_an_object_that_is_not_callable() -> None:
    assert "decorates a function or a class, not int" in await refused(3, name="three", description="d")

    class Idle:
        """Nothing to call."""

    with pytest.raises(RegistrationError, match="Idle needs a __call__"):
        tool(Idle)


# T2: the record


def test_t2_every_option_is_in_the_record() -> None:
    retry, breaker = RetryPolicy(max_attempts=5), BreakerPolicy(failure_threshold=1)
    made = tool(
        name="renamed",
        namespace="n",
        description="d",
        mode="background",
        topic="A title",
        group="g",
        tags=["a", "b"],
        channels=["text", "voice"],
        gate="beta",
        idempotent=True,
        timeout=1.5,
        total_timeout=9,
        inline_budget=2.0,
        retry=retry,
        breaker=breaker,
        concurrency=3,
        estimated_duration=4.0,
        usage="Use it well.",
        examples=[{"place": "Rome"}],
        result_limit=100,
        renderers={"voice": str},
        logout="keep_running",
        wake="wait",
        expires=60.0,
    )(google)
    assert (made.name, made.namespace, made.description, made.mode) == ("renamed", "n", "d", Mode.BACKGROUND)
    assert (made.topic, made.title, made.group, made.tags) == ("A title", "A title", "g", ("a", "b"))
    assert (made.channels, made.gate, made.idempotent) == (frozenset({"text", "voice"}), "beta", True)
    assert (made.timeout, made.total_timeout, made.inline_budget) == (1.5, 9, 2.0)
    assert (made.retry, made.breaker, made.concurrency, made.estimated_duration) == (retry, breaker, 3, 4.0)
    assert (made.usage, made.examples, made.result_limit) == ("Use it well.", ({"place": "Rome"},), 100)
    assert dict(made.renderers) == {"voice": str}
    assert (made.logout, made.wake, made.expires) == (Logout.KEEP_RUNNING, Wake.WAIT, 60.0)
    assert made.prompt == "d\n\nUse it well."


def test_t2_the_defaults_of_the_record() -> None:
    made = tool(google)
    assert (made.namespace, made.mode, made.topic, made.group, made.tags) == (
        "default",
        Mode.INLINE,
        "Google",
        None,
        (),
    )
    assert (made.channels, made.gate, made.idempotent, made.timeout, made.inline_budget) == (
        None,
        None,
        False,
        None,
        10.0,
    )
    assert (made.retry, made.breaker, made.concurrency, made.result_limit, made.usage) == (None, None, None, None, None)
    assert (made.logout, made.wake, made.answer, made.expires) == (Logout.FINISH_FIRST, Wake.WAKE, None, None)
    assert made.prompt == made.description


@pytest.mark.parametrize(
    ("name", "topic"),
    [("get_current_time", "Get current time"), ("send-mail", "Send mail"), ("_x", "X"), ("A", "A")],
)
def test_t2_the_topic_is_made_from_the_name(name: str, topic: str) -> None:
    assert tool(name=name)(google).topic == topic


def test_t2_a_tool_is_frozen() -> None:
    made = tool(renderers={"voice": str})(google)
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.name = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        made.renderers["text"] = str  # type: ignore[index]
    other = made.with_(name="other")
    assert (made.name, other.name) == ("google", "other")


def test_t2_calling_the_tool_calls_the_function() -> None:
    assert tool(google)("Rome", days=2) == "Rome 2"


async def test_t2_calling_an_async_tool_gives_its_coroutine() -> None:
    assert await whoami.with_(name="other")(ToolContext(tool="x", session_id="s")) == [
        "x",
        "s",
        None,
        None,
        None,
        1,
        None,
    ]


def test_t2_renderers_by_channel_and_json_elsewhere() -> None:
    made = tool(renderers={"voice": lambda value: f"it is {value['t']}"})(google)
    assert made.render({"t": 3}, "voice") == "it is 3"
    assert made.render({"t": 3}, "text") == '{"t":3}'
    assert made.render({"t": "ü"}) == '{"t":"ü"}'


def test_t2_channels() -> None:
    made = tool(channels=("voice",))(google)
    assert (made.serves("voice"), made.serves("text"), made.serves(None)) == (True, False, True)
    assert tool(google).serves("anything")


# T1: tools that ask a person


async def test_t1_an_answer_is_the_output_and_the_tool_has_no_body() -> None:
    class Choice(BaseModel):
        yes: bool

    @tool(answer=Choice)
    async def choose(question: Annotated[str, "What to ask"]) -> None:
        """Ask."""
        raise AssertionError("a body must not run")

    assert (choose.mode, choose.answer, choose.handler, choose.output_model) == (Mode.HUMAN, Choice, None, Choice)
    assert choose.output_schema == {"type": "object", "properties": {"yes": {"type": "boolean"}}, "required": ["yes"]}
    with pytest.raises(ToolError, match="asks a person") as caught:
        await Registry([choose]).call("choose", {"question": "?"})
    assert caught.value.category == "configuration"
    with pytest.raises(TypeError, match="cannot be called"):
        _ = choose("?")


# Misspelled options


async def test_t1_an_unknown_option_is_refused_with_a_similar_one_and_the_list() -> None:
    async def look(place: Annotated[str, "A place"]) -> str:
        """Look."""
        return place

    message = await refused(look, tiemout=3.0)
    assert message.startswith("@tool has no option 'tiemout'. Did you mean 'timeout'? Known: answer, ")
    assert ", timeout, " in message
    assert await refused(look, zzz=1) == message.replace("tiemout", "zzz").replace("Did you mean 'timeout'? ", "")


async def test_t1_an_unknown_option_is_refused_before_the_function_is_decorated() -> None:
    options: Any = {"nmae": "look"}
    with pytest.raises(RegistrationError, match="Did you mean 'name'"):
        tool(**options)


@pytest.mark.parametrize(
    ("option", "value", "answer"),
    [
        ("mode", "backgruond", "Did you mean 'background'? Known: inline, background, human."),
        ("mode", "later", "Known: inline, background, human."),
        ("wake", "ui-only", "Did you mean 'ui_only'? Known: " + ", ".join(Wake) + "."),
        ("logout", "cancel", "Known: " + ", ".join(Logout) + "."),
    ],
)
async def test_t1_an_unknown_value_is_refused_with_the_values_of_its_option(
    option: str, value: str, answer: str
) -> None:
    async def look(place: Annotated[str, "A place"]) -> str:
        """Look."""
        return place

    assert await refused(look, **{option: value}) == f"The tool look has {option}={value!r}. {answer}"
