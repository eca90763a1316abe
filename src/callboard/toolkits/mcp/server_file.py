"""Lists of MCP servers in the common `mcpServers` form, as desktop clients and editors have them."""

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from callboard import RegistrationError

from .address import ADDRESS_FIELDS
from .toolset import McpToolset, mcp_toolset

log = logging.getLogger("callboard.mcp")

OWN = "callboard"
"""The field of an entry with options of `mcp_toolset`, which other clients ignore."""
_OPTIONS: Mapping[str, type | tuple[type, ...]] = {
    "namespace": str,
    "prefix": str,
    "trust": bool,
    "approval": (bool, list),
    "only": list,
    "pins": str,
    "timeout": (int, float),
    "connect_timeout": (int, float),
    "max_result_bytes": int,
    "concurrency": int,
    "mode": str,
}


def mcp_toolsets(source: str | Path | Mapping[str, Any]) -> list[McpToolset]:
    """Make a toolset of each server in a file, or in its content. Servers with `"disabled": true` are left out.

    An entry may have options of `mcp_toolset` in the field `callboard`; `pins` is relative to the file. Fields of other
    clients are ignored. Raises `RegistrationError`.
    """
    where, folder = "The list of MCP servers", Path()
    if not isinstance(source, Mapping):
        where, folder = str(source), Path(source).parent
        source = _read(Path(source))
    entries: Any = source.get("mcpServers", source.get("servers"))
    if not isinstance(entries, Mapping):
        raise RegistrationError(f'{where} has no servers: it must be an object with the field "mcpServers".')
    made: list[McpToolset] = []
    for name, entry in cast("Mapping[str, Any]", entries).items():
        if not isinstance(entry, Mapping):
            raise RegistrationError(f"{where}: the server {name!r} must be an object.")
        fields = cast("Mapping[str, Any]", entry)
        if fields.get("disabled") is True:
            continue
        try:
            made.append(_toolset(name, fields, folder))
        except RegistrationError as error:
            raise RegistrationError(f"{where}: the server {name!r}: {error}") from None
    for each in made:  # "shop" must not be able to offer a tool of "shop_admin"
        others = (other.prefix for other in made if other is not each)
        each.reserved = tuple(other for other in others if len(other) > len(each.prefix))
    return made


def _toolset(name: str, entry: Mapping[str, Any], folder: Path) -> McpToolset:
    own: Any = entry.get(OWN, {})
    if not isinstance(own, Mapping):
        raise RegistrationError(f"The field {OWN} must be an object.")
    options: dict[str, Any] = {"namespace": name, **cast("Mapping[str, Any]", own)}
    for option, value in options.items():
        if option not in _OPTIONS:
            raise RegistrationError(f"There is no option {option!r}. Options: {', '.join(_OPTIONS)}.")
        if not isinstance(value, _OPTIONS[option]) or (isinstance(value, bool) and bool not in _types(option)):
            raise RegistrationError(f"The option {option} has the wrong type ({type(value).__name__}).")
    if "pins" in options:
        options["pins"] = folder / options["pins"]
    ignored = sorted(set(entry) - ADDRESS_FIELDS - {OWN, "disabled"})
    if ignored:
        log.info("fields of the MCP server %s are ignored: %s", name, ", ".join(ignored))
    address = {field: value for field, value in entry.items() if field in ADDRESS_FIELDS}
    return mcp_toolset(address, **options)


def _types(option: str) -> tuple[type, ...]:
    wanted = _OPTIONS[option]
    return wanted if isinstance(wanted, tuple) else (wanted,)


def _read(path: Path) -> Mapping[str, Any]:
    try:
        read: Any = json.loads(path.read_text())
    except OSError as error:
        raise RegistrationError(f"The file {path} cannot be read: {error.strerror or error}.") from None
    except (ValueError, RecursionError) as error:
        raise RegistrationError(f"The file {path} is not JSON: {error}.") from None
    if not isinstance(read, dict):
        raise RegistrationError(f"The file {path} is not a list of MCP servers: it must be an object.")
    return cast("Mapping[str, Any]", read)
