"""Tools to try Callboard with, one for each thing that a tool can do. They touch nothing: no network, no money.

`calculate` answers at once, `check_stock` fails and is tried again, `build_report` works in the background,
`send_payment` runs only when a person approves it, and `ask_delivery` is answered by a person.
"""

import ast
from collections.abc import Awaitable, Callable
from decimal import Decimal, DecimalException
from typing import Annotated, Any, Literal

import anyio
from pydantic import BaseModel, Field

from callboard import BackoffStrategy, RetryPolicy, Tool, ToolContext, ToolError, tool

PACE = 0.5
"""Seconds that each step of the slow tools takes."""
MAX_EXPRESSION = 200
MAX_DIGITS = 60
CHAPTERS = ("Where it comes from", "Who wants it", "What it costs", "What comes next", "Who else sells it", "The risks")

Subject = Annotated[str, Field(description="What the report is about", min_length=1, max_length=100)]
Amount = Annotated[Decimal, Field(description="How much, such as 25 or 12.50", gt=0, le=1_000_000, decimal_places=2)]


class Report(BaseModel):
    """A report that was built."""

    title: str = Field(description="What it is called")
    chapters: list[str] = Field(description="The titles of its chapters")
    pages: int = Field(description="How long it is")


class Stock(BaseModel):
    """How much of something there is."""

    item: str = Field(description="What was counted")
    pieces: int = Field(description="How many there are")


class Receipt(BaseModel):
    """A payment that was made."""

    to: str = Field(description="Who got it")
    amount: str = Field(description="How much")
    currency: str = Field(description="In which currency")
    note: str = Field(description="That it is a demonstration")


class Delivery(BaseModel):
    """How somebody wants a parcel delivered."""

    how: Literal["to my door", "to a neighbour", "to a parcel shop"] = Field(description="Where the parcel goes")
    ring: bool = Field(default=True, description="Whether to ring the bell")
    note: str = Field(default="", description="Anything the driver should know", max_length=200)


def demo_tools(pace: float = PACE, sleep: Callable[[float], Awaitable[Any]] = anyio.sleep) -> tuple[Tool, ...]:
    """The tools. Each step of a slow one takes `pace` seconds, as `sleep` measures them."""

    @tool(namespace="demo", group="demo", idempotent=True)
    async def calculate(
        expression: Annotated[str, "Numbers joined by + - * / and parentheses, such as 12 * (3 + 4)"],
    ) -> str:
        """Work out an arithmetic expression, with decimal fractions as on paper."""
        return work_out(expression)

    @tool(
        namespace="demo",
        group="demo",
        idempotent=True,
        retry=RetryPolicy(max_attempts=3, base_delay=pace, strategy=BackoffStrategy.FIXED),
    )
    async def check_stock(
        ctx: ToolContext, item: Annotated[str, Field(description="What to look for", min_length=1, max_length=100)]
    ) -> Stock:
        """Look up how much of something there is. The warehouse never answers at once, so it is asked again."""
        if ctx.attempt == 1:
            raise ToolError("The warehouse did not answer.", category="transient")
        return Stock(item=item, pieces=7 * len(item))

    @tool(namespace="demo", group="demo", mode="background", idempotent=True)
    async def build_report(
        ctx: ToolContext,
        subject: Subject,
        chapters: Annotated[int, Field(description="How many chapters it has", ge=1, le=len(CHAPTERS))] = 3,
    ) -> Report:
        """Build a report, which takes a while. Its chapters are shown as they are written."""
        await ctx.progress("collecting", 0.0, f"what is known of {subject}")
        await sleep(pace)
        for number, chapter in enumerate(CHAPTERS[:chapters]):
            await ctx.progress("writing", (number + 1) / (chapters + 2), f"chapter {number + 1} of {chapters}")
            await sleep(pace)
            await ctx.partial(chapter)
        await ctx.progress("binding", (chapters + 1) / (chapters + 2))
        await sleep(pace)
        return Report(title=f"All about {subject}", chapters=list(CHAPTERS[:chapters]), pages=4 + 6 * chapters)

    @tool(namespace="demo", group="demo", mode="human")
    async def send_payment(
        to: Annotated[str, Field(description="Who gets the money", min_length=1, max_length=100)],
        amount: Amount,
        currency: Annotated[Literal["EUR", "USD", "GBP", "CHF"], "In which currency"] = "EUR",
        purpose: Annotated[str, Field(description="What it is for", max_length=200)] = "",
    ) -> Receipt:
        """Send money to somebody, once a person has approved it. A demonstration: no money moves."""
        return Receipt(to=to, amount=f"{amount:.2f}", currency=currency, note="a demonstration: no money moved")

    @tool(namespace="demo", group="demo", mode="human", answer=Delivery)
    async def ask_delivery(
        parcel: Annotated[str, Field(description="What is delivered", min_length=1, max_length=100)],
    ) -> Delivery:
        """Ask the user how a parcel is to be delivered."""
        raise NotImplementedError  # a person gives the result

    return calculate, check_stock, build_report, send_payment, ask_delivery


def work_out(expression: str) -> str:
    """The value of an expression. Raises `ToolError` (validation)."""
    if len(expression) > MAX_EXPRESSION:
        raise ToolError(f"The expression is too long; {MAX_EXPRESSION} characters are taken.", category="validation")
    try:
        value = _value(ast.parse(expression.strip(), mode="eval").body, expression.strip())
    except ZeroDivisionError:
        raise ToolError("It divides by zero.", category="validation") from None
    except (SyntaxError, ValueError, RecursionError, MemoryError, DecimalException):
        raise ToolError(
            "That is not arithmetic. Use numbers, + - * / and parentheses, such as 12 * (3 + 4).", category="validation"
        ) from None
    if not -MAX_DIGITS < value.adjusted() < MAX_DIGITS:
        raise ToolError("The result is too large or too small to write down.", category="validation")
    written = f"{value:f}"
    return written.rstrip("0").rstrip(".") if "." in written else written


_OPERATORS: dict[type[ast.operator], Callable[[Decimal, Decimal], Decimal]] = {
    ast.Add: Decimal.__add__,
    ast.Sub: Decimal.__sub__,
    ast.Mult: Decimal.__mul__,
    ast.Div: Decimal.__truediv__,
}


def _value(node: ast.expr, source: str) -> Decimal:
    """The value of a part. Numbers are read as they are written, so that 0.1 is a tenth."""
    match node:
        case ast.Constant(value=int() | float()) if not isinstance(node.value, bool):
            return Decimal(ast.get_source_segment(source, node) or "")
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, source)
        case ast.BinOp(left=left, op=op, right=right) if (apply := _OPERATORS.get(type(op))) is not None:
            return apply(_value(left, source), _value(right, source))
        case _:
            raise ValueError("not arithmetic")


tools = demo_tools()
