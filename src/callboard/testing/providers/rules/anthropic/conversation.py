"""Access to the parts of a request to Anthropic."""

import re
from collections.abc import Iterator
from itertools import takewhile
from typing import NamedTuple

from ...request import Body, Request
from ..json_access import as_list, as_object, as_objects

VERSION = re.compile(r"claude-(?:[a-z]+-)?(\d+)(?:-(\d{1,2}))?(?=-|@|$)")


class Block(NamedTuple):
    """One block of a message with its position."""

    message: int
    position: int
    kind: str
    body: Body

    @property
    def place(self) -> str:
        return f"messages.{self.message}.content.{self.position}"


class Turn(NamedTuple):
    """Consecutive messages of one role, which the service treats as one
    (https://platform.claude.com/docs/en/api/messages/create). `message` is the number of the last of them.
    """

    message: int
    role: str
    blocks: list[Block]

    @property
    def calls(self) -> list[str]:
        return [str(block.body.get("id")) for block in self.blocks if block.kind == "tool_use"]

    @property
    def answers(self) -> list[str]:
        """The ids of the calls whose results come before all other content."""
        leading = takewhile(lambda block: block.kind == "tool_result", self.blocks)
        return [str(block.body.get("tool_use_id")) for block in leading]


def messages(request: Request) -> list[Body]:
    return as_objects(request.body.get("messages"))


def content(message: Body) -> list[Body]:
    """Return the blocks of a message; a plain string is one block."""
    given = message.get("content")
    return [{"type": "text", "text": given}] if isinstance(given, str) else as_objects(given)


def blocks(request: Request, *kinds: str) -> Iterator[Block]:
    """Yield every block of every message, or those of some kinds."""
    for index, message in enumerate(messages(request)):
        for position, body in enumerate(content(message)):
            if not kinds or body.get("type") in kinds:
                yield Block(index, position, str(body.get("type")), body)


def turns(request: Request) -> list[Turn]:
    """Group the conversation into turns, without system messages."""
    found: list[Turn] = []
    all_blocks = list(blocks(request))
    for index, message in enumerate(messages(request)):
        role = str(message.get("role"))
        if role == "system":
            continue
        before = found.pop().blocks if found and found[-1].role == role else []
        found.append(Turn(index, role, [*before, *(block for block in all_blocks if block.message == index)]))
    return found


def tools(request: Request) -> Iterator[tuple[int, Body]]:
    """Yield the custom tools, without those that the provider runs."""
    for index, tool in enumerate(as_objects(request.body.get("tools"))):
        if tool.get("type", "custom") == "custom":
            yield index, tool


def texts(request: Request) -> Iterator[tuple[str, str]]:
    """Yield every text of messages and system prompt, with the name of its field."""
    for block in blocks(request):
        inner = as_objects(block.body.get("content")) if block.kind == "tool_result" else [block.body]
        yield from (("messages", str(each.get("text", ""))) for each in inner if each.get("type") == "text")
    for part in as_list(request.body.get("system")):
        yield "system", str(as_object(part).get("text", ""))


def thinking(request: Request) -> str | None:
    """Return the thinking mode: `enabled` (manual), `adaptive`, or None."""
    return as_object(request.body.get("thinking")).get("type")


def version(request: Request) -> tuple[int, int]:
    """Parse the version in the name of the model; a name without one counts as the newest."""
    found = VERSION.match(request.model)
    return (int(found[1]), int(found[2] or 0)) if found else (99, 0)
