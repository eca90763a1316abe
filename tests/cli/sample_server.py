"""Long-running and human tools, and a server that runs them until its input ends.

For the tests of the commands that open a store. As a program, `sample_server.py STORE TOOL…` calls those tools in the
session `s1` of ann, prints `ready`, and then prints the result of each call.
"""

import asyncio
import sys
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, Field

from callboard import Registry, Runtime, Session, ToolContext, ToolError, tool
from callboard.sessions.answers import WalletResponse


def _even(number: int) -> int:
    if number % 2:
        raise ValueError("it must be even")
    return number


class Choice(BaseModel):
    colour: Annotated[str, Field(description="Which one")]
    amount: Annotated[int, Field(ge=2, description="How much of it"), AfterValidator(_even)]


@tool(namespace="sample", mode="human")
async def pay(amount: Annotated[int, "How much"], to: Annotated[str, "Recipient"] = "bob") -> str:
    """Make a payment."""
    return f"paid {amount} to {to}"


@tool(namespace="sample", mode="human", answer=Choice, expires=3600)
async def choose(question: Annotated[str, "The question"]) -> Choice:
    """Have a person choose."""
    raise NotImplementedError


@tool(namespace="sample", mode="human", asks="wallet_tx_request", answer=WalletResponse)
async def send(
    to: Annotated[str, "The address"],
    value: Annotated[str, "In wei"],
    data: Annotated[str, "Call data"],
    description: Annotated[str, "What it does"],
) -> WalletResponse:
    """Send a transaction."""
    raise NotImplementedError


@tool(namespace="sample", mode="background", logout="cancel_on_logout")
async def sweep(ctx: ToolContext) -> None:
    """Sweep without an end."""
    await ctx.progress("sweeping", 0.5, "the hall")
    await asyncio.Event().wait()


@tool(namespace="sample", mode="background")
async def write(ctx: ToolContext) -> None:
    """Write without an end."""
    await ctx.progress("writing")
    await asyncio.Event().wait()


@tool(namespace="sample", mode="background")
async def stumble() -> None:
    """Fail."""
    raise ToolError("The stairs are wet.", category="permanent")


@tool(namespace="sample")
async def add(a: Annotated[int, "One"], b: Annotated[int, "Another"]) -> int:
    """Add."""
    return a + b


ARGUMENTS: dict[str, dict[str, Any]] = {
    "pay": {"amount": 5},
    "choose": {"question": "Which colour?"},
    "send": {"to": "0xb0b", "value": "1000", "data": "0x", "description": "Rent"},
    "add": {"a": 1, "b": 2},
}

registry = Registry([pay, choose, send, sweep, write, stumble, add])


async def call(session: Session, *names: str) -> None:
    """Call tools with sample arguments. Each call then runs, waits or has ended."""
    for name in names:
        await session.call(name, ARGUMENTS.get(name, {}))


async def open_session(runtime: Runtime) -> Session:
    return await runtime.open("s1", "ann", namespaces=["sample"], channel="text")


def _say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


async def _tell(session: Session) -> None:
    async for event in session.events():
        if event.kind == "tool_result":
            said = event.data["error"]["message"] if event.data.get("error") else event.data["value"]
            _say(event.data["tool"], event.data["status"], said)


async def _serve(url: str, names: list[str]) -> None:
    async with Runtime(registry, store=url) as runtime:
        session = await open_session(runtime)
        await call(session, *names)
        telling = asyncio.ensure_future(_tell(session))
        _say("ready")
        await asyncio.to_thread(sys.stdin.read)
        telling.cancel()


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1], sys.argv[2:]))
