"""Helpers of the MCP tests: tools of every kind, a server with them, and the SDK's client in both eras."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Annotated, Any, Literal

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from pydantic import BaseModel, Field

from callboard import Runtime, ToolContext, ToolError, tool
from tests.server.conftest import DEADLINE, Served, serve

ERAS = ("legacy", "2026-07-28")
"""The modes of the SDK's client: with a handshake, and without."""


class Gates:
    """Events that a test sets or waits for."""

    def __init__(self) -> None:
        self._known: dict[str, asyncio.Event] = {}

    def __getitem__(self, name: str) -> asyncio.Event:
        return self._known.setdefault(name, asyncio.Event())

    async def reached(self, name: str) -> None:
        async with asyncio.timeout(DEADLINE):
            await self[name].wait()


class Colour(BaseModel):
    """A choice."""

    colour: Literal["red", "green"] = Field(description="Which colour")
    shade: int = Field(default=1, description="How dark", ge=0)


class Place(BaseModel):
    """A place."""

    name: str = Field(description="Its name")


class Journey(BaseModel):
    """A form with a part, which no client can show."""

    to: Place = Field(description="Where to")


def tools(gates: Gates) -> list[Any]:
    @tool(read_only=True, idempotent=True, open_world=False)
    async def add(a: Annotated[int, "The first number"], b: Annotated[int, "The second number"]) -> int:
        """Add two numbers."""
        return a + b

    @tool
    async def place(name: Annotated[str, "The name"]) -> Place:
        """Return a place."""
        return Place(name=name)

    @tool(destructive=True)
    async def broken(how: Annotated[str, "In which way"]) -> str:
        """Fail."""
        if how == "known":
            raise ToolError("The shop is closed.", category="permanent", details={"until": "9:00"})
        raise RuntimeError("secret path /etc/hidden")

    @tool
    async def steps(ctx: ToolContext, fractions: Annotated[list[float | None], "The fractions"]) -> str:
        """Report progress."""
        for number, fraction in enumerate(fractions):
            await ctx.progress(f"step {number}", fraction, None if number else "first")
        await ctx.partial("almost")
        return "done"

    @tool
    async def hang() -> str:
        """Wait until it is cancelled."""
        gates["hanging"].set()
        try:
            await gates["never"].wait()
        finally:
            gates["stopped"].set()
        return "never"

    @tool(inline_budget=0.05)
    async def slow(ctx: ToolContext) -> str:
        """Take longer than the budget."""
        gates["slow began"].set()
        await gates["slow"].wait()
        return "at last"

    @tool(mode="background")
    async def build(ctx: ToolContext, what: Annotated[str, "What to build"]) -> Place:
        """Build something slowly."""
        await ctx.progress("half", 0.5, "half of it")
        await gates[what].wait()
        return Place(name=what)

    @tool(mode="human")
    async def pay(amount: Annotated[int, "The amount"]) -> str:
        """Pay an amount."""
        return f"paid {amount}"

    @tool(answer=Colour)
    async def choose(question: Annotated[str, "The question"]) -> None:
        """Ask for a colour."""

    @tool(answer=Journey)
    async def travel(why: Annotated[str, "The purpose"]) -> None:
        """Ask for a journey."""

    @tool
    async def paint(ctx: ToolContext, rooms: Annotated[list[str], "The rooms"]) -> str:
        """Ask for the colour of each room, one after the other."""
        chosen = [await ctx.call("choose", {"question": f"Colour of the {room}?"}) for room in rooms]
        return ", ".join(f"{room}: {each['colour']}" for room, each in zip(rooms, chosen, strict=True))

    return [add, place, broken, steps, hang, slow, build, pay, choose, travel, paint]


@asynccontextmanager
async def stage(gates: Gates, store: str = "memory://", **options: Any) -> AsyncGenerator[Served]:
    """Serve the tools."""
    async with serve(Runtime(tools(gates), store=store, **options)) as served:
        yield served


@asynccontextmanager
async def connected(served: Served, era: str, user: str = "ann", **options: Any) -> AsyncGenerator[Client]:
    """Connect the SDK's client as a user."""
    async with (
        httpx2.AsyncClient(headers={"x-user": user}, timeout=DEADLINE, verify=False) as http,
        Client(
            streamable_http_client(f"{served.url}/mcp", http_client=http), mode=era, cache=None, **options
        ) as client,
        asyncio.timeout(DEADLINE),
    ):
        yield client


def following(runtime: Runtime) -> int:
    """Return the number of connections that follow the registry, beside the runtime's own breakers."""
    return len(runtime.registry._subscribers) - 1


def text_of(result: Any) -> str:
    """Return the text of a result."""
    (block,) = result.content
    return block.text
