"""The parts of a request to OpenAI's Chat Completions, as its rules look at them."""

from collections.abc import Iterator

from ...request import Body, Request
from ..reading import as_object, as_objects


def messages(request: Request) -> list[Body]:
    return as_objects(request.body.get("messages"))


def calls(message: Body) -> list[Body]:
    return as_objects(message.get("tool_calls"))


def all_calls(request: Request) -> Iterator[tuple[str, Body]]:
    """Every call of the conversation, and where it stands."""
    for index, message in enumerate(messages(request)):
        for position, call in enumerate(calls(message)):
            yield f"messages[{index}].tool_calls[{position}]", call


def functions(request: Request) -> Iterator[tuple[str, Body]]:
    """Every function that may be called, and where it stands."""
    for index, tool in enumerate(as_objects(request.body.get("tools"))):
        if tool.get("type") == "function":
            yield f"tools[{index}].function", as_object(tool.get("function"))
