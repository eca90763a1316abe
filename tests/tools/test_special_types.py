"""Types whose core schemas have a special shape: aliases, unions with tags, enums, literals, dates (T5, T6)."""

import json
from datetime import date, datetime, time
from enum import Enum, Flag, IntFlag, StrEnum
from typing import Annotated, Any, Literal, Union

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel, BeforeValidator, Field, Json, Tag, TypeAdapter, ValidationError
from pydantic_core import SchemaError
from typing_extensions import TypeAliasType

from callboard import RegistrationError, Registry, ToolError, tool
from callboard.schemas.clean import clean
from callboard.sessions.answers import answer_schema
from callboard.tools import signature
from callboard.tools.locations import path_in, schemas_at
from callboard.tools.problems import problems_of
from callboard.tools.validators import strict_validator

pytestmark = pytest.mark.anyio

When = TypeAliasType("When", datetime)
Numbers = TypeAliasType("Numbers", Json[list[float]])


async def accepted(kind: Any, given: Any, *, lax: bool = True) -> Any:
    """Return the value of a parameter of this type that a tool receives."""
    received: list[Any] = []

    async def take(one: Any, two: Any) -> None:
        """Take two values."""
        received.extend((one, two))

    take.__annotations__ = {"one": Annotated[kind, "One"], "two": Annotated[kind, "Two"]}
    await Registry([tool(lax=lax)(take)]).call("take", {"one": given, "two": given})
    assert received[0] == received[1]
    return received[0]


async def refused(kind: Any, given: Any) -> str:
    """Return the message for a parameter `one` of this type."""
    with pytest.raises(ToolError) as caught:
        await accepted(kind, given)
    assert caught.value.category == "validation"
    return next(each["message"] for each in caught.value.details if each["path"].startswith("one"))


# Types that a strict validator rebuilds


@pytest.mark.parametrize("lax", [True, False])
async def test_t5_an_alias_of_a_time_or_of_json_can_be_used_twice(lax: bool) -> None:
    given = "2026-01-01T10:00:00Z"
    assert await accepted(When, given, lax=lax) == datetime.fromisoformat(given)
    assert await accepted(Numbers, "[1.5]", lax=lax) == [1.5]


async def test_t5_an_alias_that_is_used_twice_is_checked_by_the_json_rules() -> None:
    assert "such as '2026-09-01T14:30:00Z'" in await refused(When, 1767225600)
    assert await refused(Numbers, "[NaN]")


async def test_t5_a_union_with_tags_and_no_discriminator_is_accepted() -> None:
    kind = Union[Annotated[float, Tag("f")], Annotated[str, Tag("s")]]  # noqa: UP007
    assert await accepted(kind, 1.5) == 1.5
    assert await accepted(kind, "x") == "x"


@pytest.mark.parametrize(
    ("kind", "given", "branches"),
    [
        (datetime | int, "soon", {"datetime", "int"}),
        (date | Literal["today"], "soon", {"date", "literal['today']"}),
        (Json[list[int]] | int, "soon", {"json", "int"}),
        (list[time] | int, ["soon"], None),
    ],
)
async def test_t5_errors_do_not_show_the_functions_that_check_a_branch(kind: Any, given: Any, branches: Any) -> None:
    with pytest.raises(ValidationError) as caught:
        strict_validator(TypeAdapter[Any](kind).core_schema, lax=True).validate_json(json.dumps(given))
    assert branches is None or {each["loc"][0] for each in caught.value.errors()} == branches
    with pytest.raises(ToolError) as refusal:
        await accepted(kind, given)
    for internal in ("0x", "partial", "SchemaValidator"):
        assert internal not in str(refusal.value.to_model())


class Pair(tuple[int, int], Enum):
    LOW = (0, 1)
    HIGH = (1, 2)

    @classmethod
    def _missing_(cls, value: Any) -> Any:
        return cls.LOW if value == [0, 1] else None


class Event(BaseModel):
    """An event."""

    type: Annotated[str, Field(description="Type")]
    default: Annotated[datetime, Field(description="Start")]
    end: Annotated[datetime, Field(description="End")]
    pair: Annotated[Pair, Field(description="Pair")]


async def test_t5_members_that_are_tuples_and_properties_named_like_keywords_are_accepted() -> None:
    start = "2026-01-01T10:00:00Z"
    given: dict[str, Any] = {"type": "x", "default": start, "end": start, "pair": [0, 1]}
    assert (await accepted(Event, given)).pair is Pair.LOW
    assert "such as '2026-09-01T14:30:00Z'" in await refused(Event, {**given, "default": 1767225600})


def test_t5_an_alias_for_which_no_validator_can_be_built_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise SchemaError("no validator")

    monkeypatch.setattr(signature, "strict_validator", fail)

    async def take(one: Annotated[When, "One"], two: Annotated[When, "Two"]) -> None:
        """Take two values."""

    with pytest.raises(RegistrationError, match="of the tool take cannot be used: no validator"):
        tool(take)


# Literals of enums


class Plain(Enum):
    RED = "red"


class Text(StrEnum):
    RED = "red"


class Red(BaseModel):
    """Red."""

    kind: Annotated[Literal[Plain.RED], Field(description="Kind")]


class Number(BaseModel):
    """A number."""

    kind: Annotated[Literal[1], Field(description="Kind")]


TAGGED = Annotated[Red | Number, Field(discriminator="kind")]


@pytest.mark.parametrize("kind", [Literal[Plain.RED], Literal["a", Plain.RED] | int, TAGGED, list[Red]])
async def test_t5_a_literal_of_a_plain_enum_is_refused_at_registration(kind: Any) -> None:
    with pytest.raises(RegistrationError) as caught:
        await accepted(kind, "red")
    assert str(caught.value) == (
        "The type of the parameter 'one' of the tool take cannot be used: Pydantic does not read <Plain.RED: 'red'> of "
        "a Literal from JSON. Use a type that JSON can represent, or derive the enum from str, as in class "
        "Color(StrEnum)."
    )
    with pytest.raises(RegistrationError, match="of the tool ask cannot be used: Pydantic does not read"):
        tool(mode="human", answer=kind)(ask)


async def ask(question: Annotated[str, "Question"]) -> Any:
    """Ask."""


def read_plain(value: str) -> Plain:
    """Return a member by its value. Pydantic does not take the class itself from Python 3.12 on."""
    return Plain(value)


async def test_t5_literals_that_can_be_read_are_accepted() -> None:
    assert await accepted(Literal[Text.RED, None, 1], "red") is Text.RED
    assert await accepted(Literal[Text.RED, None, 1], None) is None
    assert await accepted(Plain, "red") is Plain.RED
    assert await accepted(Annotated[Literal[Plain.RED], BeforeValidator(read_plain)], "red") is Plain.RED

    async def give() -> Literal[Plain.RED]:
        """Give."""
        return Plain.RED

    assert await Registry([tool(give)]).call("give") == "red"


# Branches of unions that are named like properties


class Picture(BaseModel):
    """A picture."""

    type: Annotated[Literal["image"], Field(description="Type")]
    image: Annotated[str | None, Field(description="Address")] = "placeholder.png"
    size: Annotated[int, Field(description="Size")] = 5


class Paragraph(BaseModel):
    """A paragraph."""

    type: Annotated[Literal["text"], Field(description="Type")]
    text: Annotated[str, Field(description="Text")]
    size: Annotated[int, Field(description="Size")] = 5
    date: Annotated[str | None, Field(description="Day")] = "today"
    until: Annotated[int | None, Field(description="Day")]


Block = Annotated[Picture | Paragraph, Field(discriminator="type")]


@pytest.mark.parametrize("kind", [Block, Block | list[int]])
async def test_t6_a_branch_of_a_union_is_not_taken_for_a_property_of_its_name(kind: Any) -> None:
    picture = await accepted(kind, {"type": "image", "image": None, "size": None})
    assert (picture.image, picture.size) == (None, 5)
    paragraph = await accepted(kind, {"type": "text", "text": "x", "size": None, "date": None})
    assert (paragraph.size, paragraph.date, paragraph.until) == (5, None, None)


def test_h5_schemas_of_a_path_are_listed_once_however_many_branches_lead_there() -> None:
    tree = {"type": "object", "properties": {"of": {"anyOf": [{"$ref": "#/$defs/Or"}, {"$ref": "#/$defs/And"}]}}}
    schema = {"$ref": "#/$defs/Or", "$defs": {"Or": tree, "And": {**tree, "description": "All"}}}
    for depth in (1, 100):
        found, is_declared = schemas_at(schema, ("of",) * depth)
        assert (len(found), is_declared) == (5, True), "a union, two references, two types"


async def test_t6_errors_name_paths_without_the_branches_of_unions() -> None:
    async def put(block: Annotated[Block, "Block"]) -> None:
        """Put."""

    with pytest.raises(ToolError) as refused:
        await Registry([tool(put)]).call("put", {"block": {"type": "text", "text": "x", "size": "large", "until": 1}})
    details: Any = refused.value.details
    assert [problem["path"] for problem in details] == ["block.size"]


BLOCK = clean(TypeAdapter[Any](Block).json_schema())
HOLDER = {"type": "object", "properties": {"block": BLOCK, "date": {"type": "string"}, "union": {"anyOf": [BLOCK, {}]}}}


@pytest.mark.parametrize(
    ("value", "location", "path"),
    [
        ({"block": {"image": None, "size": None}}, ("block", "image", "size"), ("block", "size")),
        ({"block": {"image": None}}, ("block", "image", "image"), ("block", "image")),
        ({"block": {"image": {"image": {}}}}, ("block", "image", "image", "image"), ("block", "image", "image")),
        ({"block": {"text": 1, "date": 2}, "date": None}, ("block", "text", "text"), ("block", "text")),
        ({"block": 1, "date": 2}, ("block", "date"), ("block",)),
        ({"union": {"image": 1, "size": 2}}, ("union", "tagged-union[A,B]", "image", "size"), ("union", "size")),
        ({"union": [1, {"size": 2}]}, ("union", "list[A]", 1, "A", "size"), ("union", 1, "size")),
        ({"union": {"a": 1}}, ("union", "dict[int,int]", "a", "[key]"), ("union", "a")),
        ({}, (), ()),
        (5, ("a", 0), ()),
    ],
)
def test_t6_paths_have_no_names_of_branches(value: Any, location: Any, path: Any) -> None:
    assert path_in(value, HOLDER, location) == path


def test_t6_the_path_of_a_missing_property_ends_with_its_name() -> None:
    for block in ({}, {"text": None}, {"image": {}}):
        assert path_in({"block": block}, HOLDER, ("block", "text", "size"), is_missing=True) == ("block", "size")
    assert path_in({"block": {"image": {}}}, HOLDER, ("block", "text", "text"), is_missing=True) == ("block", "text")


def test_t6_a_location_with_very_many_readings_takes_no_time() -> None:
    tree: dict[str, Any] = {"anyOf": [{"type": "object", "properties": {"a": {"$ref": "#/$defs/T"}}}, {"type": "null"}]}
    value: Any = {}
    for _ in range(150):
        value = {"a": value}
    assert path_in(value, {"$defs": {"T": tree}, "anyOf": [{"$ref": "#/$defs/T"}]}, ("a",) * 150) == ("a",) * 150


def test_t6_problems_name_keys_of_the_document() -> None:
    document = {"type": "text", "text": "x", "size": "y", "until": 1}
    with pytest.raises(ValidationError) as caught:
        TypeAdapter[Any](Block).validate_python(document)
    assert [each["path"] for each in problems_of(caught.value)] == ["text.size"]
    assert [each["path"] for each in problems_of(caught.value, document=document, schema=BLOCK)] == ["size"]


# Flags


class Right(Flag):
    READ = 1
    WRITE = 2
    EDIT = 3
    OWN = 8


class OpenRight(IntFlag):
    READ = 1
    WRITE = 2
    OWN = 8


class Grant(BaseModel):
    right: Right = Field(description="What is granted")
    others: list[Right | str] = Field([], description="More rights, or names of them")


class NamedRight(IntFlag):
    READ = 1
    WRITE = 2

    @classmethod
    def _missing_(cls, value: Any) -> Any:
        return cls[value] if isinstance(value, str) else super()._missing_(value)


class Many(Flag):
    A, B, C, D, E, F, G, H, I = (1 << position for position in range(9))  # noqa: E741


def taking(kind: Any, **options: Any) -> Any:
    """Return a tool with a parameter `value` of this type, which it returns."""

    async def take(value: Any) -> Any:
        """Take a value."""
        return value

    take.__annotations__ = {"value": Annotated[kind, Field(description="A value")], "return": kind}
    return tool(**options)(take)


@pytest.mark.parametrize("kind", [Right, OpenRight])
@pytest.mark.parametrize("lax", [True, False])
async def test_s5_a_flag_lists_the_combinations_that_it_accepts(kind: Any, lax: bool) -> None:
    made = taking(kind, lax=lax)
    registry, schema = Registry([made]), Draft202012Validator(made.input_schema)
    for number in range(-20, 20):
        listed = number in (0, 1, 2, 3, 8, 9, 10, 11)
        assert schema.is_valid({"value": number}) == listed
        if listed:
            assert await registry.call("take", {"value": number}) == number
        else:
            with pytest.raises(ToolError, match=r"a sum of members of .*: 0, 1, 2, 3, 8, 9, 10, 11, not"):
                await registry.call("take", {"value": number})


async def test_s5_a_result_that_is_a_combination_fits_the_schema_of_the_output() -> None:
    made = taking(Right)
    assert made.output_schema is not None
    for number in (0, 3, 11):
        Draft202012Validator(made.output_schema).validate(await Registry([made]).call("take", {"value": number}))


async def test_s5_a_flag_within_a_model_or_a_union_is_a_combination_too() -> None:
    grant = await accepted(Grant, {"right": 9, "others": [3, "read"]})
    assert (grant.right, grant.others) == (Right.READ | Right.OWN, [Right.EDIT, "read"])
    assert "a sum of members of Right" in await refused(Grant, {"right": 4})
    assert "a sum of members of Right" in await refused(Grant, {"right": 1, "others": [4]})


async def test_t6_a_text_of_digits_is_a_combination() -> None:
    assert await accepted(Right, "9") == Right.READ | Right.OWN
    with pytest.raises(ToolError, match="valid integer, not '9'"):
        await accepted(Right, "9", lax=False)


async def test_s5_a_flag_that_reads_other_values_itself_keeps_doing_so() -> None:
    by_name = Annotated[Right, BeforeValidator(lambda given: Right[given] if isinstance(given, str) else given)]
    assert await accepted(by_name, "EDIT") is Right.EDIT
    assert await accepted(NamedRight, "WRITE") is NamedRight.WRITE


def test_s5_a_flag_with_too_many_combinations_is_refused_as_a_parameter() -> None:
    with pytest.raises(
        RegistrationError, match=r"parameter 'value' of the tool take .* list of the members of an Enum"
    ):
        taking(Many)
    with pytest.raises(RegistrationError, match="more than 256 combinations"):
        tool(name="ask", answer=Many)(lambda: None)


def test_s5_the_answer_of_a_person_is_a_combination_too() -> None:
    asking = tool(name="ask", description="Ask.", answer=Right)(lambda: None)
    assert json.loads(answer_schema(asking))["enum"] == [0, 1, 2, 3, 8, 9, 10, 11]
