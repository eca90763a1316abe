"""A registry for the tests of the catalogue: a thousand tools, tools to run, and hostile ones."""

import asyncio
import json
from typing import Annotated, Any

from callboard import BackoffStrategy, BreakerPolicy, Registry, RetryPolicy, ToolContext, ToolError, dynamic_tool, tool

MANY = 1_000
SCRIPT = "<img src=x onerror=alert(1)>"
CHOICES = 20_000


@tool(
    namespace="sample",
    group="office",
    tags=["long", "work"],
    mode="background",
    timeout=3600,
    examples=[{"subject": "tea"}],
    usage="Use it only when the user asks for a report.",
)
async def work(ctx: ToolContext, subject: Annotated[str, "What to work on"]) -> None:
    """Work without an end."""
    await ctx.progress("writing", 0.4, subject)
    await ctx.partial(f"chapter on {subject}")
    await asyncio.Event().wait()


@tool(namespace="sample", group="office", tags=["money"], mode="human", idempotent=True)
async def pay(amount: Annotated[int, "How much"], to: Annotated[str, "Recipient"] = "bob") -> str:
    """Make a payment."""
    return f"paid {amount} to {to}"


@tool(
    namespace="sample",
    idempotent=True,
    retry=RetryPolicy(max_attempts=3, base_delay=0, strategy=BackoffStrategy.FIXED),
    breaker=BreakerPolicy(failure_threshold=2, recovery_time=600),
)
async def flaky(kind: Annotated[str, "The category"] = "transient") -> str:
    """Fail each time."""
    raise ToolError("The warehouse did not answer.", category=kind)


@tool(namespace="sample", gate="env:CATALOGUE_GATE")
async def gated() -> str:
    """Answer without arguments."""
    return "it answered"


async def _echo(arguments: dict[str, Any]) -> str:
    return SCRIPT


_TREE = {
    "type": "object",
    "description": "A tree",
    "properties": {"children": {"type": "array", "description": "More", "items": {"$ref": "#/$defs/tree"}}},
}
hostile = dynamic_tool(
    "hostile",
    {
        "type": "object",
        "properties": {
            SCRIPT: {"type": "string", "title": SCRIPT, "description": SCRIPT},
            "tree": {"$ref": "#/$defs/tree", "description": "A tree"},
            "choice": {
                "type": "string",
                "description": "One of many",
                "enum": [f"choice {number}" for number in range(CHOICES)],
            },
        },
        "$defs": {"tree": _TREE},
    },
    _echo,
    description=f"{SCRIPT} \u202e {'long ' * 2_000}",
    namespace=SCRIPT,
    group=SCRIPT,
    tags=[SCRIPT],
)


async def _repeat(arguments: dict[str, Any]) -> str:
    return json.dumps(arguments)


OVERRIDE = "\u202e"
odd_names = dynamic_tool(
    "odd_names",
    {
        "type": "object",
        "properties": {
            "constructor": {"type": "string", "description": "Every object of JavaScript has one"},
            "__proto__": {"type": "object", "description": "Its prototype"},
            "two words": {"type": "boolean", "description": f"A name {OVERRIDE}with a space"},
            f"{OVERRIDE}eman": {
                "description": "One of them",
                "enum": [{"size": 1}, {"size": 2}, ["a"], {"_$litType$": 1, "strings": [SCRIPT]}],
            },
        },
    },
    _repeat,
    description="Repeat the arguments.",
)


def _numbered(number: int) -> Any:
    @tool(
        name=f"tool_{number:04}", namespace=f"pack{number % 20:02}", description=f"Do the thing with number {number}."
    )
    async def numbered(value: Annotated[int, "A value"]) -> int:
        return value

    return numbered


@tool(namespace="sample")
async def label(names: Annotated[dict[str, int], "Numbers by name"]) -> str:
    """Label things."""
    return ", ".join(names)


registry = Registry(
    [label, work, pay, flaky, gated, hostile, odd_names, *(_numbered(number) for number in range(MANY))]
)
