"""Where an MCP server is: a command to start, or a URL. Values only; the transports use them."""

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias, cast
from urllib.parse import urlsplit

from callboard import RegistrationError

Given: TypeAlias = "str | Sequence[str] | Mapping[str, Any]"
"""A URL, a command as text or as a list, or an entry of `mcpServers`."""

ADDRESS_FIELDS = frozenset({"command", "args", "env", "cwd", "url", "headers", "type", "transport"})
_VARIABLE = re.compile(r"\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")


@dataclass(frozen=True, slots=True)
class StdioAddress:
    """A server that is started as a subprocess and speaks over its standard streams."""

    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Environment variables in addition to a few harmless ones, such as PATH and HOME. They may be secrets."""
    cwd: str | None = None

    def __str__(self) -> str:
        return self.command[0]


@dataclass(frozen=True, slots=True)
class HttpAddress:
    """A server at a URL."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Headers of every request. They may be secrets."""
    transport: Literal["http", "sse"] = "http"
    """`http` is Streamable HTTP; `sse` is the transport of revision 2024-11-05."""
    auth: Any = field(default=None, repr=False)
    """An `httpx2.Auth` that adds credentials to requests, such as `oauth_login`."""

    def __str__(self) -> str:
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.hostname or ''}{parts.path}"


Address: TypeAlias = StdioAddress | HttpAddress


def read_address(given: Given) -> Address:
    """Read the address of a server. Raises `RegistrationError`."""
    if isinstance(given, Mapping):
        return _from_entry(given)
    if isinstance(given, str) and given.startswith(("https://", "http://")):
        return http_address(given, {}, "http")
    try:
        command = tuple(shlex.split(given) if isinstance(given, str) else given)
    except ValueError as error:
        raise RegistrationError(f"The command of the MCP server cannot be read: {error}.") from None
    return _stdio(command, {}, None)


def default_name(address: Address) -> str:
    """Return a name for a server: of its host, or of its program."""
    if isinstance(address, HttpAddress):
        labels = (urlsplit(address.url).hostname or "server").split(".")
        return labels[-2] if len(labels) > 1 and not labels[-1].isdigit() else labels[0]
    return os.path.splitext(os.path.basename(address.command[0]))[0]


def _from_entry(entry: Mapping[str, Any]) -> Address:
    if unknown := sorted(set(entry) - ADDRESS_FIELDS):
        raise RegistrationError(f"The MCP server has unknown fields: {', '.join(unknown)}.")
    if ("command" in entry) == ("url" in entry):
        raise RegistrationError("The MCP server needs either a command or a url.")
    if "command" in entry:
        args = entry.get("args", ())
        if not isinstance(args, Sequence) or isinstance(args, str):
            raise RegistrationError("The args of the MCP server must be a list of strings.")
        command = (str(entry["command"]), *map(str, cast("Sequence[object]", args)))
        cwd = entry.get("cwd")
        return _stdio(tuple(map(expand, command)), _texts(entry, "env"), None if cwd is None else expand(str(cwd)))
    kind = str(entry.get("type", entry.get("transport", "http")))
    if kind not in ("http", "streamable-http", "streamableHttp", "sse"):
        raise RegistrationError(f"The MCP server has the type {kind!r}; types with a url are http and sse.")
    return http_address(expand(str(entry["url"])), _texts(entry, "headers"), "sse" if kind == "sse" else "http")


def _texts(entry: Mapping[str, Any], name: str) -> dict[str, str]:
    given: Any = entry.get(name) or {}
    if not isinstance(given, Mapping):
        raise RegistrationError(f"The {name} of the MCP server must be an object with strings.")
    return {str(key): expand(str(value)) for key, value in cast("Mapping[object, object]", given).items()}


def expand(text: str) -> str:
    """Replace `${NAME}` and `${NAME:-default}` by environment variables. Raises `RegistrationError`."""

    def value(found: re.Match[str]) -> str:
        name = found[1]
        known = os.environ.get(name) if found.lastindex == 1 else os.environ.get(name, found[2])
        if known is None:
            raise RegistrationError(f"The MCP server needs the environment variable {name}, which is not set.")
        return known

    return _VARIABLE.sub(value, text)


def _stdio(command: tuple[str, ...], env: Mapping[str, str], cwd: str | None) -> StdioAddress:
    if not command or not command[0]:
        raise RegistrationError("The command of the MCP server is empty.")
    return StdioAddress(command, env, cwd)


def http_address(url: str, headers: Mapping[str, str], transport: Literal["http", "sse"]) -> HttpAddress:
    """Return the address of a server at a URL. Raises `RegistrationError`."""
    try:
        parts = urlsplit(url)
        is_valid = parts.scheme in ("https", "http") and parts.hostname and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid:
        shown = "This" if "@" in url else repr(url)  # it may have a password
        raise RegistrationError(
            f"{shown} is not the URL of an MCP server: it must begin with https:// or http://, and name a host."
        )
    for name, value in headers.items():
        if not name or not (name + value).isprintable() or not (name + value).isascii():
            raise RegistrationError(f"The header {name!r} of the MCP server must be printable ASCII text.")
    return HttpAddress(url, headers, transport)
