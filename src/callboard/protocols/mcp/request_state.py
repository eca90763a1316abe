"""The state that a client returns with its user's answers, in the era without connections.

It names the call that waits, and the request behind each key. Both are looked up among those of the user's own session,
so the state needs no signature: a changed one names nothing.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from mcp import types
from mcp.shared.exceptions import MCPError

from .client_inputs import ClientInput

MAX_STATE = 20_000


class RequestState(NamedTuple):
    """A call that waits for answers."""

    call_id: str
    requests: Mapping[str, str]
    """The ids of requests by their keys."""

    def encode(self) -> str:
        """Return the state as text."""
        return " ".join([self.call_id, *(f"{key}={request_id}" for key, request_id in self.requests.items())])

    @classmethod
    def parse(cls, text: str) -> "RequestState":
        """Parse a state that a client returned. Raises `MCPError`."""
        call_id, *pairs = text.split(" ")
        if len(text) > MAX_STATE or not all("=" in pair for pair in pairs):
            raise invalid_state()
        return cls(call_id, dict(pair.split("=", 1) for pair in pairs))


def keyed(inputs: Iterable[ClientInput]) -> dict[str, ClientInput]:
    """Return inputs by their keys: the name of the tool that asks, with a number if it asks more than once."""
    found: dict[str, ClientInput] = {}
    for each in inputs:
        name, number = each.request.tool, 1
        key = name
        while key in found:
            number += 1
            key = f"{name}_{number}"
        found[key] = each
    return found


def invalid_state() -> MCPError:
    """Return the error for a state that names no call of the session."""
    return MCPError(types.INVALID_PARAMS, "The requestState is not valid, or has expired. Call the tool again.")
