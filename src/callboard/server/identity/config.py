"""Who may come in, as it is configured: from code, or from the environment (`CALLBOARD_…`)."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Self
from urllib.parse import urlsplit

from ...errors import SettingsError
from ...settings import PREFIX
from .addresses import Authority, Origin, is_loopback, read_authority, read_origin

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""The algorithms that there are to choose from. None of them has one key for both sides."""

ANY = "*"

LOCAL = "local"
"""The user of a server that has no keys: one person, on one machine."""

_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off", ""})


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityConfig:
    """Each is read from `CALLBOARD_` and its name in capitals; lists are separated by commas. API keys need nothing."""

    hosts: tuple[str, ...] = ()
    """Names under which the server is reached, beside those of this machine: `board.example.com`, `*.example.com`."""
    origins: tuple[str, ...] = ()
    """Pages of other origins that may use it: `https://app.example.com`."""
    jwks: str | None = None
    """The key set that signs JSON Web Tokens: a file or an https address. None: tokens are not taken."""
    jwt_audience: tuple[str, ...] = ()
    """For whom a token must be made. Needed with a key set; `*` takes tokens that were made for anybody."""
    jwt_issuer: str | None = None
    jwt_algorithms: tuple[str, ...] = ALGORITHMS
    jwt_user_claim: str = "sub"
    """The claim that is the user's id. Take one that users cannot choose themselves."""
    jwt_leeway: int = 10
    """Seconds by which clocks may differ."""
    rate_limit: int = 50
    """Requests per second of one user, and of one address of people who are not known. 0: no limit."""
    rate_burst: int = 200
    """How many of them may come at once."""
    open_metrics: bool = False
    """Whether `/metrics` is for everybody."""
    insecure: bool = False
    """Whether everybody is let in from anywhere where no keys exist. Never where others can reach the server."""

    def __post_init__(self) -> None:
        for host in self.hosts:
            if host != ANY and read_authority(host.removeprefix("*.")) is None:
                raise SettingsError(
                    f"The host {host!r} cannot be one. Use a name, without https:// and without a path."
                )
        for origin in self.origins:
            if read_origin(origin) is None:
                raise SettingsError(f"The origin {origin!r} cannot be one. Use https://name, each one by itself.")
        if unknown := set(self.jwt_algorithms) - set(ALGORITHMS):
            raise SettingsError(f"Tokens cannot be signed with {min(unknown)!r} here. Use: {', '.join(ALGORITHMS)}.")
        if self.jwks is not None:
            self._require_key_set(self.jwks)
        for name, least in (("rate_limit", 0), ("rate_burst", 1), ("jwt_leeway", 0)):
            if getattr(self, name) < least:
                raise SettingsError(f"The setting {name} is {getattr(self, name)}; it must be at least {least}.")
        if self.jwt_leeway > 300:
            raise SettingsError(f"The setting jwt_leeway is {self.jwt_leeway}; it must be at most 300 seconds.")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Self:
        """What the environment says, defaults for the rest. Raises `SettingsError` for a bad value."""
        given: dict[str, Any] = {}
        for each in fields(cls):
            name = PREFIX + each.name.upper()
            if (text := environment.get(name)) is not None:
                given[each.name] = _read(name, text.strip(), each.default)
        return cls(**given)

    def listening_on(self, host: str) -> Self:
        """The same, for a server that is also reached under the address that it listens on."""
        if is_loopback(host) or host in {"", "0.0.0.0", "::"}:  # noqa: S104 (all addresses are no name for a server)
            return self
        return replace(self, hosts=(*self.hosts, f"[{host}]" if ":" in host else host))

    def knows_host(self, host: Authority) -> bool:
        """Whether the server may be reached under this name: one of this machine's own, or one that is configured."""
        if is_loopback(host.name) or ANY in self.hosts:
            return True
        return any(_is_host(host, each) for each in self.hosts)

    def knows_origin(self, origin: Origin) -> bool:
        """Whether pages of another origin may use the server."""
        return any(read_origin(each) == origin for each in self.origins)

    def _require_key_set(self, source: str) -> None:
        parts = urlsplit(source)
        if parts.scheme in {"http", "https"} and "://" in source:
            if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
                raise SettingsError("The setting jwks must be a file, or an address that begins with https://.")
        elif "://" in source:
            raise SettingsError("The setting jwks must be a file, or an address that begins with https://.")
        if not self.jwt_audience:
            raise SettingsError(
                "With a key set (jwks), jwt_audience must say for whom tokens are made, or tokens for any other "
                "service would open this one. Use * if that is meant."
            )


def _is_host(host: Authority, configured: str) -> bool:
    if configured.startswith("*."):
        wanted = read_authority(configured.removeprefix("*."))
        named = wanted is not None and host.name.endswith(f".{wanted.name}")
    else:
        wanted = read_authority(configured)
        named = wanted is not None and host.name == wanted.name
    return named and wanted is not None and wanted.port in {None, host.port}


def _read(name: str, text: str, default: Any) -> Any:
    if isinstance(default, bool):
        if (word := text.lower()) not in _TRUE | _FALSE:
            raise SettingsError(f"{name} is {text!r}; 1 or 0, true or false, yes or no is wanted.")
        return word in _TRUE
    if isinstance(default, int):
        try:
            return int(text)
        except ValueError:
            raise SettingsError(f"{name} is {text!r}; a whole number is wanted.") from None
    if isinstance(default, tuple):
        return tuple(part for each in text.split(",") if (part := each.strip()))
    return text or default
