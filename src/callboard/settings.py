"""Settings, from code or from environment variables (`CALLBOARD_…`)."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Self, cast

from .checks import Check
from .errors import SettingsError

PREFIX = "CALLBOARD_"
GATE_PREFIX = "CALLBOARD_GATE_"

SEARCH_PROVIDERS = ("brave", "tavily", "searxng")

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off", ""})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Limits and flags. Each field is read from the variable `CALLBOARD_` followed by its name in upper case."""

    max_argument_bytes: int = 4_194_304
    """Maximum size of the JSON document with a call's arguments."""
    max_argument_values: int = 25_000
    """Maximum number of values (keys, strings, numbers, arrays, objects) in a call's arguments."""
    max_result_bytes: int = 16 * 1024 * 1024
    """Maximum size of the JSON document with a call's result, and of each partial result and report of progress."""
    max_threads: int = 32
    """Maximum number of threads that run sync handlers."""
    max_calls: int = 4_096
    """Maximum number of concurrent calls in one process."""
    max_user_calls: int = 1_024
    """Maximum number of concurrent calls of one user, in all sessions."""
    max_session_calls: int = 256
    """Maximum number of concurrent calls of one session."""
    max_queued_calls: int = 10_000
    """Maximum number of calls that wait for a slot. One user has at most half of them."""
    max_session_bytes: int = 64 * 1024 * 1024
    """Maximum bytes of large events, arguments and results that one session keeps in memory."""
    max_user_bytes: int = 128 * 1024 * 1024
    """Maximum bytes of large values for all sessions of a user, and again for arguments of unfinished calls."""
    max_memory_bytes: int = 512 * 1024 * 1024
    """Maximum bytes of large values for all sessions of the process."""
    max_user_requests: int = 10_000
    """Maximum number of a user's calls that wait for a person in this process."""
    max_user_sessions: int = 10_000
    """Maximum number of a user's sessions in memory."""
    gas_price_url: str | None = field(default=None, repr=False)
    """JSON-RPC endpoint for the worker `gas_price`. It may contain a key and is never displayed."""
    search_provider: str = "brave"
    """The provider of the tool `web_search`: brave, tavily or searxng."""
    search_key: str | None = field(default=None, repr=False)
    """The key for the search provider. It is never displayed."""
    search_url: str | None = field(default=None, repr=False)
    """The address of the search provider, for searxng, or in place of a provider's own."""
    ethereum_chains: str | None = field(default=None, repr=False)
    """The chains of the toolkit `ethereum`, as JSON: `{"1": ["https://…"]}`. It may contain keys."""
    ethereum_contracts: str | None = None
    """A folder with ABIs and sources of contracts, for the toolkit `ethereum`."""
    ethereum_compiler: str | None = None
    """The command of the Solidity compiler, with its standard JSON interface, for plans of the toolkit `ethereum`."""
    ethereum_key: str | None = field(default=None, repr=False)
    """A private key for development chains alone, for the toolkit `ethereum`. It is never displayed."""
    etherscan_key: str | None = field(default=None, repr=False)
    """The key for Etherscan's API. It is never displayed."""
    gates: Mapping[str, bool] = field(default_factory=dict[str, bool])
    """Feature flags by lower-case name. `CALLBOARD_GATE_<NAME>` sets one."""

    def __post_init__(self) -> None:
        check = Check(SettingsError)
        for each in fields(self):
            name, value = f"The setting {each.name}", getattr(self, each.name)
            if isinstance(each.default, int):
                check.count(name, value, above=0)
            elif each.name == "gates":
                _check_gates(value)
            elif not (isinstance(value, str) or value is None):  # the value may be a secret
                raise SettingsError(f"{name} is of type {type(value).__name__}; it must be a string.")
        for name in ("gas_price_url", "search_url"):
            url: str | None = getattr(self, name)
            if url is not None and not url.startswith(("http://", "https://")):
                raise SettingsError(f"The setting {name} must be a URL that begins with https:// or http://.")
        if self.search_provider not in SEARCH_PROVIDERS:
            known = ", ".join(SEARCH_PROVIDERS)
            raise SettingsError(f"The setting search_provider is {self.search_provider!r}; it must be one of {known}.")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Self:
        """Read the settings from environment variables. Raises `SettingsError` for an invalid value."""
        given: dict[str, Any] = {}
        for each in fields(cls):
            name = PREFIX + each.name.upper()
            if each.name != "gates" and name in environment:
                text = environment[name]
                is_number = isinstance(each.default, int)
                given[each.name] = read_number(name, text) if is_number else text.strip() or each.default
        gates = {
            name.removeprefix(GATE_PREFIX).lower(): read_flag(name, value)
            for name, value in environment.items()
            if name.startswith(GATE_PREFIX)
        }
        return cls(**given, gates=gates)


def _check_gates(gates: Any) -> None:
    flags: dict[Any, Any] | None = dict(cast("Mapping[Any, Any]", gates)) if isinstance(gates, Mapping) else None
    if flags is None or not all(isinstance(name, str) and isinstance(flag, bool) for name, flag in flags.items()):
        raise SettingsError(f"The setting gates is {gates!r}; it must be a dict of True or False by name.")


def read_number(name: str, text: str) -> int:
    """Parse the value of an environment variable. Raises `SettingsError`."""
    try:
        return int(text)
    except ValueError:
        raise SettingsError(f"{name} is {text!r}; it must be a whole number.") from None


def read_flag(name: str, text: str) -> bool:
    """Parse the value of an environment variable. Raises `SettingsError`."""
    if (word := text.strip().lower()) not in _TRUE | _FALSE:
        raise SettingsError(f"{name} is {text!r}; it must be 1 or 0, true or false, yes or no, on or off.")
    return word in _TRUE
