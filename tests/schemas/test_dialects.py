"""S1, S2 and S3: the form of each dialect, the constraints that it loosens, and the types that it refuses by path."""

from enum import IntEnum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

from callboard import Registry, SchemaError, Tool, dynamic_tool, tool
from callboard.schemas.clean import clean
from callboard.schemas.dialects import DIALECTS, dialect
from callboard.schemas.gemini import gemini
from callboard.schemas.strict import strict
from callboard.schemas.walk import children

NAMES = list(DIALECTS)


class Item(BaseModel):
    sku: Annotated[str, Field(description="The article", min_length=1)]
    count: Annotated[int, Field(description="How many", gt=0)] = 1


class Node(BaseModel):
    """A node of a tree."""

    name: Annotated[str, Field(description="Its name")]
    parent: Annotated["Node | None", Field(description="The one above")] = None


class Size(IntEnum):
    SMALL = 1
    LARGE = 2


@tool(topic="Place an order", idempotent=True, usage="Only when asked.")
def order(
    items: Annotated[list[Item], "What to order"],
    note: Annotated[str | None, "A note"] = None,
) -> int:
    """Place an order."""
    return len(items) + len(note or "")


@tool
def ping() -> str:
    """Answer."""
    return "pong"


@tool
def climb(start: Annotated[Node, "Where to begin"]) -> list[Node]:
    """Climb a tree."""
    return [start]


ITEM = {
    "type": "object",
    "properties": {
        "sku": {"type": "string", "description": "The article", "minLength": 1},
        "count": {"type": "integer", "description": "How many", "exclusiveMinimum": 0, "default": 1},
    },
    "required": ["sku"],
}
INPUT = {
    "type": "object",
    "properties": {
        "items": {"type": "array", "items": ITEM, "description": "What to order"},
        "note": {"type": "string", "description": "A note", "default": None},
    },
    "required": ["items"],
    "additionalProperties": False,
}
PROMPT = "Place an order.\n\nOnly when asked."


def taking(annotation: Any, *, output: Any = None) -> Tool:
    """A tool with one parameter `x` of that type."""

    def act(x: Any) -> Any: ...

    act.__annotations__ = {"x": Annotated[annotation, "What to take"], "return": output}
    return tool(description="Act.", flatten=False)(act)


def parameter(annotation: Any, name: str) -> Any:
    """The schema of a parameter of that type in OpenAI's strict or in Gemini's form, without its description."""
    shown = taking(annotation).schema(name)
    shown = (shown.get("function") or shown)["parameters"]["properties"]["x"]
    for schema in (shown, *shown.get("anyOf", ())):
        if schema.get("description") == "What to take":
            del schema["description"]
    return shown


# Envelopes (S1)


def test_s1_claude() -> None:
    assert order.schema("claude") == {"name": "order", "description": PROMPT, "input_schema": INPUT}


@pytest.mark.parametrize("alias", ["$filter", "größe", "filter[name]", "two words", "a" * 65])
def test_s2_claude_refuses_names_of_arguments_that_its_api_refuses(alias: str) -> None:
    async def find(what: Annotated[str, Field(alias=alias, description="What")], max_size: Annotated[int, "S"]) -> str:
        """Find."""
        return what

    with pytest.raises(SchemaError) as caught:
        Registry([tool(find)], dialects=("claude",))
    assert (caught.value.path, caught.value.dialect) == (alias, "claude")
    assert "Rename the property, or use an alias." in str(caught.value)
    for name in DIALECTS.keys() - {"claude"}:
        assert alias in str(tool(find).schema(name))


def test_s1_openai() -> None:
    function = {"name": "order", "description": PROMPT, "parameters": INPUT}
    assert order.schema("openai") == {"type": "function", "function": function}


def test_s1_openai_responses_says_that_it_is_not_strict() -> None:
    assert order.schema("openai-responses") == {
        "type": "function",
        "name": "order",
        "description": PROMPT,
        "parameters": INPUT,
        "strict": False,
    }


def test_s1_ag_ui() -> None:
    assert order.schema("ag-ui") == {"name": "order", "description": PROMPT, "parameters": INPUT}


def test_s1_mcp_with_annotations_and_a_wrapped_output() -> None:
    assert order.schema("mcp") == {
        "name": "order",
        "title": "Place an order",
        "description": PROMPT,
        "inputSchema": INPUT,
        "outputSchema": {"type": "object", "properties": {"result": {"type": "integer"}}, "required": ["result"]},
        "annotations": {"title": "Place an order", "idempotentHint": True},
    }


def test_s1_openai_strict() -> None:
    count = {"type": ["integer", "null"], "description": "How many", "exclusiveMinimum": 0}
    item = {
        "type": "object",
        "properties": {"sku": {"type": "string", "description": "The article"}, "count": count},
        "required": ["sku", "count"],
        "additionalProperties": False,
    }
    parameters = {
        "type": "object",
        "properties": {
            "items": {"type": "array", "description": "What to order", "items": item},
            "note": {"type": ["string", "null"], "description": "A note"},
        },
        "required": ["items", "note"],
        "additionalProperties": False,
    }
    function = {"name": "order", "description": PROMPT, "parameters": parameters, "strict": True}
    assert order.schema("openai-strict") == {"type": "function", "function": function}


def test_s1_gemini() -> None:
    item = {
        "type": "object",
        "properties": {
            "sku": {"type": "string", "description": "The article", "minLength": 1},
            "count": {"type": "integer", "description": "How many", "minimum": 1, "default": 1},
        },
        "required": ["sku"],
    }
    parameters = {
        "type": "object",
        "properties": {
            "items": {"type": "array", "description": "What to order", "items": item},
            "note": {"type": "string", "description": "A note", "default": None},
        },
        "required": ["items"],
    }
    assert order.schema("gemini") == {"name": "order", "description": PROMPT, "parameters": parameters}


def test_s1_an_unknown_dialect_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(SchemaError, match=r"no dialect 'latin'\. Dialects: claude, openai, openai-responses, "):
        dialect("latin")


@pytest.mark.parametrize("name", NAMES)
def test_s1_a_tool_without_arguments_is_valid_in_every_dialect(name: str) -> None:
    empty = {"type": "object", "properties": {}, "additionalProperties": False}
    shown = ping.schema(name)
    if name == "gemini":
        assert shown == {"name": "ping", "description": "Answer."}
    elif name == "openai-strict":
        assert shown["function"]["parameters"] == {**empty, "required": []}
    else:
        found = shown.get("function", shown)
        assert empty in (found.get("parameters"), found.get("input_schema"), found.get("inputSchema"))


@pytest.mark.parametrize("name", NAMES)
def test_s1_a_dialect_is_a_pure_function(name: str) -> None:
    before = clean(order.arguments.schema())
    assert DIALECTS[name](order) == DIALECTS[name](order)
    assert clean(order.arguments.schema()) == before
    assert order.input_schema == INPUT


# Unions at the root


@pytest.mark.parametrize("name", ["claude", "openai", "openai-responses", "openai-strict", "gemini"])
def test_s2_a_foreign_union_at_the_root_is_flattened_where_apis_refuse_it(name: str) -> None:
    async def handler(arguments: dict[str, Any]) -> None: ...

    a, b = {"type": "string", "description": "A"}, {"type": "integer", "description": "B"}
    schema = {"properties": {"a": a}, "anyOf": [{"required": ["a"]}, {"properties": {"b": b}, "required": ["b"]}]}
    shown = dynamic_tool("either", schema, handler, description="One of two.").schema(name)
    found: Any = shown.get("function", shown)
    found = found.get("parameters") or found["input_schema"]
    assert not {"anyOf", "allOf", "oneOf", "not"} & found.keys()
    assert found["properties"].keys() == {"a", "b"}


# OpenAI strict


def every_object(schema: dict[str, Any]) -> list[dict[str, Any]]:
    found, pending = [], [schema, *schema.get("$defs", {}).values()]
    for current in pending:
        if "properties" in current or current.get("type") == "object":
            found.append(current)
        pending.extend(child for _, child in children(current))
    return found


def test_s1_strict_closes_and_requires_everything_at_every_level() -> None:
    class Deep(BaseModel):
        inner: Annotated[list[Item] | Item, Field(description="Items")] = []
        again: Annotated[Item | None, Field(description="One more")] = None

    shown = taking(list[Deep]).schema("openai-strict")["function"]["parameters"]
    objects = every_object(shown)
    assert len(objects) == 5
    for schema in objects:
        assert schema["additionalProperties"] is False
        assert schema["required"] == list(schema["properties"])


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (int | None, {"type": ["integer", "null"]}),
        (Literal["a", "b"] | None, {"type": ["string", "null"], "enum": ["a", "b", None]}),
        (Literal["a"] | None, {"anyOf": [{"type": "string", "const": "a"}, {"type": "null"}]}),
        (int | str | None, {"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "null"}]}),
        (Literal["a", 1], {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "integer", "enum": [1]}]}),
        (tuple[int, str], {"type": "array", "minItems": 2, "maxItems": 2,
                           "items": {"anyOf": [{"type": "integer"}, {"type": "string"}]}}),
        (Annotated[str, Field(json_schema_extra={"pattern": "^(?=a)"})], {"type": "string"}),
        (Annotated[str, Field(pattern="^(?:a|b)$", max_length=3)], {"type": "string", "pattern": "^(?:a|b)$"}),
        (Annotated[str, Field(json_schema_extra={"format": "uri"})], {"type": "string"}),
        (Annotated[float, Field(ge=0, multiple_of=0.5)], {"type": "number", "minimum": 0, "multipleOf": 0.5}),
        (Size, {"type": "integer", "enum": [1, 2]}),
    ],
)  # fmt: skip
def test_s1_strict_form_of_a_type(annotation: Any, expected: Any) -> None:
    assert parameter(annotation, "openai-strict") == expected


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    known: Annotated[int, Field(description="Known")]


class Empty(BaseModel):
    """Nothing."""


def test_s1_strict_form_adds_null_only_once() -> None:
    async def act(x: Annotated[None, "Nothing"] = None, y: Annotated[list[None], "Nothing"] = []) -> None: ...  # noqa: B006

    shown = tool(description="Act.")(act).schema("openai-strict")["function"]["parameters"]["properties"]
    nothing = {"type": "null"}
    assert shown == {
        "x": {**nothing, "description": "Nothing"},
        "y": {"type": ["array", "null"], "items": nothing, "description": "Nothing"},
    }


class Labels(BaseModel):
    labels: Annotated[dict[str, Item], Field(description="By name")]


@pytest.mark.parametrize(
    ("annotation", "path", "what"),
    [
        (dict[str, Item], "x", "an object with any keys (dict)"),
        (dict[str, int] | None, "x", "an object with any keys (dict)"),
        (dict[str, Any], "x", "an object with any keys (dict)"),
        (list[Labels], "x[].labels", "an object with any keys (dict)"),
        (Item | Labels, "x.labels", "an object with any keys (dict)"),
        (Open, "x", "an object with any keys (dict)"),
        (Any, "x", "a value of any type"),
        (list[Any], "x[]", "a value of any type"),
        (tuple[int, Any], "x[]", "a value of any type"),
    ],
    ids=str,
)
def test_s2_strict_refuses_a_shape_with_its_path(annotation: Any, path: str, what: str) -> None:
    with pytest.raises(SchemaError) as caught:
        taking(annotation).schema("openai-strict")
    assert str(caught.value) == (
        f"OpenAI's strict mode cannot express {what}, which {path} is. "
        "Use the dialect 'openai', or a model with named fields."
    )
    assert (caught.value.path, caught.value.dialect, caught.value.code) == (path, "openai-strict", "schema")


@pytest.mark.parametrize("keyword", ["not", "if", "patternProperties", "dependentSchemas", "allOf"])
def test_s2_strict_refuses_foreign_keywords(keyword: str) -> None:
    value = {"not": {"const": 1}, "if": {"const": 1}, "allOf": [{}]}.get(keyword, {"a": {}})
    with pytest.raises(SchemaError, match=keyword) as caught:
        strict({"type": "object", "properties": {"a": {"type": "object", "properties": {}, keyword: value}}})
    assert caught.value.path == "a"


def test_s2_strict_takes_a_model_without_fields() -> None:
    closed = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    shown = taking(Empty).schema("openai-strict")["function"]["parameters"]["properties"]["x"]
    assert shown == {**closed, "description": "What to take"}


def test_s3_strict_keeps_a_recursive_type() -> None:
    node = {
        "type": "object",
        "description": "A node of a tree.",
        "properties": {
            "name": {"type": "string", "description": "Its name"},
            "parent": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}], "description": "The one above"},
        },
        "required": ["name", "parent"],
        "additionalProperties": False,
    }
    shown = taking(Node).schema("openai-strict")["function"]["parameters"]
    assert shown == {
        "type": "object",
        "properties": {"x": {"anyOf": [{"$ref": "#/$defs/Node"}], "description": "What to take"}},
        "required": ["x"],
        "additionalProperties": False,
        "$defs": {"Node": node},
    }


def test_s3_strict_refuses_inside_a_definition_with_its_path() -> None:
    class Loop(BaseModel):
        data: Annotated[dict[str, int], Field(description="Data")]
        loops: Annotated["list[Loop]", Field(description="More")] = []

    with pytest.raises(SchemaError, match="cannot express an object") as caught:
        taking(list[Loop]).schema("openai-strict")
    assert caught.value.path == "Loop.data"


# Gemini

GEMINI = {
    "type", "format", "description", "default", "enum", "properties", "required", "items", "anyOf", "pattern",
    "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties",
    "additionalProperties",
}  # fmt: skip


def gemini_schemas(schema: dict[str, Any]) -> list[dict[str, Any]]:
    found = [schema]
    for current in found:
        found.extend(child for _, child in children(current))
    return found


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (Literal["a"], {"type": "string", "enum": ["a"]}),
        (Literal["a", "b"] | None, {"type": "string", "enum": ["a", "b"], "default": None}),
        (Size, {"type": "integer"}),
        (Literal[3], {"type": "integer"}),
        (Literal["a", 1], {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "integer"}]}),
        (Annotated[int, Field(gt=0, lt=10)], {"type": "integer", "minimum": 1, "maximum": 9}),
        (Annotated[int, Field(gt=0, ge=5)], {"type": "integer", "minimum": 5}),
        (Annotated[float, Field(gt=0, lt=1)], {"type": "number", "minimum": 0, "maximum": 1}),
        (Annotated[str, Field(json_schema_extra={"format": "uuid"})], {"type": "string"}),
        (Annotated[str, Field(json_schema_extra={"format": "date-time"})], {"type": "string", "format": "date-time"}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (dict[str, Any], {"type": "object"}),
        (tuple[int, str], {"type": "array", "minItems": 2, "maxItems": 2,
                           "items": {"anyOf": [{"type": "integer"}, {"type": "string"}]}}),
        (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
        (set[str], {"type": "array", "items": {"type": "string"}}),
        (int | str | None, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        (Open, {"type": "object", "properties": {"known": {"type": "integer", "description": "Known"}},
                "required": ["known"]}),
    ],
)  # fmt: skip
def test_s1_gemini_form_of_a_type(annotation: Any, expected: Any) -> None:
    assert parameter(annotation, "gemini") == expected


def test_s1_gemini_has_only_its_own_keywords_and_unions_stand_alone() -> None:
    class Everything(BaseModel):
        items: Annotated[set[Item], Field(description="Items", min_length=1)]
        union: Annotated[Item | Labels | None, Field(description="Either")] = None
        number: Annotated[int, Field(description="Number", multiple_of=3, gt=1, examples=[3])] = 3
        const: Annotated[Literal[1], Field(description="One", deprecated=True)] = 1

    shown = taking(Everything).schema("gemini")["parameters"]
    for schema in gemini_schemas(shown):
        assert schema.keys() <= GEMINI
        assert "anyOf" not in schema or schema.keys() == {"anyOf"}
        assert "type" in schema or "anyOf" in schema
        assert all(isinstance(value, str) for value in schema.get("enum", ()))
        assert set(schema.get("required", ())) <= schema.get("properties", {}).keys()


def test_s1_gemini_keeps_both_descriptions_of_a_union() -> None:
    schema = {"description": "Out", "anyOf": [{"type": "string", "description": "In"}, {"type": "integer"}]}
    assert gemini(schema) == {
        "anyOf": [{"type": "string", "description": "Out\n\nIn"}, {"type": "integer", "description": "Out"}]
    }


@pytest.mark.parametrize(
    ("annotation", "path", "what"),
    [
        (Node, "x", "the recursive type Node, which x is"),
        (list[Node], "x[]", "the recursive type Node, which x[] is"),
        (dict[str, Node], "x.*", "the recursive type Node, which x.* is"),
        (Any, "x", "a value of any type, which x is"),
        (list[Any], "x[]", "a value of any type, which x[] is"),
    ],
    ids=str,
)
def test_s3_gemini_refuses_with_path_and_name(annotation: Any, path: str, what: str) -> None:
    with pytest.raises(SchemaError) as caught:
        taking(annotation).schema("gemini")
    assert str(caught.value) == f"Gemini cannot express {what}."
    assert (caught.value.path, caught.value.dialect) == (path, "gemini")


@pytest.mark.parametrize("keyword", ["allOf", "not"])
def test_s2_gemini_refuses_foreign_keywords(keyword: str) -> None:
    with pytest.raises(SchemaError, match="'allOf' or 'not', which a uses"):
        gemini({"type": "object", "properties": {"a": {"type": "string", keyword: [{}]}}})


# Recursive types everywhere (S3)


@pytest.mark.parametrize("name", [name for name in NAMES if name != "gemini"])
def test_s3_a_recursive_type_is_kept_where_it_can_be(name: str) -> None:
    shown = Registry([climb], dialects=(name,)).get("climb")
    assert shown is not None
    assert '"#/$defs/Node"' in str(shown.schema(name)).replace("'", '"')


def test_s3_registration_for_gemini_refuses_a_recursive_tool() -> None:
    with pytest.raises(SchemaError, match="recursive type Node") as caught:
        Registry([climb], dialects=("gemini",))
    assert caught.value.dialect == "gemini"
    registry = Registry(dialects=("gemini",))
    with pytest.raises(SchemaError):
        registry.register(climb)
    assert not registry.has("climb")


def test_s3_mcp_keeps_definitions_of_a_wrapped_output_at_the_root() -> None:
    output = climb.schema("mcp")["outputSchema"]
    assert output["properties"] == {"result": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}
    assert output["required"] == ["result"]
    assert output["$defs"].keys() == {"Node"}


def test_s1_mcp_does_not_wrap_objects_and_leaves_out_unknown_annotations() -> None:
    assert taking(int, output=Item).schema("mcp")["outputSchema"]["properties"].keys() == {"sku", "count"}
    assert taking(int, output=dict[str, int]).schema("mcp")["outputSchema"] == {
        "type": "object",
        "additionalProperties": {"type": "integer"},
    }
    assert "outputSchema" not in taking(int, output=Any).schema("mcp")


def test_s2_a_dynamic_tool_has_a_schema_in_every_dialect() -> None:
    async def handler(arguments: dict[str, Any]) -> None: ...

    schema = {"properties": {"a": {"type": ["string", "null"], "description": "A"}}, "required": ["a"]}
    made = dynamic_tool("foreign", schema, handler, description="From elsewhere.")
    expected = {
        "type": "object",
        "properties": {"a": {"type": "string", "description": "A"}},
        "additionalProperties": False,
    }
    assert made.schema("claude")["input_schema"] == expected
    for name in NAMES:
        assert made.schema(name)
