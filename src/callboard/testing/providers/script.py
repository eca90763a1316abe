"""The script of a double: answers as a list or as a function of the request, independent of the wire format.

A turn is a sequence of parts. `Text`, `Thinking` and `Call` are content; at a `Gate` the double waits until the test
opens it, and at a `Break` it cuts the connection. A `Failure` is an HTTP error instead of a turn.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .request import Request
from .synchronization import Gate


@dataclass(frozen=True, slots=True)
class Break:
    """The point at which the double cuts the connection."""


Pause = Gate | Break


@dataclass(frozen=True, slots=True, init=False)
class Text:
    """Text in one or several deltas, with gates or breaks between them."""

    deltas: tuple[str | Pause, ...]

    def __init__(self, *deltas: str | Pause) -> None:
        object.__setattr__(self, "deltas", deltas)

    @property
    def text(self) -> str:
        return "".join(delta for delta in self.deltas if isinstance(delta, str))


@dataclass(frozen=True, slots=True)
class Thinking:
    """Reasoning, with the provider's signature."""

    text: str
    signature: str = "c2lnbmVkIGJ5IHRoZSBkb3VibGU="


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool. Without an id, it gets one in the provider's format."""

    name: str
    arguments: Mapping[str, Any] | str = "{}"
    """An object, or the exact text of the model, valid or not."""
    id: str | None = None

    @property
    def text(self) -> str:
        """The arguments as text."""
        return self.arguments if isinstance(self.arguments, str) else json.dumps(dict(self.arguments))

    @property
    def deltas(self) -> tuple[str, str]:
        """The arguments as text in two deltas."""
        return self.text[: len(self.text) // 2], self.text[len(self.text) // 2 :]


@dataclass(frozen=True, slots=True)
class Usage:
    """The tokens of a turn."""

    input_tokens: int = 10
    output_tokens: int = 5


Content = Text | Thinking | Call


@dataclass(frozen=True, slots=True, init=False)
class Turn:
    """One answer of the model. A plain string is a `Text` of one delta."""

    parts: tuple[Content | Pause, ...]
    usage: Usage
    cut_off: bool
    """Whether the turn ended at the token limit."""

    def __init__(self, *parts: Content | Pause | str, usage: Usage | None = None, cut_off: bool = False) -> None:
        object.__setattr__(self, "parts", tuple(Text(part) if isinstance(part, str) else part for part in parts))
        object.__setattr__(self, "usage", usage or Usage())
        object.__setattr__(self, "cut_off", cut_off)

    @property
    def content(self) -> tuple[Content, ...]:
        return tuple(part for part in self.parts if not isinstance(part, Pause))

    @property
    def calls(self) -> tuple[Call, ...]:
        return tuple(part for part in self.parts if isinstance(part, Call))

    @property
    def pauses(self) -> Iterator[Pause]:
        """All gates and breaks, including those within a text."""
        for part in self.parts:
            for each in part.deltas if isinstance(part, Text) else (part,):
                if isinstance(each, Pause):
                    yield each

    def with_ids(self, make: Callable[[], str]) -> "Turn":
        """Return a copy in which every call has an id."""
        parts = (replace(part, id=make()) if isinstance(part, Call) and not part.id else part for part in self.parts)
        return Turn(*parts, usage=self.usage, cut_off=self.cut_off)


@dataclass(frozen=True, slots=True)
class Failure:
    """An HTTP error instead of a turn, with a body in the provider's format."""

    status: int
    message: str = "Scripted failure."
    kind: str | None = None
    """The provider's name of the error, if it is not the usual one for the status."""
    headers: Mapping[str, str] | None = None


Answer = Turn | Failure
Script = Sequence[Answer | str] | Callable[[Request], Answer | str]
