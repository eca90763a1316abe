"""The reference of the settings: fields of `Settings`, of the server's identity, and variables of command options."""

from collections.abc import Iterator
from dataclasses import MISSING, Field, fields
from typing import Any

from callboard import Settings
from callboard.server.identity.config import IdentityConfig
from callboard.settings import PREFIX

from .command_reference import commands
from .markdown import GENERATED, attribute_docs, code, table

HEADER = ("variable", "default", "meaning")


def page() -> str:
    """Make the page."""
    text = f"{GENERATED}# Settings\n\n"
    text += (
        "Every setting is an environment variable. Those of the runtime are also fields of "
        "[`Settings`](api/policies.md), which you can pass to a `Registry` or a `Runtime`. `callboard doctor` finds "
        "misspelt variables and invalid values.\n\n"
    )
    text += "## Runtime and toolkits\n\n" + table(HEADER, _rows(Settings))
    text += "## Server: identity and admission\n\nSee [identity](../identity.md) for how they work together.\n\n"
    text += table(HEADER, _rows(IdentityConfig))
    text += "## Options of commands\n\nA command's option wins over its variable.\n\n"
    return text + table(("variable", "option", "meaning"), _option_rows())


def _rows(owner: type) -> Iterator[tuple[str, str, str]]:
    docs = attribute_docs(owner)
    for each in fields(owner):
        if each.name == "gates":
            yield code(f"{PREFIX}GATE_<NAME>"), "", "A feature flag: whether tools with this `gate` are visible."
        else:
            yield code(PREFIX + each.name.upper()), _default(each), docs.get(each.name, "")


def _default(each: "Field[Any]") -> str:
    default: Any = each.default
    if default in (None, (), MISSING):
        return ""
    if isinstance(default, bool):
        return "on" if default else "off"
    if isinstance(default, int):
        return f"{default:,}"
    return str(default) if isinstance(default, str) else ", ".join(default)


def _option_rows() -> Iterator[tuple[str, str, str]]:
    found: dict[str, tuple[list[str], str]] = {}
    for name, command in commands():
        for each in command.params:
            if each.envvar:
                found.setdefault(str(each.envvar), ([], each.help or ""))[0].append(f"`{name} {each.opts[0]}`")
    for variable, (options, meaning) in sorted(found.items()):
        yield code(variable), ", ".join(options), meaning
