"""S4: every built-in tool, and a set that uses every kind of type, in every dialect, byte for byte.

`./scripts/test --update-golden` writes the files anew. A file that no tool stands for any more fails the test.
"""

import shutil
from collections.abc import Callable
from datetime import date, datetime
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from callboard import Tool, tool
from callboard.errors import SchemaError
from callboard.schemas.dialects import DIALECTS
from callboard.toolkits import built_in, ethereum, notes, plans, web

GOLDEN = Path(__file__).parent.parent / "golden"


class Unit(Enum):
    PIECE = "piece"
    KILOGRAM = "kg"


class Item(BaseModel):
    sku: Annotated[str, Field(description="The article number", pattern="^[A-Z]{2}-[0-9]+$")]
    quantity: Annotated[float, Field(description="How much", gt=0, le=1000)]
    unit: Annotated[Unit, Field(description="Of what")] = Unit.PIECE
    tags: Annotated[list[str], Field(description="Free words", max_length=5)] = []


class Address(BaseModel):
    street: Annotated[str, Field(description="Street and number", min_length=1)]
    country: Annotated[str, Field(description="ISO 3166 code, two letters", min_length=2, max_length=2)] = "DE"


class Card(BaseModel):
    kind: Annotated[Literal["card"], Field(description="By card")]
    last_digits: Annotated[str, Field(description="The last four digits", pattern="^[0-9]{4}$")]


class Invoice(BaseModel):
    kind: Annotated[Literal["invoice"], Field(description="By invoice")]
    due: Annotated[date | None, Field(description="When it is to be paid")] = None


class Receipt(BaseModel):
    """What was ordered."""

    number: Annotated[int, Field(description="The order's number")]
    placed: Annotated[datetime, Field(description="When it was placed")]
    items: Annotated[list[Item], Field(description="What was ordered")]


class Comment(BaseModel):
    """A comment with its answers."""

    title: Annotated[str, Field(description="A headline: {braces}, „quotes“, 🎭")]
    answers: Annotated["list[Comment]", Field(description="Answers to it")] = []


@tool(name="golden_order", namespace="golden", topic="Place an order", usage="Ask before you order for the user.")
async def order(
    items: Annotated[list[Item], Field(description="What to order", min_length=1)],
    payment: Annotated[Card | Invoice, Field(description="How it is paid", discriminator="kind")],
    deliver_to: Annotated[Address | None, "Where to; by default the user's own address"] = None,
    not_before: Annotated[datetime | None, "The earliest delivery"] = None,
    priority: Annotated[Literal[1, 2, 3], "1 is the fastest"] = 2,
) -> Receipt:
    """Place an order."""
    raise NotImplementedError


@tool(name="golden_labels", namespace="golden", idempotent=True)
async def labels(
    labels: Annotated[dict[str, str], "New labels by name"],
    position: Annotated[tuple[float, float], "Latitude and longitude"],
    mark: Annotated[tuple[str, int] | None, "A name and a number"] = None,
) -> dict[str, str]:
    """Set labels. A strict dialect cannot say them."""
    raise NotImplementedError


@tool(name="golden_comment", namespace="golden")
async def comment(comment: Comment) -> list[Comment]:
    """Write a comment. Its type is recursive."""
    raise NotImplementedError


@tool(name="golden_empty", namespace="golden")
async def empty() -> None:
    """Take nothing and give nothing."""


WORKERS = [worker for worker in ethereum.workers if worker not in ethereum.tools]
BUILT_IN: tuple[Tool, ...] = (*built_in(), *web.tools, *notes.tools, *plans.tools, *ethereum.tools, *WORKERS)
ETHEREUM_PLAN, *_ = ethereum.ethereum_plan_tools(ethereum.ethereum_toolset().client)
TOOLS: dict[str, Tool] = {tool.name: tool for tool in (*BUILT_IN, order, labels, comment, empty)}
TOOLS["ethereum_set_execution_plan"] = ETHEREUM_PLAN


def shown(made: Tool, dialect: str) -> Any:
    try:
        return made.schema(dialect)
    except SchemaError as error:
        return {"refused": str(error), "path": error.path}


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("name", TOOLS)
def test_s4_golden(golden: Callable[[str, Any], None], name: str, dialect: str) -> None:
    golden(f"{name}/{dialect}.json", shown(TOOLS[name], dialect))


@pytest.mark.parametrize("name", [tool.name for tool in BUILT_IN])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_s4_no_dialect_refuses_a_built_in_tool(name: str, dialect: str) -> None:
    assert TOOLS[name].schema(dialect)


def test_s4_no_golden_file_is_stale(request: pytest.FixtureRequest) -> None:
    wanted = {f"{name}/{dialect}.json" for name in TOOLS for dialect in DIALECTS} | {"public_api.json"}
    stored = {path.relative_to(GOLDEN).as_posix() for path in GOLDEN.rglob("*") if path.is_file()}
    stale = sorted(stored - wanted)
    if request.config.getoption("--update-golden"):
        for name in stale:
            (GOLDEN / name).unlink()
        for folder in GOLDEN.iterdir():
            if folder.is_dir() and folder.name not in TOOLS:
                shutil.rmtree(folder)
    else:
        assert stale == [], "no tool stands for these files: run ./scripts/test --update-golden"
