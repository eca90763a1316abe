"""Documents that are small, and would take minutes to validate against a type whose unions are recursive."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
from pydantic import AliasChoices, AliasPath, BaseModel, Field, Json, RootModel, TypeAdapter
from pydantic_core import to_json
from typing_extensions import TypedDict

from callboard import AnswerInvalid, Registry, Runtime, ToolError, tool
from callboard.tools.union_cost import bounded

pytestmark = pytest.mark.anyio


class And(BaseModel):
    """All of them are true."""

    op: Annotated[Literal["and"], Field(description="Kind")]
    of: Annotated["list[And | Or | Is]", Field(description="Conditions")]


class Or(BaseModel):
    """Any of them is true."""

    op: Annotated[Literal["or"], Field(description="Kind")]
    of: Annotated["list[And | Or | Is]", Field(description="Conditions")]


class Is(BaseModel):
    """A field has a value."""

    field: Annotated[str, Field(description="Field")]
    value: Annotated[str, Field(description="Value")]


@tool
async def search(where: Annotated[And | Or | Is, "Condition"]) -> str:
    """Search."""
    return where.__class__.__name__


LEAF = {"field": "a", "value": "b"}


def nested(levels: int, wrap: Callable[[Any], Any], value: Any) -> Any:
    for _ in range(levels):
        value = wrap(value)
    return value


def _or(value: Any) -> Any:
    return {"op": "or", "of": [value]}


@pytest.mark.parametrize("leaf", [LEAF, {"field": "a"}])
async def test_h5_a_document_with_too_many_alternatives_is_refused_before_it_is_validated(leaf: Any) -> None:
    with pytest.raises(ToolError, match="Nest at most 23 levels") as refused:
        await Registry([search]).call("search", {"where": nested(14, _or, leaf)})
    assert refused.value.category == "validation"
    assert await Registry([search]).call("search", {"where": nested(10, _or, LEAF)}) == "Or"  # 22 levels


async def test_h5_ordinary_documents_of_a_recursive_union_are_accepted() -> None:
    registry = Registry([search])
    assert await registry.call("search", {"where": LEAF}) == "Is"
    wide = {"op": "and", "of": [{"op": "or", "of": [LEAF] * 1_000}, {"op": "and", "of": [LEAF] * 1_000}]}
    assert await registry.call("search", {"where": wide}) == "And"
    with pytest.raises(ToolError, match=r"of\[0\]\.\S*value: This property is required"):
        await registry.call("search", {"where": _or({"field": "a"})})


@tool(answer=And | Or | Is)
async def choose(question: Annotated[str, "Question"]) -> None:
    """Ask for a condition."""


async def test_h5_an_answer_with_too_many_alternatives_is_refused_and_the_request_stays_open() -> None:
    async with Runtime([choose]) as runtime:
        session = await runtime.open("s", "u")
        outcome = await session.call("choose", {"question": "Which?"})
        [request] = await session.requests()
        with pytest.raises(AnswerInvalid, match="Nest at most 22 levels"):
            await session.answer(request.id, nested(14, _or, LEAF))
        await session.answer(request.id, LEAF)
        assert (await session.result(outcome.execution_id)).value == LEAF


# Other types with the same cost


class Left(TypedDict):
    left: "dict[str, Left | Right]"


class Right(TypedDict, total=False):
    left: "dict[str, Left | Right]"


@dataclass
class First:
    pair: "tuple[int, First | Second | None]"


@dataclass
class Second:
    pair: "tuple[int, First | Second | None]"


class Plus(BaseModel):
    a: "Plus | Minus | None" = Field(None, validation_alias=AliasChoices("x", AliasPath("y", 0)))


class Minus(BaseModel):
    a: "Plus | Minus | None" = Field(None, validation_alias=AliasChoices("x", AliasPath("y", 0)))


class Text(BaseModel):
    inner: "Json[Text | Note] | None" = None


class Note(BaseModel):
    inner: "Json[Text | Note] | None" = None


class Lists(RootModel["list[Lists | OtherLists]"]):
    """A list of lists."""


class OtherLists(RootModel["list[Lists | OtherLists]"]):
    """A list of lists."""


class Tagged(BaseModel):
    kind: Literal["tagged"]
    then: "list[Tagged | Same]"


class Same(BaseModel):
    kind: Literal["tagged"]
    then: "list[Annotated[Tagged | Other, Field(discriminator='kind')] | Same]"


class Other(BaseModel):
    kind: Literal["other"]


def _text(value: Any) -> Any:
    return {"inner": to_json(value).decode()}


CASES: dict[str, tuple[Any, Callable[[Any], Any], Any]] = {
    "typed dicts": (Left | Right, lambda value: {"left": {"a": value}}, {"left": {}}),
    "dataclasses": (First | Second, lambda value: {"pair": [1, value]}, {"pair": [1, None]}),
    "alias": (Plus | Minus, lambda value: {"x": value}, {}),
    "path": (Plus | Minus, lambda value: {"y": [value]}, {}),
    "JSON texts": (Text | Note, _text, {}),
    "lists": (Lists | OtherLists, lambda value: [value], []),
    "tags": (Tagged | Same, lambda value: {"kind": "tagged", "then": [value]}, {"kind": "tagged", "then": []}),
}


@pytest.mark.parametrize("case", CASES)
def test_h5_alternatives_are_counted_in_every_kind_of_type(case: str) -> None:
    kind, wrap, leaf = CASES[case]
    validated: list[bytes] = []
    adapter = TypeAdapter[Any](kind)
    validate = bounded(adapter.core_schema, validated.append)
    refused = to_json(nested(15, wrap, leaf))
    with pytest.raises(ToolError, match="alternatives at every level"):
        validate(refused)
    assert not validated
    accepted = to_json(nested(3, wrap, leaf))
    adapter.validate_json(accepted)
    validate(accepted)
    assert validated == [accepted]


class Node(BaseModel):
    kind: Literal["node"]
    children: "list[Annotated[Node | Leaf, Field(discriminator='kind')]]"
    parent: "Node | None" = None


class Leaf(BaseModel):
    kind: Literal["leaf"]


@pytest.mark.parametrize("kind", [int | str, And | None, Node, list[Node] | int, Json[Any] | dict[str, int]])
def test_h5_only_recursive_unions_without_a_discriminator_are_counted(kind: Any) -> None:
    def validate(data: bytes) -> Any:
        return data

    counted = bounded(TypeAdapter[Any](kind).core_schema, validate) is not validate
    assert counted is (kind == And | None)
