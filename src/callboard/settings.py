"""Settings, from code or from the environment (`CALLBOARD_…`)."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self

from .errors import SettingsError

PREFIX = "CALLBOARD_"
GATE_PREFIX = "CALLBOARD_GATE_"

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off", ""})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What one can set without writing code. Each number is read from `CALLBOARD_` and its name in capitals."""

    max_argument_bytes: int = 4_194_304
    """Largest JSON document that is taken as a call's arguments."""
    max_threads: int = 32
    """Threads that run sync handlers, at most."""
    gates: Mapping[str, bool] = field(default_factory=dict[str, bool])
    """Feature flags by name, in lower case; `CALLBOARD_GATE_<NAME>` sets one."""

    def __post_init__(self) -> None:
        for each in fields(self):
            value: Any = getattr(self, each.name)
            if isinstance(value, int) and value <= 0:
                raise SettingsError(f"The setting {each.name} is {value}; it must be above 0.")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Self:
        """The settings that the environment gives, defaults for the rest. Raises `SettingsError` for a bad value."""
        numbers = {
            each.name: _number(PREFIX + each.name.upper(), environment[PREFIX + each.name.upper()])
            for each in fields(cls)
            if each.name != "gates" and PREFIX + each.name.upper() in environment
        }
        gates = {
            name.removeprefix(GATE_PREFIX).lower(): _flag(name, value)
            for name, value in environment.items()
            if name.startswith(GATE_PREFIX)
        }
        return cls(**numbers, gates=gates)


def _number(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise SettingsError(f"{name} is {text!r}; a whole number is wanted.") from None


def _flag(name: str, text: str) -> bool:
    if (word := text.strip().lower()) not in _TRUE | _FALSE:
        raise SettingsError(f"{name} is {text!r}; 1 or 0, true or false, yes or no is wanted.")
    return word in _TRUE
