"""S2 and S3: the default form, and the schemas that are easily mistaken for others."""

import json
import math
import time
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import Enum, IntEnum
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypeVar

import pytest
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, RootModel, computed_field
from typing_extensions import TypedDict

from callboard import Registry, SchemaError, tool
from callboard.schemas.clean import MAX_DEPTH, clean
from callboard.schemas.dialects import DIALECTS

POINT = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
TREE = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "children": {"type": "array", "items": {"$ref": "#/$defs/Tree"}, "default": []},
    },
    "required": ["name"],
}


class Point(BaseModel):
    x: int


class Tree(BaseModel):
    name: str
    children: "list[Tree]" = []


class Chain(BaseModel):
    """A link."""

    next: Annotated["Chain | None", Field(description="The next one")] = None


class Author(BaseModel):
    books: "list[Book]" = []


class Book(BaseModel):
    author: Author | None = None


class Colour(Enum):
    """A colour."""

    RED = "red"
    BLUE = "blue"


class Only(Enum):
    ONE = "one"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"]


CAT = {
    "type": "object",
    "properties": {"kind": {"type": "string", "const": "cat"}, "lives": {"type": "integer", "default": 9}},
    "required": ["kind"],
}
DOG = {"type": "object", "properties": {"kind": {"type": "string", "const": "dog"}}, "required": ["kind"]}

T = TypeVar("T")


class Box(BaseModel, Generic[T]):
    content: T


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (int, {"type": "integer"}),
        (Any, {}),
        (None, {"type": "null"}),
        (int | None, {"type": "integer"}),
        (Point | None, POINT),
        (int | str | None, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        (Any | None, {}),
        (int | Literal["all"] | None, {"anyOf": [{"type": "integer"}, {"type": "string", "const": "all"}]}),
        (Annotated[int | None, Field(ge=1)], {"type": "integer", "minimum": 1}),
        (Literal["a"], {"type": "string", "const": "a"}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal["a", None], {"type": "string", "enum": ["a"]}),
        (Literal["a", "b", None], {"type": "string", "enum": ["a", "b"]}),
        (Literal[None], {"type": "null", "const": None}),
        (Literal["a", 3], {"enum": ["a", 3]}),
        (Literal[1, 2, None], {"type": "integer", "enum": [1, 2]}),
        (Colour, {"type": "string", "enum": ["red", "blue"], "description": "A colour."}),
        (Only, {"type": "string", "enum": ["one"]}),
        (Level, {"type": "integer", "enum": [1, 2]}),
        (Colour | None, {"type": "string", "enum": ["red", "blue"], "description": "A colour."}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (dict[str, Point], {"type": "object", "additionalProperties": POINT}),
        (dict[str, Any], {"type": "object", "additionalProperties": True}),
        (dict[str, Point | None], {"type": "object", "additionalProperties": POINT}),
        (list[Point], {"type": "array", "items": POINT}),
        (list[list[Point]], {"type": "array", "items": {"type": "array", "items": POINT}}),
        (list[int | None], {"type": "array", "items": {"type": "integer"}}),
        (list[Any], {"type": "array", "items": {}}),
        (set[int], {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}),
        (
            tuple[int, str],
            {
                "type": "array",
                "prefixItems": [{"type": "integer"}, {"type": "string"}],
                "items": {},
                "minItems": 2,
                "maxItems": 2,
            },
        ),
        (tuple[int, int], {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}),
        (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
        (Annotated[int, Field(gt=0, lt=10)], {"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 10}),
        (Annotated[float, Field(multiple_of=0.5)], {"type": "number", "multipleOf": 0.5}),
        (Annotated[str, Field(min_length=1, pattern="^a")], {"type": "string", "minLength": 1, "pattern": "^a"}),
        (datetime, {"type": "string", "format": "date-time"}),
        (date | None, {"type": "string", "format": "date"}),
        (Box[int], {"type": "object", "properties": {"content": {"type": "integer"}}, "required": ["content"]}),
        (Box[Point], {"type": "object", "properties": {"content": POINT}, "required": ["content"]}),
        (RootModel[list[Point]], {"type": "array", "items": POINT}),
        (Cat | Dog, {"anyOf": [CAT, DOG]}),
        (Annotated[Cat | Dog, Field(discriminator="kind")], {"anyOf": [CAT, DOG]}),
        (Annotated[Cat | Dog | None, Field(discriminator="kind")], {"anyOf": [CAT, DOG]}),
        (int | (Cat | Dog | None), {"anyOf": [{"type": "integer"}, CAT, DOG]}),
    ],
    ids=str,
)
def test_s2_default_form_of_a_type(cleaned: Any, source: Any, expected: Any) -> None:
    assert cleaned(source) == expected


class Tricky(BaseModel):
    title: Annotated[str, Field(description="A title", title="Shown")]
    description: str | None = None
    reference: Annotated[int, Field(alias="$ref")]
    properties: dict[str, int] = {}
    required: bool = True
    definitions: Annotated[Point | None, Field(alias="$defs")] = None
    any_of: Annotated[list[int], Field(alias="anyOf")] = []
    type: Literal["title"] = "title"


def test_s2_properties_named_like_keywords_survive(cleaned: Any) -> None:
    assert cleaned(Tricky) == {
        "type": "object",
        "properties": {
            "title": {"type": "string", "description": "A title"},
            "description": {"type": "string", "default": None},
            "$ref": {"type": "integer"},
            "properties": {"type": "object", "additionalProperties": {"type": "integer"}, "default": {}},
            "required": {"type": "boolean", "default": True},
            "$defs": {**POINT, "default": None},
            "anyOf": {"type": "array", "items": {"type": "integer"}, "default": []},
            "type": {"type": "string", "const": "title", "default": "title"},
        },
        "required": ["title", "$ref"],
    }


def test_s2_data_that_looks_like_a_schema_is_left_alone(cleaned: Any) -> None:
    data = {"title": "t", "$ref": "#/nowhere", "anyOf": [{"type": "null"}]}
    schema = {"type": "object", "default": data, "examples": [data], "const": data, "enum": [data]}
    assert cleaned(schema) == schema


class Defaults(BaseModel):
    point: Point = Point(x=1)
    colour: Colour = Field(Colour.BLUE, description="Which")
    points: list[Point] = [Point(x=1), Point(x=2)]
    maybe: int | None = 5
    none: Annotated[Point | None, Field(description="Perhaps")] = None
    needed: int | None


def test_s2_defaults_are_kept_and_nullable_properties_are_not_required(cleaned: Any) -> None:
    assert cleaned(Defaults) == {
        "type": "object",
        "properties": {
            "point": {**POINT, "default": {"x": 1}},
            "colour": {"type": "string", "enum": ["red", "blue"], "description": "Which", "default": "blue"},
            "points": {"type": "array", "items": POINT, "default": [{"x": 1}, {"x": 2}]},
            "maybe": {"type": "integer", "default": 5},
            "none": {**POINT, "description": "Perhaps", "default": None},
            "needed": {"type": "integer"},
        },
    }


def test_s2_descriptions_are_kept_character_for_character(cleaned: Any) -> None:
    text = "  {braces} %s \\d+ “quotes”\n\tΩ 🎭 $ref title  "
    field = Annotated[Literal["ä", "{x}", "\n"] | None, Field(description=text)]
    assert cleaned(field) == {"type": "string", "enum": ["ä", "{x}", "\n"], "description": text}


class Zoom(BaseModel):
    factor: float = Field(math.nan, le=math.inf, examples=[1.5, math.inf], description="Factor")


async def zoom(
    to: Annotated[Zoom, "To"] = Zoom(factor=math.inf),  # noqa: B008
    seconds: Annotated[float, "Seconds"] = math.inf,
    between: Annotated[tuple[float, float], "Bounds"] = (-math.inf, math.inf),
    label: Annotated[list[str], "Labels"] = ["NaN"],  # noqa: B006
) -> str:
    """Zoom."""
    return f"{to.factor} {seconds} {between} {label}"


@pytest.mark.anyio
async def test_s2_values_that_json_cannot_represent_are_left_out_and_still_apply() -> None:
    made = tool(zoom)
    factor = {"type": "number", "description": "Factor", "examples": [1.5]}
    assert made.schema("openai")["function"]["parameters"]["properties"] == {
        "to": {"type": "object", "properties": {"factor": factor}, "description": "To"},
        "seconds": {"type": "number", "description": "Seconds"},
        "between": {
            "type": "array",
            "items": {"type": "number"},
            "minItems": 2,
            "maxItems": 2,
            "description": "Bounds",
        },
        "label": {"type": "array", "items": {"type": "string"}, "default": ["NaN"], "description": "Labels"},
    }
    for name in DIALECTS:
        json.dumps(made.schema(name), allow_nan=False)
    assert await Registry([made]).call("zoom", {}) == "inf inf (-inf, inf) ['NaN']"


def test_s2_a_docstring_with_braces_and_unicode_reaches_the_schema() -> None:
    @tool
    def act(what: Annotated[str, "As {json}: „ä“ 🎭"]) -> None:
        """Act as {name} says: 100 % „richtig“ 🎭."""

    shown = act.schema("claude")
    assert shown["description"] == "Act as {name} says: 100 % „richtig“ 🎭."
    assert shown["input_schema"]["properties"] == {"what": {"type": "string", "description": "As {json}: „ä“ 🎭"}}


class Aliased(BaseModel):
    plain: Annotated[int, Field(alias="plainAlias")]
    read: Annotated[int, Field(validation_alias="readAlias")]
    several: Annotated[int, Field(validation_alias=AliasChoices("first", "second"))]


def test_s2_aliases_name_the_properties(cleaned: Any) -> None:
    number = {"type": "integer"}
    assert cleaned(Aliased) == {
        "type": "object",
        "properties": {"plainAlias": number, "readAlias": number, "first": number},
        "required": ["plainAlias", "readAlias", "first"],
    }


class Output(BaseModel):
    width: int
    secret: Annotated[str, Field(exclude=True)] = ""
    note: str = "none"

    @computed_field(description="Twice the width")
    @property
    def double(self) -> int:
        return self.width * 2


def test_s2_output_models_show_computed_and_hide_excluded_fields(cleaned: Any) -> None:
    schema = cleaned(Output, mode="serialization")
    assert schema["properties"] == {
        "width": {"type": "integer"},
        "note": {"type": "string", "default": "none"},
        "double": {"type": "integer", "description": "Twice the width", "readOnly": True},
    }
    assert schema["required"] == ["width", "double"]


@dataclass
class Pair:
    left: int
    right: list[int] = field(default_factory=list[int])


class Options(TypedDict, total=False):
    loud: Annotated[bool, Field(description="Whether to shout")]


class Place(NamedTuple):
    row: int
    column: int = 0


def test_s2_dataclasses_typed_dicts_and_named_tuples(cleaned: Any) -> None:
    number = {"type": "integer"}
    assert cleaned(Pair) == {
        "type": "object",
        "properties": {"left": number, "right": {"type": "array", "items": number}},
        "required": ["left"],
    }
    assert cleaned(Options) == {
        "type": "object",
        "properties": {"loud": {"type": "boolean", "description": "Whether to shout"}},
    }
    assert cleaned(Place) == {
        "type": "array",
        "prefixItems": [number, {**number, "default": 0}],
        "items": {},
        "minItems": 1,
        "maxItems": 2,
    }


def test_s2_extra_of_a_model_is_kept(cleaned: Any) -> None:
    class Closed(BaseModel):
        model_config = ConfigDict(extra="forbid", title="Shut")

    assert cleaned(Closed) == {"type": "object", "properties": {}, "additionalProperties": False}


# Recursive types (S3)


def test_s3_direct_recursion_keeps_one_definition(cleaned: Any) -> None:
    link = {
        "type": "object",
        "description": "A link.",
        "properties": {"next": {"anyOf": [{"$ref": "#/$defs/Chain"}], "description": "The next one", "default": None}},
    }
    assert cleaned(Chain) == {**link, "$defs": {"Chain": link}}
    assert cleaned(Chain | None) == {**link, "$defs": {"Chain": link}}


def test_s3_recursion_inside_a_list_a_dict_and_a_generic(cleaned: Any) -> None:
    assert cleaned(Tree) == {**TREE, "$defs": {"Tree": TREE}}
    pointer, kept = {"$ref": "#/$defs/Tree"}, {"Tree": TREE}
    assert cleaned(list[Tree]) == {"type": "array", "items": pointer, "$defs": kept}
    assert cleaned(dict[str, Tree | None]) == {"type": "object", "additionalProperties": pointer, "$defs": kept}
    assert cleaned(Box[Tree]) == {
        "type": "object",
        "properties": {"content": pointer},
        "required": ["content"],
        "$defs": kept,
    }
    assert cleaned(Tree | int) == {"anyOf": [pointer, {"type": "integer"}], "$defs": kept}


def test_s3_mutual_recursion(cleaned: Any) -> None:
    book = {"type": "object", "properties": {"author": {"anyOf": [{"$ref": "#/$defs/Author"}], "default": None}}}
    books = {"type": "array", "items": {"$ref": "#/$defs/Book"}, "default": []}
    author = {"type": "object", "properties": {"books": books}}
    assert cleaned(Author) == {**author, "$defs": {"Book": book, "Author": author}}


def test_s3_a_recursive_model_as_the_single_flattened_parameter() -> None:
    @tool
    def plant(tree: Tree) -> Tree:
        """Plant a tree."""
        return tree

    assert plant.input_schema == {**TREE, "additionalProperties": False, "$defs": {"Tree": TREE}}
    assert plant.output_schema is not None
    assert plant.output_schema["$defs"].keys() == {"Tree"}


# Foreign schemas


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": ["string", "null"]}, {"type": "string"}),
        ({"type": ["null"]}, {"type": "null"}),
        ({"type": ["string", "integer", "null"]}, {"anyOf": [{"type": "string"}, {"type": "integer"}]}),
        ({"type": ["array", "null"]}, {"type": "array", "items": {}}),
        ({"type": ["string", "null"], "enum": ["a", None]}, {"type": "string", "enum": ["a"]}),
        ({"anyOf": [{"type": "null", "description": "none"}, {"type": "string"}]}, {"type": "string"}),
        ({"oneOf": [{"const": None}, {"enum": [None]}, {"type": "string"}]}, {"type": "string"}),
        ({"anyOf": [{"type": "null"}]}, {"type": "null"}),
        ({"anyOf": [{"const": 1}, {"const": True}]}, {"anyOf": [
            {"const": 1, "type": "integer"}, {"const": True, "type": "boolean"}]}),
        ({"anyOf": [{"type": "string", "title": "A"}, {"type": "string", "title": "B"}]}, {"type": "string"}),
        ({"anyOf": [True, {"type": "string"}]}, {"anyOf": [{}, {"type": "string"}]}),
        ({"properties": {"any": True, "no": False}}, {"properties": {"any": {}, "no": {"not": {}}}}),
        ({"type": "array"}, {"type": "array", "items": {}}),
        ({"type": "array", "items": True}, {"type": "array", "items": {}}),
        (
            {"type": "array", "prefixItems": [{"type": "string"}, True], "items": False},
            {"type": "array", "prefixItems": [{"type": "string"}, {}], "items": {}, "maxItems": 2},
        ),
        (
            {"type": "array", "items": [{"type": "string"}, {"type": "null"}], "additionalItems": {"type": "integer"}},
            {"type": "array", "prefixItems": [{"type": "string"}, {"type": "null"}], "items": {"type": "integer"}},
        ),
        (
            {"$ref": "#/definitions/P", "definitions": {"P": {"title": "P", "type": "string"}}},
            {"type": "string"},
        ),
        (
            {"$ref": "#/$defs/P", "description": "mine", "$defs": {"P": {"type": "string", "description": "its"}}},
            {"type": "string", "description": "mine"},
        ),
        (
            {
                "$ref": "#/$defs/P",
                "properties": {"b": {"title": "B", "type": ["string", "null"]}},
                "$defs": {"P": {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}},
            },
            {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}}, "required": ["a"]},
        ),
        (
            {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "allOf": [
                {"properties": {"b": {"type": "string"}}, "required": ["b"]}, {"description": "both"}]},
            {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "string"}},
             "required": ["b", "a"], "description": "both"},
        ),
        ({"minimum": 1, "allOf": [{"minimum": 2}]}, {"minimum": 1, "allOf": [{"minimum": 2}]}),
        ({"$ref": "#/$defs/a~1b%20c", "$defs": {"a/b c": {"type": "string"}}}, {"type": "string"}),
        ({"properties": {"a": {"type": "string"}, "b": {"$ref": "#/properties/a"}}},
         {"properties": {"a": {"type": "string"}, "b": {"type": "string"}}}),
        ({"anyOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#/anyOf/0"}}]},
         {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
        ({"$schema": "x", "$id": "y", "$comment": "z", "type": "string"}, {"type": "string"}),
        ({"required": ["a"], "properties": {"a": {"oneOf": [{"type": "null"}, {"type": "string"}]}}},
         {"properties": {"a": {"type": "string"}}}),
    ],
)  # fmt: skip
def test_s2_foreign_schema(cleaned: Any, schema: Any, expected: Any) -> None:
    assert cleaned(schema) == expected


def test_s3_a_reference_to_the_root(cleaned: Any) -> None:
    node = {"type": "object", "properties": {"child": {"$ref": "#/$defs/root"}}}
    schema = {"type": "object", "properties": {"child": {"$ref": "#"}}, "$defs": {"unused": {"title": "U"}}}
    assert cleaned(schema) == {**node, "$defs": {"root": node}}


def test_s3_definitions_of_the_same_name_are_not_mixed_up(cleaned: Any) -> None:
    made = cleaned(
        {
            "properties": {"one": {"$ref": "#/$defs/A"}, "two": {"$ref": "#/definitions/A"}},
            "$defs": {"A": {"properties": {"one": {"$ref": "#/$defs/A"}}}},
            "definitions": {"A": {"properties": {"two": {"$ref": "#/definitions/A"}}}},
        }
    )
    assert made == {
        "properties": {"one": {"$ref": "#/$defs/A"}, "two": {"$ref": "#/$defs/A_"}},
        "$defs": {
            "A": {"properties": {"one": {"$ref": "#/$defs/A"}}},
            "A_": {"properties": {"two": {"$ref": "#/$defs/A_"}}},
        },
    }


def test_s3_names_that_a_reference_must_escape(cleaned: Any) -> None:
    made = cleaned(
        {"$ref": "#/$defs/a~1b c", "$defs": {"a/b c": {"items": {"$ref": "#/$defs/a~1b c"}, "type": "array"}}}
    )
    node = {"type": "array", "items": {"$ref": "#/$defs/a_1b_c"}}
    assert made == {**node, "$defs": {"a_1b_c": node}}


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"$ref": "https://example.com/a.json"}, "'https://example.com/a.json', which is outside of it"),
        ({"properties": {"a": {"$ref": "other.json#/x"}}}, "'other.json#/x', which is outside of it"),
        ({"items": {"$ref": "file:///etc/passwd"}}, "'file:///etc/passwd', which is outside of it"),
        ({"$ref": "#/$defs/Nothing"}, "'#/$defs/Nothing', which it does not define"),
        ({"$ref": "#anchor", "$defs": {"A": {"$anchor": "anchor"}}}, "'#anchor', which it does not define"),
        ({"$ref": "#/enum/5", "enum": [1]}, "'#/enum/5', which it does not define"),
        ({"$ref": "#"}, "defines root only by a reference to itself"),
        (
            {"$ref": "#/$defs/A", "$defs": {"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}}},
            "only by a reference to itself",
        ),
        ({"$dynamicRef": "#node"}, "uses '$dynamicRef'"),
        ({"anyOf": [1]}, "it has '1' instead of a schema"),
        ({"anyOf": {"type": "string"}}, "instead of a list of schemas"),
        ({"properties": ["a"]}, "instead of schemas by name"),
        ({"properties": {"a": None}}, "it has 'None' instead of a schema"),
        ({"required": "a"}, "it has 'a' instead of a list of names"),
        ({"items": "string"}, "it has 'string' instead of a schema"),
    ],
)
def test_s2_an_invalid_schema_is_refused(schema: Any, message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        clean(schema)
    assert message in str(caught.value)


def test_s2_a_reference_bomb_is_refused_quickly() -> None:
    levels: dict[str, Any] = {"L0": {"type": "string"}}
    for level in range(1, 40):
        pointer = {"$ref": f"#/$defs/L{level - 1}"}
        levels[f"L{level}"] = {"type": "object", "properties": {str(index): pointer for index in range(10)}}
    start = time.process_time()
    with pytest.raises(SchemaError, match="more than 20,000 parts"):
        clean({"$ref": "#/$defs/L39", "$defs": levels})
    assert time.process_time() - start < 2


@pytest.mark.parametrize("keyword", ["items", "not", "properties", "anyOf", "allOf"])
def test_s2_ten_thousand_levels_are_refused_without_a_crash(keyword: str) -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(10_000):
        schema = {keyword: {"properties": {"a": schema}, "anyOf": [schema], "allOf": [schema]}.get(keyword, schema)}
    with pytest.raises(SchemaError, match="nested too deeply"):
        clean(schema)


def test_s2_ten_thousand_references_in_a_row_are_refused_without_a_crash() -> None:
    chain: dict[str, Any] = {str(n): {"$ref": f"#/$defs/{n + 1}"} for n in range(10_000)}
    with pytest.raises(SchemaError, match="too many parts or references"):
        clean({"$ref": "#/$defs/0", "$defs": {**chain, "10000": {"type": "string"}}})


def test_s2_a_deep_schema_within_the_limit_is_accepted(cleaned: Any) -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(MAX_DEPTH - 1):
        schema = {"type": "array", "items": schema}
    assert cleaned(schema) == schema


def test_s2_many_branches_and_long_circles_take_no_time(cleaned: Any) -> None:
    start = time.process_time()
    many = {"anyOf": [{"type": "integer", "const": number} for number in range(10_000)]}
    assert clean(many) == many
    ring = {str(n): {"properties": {"a": {"$ref": f"#/$defs/{(n + 1) % 40}"}}} for n in range(40)}
    assert cleaned({"$ref": "#/$defs/0", "$defs": ring})["$defs"].keys() == ring.keys()
    assert time.process_time() - start < 2


def test_s2_null_is_kept_for_results() -> None:
    schema = {
        "title": "T",
        "properties": {"a": {"anyOf": [{"$ref": "#/$defs/P"}, {"type": "null"}], "default": None, "title": "A"}},
        "required": ["a"],
        "$defs": {"P": {"title": "P", "type": "string"}},
    }
    assert clean(schema, keep_null=True) == {
        "properties": {"a": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None}},
        "required": ["a"],
    }
    assert clean({"type": ["string", "null"]}, keep_null=True) == {"type": ["string", "null"]}
    assert clean({"enum": ["a", None]}, keep_null=True) == {"enum": ["a", None]}
