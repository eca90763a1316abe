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
    """What one can set without writing code. Each is read from `CALLBOARD_` and its name in capitals."""

    max_argument_bytes: int = 4_194_304
    """Largest JSON document that is taken as a call's arguments."""
    max_argument_values: int = 25_000
    """How many values (keys, texts, numbers, lists, objects) a call's arguments may have, at most."""
    max_threads: int = 32
    """Threads that run sync handlers, at most."""
    max_calls: int = 4_096
    """Calls that run at once in one process."""
    max_user_calls: int = 1_024
    """Calls of one user that run at once, in all of its sessions."""
    max_session_calls: int = 256
    """Calls of one session that run at once."""
    max_queued_calls: int = 10_000
    """Calls that may wait for a place; one user has at most half of them."""
    max_session_bytes: int = 64 * 1024 * 1024
    """Bytes of large events, arguments and results that one session keeps in memory."""
    max_user_bytes: int = 128 * 1024 * 1024
    """The same for all sessions of one user, and for the large arguments of its calls that have not ended."""
    max_memory_bytes: int = 512 * 1024 * 1024
    """The same for all sessions of the process."""
    max_user_requests: int = 10_000
    """Calls of one user that wait for a person in this process, at most."""
    max_user_sessions: int = 10_000
    """Sessions of one user that are in memory at once, at most."""
    gas_price_url: str | None = field(default=None, repr=False)
    """JSON-RPC endpoint of the node that the worker `gas_price` asks; it may hold a key, and is never shown."""
    gates: Mapping[str, bool] = field(default_factory=dict[str, bool])
    """Feature flags by name, in lower case; `CALLBOARD_GATE_<NAME>` sets one."""

    def __post_init__(self) -> None:
        for each in fields(self):
            value: Any = getattr(self, each.name)
            if isinstance(value, int) and value <= 0:
                raise SettingsError(f"The setting {each.name} is {value}; it must be above 0.")
        if self.gas_price_url is not None and not self.gas_price_url.startswith(("http://", "https://")):
            raise SettingsError("The setting gas_price_url must be an address that begins with https:// or http://.")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Self:
        """The settings that the environment gives, defaults for the rest. Raises `SettingsError` for a bad value."""
        given: dict[str, Any] = {}
        for each in fields(cls):
            name = PREFIX + each.name.upper()
            if each.name != "gates" and name in environment:
                text = environment[name]
                given[each.name] = _number(name, text) if isinstance(each.default, int) else text.strip() or None
        gates = {
            name.removeprefix(GATE_PREFIX).lower(): _flag(name, value)
            for name, value in environment.items()
            if name.startswith(GATE_PREFIX)
        }
        return cls(**given, gates=gates)


def _number(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise SettingsError(f"{name} is {text!r}; a whole number is wanted.") from None


def _flag(name: str, text: str) -> bool:
    if (word := text.strip().lower()) not in _TRUE | _FALSE:
        raise SettingsError(f"{name} is {text!r}; 1 or 0, true or false, yes or no is wanted.")
    return word in _TRUE
