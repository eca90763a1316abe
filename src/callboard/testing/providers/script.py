"""What a double says: turns, given as a list or as a function of the request. It knows no wire format.

A turn is a sequence of parts. Three of them are said (`Text`, `Thinking`, `Call`); two say how it goes: at a `Gate` the
double waits until the test opens it, and at a `Break` the connection is cut. A `Failure` stands in the place of a turn
and is an HTTP error.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .request import Request
from .signals import Gate


@dataclass(frozen=True, slots=True)
class Break:
    """Here the connection is cut."""


Pause = Gate | Break


@dataclass(frozen=True, slots=True, init=False)
class Text:
    """Something said, in one delta or in several, with gates between them or a break after one."""

    deltas: tuple[str | Pause, ...]

    def __init__(self, *deltas: str | Pause) -> None:
        object.__setattr__(self, "deltas", deltas)

    @property
    def text(self) -> str:
        return "".join(delta for delta in self.deltas if isinstance(delta, str))


@dataclass(frozen=True, slots=True)
class Thinking:
    """Something thought before it is said, with the provider's signature of it."""

    text: str
    signature: str = "c2lnbmVkIGJ5IHRoZSBkb3VibGU="


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool. Without an id of its own it gets one of the provider's form."""

    name: str
    arguments: Mapping[str, Any] | str = "{}"
    """An object, or the very text that the model wrote, right or wrong."""
    id: str | None = None

    @property
    def text(self) -> str:
        """The arguments as text."""
        return self.arguments if isinstance(self.arguments, str) else json.dumps(dict(self.arguments))

    @property
    def deltas(self) -> tuple[str, str]:
        """The arguments as text in two pieces, as a stream brings them."""
        return self.text[: len(self.text) // 2], self.text[len(self.text) // 2 :]


@dataclass(frozen=True, slots=True)
class Usage:
    """What the turn cost."""

    input_tokens: int = 10
    output_tokens: int = 5


Said = Text | Thinking | Call


@dataclass(frozen=True, slots=True, init=False)
class Turn:
    """One answer of the model. A plain string is a `Text` of one delta."""

    parts: tuple[Said | Pause, ...]
    usage: Usage
    cut_off: bool
    """Whether it ended because it reached the limit of tokens."""

    def __init__(self, *parts: Said | Pause | str, usage: Usage | None = None, cut_off: bool = False) -> None:
        object.__setattr__(self, "parts", tuple(Text(part) if isinstance(part, str) else part for part in parts))
        object.__setattr__(self, "usage", usage or Usage())
        object.__setattr__(self, "cut_off", cut_off)

    @property
    def said(self) -> tuple[Said, ...]:
        return tuple(part for part in self.parts if not isinstance(part, Pause))

    @property
    def calls(self) -> tuple[Call, ...]:
        return tuple(part for part in self.parts if isinstance(part, Call))

    @property
    def pauses(self) -> Iterator[Pause]:
        """What says how it goes, also within a text."""
        for part in self.parts:
            for each in part.deltas if isinstance(part, Text) else (part,):
                if isinstance(each, Pause):
                    yield each

    def with_ids(self, make: Callable[[], str]) -> "Turn":
        """The same turn, in which every call has an id."""
        parts = (replace(part, id=make()) if isinstance(part, Call) and not part.id else part for part in self.parts)
        return Turn(*parts, usage=self.usage, cut_off=self.cut_off)


@dataclass(frozen=True, slots=True)
class Failure:
    """An HTTP error in the place of a turn, in the shape that the provider gives it."""

    status: int
    message: str = "The test wants it so."
    kind: str | None = None
    """The provider's name of the error, where it is not the usual one for the status."""
    headers: Mapping[str, str] | None = None


Answer = Turn | Failure
Script = Sequence[Answer | str] | Callable[[Request], Answer | str]


class Prompter:
    """Gives the next answer of a script."""

    def __init__(self, script: Script) -> None:
        self._function = script if callable(script) else None
        self._left: list[Answer | str] = [] if callable(script) else list(script)

    @property
    def left(self) -> int:
        """How many answers of a list were not asked for yet."""
        return len(self._left)

    def add(self, answers: Iterable[Answer | str]) -> None:
        """More answers, after those that are left."""
        self._left.extend(answers)

    def answer(self, request: Request) -> Answer:
        """What is said to this request. One for which the script has nothing is answered with an error 500."""
        if self._function is not None:
            answer = self._function(request)
        elif self._left:
            answer = self._left.pop(0)
        else:
            answer = Failure(500, "The script of the double has no turn left for this request.")
        return Turn(answer) if isinstance(answer, str) else answer
