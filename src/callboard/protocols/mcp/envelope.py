"""The connection of a request without a handshake: its client describes itself in each request.

A client does that in the same words every time, so validated descriptions are kept.
"""

from contextlib import AsyncExitStack
from copy import copy
from functools import lru_cache

from mcp.server.connection import Connection
from mcp.shared.inbound import InboundModernRoute
from pydantic_core import from_json, to_json

LONGEST = 4_096
"""Bytes of a description that is kept."""


def connection_of(route: InboundModernRoute) -> Connection:
    """Return the connection of one request, as the SDK's `Connection.from_envelope` makes it."""
    fields = (route.protocol_version, route.client_info, route.client_capabilities)
    description = to_json(fields, inf_nan_mode="constants")
    if len(description) > LONGEST:
        return Connection.from_envelope(*fields)
    connection = copy(_described(description))
    connection.state, connection.exit_stack = {}, AsyncExitStack()
    return connection


@lru_cache(256)
def _described(description: bytes) -> Connection:
    return Connection.from_envelope(*from_json(description))
