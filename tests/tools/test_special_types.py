"""Types whose core schemas have a special shape: aliases, unions with tags, enums, literals, dates (T5, T6)."""

from datetime import datetime
from enum import Enum
from typing import Annotated, Any, Union

import pytest
from pydantic import BaseModel, Field, Json, Tag
from pydantic_core import SchemaError
from typing_extensions import TypeAliasType

from callboard import RegistrationError, Registry, ToolError, tool
from callboard.tools import signature

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
