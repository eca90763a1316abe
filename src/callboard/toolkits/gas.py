"""What gas costs: a system worker, which answers people past the model.

Give `workers` to a `Runtime`, and requests of the kind `gas_price` are answered. It asks a node over JSON-RPC, the one
that the environment names (`CALLBOARD_GAS_PRICE_URL`); in code, `gas_worker(url)` makes the same for any address.
It needs the extra `http`.
"""

import json
import re
from typing import Any, cast

from pydantic import BaseModel, Field

from callboard import CallboardError, RetryPolicy, Settings, Tool, ToolError, tool

from .http import Fetcher, FetchResult, Guard, Limits

LIMITS = Limits(max_bytes=65_536, total_seconds=8.0, connect_seconds=4.0, max_redirects=0)
"""A node answers such a question in milliseconds and with a few bytes; and it does not send anybody elsewhere."""

QUESTION = '{"jsonrpc":"2.0","id":1,"method":"eth_gasPrice","params":[]}'
GWEI = 10**9

_QUANTITY = re.compile(r"0x[0-9a-fA-F]{1,64}")
_LIMIT_EXCEEDED = -32005
"""The code with which nodes say that too much was asked of them."""


class GasPrice(BaseModel):
    """What a unit of gas costs."""

    wei: str = Field(description="In wei, as a text, since many readers lose digits of large numbers")
    gwei: float = Field(description="In gwei, for people")


def gas_worker(url: str | None = None, *, limits: Limits = LIMITS) -> Tool:
    """The worker for the node at an address; without one, for that of the environment, looked up at each request."""

    @tool(
        namespace="ethereum",
        group="chain",
        tags=("network",),
        idempotent=True,
        timeout=10.0,
        total_timeout=30.0,
        retry=RetryPolicy(max_attempts=3, base_delay=0.5, max_delay=5.0),
    )
    async def gas_price() -> GasPrice:
        """Tell what a unit of gas costs at the moment."""
        return read_price(await ask(url or configured_url(), limits))

    return gas_price


def configured_url() -> str:
    """The node's address. Raises `ToolError` (configuration) where none is set."""
    try:
        url = Settings.from_environment().gas_price_url
    except CallboardError as error:
        raise ToolError("The settings cannot be read.", category="configuration", report=str(error)) from error
    if url is None:
        raise ToolError(
            "There is no source for gas prices. Set CALLBOARD_GAS_PRICE_URL to the address of a node's JSON-RPC.",
            category="configuration",
        )
    return url


async def ask(url: str, limits: Limits) -> FetchResult:
    """Ask the node. Its address is the operator's choice, so it may be anywhere, also on this machine.

    The address may hold a key: what goes wrong is said without it.
    """
    anywhere = Guard(allow=["0.0.0.0/0", "::/0"])
    try:
        async with Fetcher(guard=anywhere, limits=limits) as fetcher:
            return await fetcher.fetch(url, method="POST", headers={"content-type": "application/json"}, body=QUESTION)
    except ToolError as error:
        category = error.category if error.may_retry else "configuration"
        raise ToolError(
            "The node for gas prices cannot be reached.", category=category, report=error.message
        ) from error


def read_price(answer: FetchResult) -> GasPrice:
    """The price in a node's answer. Raises `ToolError`, also where the answer says that there is none."""
    if answer.status == 429:
        after = answer.headers.get("retry-after", "")
        raise ToolError(
            "The node for gas prices is asked too often.",
            category="rate_limited",
            retry_after=float(after) if after.isdecimal() and len(after) < 7 else None,
        )
    if answer.status >= 500:
        raise ToolError(f"The node for gas prices answered with status {answer.status}.", category="transient")
    if answer.status in (401, 403, 404):
        raise ToolError(f"The node for gas prices refused with status {answer.status}.", category="configuration")
    fields = _fields(answer.text)
    if isinstance(error := fields.get("error"), dict):
        code: Any = cast("dict[str, Any]", error).get("code")
        category = "rate_limited" if code == _LIMIT_EXCEEDED else "permanent"
        raise ToolError("The node refused to say what gas costs.", category=category, report=f"JSON-RPC error {code!r}")
    price = fields.get("result")
    if answer.status != 200 or not isinstance(price, str) or not _QUANTITY.fullmatch(price):
        raise ToolError("The node's answer is not a gas price.", category="permanent", report=f"status {answer.status}")
    wei = int(price, 16)
    return GasPrice(wei=str(wei), gwei=wei / GWEI)


def _fields(text: str) -> dict[str, Any]:
    try:
        read: object = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", read) if isinstance(read, dict) else {}


gas_price = gas_worker()
workers = (gas_price,)
