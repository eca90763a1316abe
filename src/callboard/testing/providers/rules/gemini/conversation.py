"""Access to the parts of a request to Gemini, which accepts field names in camel case and snake case."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from ...request import Body, Request
from ..json_access import as_object, as_objects, names

HUMP = re.compile(r"(?<!^)(?=[A-Z])")
GENERATION = re.compile(r"(?:models/)?gemini-(\d+)")


def snake(name: str) -> str:
    return HUMP.sub("_", name).lower()


def both_spellings(text: str) -> frozenset[str]:
    """Split a text into names in camel case, and add each in snake case."""
    return names(text) | {snake(name) for name in names(text)}


def field(body: Body, name: str) -> Any:
    """Return a field by its name in camel case, in either spelling."""
    return body.get(name, body.get(snake(name)))


class Content(NamedTuple):
    """One message of the conversation with its position."""

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
    """Yield every function declaration with its path."""
    for index, tool in enumerate(as_objects(request.body.get("tools"))):
        for position, declaration in enumerate(as_objects(field(tool, "functionDeclarations"))):
            yield f"tools[{index}].function_declarations[{position}]", declaration


def generation(request: Request) -> int:
    """Parse the generation in the name of the model; a name without one counts as the newest."""
    found = GENERATION.match(request.model)
    return int(found[1]) if found else 99
