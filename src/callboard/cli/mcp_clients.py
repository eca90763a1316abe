"""The configuration files of MCP clients, and the entry that makes a client start `callboard mcp`."""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple, cast

from ..addresses import passwords
from ..runtime import file_address, store_address
from .process import CommandError, Exit


class ClientName(StrEnum):
    """A client whose configuration can be written."""

    CLAUDE_DESKTOP = "claude-desktop"
    CLAUDE_CODE = "claude-code"
    CURSOR = "cursor"
    VSCODE = "vscode"


class ClientFile(NamedTuple):
    """The configuration file of a client."""

    path: Path
    section: str
    """The member of the document that has the servers by name."""
    is_typed: bool
    """Whether each server states its type."""


def client_file(client: ClientName) -> ClientFile:
    """Return the configuration file of a client: of the user, or of the project in the current folder."""
    match client:
        case ClientName.CLAUDE_DESKTOP:
            return ClientFile(_applications() / "Claude" / "claude_desktop_config.json", "mcpServers", False)
        case ClientName.CLAUDE_CODE:
            return ClientFile(Path.cwd() / ".mcp.json", "mcpServers", True)
        case ClientName.CURSOR:
            return ClientFile(Path.home() / ".cursor" / "mcp.json", "mcpServers", False)
        case ClientName.VSCODE:
            return ClientFile(Path.cwd() / ".vscode" / "mcp.json", "servers", True)


def server_entry(options: Mapping[str, str | None], *, is_typed: bool) -> dict[str, Any]:
    """Return the entry that starts `callboard mcp` with options, from any folder. Raises `CommandError`."""
    given = {name: value for name, value in options.items() if value is not None}
    if (store := given.get("--store")) is not None:
        if passwords(store):
            raise CommandError(
                "The password of the store would be written to the client's file. Leave --store out, and set "
                "CALLBOARD_STORE in the environment of the client.",
                Exit.USAGE,
            )
        if (file := store_address(store).file) is not None:
            given["--store"] = file_address(file.absolute())
    entry: dict[str, Any] = {"type": "stdio"} if is_typed else {}
    entry |= {"command": _program(), "args": ["mcp", *(part for pair in given.items() for part in pair)]}
    if "--tools" in given:  # the client starts it in another folder
        entry["env"] = {"PYTHONPATH": str(Path.cwd())}
    return entry


def write_entry(file: ClientFile, name: str, entry: Mapping[str, Any], *, replace: bool) -> bool:
    """Write an entry, beside all others. False if it is there already. Raises `CommandError`."""
    document = _read(file.path)
    servers: object = document.setdefault(file.section, {})
    if not isinstance(servers, dict):
        raise CommandError(f"{file.path}: {file.section!r} is not an object. Correct it, or use --print.")
    known = cast("dict[str, Any]", servers)
    if known.get(name) == entry:
        return False
    if name in known and not replace:
        raise CommandError(f"{file.path} has another server {name!r}. Choose another --name, or replace it: --force.")
    known[name] = dict(entry)
    _write(file.path, json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    return True


def _read(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path} cannot be read: {error}") from None
    try:
        document: object = json.loads(text) if text.strip() else {}
    except ValueError as error:  # some clients allow comments, which would be lost
        raise CommandError(f"{path} is not plain JSON ({error}). Add the entry by hand: see --print.") from None
    if not isinstance(document, dict):
        raise CommandError(f"{path} is not a JSON object. Correct it, or use --print.")
    return cast("dict[str, Any]", document)


def _write(path: Path, text: str) -> None:
    """Replace a file at once, so that the client never reads a part of it. A link stays a link."""
    target = path.resolve()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        mode = target.stat().st_mode & 0o777 if target.exists() else 0o600
        number, made = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}-")
        try:
            with open(number, "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(made, mode)
            os.replace(made, target)
        except BaseException:
            os.unlink(made)
            raise
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error}") from None


def _program() -> str:
    """Return the absolute path of this command."""
    beside = Path(sys.executable).with_name("callboard")
    found = str(beside) if beside.exists() else shutil.which("callboard")
    return "callboard" if found is None else str(Path(found).absolute())


def _applications() -> Path:
    """Return the folder in which desktop applications keep their configuration."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming")
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")
