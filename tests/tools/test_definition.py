"""What a definition refuses because calls would fail later: examples and URIs that do not fit the input (T2)."""

import json
from datetime import date
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from callboard import RegistrationError, Registry, Tool, dynamic_tool, tool


class Line(BaseModel):
    """A line of an order."""

    sku: str = Field(description="Article number")
    count: int = Field(1, ge=1, description="How many")


async def order(
    lines: Annotated[list[Line], "What is ordered"], due: Annotated[date | None, "When it is needed"] = None
) -> int:
    """Place an order."""
    return len(lines)


async def profile(name: Annotated[str, "The user"], page: Annotated[int, "Which page"] = 1) -> str:
    """The profile of a user."""
    return f"{name} {page}"


async def anything(arguments: dict[str, Any]) -> None: ...


def reading(uri: str, schema: dict[str, Any]) -> Tool:
    return dynamic_tool("read", schema, anything, description="Read.", resource=uri)


NUMBERS: dict[str, Any] = {"properties": {"number": {"type": "number", "description": "A number"}}}


# Examples


@pytest.mark.parametrize(
    ("example", "problem"),
    [
        ({"lines": [{"sku": "A", "count": 0}]}, r"lines\[0\].count: Input should be greater than or equal to 1"),
        ({"lines": [{"sku": "A"}, {}]}, r"lines\[1\].sku: This property is required"),
        ({"lines": "A"}, "lines: Input should be a valid array"),
        ({"lines": [], "rush": True}, "rush: There is no such property"),
        ({}, "lines: This property is required"),
        ({"lines": object()}, "cannot be written as JSON"),
    ],
)
def test_t2_refuses_an_example_that_a_call_would_refuse(example: Any, problem: str) -> None:
    with pytest.raises(RegistrationError, match=f"Example 2 of the tool order does not fit its input: .*{problem}"):
        tool(examples=[{"lines": []}, example])(order)


def test_t2_refuses_an_example_of_a_dynamic_tool_and_of_a_copy() -> None:
    with pytest.raises(RegistrationError, match=r'Example 1 of the tool read .*number: "x" is not of type "number"'):
        dynamic_tool("read", NUMBERS, anything, description="Read.", examples=[{"number": "x"}])
    with pytest.raises(RegistrationError, match=r"Example 1 of the tool order .*lines"):
        tool(order).with_(examples=[{"lines": None}])


def test_t2_an_example_is_json_data_of_its_own() -> None:
    given: dict[str, Any] = {"lines": [{"sku": "A"}], "due": date(2026, 9, 1)}
    made = tool(examples=[given])(order)
    given["lines"].append("broken")
    assert made.examples == ({"lines": [{"sku": "A"}], "due": "2026-09-01"},)
    assert json.loads(json.dumps(Registry([made]).manifest()))["tools"][0]["examples"] == list(made.examples)


# Resources


@pytest.mark.parametrize(
    ("uri", "problem"),
    [
        ("users://{user}", "but no parameter 'user'. Known: name, page"),
        ("users://{nam}", "Did you mean 'name'"),
        ("users://{name}{?pages}", "Did you mean 'page'"),
        ("users://profile", "the required parameter 'name' is not in it"),
        ("users://{name}/{name}", "has the variable 'name' twice"),
        ("users://{name", "must be a URI or a URI template"),
        ("users://name}", "must be a URI or a URI template"),
        ("users://{}/{name}", "must be a URI or a URI template"),
        ("{name}", "must be a URI or a URI template"),
        ("", "must be a URI or a URI template"),
    ],
)
def test_t2_refuses_a_resource_that_could_not_be_read(uri: str, problem: str) -> None:
    with pytest.raises(RegistrationError, match="The tool profile has resource=") as caught:
        tool(resource=uri)(profile)
    assert problem in str(caught.value)


@pytest.mark.parametrize("uri", ["users://{name}", "users://{name}{?page}", "u:{+name}", "https://a.example/u{/name*}"])
def test_t2_a_resource_may_leave_out_optional_parameters(uri: str) -> None:
    assert tool(resource=uri)(profile).resource == uri


def test_t2_a_resource_of_an_open_input_may_have_any_variable() -> None:
    assert reading("u://{number}/{other}", {**NUMBERS, "additionalProperties": True}).resource
    with pytest.raises(RegistrationError, match="no parameter 'other'"):
        reading("u://{number}/{other}", NUMBERS)
