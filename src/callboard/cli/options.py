"""Options that several commands share, and their values: a tool's name, and JSON documents."""

import difflib
import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from callboard import Registry, Tool

from .process import CommandError, Exit
from .terminal.console import err

Source = Annotated[
    str | None,
    typer.Option(
        "--tools",
        metavar="MODULE:NAME",
        help="The tools to use: a Registry or a list in a module. Default: the built-in toolkits.",
    ),
]
EngineAddress = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="URL",
        envvar="CALLBOARD_ENGINE",
        help="The engine that connects servers and workers: nats://host:4222. Default: none.",
    ),
]
ServedSource = Annotated[
    str | None,
    typer.Option(
        "--tools",
        metavar="MODULE:NAME",
        help="The tools to use: a Registry or a list in a module. Default: the built-in toolkits and the demo's tools.",
    ),
]
EXCERPT = 60
"""Characters of an invalid line that an error shows."""


def repeat_options(source: str | None, servers: Sequence[str] | None = None, files: Sequence[str] | None = None) -> str:
    """Repeat `--tools`, `--mcp` and `--mcp-config`, quoted for a shell and after a space, for a suggested command."""
    given = (("--tools", [source] if source else ()), ("--mcp", servers or ()), ("--mcp-config", files or ()))
    return "".join(f" {option} {shlex.quote(value)}" for option, values in given for value in values)


def find_tool(registry: Registry, name: str, options: str = "") -> Tool:
    """Find a tool by its name. Raises `CommandError` that suggests similar names, or a command with `options`."""
    if (found := registry.get(name)) is not None:
        return found
    similar = difflib.get_close_matches(name, registry.names(), n=3)
    hint = f" Did you mean {', '.join(similar)}?" if similar else f" See: callboard tools list{options}"
    raise CommandError(f"There is no tool {name!r}.{hint}", Exit.NOT_FOUND)


def read_document(value: str, option: str, *, hint: str = "") -> bytes:
    """Read JSON from an option: text, `@FILE`, or `-` for standard input. Raises `CommandError` with the position."""
    if value == "-":
        return _checked(_read_standard_input(), "Standard input", hint)
    if value.startswith("@"):
        return _checked(_read_file(value.removeprefix("@"), option), f"The file {value.removeprefix('@')}", hint)
    return _checked(value.encode(errors="surrogateescape"), option, hint)  # the bytes that the shell passed


def read_text(value: str, option: str) -> str:
    """Read the text of an option, or of the file that `@FILE` names. Raises `CommandError`."""
    if not value.startswith("@"):
        return value
    try:
        return _read_file(value.removeprefix("@"), option).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CommandError(f"{option} {value} is not UTF-8 text: see byte {error.start + 1}.", Exit.INVALID) from None


def _read_standard_input() -> bytes:
    if sys.stdin.isatty():
        err.print("[dim]Reading JSON from standard input; press Ctrl-D to end it.[/]")
    return sys.stdin.buffer.read()


def _read_file(name: str, option: str) -> bytes:
    if not name:
        raise CommandError(f"{option} @ needs the name of a file, such as @file", Exit.USAGE)
    try:
        return Path(name).read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
    except ValueError as error:
        reason = str(error)
    raise CommandError(f"{option} @{name}: the file cannot be read: {reason}.", Exit.USAGE)


def _checked(document: bytes, source: str, hint: str) -> bytes:
    """Check the grammar of a document, and remove its byte order mark."""
    try:
        text = document.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CommandError(f"{source} is not UTF-8 text: see byte {error.start + 1}.", Exit.INVALID) from None
    if not text.strip():
        raise CommandError(f"{source} is empty, which is not JSON. {hint}".rstrip(), Exit.INVALID)
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        raise CommandError(_syntax_error(error, source), Exit.INVALID) from None
    except RecursionError:
        raise CommandError(f"{source} is nested too deeply.", Exit.INVALID) from None
    except ValueError as error:  # a number of thousands of digits
        raise CommandError(f"{source} cannot be used: {error}.", Exit.INVALID) from None
    return text.encode()


def _syntax_error(error: json.JSONDecodeError, source: str) -> str:
    """Describe a syntax error, with an excerpt of its line and a mark under the column."""
    message = f"{source} is not JSON: {error.msg}, at line {error.lineno}, column {error.colno}."
    lines = error.doc.split("\n")
    line, column = lines[error.lineno - 1].rstrip("\r"), error.colno - 1
    if not line.strip():
        return message
    start = max(0, min(column - EXCERPT // 2, len(line) - EXCERPT))
    excerpt = "".join(character if character.isprintable() else " " for character in line[start : start + EXCERPT])
    return f"{message}\n  {excerpt}\n  {' ' * (column - start)}^"
