"""The configuration of authentication and admission, from code or from the environment (`CALLBOARD_…`)."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Self
from urllib.parse import urlsplit

from ...errors import SettingsError
from ...settings import PREFIX, read_flag, read_number
from .addresses import Authority, Origin, is_loopback, read_authority, read_origin

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""The supported signature algorithms, all of them asymmetric."""

ANY = "*"

_SCOPE = re.compile(r"[!#-\[\]-~]+")

LOCAL = "local"
"""The only user of a server without keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityConfig:
    """Settings, each read from `CALLBOARD_` and its name in capitals; lists are separated by commas."""

    hosts: tuple[str, ...] = ()
    """Host names of the server, beside loopback names: `board.example.com`, `*.example.com`."""
    origins: tuple[str, ...] = ()
    """Other origins whose pages may use the server: `https://app.example.com`."""
    jwks: str | None = None
    """The key set that signs JSON Web Tokens: a file or an https URL. Without it, only API keys are accepted."""
    jwt_audience: tuple[str, ...] = ()
    """The accepted audiences of a token. Required with a key set; `*` accepts any audience."""
    jwt_issuer: str | None = None
    """The required issuer of a token."""
    jwt_algorithms: tuple[str, ...] = ALGORITHMS
    """The accepted signature algorithms."""
    jwt_user_claim: str = "sub"
    """The claim with the user's id. Choose a claim that users cannot set themselves."""
    jwt_leeway: int = 10
    """Seconds of tolerated clock skew."""
    jwt_scopes: tuple[str, ...] = ()
    """The scopes that every token must have."""
    jwt_authorization_servers: tuple[str, ...] = ()
    """The URLs of the servers where clients get tokens, for their discovery. By default it is the issuer."""
    public_origin: str | None = None
    """The origin of the server as clients see it, for their discovery. By default it is that of the request."""
    rate_limit: int = 50
    """Requests per second of one user, and of one address without authentication. 0: no limit."""
    rate_burst: int = 200
    """Requests that may arrive at once."""
    open_metrics: bool = False
    """Whether `/metrics` needs no authentication."""
    operators: tuple[str, ...] = ()
    """The ids of users who may see the numbers of the whole process. A user without credentials is one too."""
    insecure: bool = False
    """Whether to accept all requests while no keys exist. Never set it if other machines can reach the server."""

    def __post_init__(self) -> None:
        for host in self.hosts:
            if host != ANY and read_authority(host.removeprefix("*.")) is None:
                raise SettingsError(f"The host {host!r} is not valid. Use a name, without https:// and without a path.")
        for origin in self.origins:
            if read_origin(origin) is None:
                raise SettingsError(f"The origin {origin!r} is not valid. Use https://name, one origin per entry.")
        if unknown := set(self.jwt_algorithms) - set(ALGORITHMS):
            raise SettingsError(f"The algorithm {min(unknown)!r} is not supported. Use: {', '.join(ALGORITHMS)}.")
        if self.jwks is not None:
            self._require_key_set(self.jwks)
        for server in self.jwt_authorization_servers:
            if not _is_trusted_url(server):
                raise SettingsError(f"The authorization server {server!r} is not a URL that begins with https://.")
        if broken := [scope for scope in self.jwt_scopes if _SCOPE.fullmatch(scope) is None]:
            raise SettingsError(f"The scope {broken[0]!r} is not valid. Use one word per entry, without quotes.")
        if self.public_origin is not None and read_origin(self.public_origin) is None:
            message = f"The setting public_origin is {self.public_origin!r}. Use https://name, without a path."
            raise SettingsError(message)
        for name, least in (("rate_limit", 0), ("rate_burst", 1), ("jwt_leeway", 0)):
            if getattr(self, name) < least:
                raise SettingsError(f"The setting {name} is {getattr(self, name)}; it must be at least {least}.")
        if self.jwt_leeway > 300:
            raise SettingsError(f"The setting jwt_leeway is {self.jwt_leeway}; it must be at most 300 seconds.")

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> Self:
        """Read the environment, with defaults for missing settings. Raises `SettingsError`."""
        given: dict[str, Any] = {}
        for each in fields(cls):
            name = PREFIX + each.name.upper()
            if (text := environment.get(name)) is not None:
                given[each.name] = _read(name, text.strip(), each.default)
        return cls(**given)

    @property
    def authorization_servers(self) -> tuple[str, ...]:
        """The URLs of the servers where clients get tokens; none if the server accepts no tokens."""
        if self.jwks is None or self.jwt_authorization_servers:
            return () if self.jwks is None else self.jwt_authorization_servers
        return (self.jwt_issuer,) if self.jwt_issuer is not None and _is_trusted_url(self.jwt_issuer) else ()

    def listening_on(self, host: str) -> Self:
        """Return the configuration of a server whose listening address is also one of its host names."""
        if is_loopback(host) or host in {"", "0.0.0.0", "::"}:  # noqa: S104 (a wildcard is not a host name)
            return self
        return replace(self, hosts=(*self.hosts, f"[{host}]" if ":" in host else host))

    def knows_host(self, host: Authority) -> bool:
        """Whether a host name is a loopback name or configured."""
        if is_loopback(host.name) or ANY in self.hosts:
            return True
        return any(_is_host(host, each) for each in self.hosts)

    def knows_origin(self, origin: Origin) -> bool:
        """Whether pages of an origin may use the server."""
        return any(read_origin(each) == origin for each in self.origins)

    def _require_key_set(self, source: str) -> None:
        if "://" in source and not _is_trusted_url(source):
            raise SettingsError("The setting jwks must be a file, or a URL that begins with https://.")
        if not self.jwt_audience:
            raise SettingsError(
                "With a key set (jwks), jwt_audience must name the accepted audiences, or tokens for other services "
                "would be accepted here. Use * to accept any audience."
            )


def may_listen(host: str, config: IdentityConfig, *, keys: bool = False) -> bool:
    """Whether a server may listen on an address: a loopback address, or any if clients must authenticate.

    `keys` is whether the store has API keys.
    """
    return is_loopback(host) or keys or config.jwks is not None or config.insecure


def _is_trusted_url(text: str) -> bool:
    """Whether a URL is one of https, or of this machine."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    if not parts.hostname or any(each in text for each in '"\\ '):
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and is_loopback(parts.hostname))


def _is_host(host: Authority, configured: str) -> bool:
    wanted = read_authority(configured.removeprefix("*."))
    if wanted is None or wanted.port not in {None, host.port}:
        return False
    return host.name.endswith(f".{wanted.name}") if configured.startswith("*.") else host.name == wanted.name


def _read(name: str, text: str, default: Any) -> Any:
    if isinstance(default, bool):
        return read_flag(name, text)
    if isinstance(default, int):
        return read_number(name, text)
    if isinstance(default, tuple):
        return tuple(part for each in text.split(",") if (part := each.strip()))
    return text or default
