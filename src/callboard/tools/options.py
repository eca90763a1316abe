"""The options that every kind of tool accepts, and their checks."""

import math
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, TypedDict, cast

from ..checks import Check
from ..errors import RegistrationError
from ..spelling import known_names
from ..types import JSON, Logout, Mode, Placement, Wake
from .gates import Gate
from .policies import BreakerPolicy, RetryPolicy


class Policy(TypedDict, total=False):
    """Options that every kind of tool accepts. `Tool` documents each."""

    namespace: str
    mode: Mode | str
    topic: str | None
    group: str | None
    tags: Iterable[str]
    channels: Iterable[str] | None
    gate: Gate | None
    idempotent: bool
    as_prompt: bool
    resource: str | None
    mime_type: str | None
    icons: Iterable[str]
    read_only: bool | None
    destructive: bool | None
    open_world: bool | None
    timeout: float | None
    total_timeout: float | None
    inline_budget: float
    retry: RetryPolicy | None
    breaker: BreakerPolicy | None
    concurrency: int | None
    placement: Placement | str | None
    queue: str | None
    estimated_duration: float | None
    usage: str | None
    examples: Iterable[Mapping[str, JSON]]
    result_limit: int | None
    renderers: Mapping[str, Callable[[Any], str]] | None
    logout: Logout | str
    wake: Wake | str
    asks: str
    expires: float | None


def check_options(maker: str, options: Mapping[str, Any], known: Iterable[str]) -> None:
    """Raise `RegistrationError` for an option that does not exist."""
    for name in options:
        if name not in known:
            raise RegistrationError(f"{maker} has no option {name!r}. {known_names(name, sorted(known))}")


_check = Check(RegistrationError)
_OPTIONAL_DURATIONS = ("timeout", "total_timeout", "estimated_duration", "expires")
_DURATIONS = (*_OPTIONAL_DURATIONS, "inline_budget")
_LONGEST = 100_000_000_000
"""The most seconds of a duration, about 3,000 years: such a time from now is still a date."""
_COUNTS = ("result_limit", "concurrency")
_FLAGS = ("idempotent", "as_prompt")
_HINTS = ("read_only", "destructive", "open_world")
"""Flags that need not be stated."""
_TEXTS = ("topic", "group", "resource", "mime_type", "usage", "queue")
_QUESTIONS = ("human_request", "wallet_tx_request")
"""The event kinds that ask a person."""


def policy(options: Policy) -> dict[str, Any]:
    """Convert options to fields of a `Tool`. Raises `RegistrationError` for an invalid value."""
    made: dict[str, Any] = dict(options)
    if (asks := options.get("asks", "human_request")) not in _QUESTIONS:
        raise RegistrationError(f"asks is {asks!r}. {known_names(str(asks), _QUESTIONS)}")
    _check.text("namespace", options.get("namespace", "default"))
    for name in _TEXTS:
        _check.text(name, made.get(name), optional=True)
    for name in _FLAGS + _HINTS:
        _check.flag(name, made.get(name, False), optional=name in _HINTS)
    for name in ("tags", "icons"):
        made[name] = _check.texts(name, options.get(name, ()))
    if wrong := [icon for icon in made["icons"] if not icon.startswith(("https://", "data:image/"))]:
        raise RegistrationError(f"The icon {wrong[0][:80]!r} must be a URI that begins with https:// or data:image/.")
    made["examples"] = _check.items("examples", options.get("examples", ()), Mapping, "a list of dicts of arguments")
    made["topic"] = options.get("topic") or ""
    channels = options.get("channels")
    made["channels"] = None if channels is None else frozenset(_check.texts("channels", channels))
    made["renderers"] = _renderers(options.get("renderers"))
    for name, kind in (("retry", RetryPolicy), ("breaker", BreakerPolicy)):
        _check.instance(name, made.get(name), kind)
    for name in _DURATIONS + _COUNTS:
        if name in made and (made[name] is not None or name == "inline_budget"):
            (_check.count if name in _COUNTS else _check.seconds)(name, made[name], above=0)
        if name in made and name in _OPTIONAL_DURATIONS:
            made[name] = _limited(name, made[name])
    return made


def _limited(name: str, seconds: float | None) -> float | None:
    """Return a duration whose end is a date. None, like infinity, stands for no limit."""
    if seconds is None or seconds == math.inf:
        return None
    if seconds > _LONGEST:
        raise RegistrationError(f"{name} is {seconds!r}; it must be at most {_LONGEST:,} seconds, or None.")
    return seconds


def _renderers(given: Any) -> Mapping[str, Callable[[Any], str]]:
    made: dict[Any, Any] = dict(cast("Mapping[Any, Any]", given)) if isinstance(given, Mapping) else {}
    valid = given is None or isinstance(given, Mapping)
    if not (valid and all(isinstance(channel, str) and callable(function) for channel, function in made.items())):
        raise RegistrationError(f"renderers is {given!r}; it must be a dict of functions by channel.")
    return MappingProxyType(made)
