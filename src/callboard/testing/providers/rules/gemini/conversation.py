"""The parts of a request to Gemini, as its rules look at them. The service takes every name in two spellings."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from ...request import Body, Request
from ..reading import as_object, as_objects, names

HUMP = re.compile(r"(?<!^)(?=[A-Z])")
GENERATION = re.compile(r"(?:models/)?gemini-(\d+)")


def snake(name: str) -> str:
    return HUMP.sub("_", name).lower()


def both_spellings(text: str) -> frozenset[str]:
    """The names in a text, which are in camel case, and the same in snake case."""
    return names(text) | {snake(name) for name in names(text)}


def field(body: Body, name: str) -> Any:
    """A field by its name in camel case, in whichever spelling it was sent."""
    return body.get(name, body.get(snake(name)))


class Content(NamedTuple):
    """One message of the conversation, and where it stands."""

    place: int
    role: str | None
    parts: list[Body]

    @property
    def calls(self) -> list[Body]:
        return [as_object(call) for part in self.parts if (call := field(part, "functionCall")) is not None]

    @property
    def responses(self) -> list[Body]:
        return [as_object(each) for part in self.parts if (each := field(part, "functionResponse")) is not None]


def contents(request: Request) -> list[Content]:
    found = as_objects(request.body.get("contents"))
    return [Content(index, body.get("role"), as_objects(body.get("parts"))) for index, body in enumerate(found)]


def declarations(request: Request) -> Iterator[tuple[str, Body]]:
    """Every function that may be called, and where it stands."""
    for index, tool in enumerate(as_objects(request.body.get("tools"))):
        for position, declaration in enumerate(as_objects(field(tool, "functionDeclarations"))):
            yield f"tools[{index}].function_declarations[{position}]", declaration


def generation(request: Request) -> int:
    """The generation in the name of the model; a name without one counts as the newest."""
    found = GENERATION.match(request.model)
    return int(found[1]) if found else 99
