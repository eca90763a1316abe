"""Finds the registry that the user means: the built-in toolkits, or `package.module:name`."""

import contextlib
import difflib
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, cast

import typer

from callboard import Registry, Tool
from callboard.errors import CallboardError, ToolError
from callboard.toolkits import built_in

Source = Annotated[
    str | None,
    typer.Option("--tools", metavar="PACKAGE.MODULE:REGISTRY", help="Whose tools; the built-in toolkits by default."),
]


class LoadingError(CallboardError):
    """The registry that was asked for cannot be loaded."""

    code = "loading"


def load_registry(address: str | None) -> Registry:
    """The registry at an address, or one of the built-in tools. Raises `LoadingError` that says what is missing."""
    if address is None:
        return Registry(built_in())
    module_name, separator, name = address.partition(":")
    if not (module_name and separator and name):
        raise LoadingError(f"--tools {address!r} is not of the form package.module:registry.")
    sys.path.insert(0, "")  # a module beside the user, as with `python -m`
    try:
        with contextlib.redirect_stdout(sys.stderr):  # what a module prints is not our output
            module = import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise LoadingError(f"{module_name} needs the module {error.name!r}, which is not installed.") from error
        raise LoadingError(f"There is no module {module_name!r} here or among the installed packages.") from error
    except CallboardError:
        raise
    except Exception as error:
        raise LoadingError(f"{module_name} cannot be imported: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove("")
    found: object = getattr(module, name, None)
    if isinstance(found, Registry):
        return found
    if isinstance(found, Tool):
        return Registry([cast(Tool, found)])
    kind = type(found).__name__
    several = cast("Sequence[object]", found) if isinstance(found, list | tuple) else ()
    if tools := [cast(Tool, each) for each in several if isinstance(each, Tool)]:
        return Registry(tools)
    if found is None:
        raise LoadingError(f"The module {module_name!r} has no {name!r}.")
    raise LoadingError(f"{address} is a {kind}; a Registry, a Tool or a list of tools is wanted.")


def find_tool(registry: Registry, name: str) -> Tool:
    """The tool of that name. Raises `ToolError` (not_found) that names similar ones."""
    if (found := registry.get(name)) is not None:
        return found
    similar = difflib.get_close_matches(name, registry.names(), n=3)
    hint = f" Did you mean {', '.join(similar)}?" if similar else " See: callboard tools list"
    raise ToolError(f"There is no tool {name!r}.{hint}", category="not_found")
