"""Access to the parts of a request to OpenAI's Chat Completions."""

from collections.abc import Iterator

from ...request import Body, Request
from ..json_access import as_object, as_objects


def messages(request: Request) -> list[Body]:
    return as_objects(request.body.get("messages"))


def calls(message: Body) -> list[Body]:
    return as_objects(message.get("tool_calls"))


def all_calls(request: Request) -> Iterator[tuple[str, Body]]:
    """Yield every call of the conversation with its path."""
    for index, message in enumerate(messages(request)):
        for position, call in enumerate(calls(message)):
            yield f"messages[{index}].tool_calls[{position}]", call


def functions(request: Request) -> Iterator[tuple[str, Body]]:
    """Yield every function with its path."""
    for index, tool in enumerate(as_objects(request.body.get("tools"))):
        if tool.get("type") == "function":
            yield f"tools[{index}].function", as_object(tool.get("function"))
