"""The demo's tools, one for each thing that a tool can do. They touch nothing themselves: no network, no money.

`calculate` returns within the turn, `check_stock` fails and is retried, `build_report` runs in the background,
`index_archive` runs for minutes and continues after a restart or a cancellation, `send_payment` runs only after a
person approves it, `ask_delivery` is answered by a person, and `send_ether` by a person's wallet, on a test network.
"""

import ast
from collections.abc import Awaitable, Callable
from decimal import Decimal, DecimalException
from typing import Annotated, Any, Literal

import anyio
from pydantic import BaseModel, Field

from callboard import BackoffStrategy, RetryPolicy, Tool, ToolContext, ToolError, tool

PACE = 0.5
"""Seconds per step of the slow tools."""
MAX_EXPRESSION = 200
MAX_DIGITS = 60
PAGES, MAX_PAGES = 240, 10_000
"""Pages of an archive, one step each: two minutes by default."""
SAVED_EVERY = 10
"""Pages after which the position in an archive is saved."""
CHAPTERS = ("Origins", "Demand", "Prices", "Outlook", "Competitors", "Risks")

Subject = Annotated[str, Field(description="The subject of the report", min_length=1, max_length=100)]
Amount = Annotated[Decimal, Field(description="The amount, such as 25 or 12.50", gt=0, le=1_000_000, decimal_places=2)]


class Report(BaseModel):
    """A finished report."""

    title: str = Field(description="The title of the report")
    chapters: list[str] = Field(description="The titles of its chapters")
    pages: int = Field(description="The number of pages")


class Index(BaseModel):
    """The index of an archive."""

    archive: str = Field(description="The archive")
    pages: int = Field(description="The number of pages")
    first_page: int = Field(description="The page that this run began with")


class Stock(BaseModel):
    """The stock of an item."""

    item: str = Field(description="The item")
    pieces: int = Field(description="The number of pieces in stock")


class Receipt(BaseModel):
    """A receipt for a payment."""

    to: str = Field(description="The recipient")
    amount: str = Field(description="The amount")
    currency: str = Field(description="The currency")
    note: str = Field(description="A note that no money moved")


class Delivery(BaseModel):
    """How a person wants a parcel delivered."""

    how: Literal["to my door", "to a neighbour", "to a parcel shop"] = Field(description="Where the parcel goes")
    ring: bool = Field(default=True, description="Whether to ring the bell")
    note: str = Field(default="", description="Anything the driver should know", max_length=200)


class Transfer(BaseModel):
    """The outcome of a transaction in a person's wallet."""

    status: Literal["confirmed", "rejected", "failed"] = Field(description="Outcome of the transaction")
    transaction_hash: str | None = Field(default=None, max_length=200, description="Its hash, if it was sent")
    detail: str | None = Field(default=None, max_length=10_000, description="Details, such as its block")


def demo_tools(pace: float = PACE, sleep: Callable[[float], Awaitable[Any]] = anyio.sleep) -> tuple[Tool, ...]:
    """Make the demo's tools. Each step of a slow tool awaits `sleep(pace)`."""

    @tool(namespace="demo", group="demo", idempotent=True)
    async def calculate(
        expression: Annotated[str, "Numbers joined by + - * / and parentheses, such as 12 * (3 + 4)"],
    ) -> str:
        """Evaluate an arithmetic expression, exactly, in decimal fractions."""
        return evaluate(expression)

    @tool(
        namespace="demo",
        group="demo",
        idempotent=True,
        retry=RetryPolicy(max_attempts=3, base_delay=pace, strategy=BackoffStrategy.FIXED),
    )
    async def check_stock(
        ctx: ToolContext, item: Annotated[str, Field(description="The item to look up", min_length=1, max_length=100)]
    ) -> Stock:
        """Look up the stock of an item. The first attempt always fails, to show a retry."""
        if ctx.attempt == 1:
            raise ToolError("The warehouse did not answer.", category="transient")
        return Stock(item=item, pieces=7 * len(item))

    @tool(namespace="demo", group="demo", mode="background", idempotent=True)
    async def build_report(
        ctx: ToolContext,
        subject: Subject,
        chapters: Annotated[int, Field(description="The number of chapters", ge=1, le=len(CHAPTERS))] = 3,
    ) -> Report:
        """Build a report in the background. Each finished chapter is a partial result."""
        await ctx.progress("collecting", 0.0, f"sources on {subject}")
        await sleep(pace)
        for number, chapter in enumerate(CHAPTERS[:chapters]):
            await ctx.progress("writing", (number + 1) / (chapters + 2), f"chapter {number + 1} of {chapters}")
            await sleep(pace)
            await ctx.partial(chapter)
        await ctx.progress("binding", (chapters + 1) / (chapters + 2))
        await sleep(pace)
        return Report(title=f"All about {subject}", chapters=list(CHAPTERS[:chapters]), pages=4 + 6 * chapters)

    @tool(namespace="demo", group="demo", mode="background", idempotent=True, estimated_duration=PAGES * pace or None)
    async def index_archive(
        ctx: ToolContext,
        archive: Annotated[str, Field(description="The archive to index", min_length=1, max_length=100)],
        pages: Annotated[int, Field(description="The number of its pages", ge=1, le=MAX_PAGES)] = PAGES,
    ) -> Index:
        """Index an archive page by page, for minutes. A run that was stopped is continued, not repeated."""
        saved = await ctx.documents.get("demo.index", archive)
        first = min(int(saved.value), pages) if saved is not None else 0
        for page in range(first, pages):
            if page % SAVED_EVERY == 0:
                await ctx.documents.put("demo.index", archive, page)
            await ctx.progress("indexing", page / pages, f"page {page + 1} of {pages}")
            await sleep(pace)
        await ctx.documents.delete("demo.index", archive)
        return Index(archive=archive, pages=pages, first_page=first + 1)

    @tool(namespace="demo", group="demo", mode="human")
    async def send_payment(
        to: Annotated[str, Field(description="The recipient of the money", min_length=1, max_length=100)],
        amount: Amount,
        currency: Annotated[Literal["EUR", "USD", "GBP", "CHF"], "The currency"] = "EUR",
        purpose: Annotated[str, Field(description="The purpose of the payment", max_length=200)] = "",
    ) -> Receipt:
        """Send money after a person has approved it. This is a demonstration: no money moves."""
        return Receipt(to=to, amount=f"{amount:.2f}", currency=currency, note="a demonstration: no money moved")

    @tool(namespace="demo", group="demo", mode="human", answer=Delivery)
    async def ask_delivery(
        parcel: Annotated[str, Field(description="The parcel to deliver", min_length=1, max_length=100)],
    ) -> Delivery:
        """Ask the user how to deliver a parcel."""
        raise NotImplementedError  # the person's answer is the result

    @tool(namespace="demo", group="demo", mode="human", asks="wallet_tx_request", answer=Transfer)
    async def send_ether(
        to: Annotated[str, Field(description="The address of the recipient", pattern="^0x[0-9a-fA-F]{40}$")],
        value: Annotated[str, Field(description="The amount in wei", pattern="^[0-9]{1,30}$")],
        data: Annotated[str, Field(description="Call data", pattern="^0x([0-9a-fA-F]{2})*$")],
        description: Annotated[str, Field(description="What it is for", max_length=200)],
        chain_id: Annotated[int, Field(description="The network; 11155111 is the test network Sepolia", ge=1)],
    ) -> Transfer:
        """Have the user's wallet send ether. The wallet signs; the server has no key."""
        raise NotImplementedError  # the outcome in the wallet is the result

    return calculate, check_stock, build_report, index_archive, send_payment, ask_delivery, send_ether


def evaluate(expression: str) -> str:
    """Evaluate an expression. Raises `ToolError` (validation)."""
    if len(expression) > MAX_EXPRESSION:
        raise ToolError(f"The expression is longer than {MAX_EXPRESSION} characters.", category="validation")
    try:
        value = _value(ast.parse(expression.strip(), mode="eval").body, expression.strip())
    except ZeroDivisionError:
        raise ToolError("The expression divides by zero.", category="validation") from None
    except (SyntaxError, ValueError, RecursionError, MemoryError, DecimalException):
        raise ToolError(
            "The expression is not arithmetic. Use numbers, + - * / and parentheses, such as 12 * (3 + 4).",
            category="validation",
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
    """Evaluate a node. Numbers are parsed from the source text, so that 0.1 is exactly a tenth."""
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
