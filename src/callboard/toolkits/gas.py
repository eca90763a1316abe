"""The `gas` toolkit: a worker that answers requests for the gas price, without the model.

Pass `workers` to a `Runtime` to answer requests of the kind `gas_price`. The worker calls a node over JSON-RPC, at the
address in `CALLBOARD_GAS_PRICE_URL`; `gas_worker(url)` makes one for another address. It needs the extra `http`.
"""

import json
import re
from typing import Any, cast

from pydantic import BaseModel, Field

from callboard import CallboardError, RetryPolicy, Settings, Tool, ToolError, tool

from .http import Fetcher, FetchResult, Guard, Limits

LIMITS = Limits(max_bytes=65_536, total_seconds=8.0, connect_seconds=4.0, max_redirects=0)
"""A node answers in milliseconds with a few bytes, and never redirects."""

REQUEST = '{"jsonrpc":"2.0","id":1,"method":"eth_gasPrice","params":[]}'
GWEI = 10**9

_QUANTITY = re.compile(r"0x[0-9a-fA-F]{1,64}")
_LIMIT_EXCEEDED = -32005
"""The JSON-RPC error code for exceeded rate limits."""


class GasPrice(BaseModel):
    """The price of a unit of gas."""

    wei: str = Field(description="The price in wei, as text, since JSON readers may round large numbers")
    gwei: float = Field(description="The price in gwei")


def gas_worker(url: str | None = None, *, limits: Limits = LIMITS) -> Tool:
    """Make a worker for the node at an address. Without one, each request reads the address from the environment."""

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
        """Return the current price of a unit of gas."""
        return read_price(await call_node(url or configured_url(), limits))

    return gas_price


def configured_url() -> str:
    """Read the node's address from the environment. Raises `ToolError` (configuration) if it is not set."""
    try:
        url = Settings.from_environment().gas_price_url
    except CallboardError as error:
        raise ToolError("The settings cannot be read.", category="configuration", report=str(error)) from error
    if url is None:
        raise ToolError(
            "There is no source of gas prices. Set CALLBOARD_GAS_PRICE_URL to the JSON-RPC address of a node.",
            category="configuration",
        )
    return url


async def call_node(url: str, limits: Limits) -> FetchResult:
    """Request the price from a node. The operator chose its address, so any network is allowed.

    The address may hold a key, so errors do not contain it.
    """
    anywhere = Guard(allow=["0.0.0.0/0", "::/0"])
    try:
        async with Fetcher(guard=anywhere, limits=limits) as fetcher:
            return await fetcher.fetch(url, method="POST", headers={"content-type": "application/json"}, body=REQUEST)
    except ToolError as error:
        category = error.category if error.may_retry else "configuration"
        raise ToolError(
            "The node for gas prices cannot be reached.", category=category, report=error.message
        ) from error


def read_price(answer: FetchResult) -> GasPrice:
    """Parse the price in a node's response. Raises `ToolError`, also for an error response."""
    if answer.status == 429:
        after = answer.headers.get("retry-after", "")
        raise ToolError(
            "The node for gas prices limits its requests.",
            category="rate_limited",
            retry_after=float(after) if after.isdecimal() and len(after) < 7 else None,
        )
    if answer.status >= 500:
        raise ToolError(f"The node for gas prices answered with status {answer.status}.", category="transient")
    if answer.status in (301, 302, 303, 401, 403, 404):
        raise ToolError(f"The node for gas prices refused with status {answer.status}.", category="configuration")
    fields = _fields(answer.text)
    if isinstance(error := fields.get("error"), dict):
        code: Any = cast("dict[str, Any]", error).get("code")
        category = "rate_limited" if code == _LIMIT_EXCEEDED else "permanent"
        raise ToolError("The node refused to return the price.", category=category, report=f"JSON-RPC error {code!r}")
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
