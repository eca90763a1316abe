"""Requests whose results are read as JSON data: the kind of a result, and its schema, are decided here, not by the SDK.

The SDK would check structured content with the regular expressions of a server's schema, which can take for ever.
"""

from typing import Any

from mcp import Client
from pydantic import TypeAdapter

InputRequests = dict[str, dict[str, Any]]
"""The requests of a server by their keys, as JSON data."""
_DATA: Any = TypeAdapter(dict[str, Any])


async def send_raw(client: Client, request: Any, progress: Any = None) -> dict[str, Any]:
    """Send a request and return its result. Raises `MCPError`, and `ValidationError` for one of a wrong form."""
    return await client.session.send_request(request, _DATA, progress_callback=progress)
