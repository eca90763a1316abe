"""Defaults of parameters, which models see in the schema: a default that a call would refuse is an error (T1)."""

import math
from datetime import datetime
from enum import Enum, StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, Json

from callboard import RegistrationError, Registry, Tool, tool

pytestmark = pytest.mark.anyio


class Color(StrEnum):
    RED = "red"


class Missing(Enum):
    MISSING = "missing"


class Size(BaseModel):
    """A size."""

    width: int = Field(1, description="Width")


def defaulting(kind: Any, default: Any) -> Tool:
    """Return a tool with a parameter `value` of this type and default, which it returns as text."""

    async def take(value: Any = default) -> str:
        """Take a value."""
        return repr(value)

    take.__annotations__ = {"value": Annotated[kind, "A value"], "return": str}
    return tool(take)


@pytest.mark.parametrize(
    ("kind", "default", "problem"),
    [
        (int, "x", "Input should be a valid integer, not 'x'"),
        (int, "5", "Input should be a valid integer, not '5'"),
        (int | None, "x", "valid integer"),
        (int, Field("x"), "valid integer"),
        (list[int], [1, "x"], "[1]: Input should be a valid integer"),
        (Literal["a", "b"], "c", "Input should be 'a' or 'b'"),
        (Color, "blue", "Input should be 'red'"),
        (datetime, "now", "valid datetime"),
        (Size, {"width": "wide"}, "width: Input should be a valid integer"),
        (Annotated[int, Field(ge=1)], 0, "greater than or equal to 1"),
    ],
)
def test_t1_refuses_a_default_that_a_call_would_refuse(kind: Any, default: Any, problem: str) -> None:
    with pytest.raises(RegistrationError, match="default of the parameter 'value' of the tool take") as caught:
        defaulting(kind, default)
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "default"),
    [
        (int, None),
        (int | None, None),
        (float, 1),
        (float, math.inf),
        (list[int], ()),
        (set[str], frozenset[str]()),
        (Color, "red"),
        (Color, Color.RED),
        (Size, Size(width=2)),
        (list[Size], [Size(width=2)]),
        (str, Missing.MISSING),
        (Path, "."),
        (Json[list[int]], [1]),
        (Annotated[int, AfterValidator(abs)], "x"),
        (Annotated[list[str], BeforeValidator(lambda text: text.split(","))], ["a"]),
    ],
)
async def test_t1_a_default_may_be_none_or_another_form_of_the_type_or_have_a_validator(
    kind: Any, default: Any
) -> None:
    assert await Registry([defaulting(kind, default)]).call("take") == repr(default)


@pytest.mark.filterwarnings("ignore:Default value:UserWarning")
async def test_t1_a_default_without_json_stands_for_a_missing_argument() -> None:
    missing = object()
    made = defaulting(str, missing)
    assert "default" not in made.input_schema["properties"]["value"]
    assert await Registry([made]).call("take") == repr(missing)


async def test_t1_a_default_that_a_function_makes_is_not_checked() -> None:
    made = defaulting(int, Field(default_factory=lambda: "made"))
    assert await Registry([made]).call("take") == "'made'"
