"""Tools whose calls make every kind of card, for the tests of cards and decisions."""

import asyncio
from typing import Annotated, Any

from pydantic import BaseModel, Field

from callboard import Registry, RetryPolicy, ToolContext, ToolError, tool

HOSTILE = "<img src=x onerror=\"document.title='lost'\"><script>document.title='lost'</script>"
HOSTILE_TITLE = '<b>bold</b><img src=x onerror="document.title=1">'
PICTURE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
RESULTS: dict[str, Any] = {
    "text": "Nothing special.",
    "long text": "".join(f"line {number}\n" for number in range(100_000)),
    "markdown": "# A list\n\n- **one**\n- two\n\n| a | b |\n| --- | --- |\n| 1 | 2 |",
    "table": [{"name": f"row {number}", "pieces": number} for number in range(500)],
    "picture": f"data:image/png;base64,{PICTURE}",
    "content": {"type": "image", "data": PICTURE, "mimeType": "image/png"},
    "tree": {"list": [{"inner": {"value": number}} for number in range(300)], **{f"field_{n}": n for n in range(30)}},
    "link": "https://example.org/report?id=1",
    "fields": {"name": "lamp", "pieces": 35},
}
HOSTILE_RESULTS: dict[str, Any] = {
    "text": HOSTILE,
    "markdown": f"# {HOSTILE}\n\n- [a](javascript:alert(1))\n- ![b](javascript:alert(1))\n\n```\n{HOSTILE}\n```",
    "table": [{HOSTILE: HOSTILE, "url": "javascript:alert(1)"}] * 3,
    "fields": {HOSTILE: HOSTILE, "url": "javascript:alert(1)", "inner": {HOSTILE: [HOSTILE] * 20}},
    "tree": [{HOSTILE: {HOSTILE: HOSTILE}}, HOSTILE],
    "link": "javascript:document.title='lost'",
    "blank": "https://evil.example/\"onmouseover=\"document.title='lost'",
    "svg": "data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9ImFsZXJ0KDEpIi8+",
    "html": f"data:text/html,{HOSTILE}",
    "broken": 'data:image/png;base64,AAAA" onerror="document.title=1',
    "content": {"type": "image", "data": HOSTILE, "mimeType": "image/png"},
    "foreign": "https://evil.example/picture.png",
}


class Choice(BaseModel):
    """An answer."""

    colour: Annotated[str, Field(description="Which one")]
    amount: Annotated[int, Field(ge=1, description="How many")] = 1


class Inspection(BaseModel):
    """An answer with the fields of an approval."""

    approved: bool
    arguments: dict[str, int]


@tool(topic="Show a result")
async def show(kind: Annotated[str, "Which one"]) -> Any:
    """Return a result of some shape.

    This paragraph is for the model.
    """
    return RESULTS[kind]


@tool(topic=HOSTILE_TITLE, description=HOSTILE)
async def attack(kind: Annotated[str, "Which one"], extra: Annotated[Any, "Anything"] = None) -> Any:
    if kind == "error":
        raise ToolError(HOSTILE, category="permanent")
    return HOSTILE_RESULTS[kind]


@tool
async def large(rows: Annotated[int, "How many"]) -> Any:
    """Return a large table."""
    return [{"number": number, "text": "x" * 80} for number in range(rows)]


@tool(idempotent=True, retry=RetryPolicy(max_attempts=3, base_delay=0.05, strategy="fixed"))
async def flaky(ctx: ToolContext, succeeds: Annotated[bool, "At the last attempt"]) -> str:
    """Fail some attempts."""
    if succeeds and ctx.attempt == 3:
        return "At last."
    raise ToolError(f"Attempt {ctx.attempt} was in vain.", category="transient")


@tool
async def fail(why: Annotated[str, "The reason"]) -> str:
    """Fail."""
    raise ToolError(why, category="permanent")


@tool(mode="background", idempotent=True)
async def build(ctx: ToolContext, steps: Annotated[int, "0: never end"]) -> dict[str, Any]:
    """Build something."""
    number = 0
    while steps == 0 or number < steps:
        number += 1
        await ctx.progress("building", min(0.9, number / (steps or 1_000)), f"step {number}")
        if number <= 3:
            await ctx.partial({"step": number})
        await asyncio.sleep(0.05)
    return {"built": steps}


@tool(mode="human", expires=3600)
async def pay(
    amount: Annotated[int, Field(ge=1, description="How much, in cents")],
    to: Annotated[str, "The recipient"] = "Bob",
    note: Annotated[str | None, "A note"] = None,
    urgent: Annotated[bool, "Whether it is urgent"] = False,
    limits: Annotated[dict[str, int] | None, "Further limits"] = None,
) -> str:
    """Pay an amount."""
    return f"paid {amount} to {to}{' now' if urgent else ''}"


@tool(mode="human", answer=Choice)
async def choose(question: Annotated[str, "The question"]) -> Choice:
    """Have a person choose."""
    raise NotImplementedError


@tool(mode="human", answer=Inspection)
async def inspect(item: Annotated[str, "What to inspect"]) -> Inspection:
    """Have a person inspect an item."""
    raise NotImplementedError


@tool(mode="human", expires=1.5)
async def hurry(amount: Annotated[int, "How much"]) -> str:
    """Ask for a quick answer."""
    return f"in time: {amount}"


registry = Registry([show, attack, large, flaky, fail, build, pay, choose, inspect, hurry])
