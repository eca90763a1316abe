"""Requests to a double, and refusals of them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it was received."""

    model: str
    body: Body
    stream: bool = False
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    path: str = ""
    remembered: Mapping[str, str] = field(default_factory=dict[str, str])
    """Ids of items that the service returned earlier, each with the id of the item that must precede it."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The error with which the real service would refuse a request."""

    message: str
    status: int = 400
    kind: str | None = None
    """The provider's name of the error, if it is not the usual one for the status."""
    param: str | None = None
    code: str | None = None
    rule: str = ""
    """The name of the rule that was broken."""


Rule = Callable[[Request], Iterator[Refusal]]
"""A pure function that yields the refusals of a request. The service answers with the first."""


def first_refusal(request: Request, rules: Sequence[Rule]) -> Refusal | None:
    """Return the first refusal of the first rule that a request breaks, or None."""
    for rule in rules:
        if (refusal := next(rule(request), None)) is not None:
            return replace(refusal, rule=rule.__name__)
    return None
