"""A JSON document as a user gives it: as text, in `@file`, or `-` for standard input."""

import json
import sys
from pathlib import Path

from ..errors import CallboardError
from .console import err
from .exits import Exit

WIDTH = 60
"""How much is shown of a line that is not JSON."""


class ArgumentsError(CallboardError):
    """A document cannot be read (usage), or is not JSON (invalid)."""

    code = "arguments"

    def __init__(self, message: str, exit_code: Exit) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def read_arguments(given: str | None) -> bytes:
    """The arguments of a call, none by default. Raises `ArgumentsError` that says where they are not JSON."""
    return b"{}" if given is None else read_document(given, "--args", hint="No arguments are {}.")


def read_document(given: str, option: str, *, hint: str = "") -> bytes:
    """The JSON document that the user means by an option. Raises `ArgumentsError` that says where it is not JSON."""
    if given == "-":
        return _checked(_standard_input(), "Standard input", hint)
    if given.startswith("@"):
        return _checked(_file(given.removeprefix("@"), option), f"The file {given.removeprefix('@')}", hint)
    return _checked(given.encode(errors="surrogateescape"), option, hint)  # as the shell gave it


def _standard_input() -> bytes:
    if sys.stdin.isatty():
        err.print("[dim]Reading JSON from standard input; Ctrl-D ends it.[/]")
    return sys.stdin.buffer.read()


def _file(name: str, option: str) -> bytes:
    if not name:
        raise ArgumentsError(f"{option} @ wants the name of a file: @arguments.json", Exit.USAGE)
    try:
        return Path(name).read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
    except ValueError as error:
        reason = str(error)
    raise ArgumentsError(f"{option} @{name}: the file cannot be read: {reason}.", Exit.USAGE)


def _checked(document: bytes, source: str, hint: str) -> bytes:
    """The document without a byte order mark. Only its grammar is looked at; its meaning is others' business."""
    try:
        text = document.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ArgumentsError(f"{source} is not UTF-8 text: see byte {error.start + 1}.", Exit.INVALID) from None
    if not text.strip():
        raise ArgumentsError(f"{source} is empty, which is not JSON. {hint}".rstrip(), Exit.INVALID)
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        raise ArgumentsError(_pointed(error, source), Exit.INVALID) from None
    except RecursionError:
        raise ArgumentsError(f"{source} is nested too deeply.", Exit.INVALID) from None
    except ValueError as error:  # a number of thousands of digits
        raise ArgumentsError(f"{source} cannot be used: {error}.", Exit.INVALID) from None
    return text.encode()


def _pointed(error: json.JSONDecodeError, source: str) -> str:
    """What is wrong, and the place of it, with a mark under it."""
    message = f"{source} is not JSON: {error.msg}, at line {error.lineno}, column {error.colno}."
    lines = error.doc.split("\n")
    line, column = lines[error.lineno - 1].rstrip("\r"), error.colno - 1
    if not line.strip():
        return message
    start = max(0, min(column - WIDTH // 2, len(line) - WIDTH))
    shown = "".join(character if character.isprintable() else " " for character in line[start : start + WIDTH])
    return f"{message}\n  {shown}\n  {' ' * (column - start)}^"
