"""The three tools of every measurement, the arguments that a model would send, and the floor.

Annotations are not postponed, because some peers read them raw. Parameters are described in the docstrings and
properties in the models, so that every peer finds a description where it looks for one.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, Field, TypeAdapter
from pydantic_core import to_json
from typing_extensions import TypedDict

from bench.harness import Unit


class Priority(StrEnum):
    """The urgency of an order."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"


class Customer(BaseModel):
    """The customer of an order."""

    name: str = Field(description="Full name")
    email: str | None = Field(default=None, description="Where the confirmation goes")


class Address(BaseModel):
    """A postal address."""

    street: str = Field(description="Street and number")
    city: str = Field(description="Town or city")
    postcode: str = Field(description="Postal code")
    country: str = Field(default="FR", description="ISO 3166 code of the country")


class Line(BaseModel):
    """One position of an order."""

    article: str = Field(description="Article number")
    quantity: int = Field(ge=1, description="How many")
    price: float = Field(ge=0, description="Price of one")


class Order(BaseModel):
    """An order of ten fields: models in models, a list of models, an enum, bounds and optional values."""

    number: str = Field(description="The customer's own number for the order")
    customer: Customer = Field(description="Who orders")
    delivery: Address = Field(description="Where the goods go")
    billing: Address | None = Field(default=None, description="Where the bill goes, if elsewhere")
    lines: list[Line] = Field(description="What is ordered")
    priority: Priority = Field(default=Priority.NORMAL, description="How soon it should leave")
    labels: list[str] = Field(default_factory=list, description="Free labels")
    discount: float = Field(default=0, ge=0, le=100, description="Discount in per cent")
    gift: bool = Field(default=False, description="Whether to wrap it as a gift")
    remark: str | None = Field(default=None, description="A remark for the warehouse")


class Receipt(BaseModel):
    """The shop's answer."""

    number: str = Field(description="The order's number")
    city: str = Field(description="Where the goods go")
    deposit: float = Field(description="What is due at once: the price of the first line")


async def add(a: int, b: int) -> int:
    """Add two integers.

    Args:
        a: The first summand.
        b: The second summand.
    """
    return a + b


async def add_later(a: int, b: int) -> int:
    """Add two integers, and wait once for another callback of the event loop.

    Args:
        a: The first summand.
        b: The second summand.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[int] = loop.create_future()
    loop.call_soon(future.set_result, a + b)
    return await future


async def place_order(order: Order) -> Receipt:
    """Place an order.

    Args:
        order: The order to place.
    """
    first = order.lines[0]
    return Receipt(number=order.number, city=order.delivery.city, deposit=first.quantity * first.price)


class AddArguments(TypedDict):
    """The arguments of `add` and `add_later`, as the floor validates them."""

    a: int
    b: int


class PlaceOrderArguments(TypedDict):
    """The arguments of `place_order`, as the floor validates them."""

    order: Order


@dataclass(frozen=True, slots=True)
class Workload:
    """A tool, the JSON arguments of one call, the type that validates them, and texts that the answer must contain."""

    name: str
    function: Callable[..., Awaitable[Any]]
    arguments: str
    arguments_type: Any
    expected: tuple[str, ...]

    @property
    def tool(self) -> str:
        """The name under which peers know the tool."""
        return self.function.__name__

    def check(self, answer: str | bytes) -> None:
        """Raise ValueError unless the answer contains the tool's result, in any format."""
        text = answer.decode() if isinstance(answer, bytes) else answer
        if not all(part in text for part in self.expected):
            raise ValueError(f"{self.tool} answered {text!r}")

    def floor(self) -> Unit:
        """Make the cheapest typed call from JSON to JSON with Pydantic: validate, run, serialise."""
        adapter: TypeAdapter[dict[str, Any]] = TypeAdapter(self.arguments_type)
        validate, function, arguments = adapter.validate_json, self.function, self.arguments

        async def unit() -> bytes:
            return to_json(await function(**validate(arguments)))

        return unit


ADD = Workload("add", add, '{"a":19,"b":23}', AddArguments, ("42",))
NESTED = Workload(
    "nested",
    place_order,
    '{"order":{"number":"K-1815","customer":{"name":"Ada Byron","email":"ada@example.org"},'
    '"delivery":{"street":"12 St James\'s Square","city":"London","postcode":"SW1Y 4JH","country":"GB"},'
    '"billing":{"street":"3 Rue Cuvier","city":"Paris","postcode":"75005"},'
    '"lines":[{"article":"card-40","quantity":500,"price":0.25},{"article":"gear-7","quantity":2,"price":18.5}],'
    '"priority":"high","labels":["press","export"],"discount":2.5,"gift":true,"remark":"Ring twice"}}',
    PlaceOrderArguments,
    ("K-1815", "London", "125"),  # the deposit is not in the arguments, so an error that repeats them fails
)
AWAITING = Workload("awaiting", add_later, ADD.arguments, AddArguments, ADD.expected)
WORKLOADS = (ADD, NESTED, AWAITING)
TOOLS = (add, place_order, add_later)
