"""The parts of a request to OpenAI's Responses API, as its rules look at them."""

from typing import NamedTuple

from ...request import Body, Request
from ..reading import as_objects


class Item(NamedTuple):
    """One item of the input, and where it stands."""

    position: int
    kind: str
    body: Body

    @property
    def place(self) -> str:
        return f"input[{self.position}]"


def items(request: Request) -> list[Item]:
    """The input. An item with a role and no type is a message."""
    found = as_objects(request.body.get("input"))
    return [Item(index, str(body.get("type", "message")), body) for index, body in enumerate(found)]


def functions(request: Request) -> list[tuple[str, Body]]:
    """Every function that may be called, and where it stands."""
    tools = enumerate(as_objects(request.body.get("tools")))
    return [(f"tools[{index}]", tool) for index, tool in tools if tool.get("type") == "function"]


def continues(request: Request) -> bool:
    """Whether the beginning of the conversation is known to the service and not sent again."""
    return bool(request.body.get("previous_response_id") or request.body.get("conversation"))


def stored(request: Request) -> bool:
    """Whether the service keeps what is said, which is so unless it is told not to."""
    return request.body.get("store") is not False
