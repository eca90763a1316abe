"""Combinations of features that work alone and could fail together."""

import asyncio
import types
from collections.abc import AsyncIterator
from functools import partial, update_wrapper
from typing import Annotated, Any

import jsonschema
import pytest
from pydantic import BaseModel, Field

from callboard import ErrorTable, RegistrationError, Registry, Settings, ToolContext, ToolError, dynamic_tool, tool
from callboard.errors import CallboardError
from callboard.tools.transforms import prefixed

pytestmark = pytest.mark.anyio


class Inner(BaseModel):
    """Inside."""

    a: int = Field(description="A")


class Outer(BaseModel):
    """Outside."""

    x: int = Field(description="X")
    inner: Inner = Field(default=Inner(a=1), description="Inside")


class Price(BaseModel):
    """A price."""

    amount: float = Field(description="How much")


@tool
async def mixed(outer: Outer, z: Annotated[int, "Z"]) -> int:
    """Mix."""
    return z


@tool
async def price(of: Annotated[list[Price], "Prices"]) -> int:
    """Count."""
    return len(of)


async def anything(arguments: dict[str, Any]) -> Any:
    return arguments


async def refused(registry: Registry, name: str, arguments: Any) -> ToolError:
    call = registry.call_json if isinstance(arguments, str) else registry.call
    with pytest.raises(ToolError) as caught:
        await call(name, arguments)
    return caught.value


async def test_t5_a_key_given_twice_is_found_beside_a_default_that_is_a_model() -> None:
    error = await refused(Registry([mixed]), "mixed", '{"outer":{"x":1},"z":1,"z":999}')
    assert (error.category, "'z' twice" in error.message) == ("validation", True)


@pytest.mark.parametrize("amount", ['"NaN"', '"inf"', "NaN", "1e999"])
async def test_t5_a_number_that_is_not_finite_is_refused_in_a_model(amount: str) -> None:
    error = await refused(Registry([price]), "price", f'{{"of":[{{"amount":{amount}}}]}}')
    assert error.category == "validation"


async def test_x2_a_dynamic_tools_error_does_not_quote_a_secret() -> None:
    schema = {"properties": {"pw": {"type": "string", "minLength": 20, "writeOnly": True, "description": "Password"}}}
    error = await refused(
        Registry([dynamic_tool("login", schema, anything, description="Log in.")]), "login", {"pw": "hunter2"}
    )
    assert "hunter2" not in f"{error.message} {error.details}"


async def test_t5_a_dynamic_tools_output_schema_is_a_promise() -> None:
    output = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    schema = {"properties": {"n": {"description": "N"}}}
    registry = Registry([dynamic_tool("echo", schema, anything, description="Echo.", output_schema=output)])
    assert await registry.call("echo", {"n": 1}) == {"n": 1}
    error = await refused(registry, "echo", {"n": "one"})
    assert (error.category, "declared type" in error.message) == ("execution", True)


@pytest.mark.parametrize("schema", [5, {"$ref": "http://localhost/x"}, {"type": "nonsense"}])
def test_t5_a_bad_output_schema_is_refused(schema: Any) -> None:
    with pytest.raises(CallboardError):
        dynamic_tool("bad", {}, anything, description="Bad.", output_schema=schema)


async def test_s1_results_are_written_by_alias_as_their_schema_says() -> None:
    class User(BaseModel):
        user_id: int = Field(serialization_alias="userId")

    @tool
    async def who() -> User:
        """Tell who."""
        return User(user_id=7)

    value = await Registry([who]).call("who")
    assert value == {"userId": 7}
    jsonschema.validate(value, who.schema("mcp")["outputSchema"])


def test_s1_a_union_at_the_root_does_not_refuse_its_own_branches() -> None:
    schema = {
        "oneOf": [
            {"properties": {"a": {"type": "integer", "description": "A"}}, "required": ["a"]},
            {"properties": {"b": {"type": "integer", "description": "B"}}, "required": ["b"]},
        ]
    }
    made = dynamic_tool("either", schema, anything, description="Either.").schema("mcp")["inputSchema"]
    jsonschema.validate({"a": 1}, made)


def test_t1_a_functions_own_names_come_before_the_callers() -> None:
    class Plan(BaseModel):
        """Not the one that is meant."""

        wrong: int = Field(description="Wrong")

    module = types.ModuleType("elsewhere")
    source = (
        "from __future__ import annotations\nfrom pydantic import BaseModel, Field\n"
        "class Plan(BaseModel):\n    right: int = Field(description='Right')\n"
        "async def run(plan: Plan) -> int:\n    'Run.'\n    return plan.right\n"
    )
    exec(source, module.__dict__)
    assert Plan.__name__ == "Plan"
    assert list(tool(module.run).input_schema["properties"]) == ["right"]


def test_t1_a_model_with_a_field_named_root_is_flattened() -> None:
    class Search(BaseModel):
        root: str = Field(description="Where")
        pattern: str = Field(description="What")

    @tool
    async def find(search: Search) -> str:
        """Find."""
        return search.root

    assert list(find.input_schema["properties"]) == ["root", "pattern"]


async def test_t1_a_partial_and_an_object_with_a_call_become_tools() -> None:
    async def add(a: Annotated[int, "A"], b: Annotated[int, "B"]) -> int:
        """Add."""
        return a + b

    class Adder:
        """Adds."""

        async def __call__(self, a: Annotated[int, "A"]) -> int:
            """Add one."""
            return a + 1

    registry = Registry([tool(name="add_two", description="Add two.")(partial(add, b=2)), tool(name="one")(Adder())])
    assert await registry.call("add_two", {"a": 1}) == 3
    assert await registry.call("one", {"a": 1}) == 2


async def test_t7_a_model_neither_sees_nor_changes_what_a_partial_application_gives() -> None:
    async def query(ctx: ToolContext, tenant: Annotated[str, "Tenant"], text: Annotated[str, "Text"]) -> str:
        """Search the tenant's documents."""
        return f"{tenant}: {text} by {ctx.tool}"

    made = tool(partial(query, tenant="acme"))
    assert (made.name, made.description) == ("query", "Search the tenant's documents.")
    assert list(made.input_schema["properties"]) == ["text"]
    registry = Registry([made])
    assert await registry.call("query", {"text": "x"}) == "acme: x by query"
    assert (
        "tenant: There is no such property" in (await refused(registry, "query", {"text": "x", "tenant": "b"})).message
    )

    named = update_wrapper(partial(query, tenant="acme"), query)
    named.__name__, named.__doc__ = "search", "Search."
    assert (tool(named).name, tool(named).description) == ("search", "Search.")


async def test_t7_an_optional_context_is_given_too() -> None:
    @tool
    async def who(ctx: ToolContext | None = None) -> str:
        """Tell the tool's name."""
        return "nobody" if ctx is None else ctx.tool

    assert who.input_schema["properties"] == {}
    assert await Registry([who]).call("who") == "who"
    assert await who() == "nobody"


def test_t1_two_contexts_are_one_too_many() -> None:
    async def twice(one: ToolContext, two: ToolContext) -> None:
        """Twice."""

    with pytest.raises(RegistrationError, match="two parameters"):
        tool(twice)


def test_t1_a_docstring_that_cannot_be_read_describes_nothing() -> None:
    async def forecast(city: str) -> None:
        """Tell the weather.

        :param city
        """

    with pytest.raises(RegistrationError, match="city"):
        Registry([tool(forecast)])


def test_t2_a_class_shows_its_summary_not_its_constructor() -> None:
    @tool
    class Search:
        """Search the shop.

        Args:
            address: secret.internal
        """

        def __init__(self, address: str) -> None: ...
        async def __call__(self, query: Annotated[str, "What"]) -> None: ...

    assert Search("x").description == "Search the shop."


@pytest.mark.parametrize("options", [{"tags": "chain"}, {"channels": "text"}])
def test_t2_a_text_is_not_a_list_of_texts(options: Any) -> None:
    with pytest.raises(RegistrationError, match="a list of strings"):
        tool(**options)(anything)


@pytest.mark.parametrize("ending", [SystemExit, asyncio.CancelledError])
async def test_x4_the_end_of_a_handler_does_not_end_its_caller(ending: type[BaseException]) -> None:
    @tool
    async def leave() -> None:
        """Leave."""
        raise ending

    error = await refused(Registry([leave]), "leave", {})
    assert error.category in ("execution", "cancelled")


async def test_x4_a_rule_that_gives_nothing_does_not_hide_the_failure() -> None:
    @tool
    async def fail() -> None:
        """Fail."""
        raise LookupError("gone")

    nothing: Any = lambda error: None  # noqa: E731
    error = await refused(Registry([fail], errors=ErrorTable().extended({LookupError: nothing})), "fail", {})
    assert (error.category, error.report) == ("unknown", "LookupError: gone")


async def test_m2_a_generator_is_closed_when_a_partial_result_cannot_be_published() -> None:
    closed: list[bool] = []

    @tool
    async def count() -> AsyncIterator[Any]:
        """Count."""
        try:
            yield 1
            yield 2
            raise ValueError("broken")
        finally:
            closed.append(True)

    await refused(Registry([count]), "count", {})
    assert closed == [True]


def test_g1_another_closure_of_the_same_code_is_another_tool() -> None:
    def make(n: int) -> Any:
        async def number() -> int:
            """Tell a number."""
            return n

        return tool(number)

    registry = Registry([make(1)])
    with pytest.raises(RegistrationError, match="already"):
        registry.register(make(2))


def test_g2_an_async_subscriber_without_a_loop_is_refused() -> None:
    async def subscriber(change: Any) -> None: ...

    with pytest.raises(CallboardError, match="event loop"):
        Registry().subscribe(subscriber)


def test_g6_gates_know_their_flags_in_any_case_and_nothing_but_true_opens_one() -> None:
    async def later() -> bool:
        return True

    pending = [later()]

    @tool(gate="Beta")
    async def flagged() -> None:
        """Flagged."""

    @tool(gate=lambda: pending[0])  # pyright: ignore[reportArgumentType]
    async def promised() -> None:
        """Promised."""

    registry = Registry([flagged, promised], settings=Settings(gates={"Beta": True}))
    assert [each.name for each in registry.snapshot()] == ["flagged"]
    pending[0].close()


def test_s6_a_transform_gives_the_same_tool_again() -> None:
    from callboard import LocalToolset

    wrapped = prefixed(LocalToolset([mixed]), "x_")
    assert wrapped.tools()[0] is wrapped.tools()[0]


def test_s1_a_recursive_union_at_the_root_shows_its_properties_to_providers() -> None:
    schema = {
        "$defs": {
            "Node": {
                "type": "object",
                "properties": {"next": {"$ref": "#/$defs/Node", "description": "Next"}, "n": {"description": "N"}},
            }
        },
        "oneOf": [{"$ref": "#/$defs/Node"}, {"properties": {"b": {"type": "integer", "description": "B"}}}],
    }
    made = dynamic_tool("walk", schema, anything, description="Walk.").schema("claude")["input_schema"]
    assert set(made["properties"]) == {"next", "n", "b"}
    assert "unevaluatedProperties" not in made
