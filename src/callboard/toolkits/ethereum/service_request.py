"""One JSON request to a web service of contracts or transactions. Errors name the service, not its address or key."""

from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import urlencode

from pydantic_core import from_json

from callboard import ToolError

from ..http import Fetcher, FetchResult, Guard, Limits

LIMITS = Limits(max_bytes=8_000_000, total_seconds=15.0, connect_seconds=6.0, max_redirects=0)
ANYWHERE = Guard(allow=["0.0.0.0/0", "::/0"])
"""The operator chose the address of the service, so it may be in any network."""


async def request_json(
    service: str, url: str, query: Mapping[str, object], *, limits: Limits = LIMITS
) -> Mapping[str, Any] | None:
    """Return the JSON object of a service, or None if it answers 404. Raises `ToolError`."""
    try:
        async with Fetcher(guard=ANYWHERE, limits=limits) as fetcher:
            answer = await fetcher.fetch(f"{url}?{urlencode(query)}", headers={"accept": "application/json"})
    except ToolError as error:
        category = error.category if error.may_retry else "configuration"
        raise ToolError(f"{service} cannot be reached.", category=category, report=error.category) from None
    return _read(service, answer)


def _read(service: str, answer: FetchResult) -> Mapping[str, Any] | None:
    status = answer.status
    if status == 404:
        return None
    if status == 429:
        after = answer.headers.get("retry-after", "")
        seconds = float(after) if after.isdecimal() and len(after) < 7 else None
        raise ToolError(f"{service} limits its requests.", category="rate_limited", retry_after=seconds)
    if status in (401, 403):
        raise ToolError(f"{service} refuses the key.", category="configuration")
    if status >= 500:
        raise ToolError(f"{service} answered with status {status}.", category="transient")
    if status != 200:
        raise ToolError(f"{service} answered with status {status}.", category="permanent")
    if answer.truncated:
        raise ToolError(f"The answer of {service} is too large.", category="permanent")
    try:
        read: object = from_json(answer.text)
    except ValueError:
        read = None
    if not isinstance(read, dict):
        raise ToolError(f"{service} did not answer with JSON.", category="permanent")
    return cast("Mapping[str, Any]", read)


def object_of(value: object) -> Mapping[str, Any]:
    """Return a value that should be an object, or an empty one."""
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}
