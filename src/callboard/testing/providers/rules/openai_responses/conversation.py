"""Access to the parts of a request to OpenAI's Responses API."""

from typing import NamedTuple

from ...request import Body, Request
from ..json_access import as_objects


class Item(NamedTuple):
    """One item of the input with its position."""

    position: int
    kind: str
    body: Body

    @property
    def place(self) -> str:
        return f"input[{self.position}]"


def items(request: Request) -> list[Item]:
    """List the items of the input. An item with a role and no type is a message."""
    found = as_objects(request.body.get("input"))
    return [Item(index, str(body.get("type", "message")), body) for index, body in enumerate(found)]


def functions(request: Request) -> list[tuple[str, Body]]:
    """Yield every function with its path."""
    tools = enumerate(as_objects(request.body.get("tools")))
    return [(f"tools[{index}]", tool) for index, tool in tools if tool.get("type") == "function"]


def continues(request: Request) -> bool:
    """Whether the request continues a conversation that the service has stored."""
    return bool(request.body.get("previous_response_id") or request.body.get("conversation"))


def stored(request: Request) -> bool:
    """Whether the service stores the response, which is the default."""
    return request.body.get("store") is not False
