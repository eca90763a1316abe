"""Tools that come as data behave like typed ones, and schemas from an untrusted source do no harm (T5)."""

import json
import queue
import socket
import threading
import time
from collections.abc import Iterator
from functools import partial
from typing import Annotated, Any

import pytest

from callboard import RegistrationError, Registry, SchemaError, ToolContext, ToolError, dynamic_tool, tool
from callboard.types import Mode, Wake

pytestmark = pytest.mark.anyio

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "hours": {"type": "integer", "description": "How far ahead", "minimum": 1},
        "place": {"type": "string", "description": "Where", "default": "Rome"},
        "point": {
            "type": "object",
            "description": "A point",
            "properties": {"x": {"type": "number", "description": "Along"}},
            "required": ["x"],
        },
    },
    "required": ["hours"],
}


async def echo(arguments: dict[str, Any]) -> Any:
    return arguments


def made(schema: Any, **options: Any) -> Registry:
    return Registry([dynamic_tool("data", schema, echo, description="Take data.", **options)], strict=False)


async def error_of(registry: Registry, arguments: Any) -> ToolError:
    with pytest.raises(ToolError) as caught:
        await (registry.call_json if isinstance(arguments, str) else registry.call)("data", arguments)
    json.dumps(caught.value.to_model(), allow_nan=False)
    return caught.value


async def test_t5_a_dynamic_tool_is_called_like_any_other() -> None:
    registry = made(SCHEMA, namespace="n", mode="background", tags=["a"], wake="wait")
    found = registry["data"]
    assert (found.name, found.namespace, found.mode, found.tags, found.wake) == (
        "data",
        "n",
        Mode.BACKGROUND,
        ("a",),
        Wake.WAIT,
    )
    assert await registry.call("data", {"hours": 3}) == {"hours": 3}
    assert await registry.call_json("data", b'{"hours": 3, "point": {"x": 1}}') == b'{"hours":3,"point":{"x":1}}'
    assert found.schema("claude")["input_schema"]["properties"]["hours"] == SCHEMA["properties"]["hours"]
    assert registry.stats("data").successes == 2


async def test_t5_errors_have_the_same_shape_as_those_of_typed_tools() -> None:
    @tool
    async def typed(hours: Annotated[int, "How far ahead"]) -> Any:
        """Take."""

    registry = made(SCHEMA)
    registry.register(typed)
    for name in ("data", "typed"):
        with pytest.raises(ToolError) as caught:
            await registry.call(name, {})
        assert caught.value.category == "validation"
        assert caught.value.message.startswith(
            f"The arguments of {name} are not valid. Correct them and call again:\n- "
        )
        assert caught.value.details == [
            {"path": "hours", "message": "This property is required and was not given.", "received": None}
        ]
    error = await error_of(registry, {"hours": "soon", "point": {"x": []}})
    assert [(problem["path"], problem["received"]) for problem in error.details] == [("hours", "soon"), ("point.x", [])]
    error = await error_of(registry, {"hours": 0})
    assert error.details[0]["path"] == "hours"


@pytest.mark.parametrize("digits", ["1" * 310, "-" + "1" * 310])
async def test_t7_a_text_of_many_digits_is_read_as_the_integer_that_it_is(digits: str) -> None:
    """No float can hold it."""
    number = {"type": "integer", "description": "N"}
    assert await made({"properties": {"n": number}}).call("data", {"n": digits}) == {"n": int(digits)}
    error = await error_of(made({"properties": {"n": {**number, "multipleOf": 10}}}), {"n": digits})
    assert error.details[0]["path"] == "n"


async def test_t7_undeclared_arguments_are_refused_unless_the_schema_admits_them() -> None:
    error = await error_of(made(SCHEMA), {"hours": 1, "session_id": "mallory"})
    assert error.category == "validation"
    assert "There is no such property: 'session_id'. Leave it out." in error.message
    admitted = made({**SCHEMA, "additionalProperties": True})
    assert await admitted.call("data", {"hours": 1, "more": 2}) == {"hours": 1, "more": 2}
    typed = made({**SCHEMA, "additionalProperties": {"type": "integer"}})
    assert await typed.call("data", {"hours": 1, "more": 2}) == {"hours": 1, "more": 2}
    assert (await error_of(typed, {"hours": 1, "more": "x"})).details[0]["path"] == "more"
    assert await made(SCHEMA).call("data", {"hours": 1, "point": {"x": 1, "y": 2}}) == {
        "hours": 1,
        "point": {"x": 1, "y": 2},
    }


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#/$defs/Input", "$defs": {"Input": SCHEMA}},
        {"allOf": [SCHEMA]},
        {"allOf": [SCHEMA, {"properties": {"more": {"type": "string", "description": "More"}}}]},
        {
            "anyOf": [
                SCHEMA,
                {"properties": {"other": {"type": "string", "description": "Other"}}, "required": ["other"]},
            ]
        },
    ],
)
async def test_t5_properties_declared_elsewhere_than_at_the_root_are_declared(schema: dict[str, Any]) -> None:
    registry = made(schema)
    assert await registry.call("data", {"hours": 2, "place": "x"}) == {"hours": 2, "place": "x"}
    error = await error_of(registry, {"hours": 2, "zzz": 1})
    assert error.category == "validation"
    assert "zzz" in error.message


async def test_t5_an_empty_schema_takes_an_empty_object() -> None:
    registry = made({})
    assert await registry.call("data") == {}
    assert (await error_of(registry, {"a": 1})).category == "validation"
    assert registry["data"].input_schema == {"type": "object", "properties": {}, "additionalProperties": False}


async def test_t7_the_context_is_given_to_a_handler_that_asks_for_it() -> None:
    async def handler(it: dict[str, Any], where: ToolContext) -> Any:
        return [it, where.tool, where.session_id]

    registry = Registry(
        [dynamic_tool("data", {"properties": {"where": {"description": "W"}}}, handler, description="d")]
    )
    assert await registry.call("data", {"where": "mallory"}) == [{"where": "mallory"}, "data", None]


def test_t5_a_handler_of_another_shape_is_refused() -> None:
    async def none() -> None: ...
    async def two(a: Any, b: Any) -> None: ...

    for handler in (none, two):
        with pytest.raises(RegistrationError, match="must take the arguments as one dict"):
            dynamic_tool("data", {}, handler, description="d")


async def test_x4_a_handler_that_fails_is_translated() -> None:
    async def handler(it: dict[str, Any]) -> None:
        raise ConnectionResetError("10.0.0.1 token=hunter2")

    registry = Registry([dynamic_tool("data", {}, handler, description="d")])
    error = await error_of(registry, {})
    assert error.category == "transient"
    assert "hunter2" not in str(error.to_model())


async def test_t4_undescribed_properties_are_refused() -> None:
    with pytest.raises(RegistrationError, match=r"without a description: a, a\.b, c\[\]\.d\."):
        Registry(
            [
                dynamic_tool(
                    "data",
                    {
                        "properties": {
                            "a": {"type": "object", "properties": {"b": {"type": "string"}}},
                            "c": {"description": "C", "type": "array", "items": {"properties": {"d": {}}}},
                        }
                    },
                    echo,
                    description="d",
                )
            ]
        )


async def test_t4_recursive_definitions_are_looked_at_once() -> None:
    tree: dict[str, Any] = {
        "type": "object",
        "description": "A tree",
        "properties": {"below": {"$ref": "#/$defs/tree"}, "n": {"type": "integer"}},
    }
    with pytest.raises(RegistrationError, match=r"without a description: tree\.n\."):
        Registry(
            [
                dynamic_tool(
                    "data",
                    {"properties": {"tree": {"$ref": "#/$defs/tree"}}, "$defs": {"tree": tree}},
                    echo,
                    description="d",
                )
            ]
        )


# Schemas from strangers


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"type": "nonsense"}}},
        {"properties": []},
        {"properties": {"a": 5}},
        {"properties": {"a": {"anyOf": {"x": 1}}}},
        {"properties": {"a": {"anyOf": ["x"]}}},
        {"properties": {"a": {"oneOf": 3}}},
        {"required": "a"},
        {"required": 5},
        {"minProperties": -1},
        {"properties": {"a": {"pattern": "("}}},
        {"type": "array"},
        {"type": ["object", "null"]},
        {"$ref": "#/$defs/none"},
        {"$schema": "http://127.0.0.1:9/meta"},
        [],
        True,
        None,
        "x",
    ],
)
def test_t5_a_bad_schema_is_refused(schema: Any) -> None:
    with pytest.raises((RegistrationError, SchemaError)) as caught:
        dynamic_tool("data", schema, echo, description="d")
    assert len(str(caught.value)) < 1000


@pytest.fixture
def listener() -> Iterator[int]:
    """The port of a server that fails the test on any connection."""
    connections: queue.Queue[int] = queue.Queue()

    def accept(server: socket.socket) -> None:
        for _ in range(2):
            connection, address = server.accept()
            connection.close()
            connections.put(address[1])

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=accept, args=(server,), daemon=True)
        thread.start()
        yield server.getsockname()[1]
        for _ in range(2):  # the first to be accepted must be the first that is made here
            with socket.create_connection(server.getsockname()) as own:
                mine = own.getsockname()[1]
                assert connections.get(timeout=90) == mine
        thread.join(90)


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"a": {"$ref": "{url}"}}},
        {"$ref": "{url}"},
        {"properties": {"a": {"$dynamicRef": "{url}#x"}}},
        {"dependencies": {"a": {"$ref": "{url}"}}},
        {"properties": {"a": {"contentSchema": {"$ref": "{url}"}}}},
        {"$defs": {"a": {"$ref": "{url}"}}, "properties": {"a": {"$ref": "#/$defs/a"}}},
        {"$id": "{url}", "properties": {"a": {"$ref": "other"}}},
        {"$schema": "{url}"},
        {"properties": {"a": {"items": [{"$ref": "{url}"}]}}},
        {"unknown": {"$ref": "{url}"}, "properties": {"a": {"$ref": "#/unknown"}}},
        {"properties": {"a": {"$ref": "file:///etc/passwd"}}},
        {"dependencies": {"a": {"$ref": "file:///etc/passwd"}}},
        {"properties": {"a": {"$ref": "/etc/passwd"}}},
    ],
)
def test_t5_a_reference_to_outside_is_refused_and_never_fetched(listener: int, schema: dict[str, Any]) -> None:
    given = json.loads(json.dumps(schema).replace("{url}", f"http://127.0.0.1:{listener}/schema.json"))
    with pytest.raises((RegistrationError, SchemaError)) as caught:
        dynamic_tool("data", given, echo, description="d")
    assert "root:" not in str(caught.value)


def bomb(keyword: str, levels: int = 40) -> dict[str, Any]:
    """A few references that stand for 2 ** levels schemas."""
    definitions: dict[str, Any] = {
        f"d{level}": {keyword: [{"$ref": f"#/$defs/d{level + 1}"}] * 2} for level in range(levels)
    }
    definitions[f"d{levels}"] = {"type": "string", "minLength": 3}
    return {"properties": {"a": {"$ref": "#/$defs/d0", "description": "A"}}, "$defs": definitions}


def nested_schema(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string", "description": "d"}
    for _ in range(levels):
        schema = {"type": "object", "description": "d", "properties": {"a": schema}}
    return schema


@pytest.mark.parametrize("keyword", ["allOf", "anyOf", "oneOf"])
def test_t5_a_schema_that_explodes_is_refused(keyword: str) -> None:
    with pytest.raises(SchemaError, match="more than 20,000 parts"):
        dynamic_tool("data", bomb(keyword), echo, description="d")


def test_t5_a_schema_that_is_too_deep_is_refused() -> None:
    schema = nested_schema(5000)
    with pytest.raises(SchemaError, match="nested too deeply"):
        dynamic_tool("data", schema, echo, description="d")
    while "properties" in schema:  # taken apart by hand: the interpreter's own way is recursive
        schema = schema.pop("properties")["a"]


def looping(definitions: dict[str, Any]) -> dict[str, Any]:
    return {"properties": {"a": {"$ref": "#/$defs/a", "description": "A"}}, "$defs": definitions}


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        looping({"a": {"$ref": "#/$defs/a"}}),
        looping({"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}),
        looping({"a": {"allOf": [{"$ref": "#/$defs/a"}]}}),
        {"allOf": [{"$ref": "#"}, {"$ref": "#"}]},
    ],
)
async def test_t5_a_schema_that_is_only_itself_does_not_hang(schema: dict[str, Any]) -> None:
    """A schema is refused, or its tool can be called; neither takes long."""
    try:
        registry = made(schema)
    except (RegistrationError, SchemaError) as error:
        refusal: Exception | None = error
    else:
        refusal = await outcome(registry, {"a": {"a": 1}})
    if isinstance(refusal, ToolError):
        assert refusal.category == "validation"


async def outcome(registry: Registry, arguments: Any) -> ToolError | None:
    try:
        await registry.call("data", arguments)
    except ToolError as error:
        return error
    return None


async def test_t5_a_pattern_that_backtracks_ends_soon() -> None:
    for pattern in ("^(a+)+$", r"^(a|aa)+(?=b)$", r"^(a+)\1+b$"):
        registry = made({"properties": {"a": {"type": "string", "pattern": pattern, "description": "A"}}})
        start = time.process_time()
        error = await error_of(registry, {"a": "a" * 40 + "!"})
        assert error.category == "validation"
        assert time.process_time() - start < 2


async def test_t5_recursive_schemas_validate_to_their_depth() -> None:
    registry = made(
        {
            "properties": {"tree": {"$ref": "#/$defs/tree"}},
            "$defs": {
                "tree": {
                    "type": "object",
                    "description": "A tree",
                    "properties": {"below": {"$ref": "#/$defs/tree"}, "n": {"type": "integer", "description": "N"}},
                }
            },
        }
    )
    assert await registry.call("data", {"tree": {"below": {"below": {"n": 1}}}}) == {
        "tree": {"below": {"below": {"n": 1}}}
    }
    error = await error_of(registry, {"tree": {"below": {"below": {"n": "x"}}}})
    assert error.details[0]["path"] == "tree.below.below.n"


async def test_t5_the_given_schema_is_not_changed() -> None:
    before = json.dumps(SCHEMA)
    registry = made(SCHEMA)
    await registry.call("data", {"hours": "3"})
    registry["data"].schema("openai-strict")
    assert json.dumps(SCHEMA) == before


async def test_t1_an_unknown_option_is_refused() -> None:
    async def handler(arguments: dict[str, Any]) -> str:
        return ""

    options: Any = {"tmeout": 3.0}
    with pytest.raises(RegistrationError, match=r"dynamic_tool has no option 'tmeout'\. Did you mean 'timeout'"):
        dynamic_tool("look", {"type": "object"}, handler, description="Look", **options)


async def test_t5_a_handler_that_is_not_async_is_found_and_an_awaitable_is_awaited() -> None:
    def plain(arguments: dict[str, Any]) -> Any:
        return arguments

    def passed_on(arguments: dict[str, Any]) -> Any:
        return echo(arguments)

    sync: Any = plain
    registry = Registry(
        [dynamic_tool("plain", {}, sync, description="d"), dynamic_tool("on", {}, passed_on, description="d")]
    )
    assert await registry.call("on") == {}
    with pytest.raises(ToolError) as caught:
        await registry.call("plain")
    assert caught.value.category == "configuration"
    assert caught.value.report == "the handler of plain returned dict; it must be an async function"


def test_t5_a_generator_is_no_handler() -> None:
    async def values(arguments: dict[str, Any]) -> Any:
        yield arguments

    generator: Any = values
    with pytest.raises(RegistrationError, match="The handler of the tool data is a generator"):
        dynamic_tool("data", {}, generator, description="d")


async def test_t5_a_partial_application_is_a_handler() -> None:
    async def handler(connection: str, arguments: dict[str, Any], *, table: str) -> Any:
        return [connection, table, arguments]

    registry = Registry([dynamic_tool("data", {}, partial(handler, "db", table="t"), description="d")])
    assert await registry.call("data") == ["db", "t", {}]
