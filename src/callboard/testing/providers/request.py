"""What a double was asked, and how it refuses."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """One request, as it arrived."""

    model: str
    body: Body
    stream: bool = False
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    path: str = ""
    remembered: Mapping[str, str] = field(default_factory=dict[str, str])
    """What the service knows from earlier: items that it gave out, each with the one that has to come before it."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A request that the real service would not take, and what it would say."""

    message: str
    status: int = 400
    kind: str | None = None
    """The provider's name of the error, where it is not the usual one for the status."""
    param: str | None = None
    code: str | None = None
    rule: str = ""
    """The rule that was broken."""


Rule = Callable[[Request], Refusal | None]
"""A pure function: what is wrong with a request, or nothing."""


def first_refusal(request: Request, rules: Sequence[Rule]) -> Refusal | None:
    """What the first rule says that has something to say."""
    for rule in rules:
        if (refusal := rule(request)) is not None:
            return replace(refusal, rule=rule.__name__)
    return None
