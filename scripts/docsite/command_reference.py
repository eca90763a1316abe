"""The reference of the command line, from the commands themselves."""

import inspect
from collections.abc import Iterator
from typing import Any

from callboard.cli.command_group import COMMANDS, load_command
from callboard.cli.process import Exit

from .markdown import GENERATED, attribute_docs, code, table


def commands() -> Iterator[tuple[str, Any]]:
    """Yield every command with its name, such as `tools list`."""
    for name in COMMANDS:
        yield from _with_subcommands(name, load_command(name))


def _with_subcommands(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    yield name, command
    for each, sub in getattr(command, "commands", {}).items():
        yield from _with_subcommands(f"{name} {each}", sub)


def page() -> str:
    """Make the page."""
    text = f"{GENERATED}# Command line\n\n"
    text += (
        "Every command has `--help`. Commands that print data print JSON with `--json`. The default store is "
        "`sqlite:///callboard.db`, and `CALLBOARD_STORE` names another.\n\n"
    )
    known = list(commands())
    text += table(
        ("command", "what it does"),
        ((f"[`callboard {name}`](#{_anchor(name)})", _summary(command)) for name, command in known),
    )
    text += "".join(part for name, command in known for part in _command(name, command))
    text += "## Exit codes\n\n"
    docs = attribute_docs(Exit)
    return text + table(("code", "meaning"), ((code(each.value), docs[each.name]) for each in Exit))


def _anchor(name: str) -> str:
    return f"callboard-{name.replace(' ', '-')}"


def _summary(command: Any) -> str:
    return (command.help or "").strip().partition("\n\n")[0]


def _command(name: str, command: Any) -> Iterator[str]:
    level = "##" + "#" * name.count(" ")
    yield f"{level} `callboard {name}` {{ #{_anchor(name)} }}\n\n"
    yield inspect.cleandoc(command.help or "") + "\n\n"
    if subcommands := getattr(command, "commands", None):
        yield f"Commands: {', '.join(code(each) for each in subcommands)}\n\n"
    rows = [_parameter(each) for each in command.params if not getattr(each, "hidden", False)]
    if rows:
        yield table(("option", "default", "meaning"), rows)


def _parameter(each: Any) -> tuple[str, str, str]:
    is_argument = each.param_type_name == "argument"
    metavar = each.metavar or each.name.upper()
    if is_argument:
        return code(metavar), "" if each.required else "optional", str(getattr(each, "help", "") or "")
    names = ", ".join(code(name) for name in (*each.opts, *each.secondary_opts))
    if not each.is_flag:
        names += f" {code(metavar)}"
    default = "required" if each.required else _default(each)
    variable = f" Variable: {code(each.envvar)}." if each.envvar else ""
    return names, default, (each.help or "") + variable


def _default(each: Any) -> str:
    if each.is_flag or each.default is None or callable(each.default) or each.default == ():
        return ""
    return code(each.default)
