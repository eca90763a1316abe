"""The tools that `--tools MODULE:NAME` names, imported from the current folder or an installed package.

An error says what to change on the command line or in the module. `options` has the option itself.
"""

import contextlib
import inspect
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, cast

from callboard import Registry, Tool
from callboard.demo.tools import tools as demo_tools
from callboard.errors import CallboardError
from callboard.toolkits import built_in

from ..execution.origin import line_in_user_code
from ..tools.toolset import Toolset
from .process import CommandError


def load_served_registry(address: str | None, *, demo: bool = True) -> Registry:
    """Load the registry that `callboard serve` uses: like `load_registry`, with the tools of the demo by default."""
    return Registry([*built_in(), *demo_tools]) if address is None and demo else load_registry(address)


def load_registry(address: str | None) -> Registry:
    """Load the tools at `module:name`, or the built-in toolkits. Raises `CommandError`."""
    if address is None:
        return Registry(built_in())
    module_name, _, name = address.partition(":")
    if module_name.endswith(".py") or "/" in module_name or os.sep in module_name:
        raise CommandError(f"--tools takes a module, not a file: {_suggestion(module_name, name)}")
    if not (module_name and name) or module_name.startswith("."):
        example = f"{module_name.strip('.') or 'shop'}:{name or 'tools'}"
        raise CommandError(f"--tools {address!r} is not of the form MODULE:NAME, such as {example}.")
    module = _import(module_name)
    found: Any = getattr(module, name, None)
    if isinstance(found, Registry):
        return found
    if isinstance(found, list | tuple):
        if not (items := cast("Sequence[Any]", found)):
            raise CommandError(f"{address} is an empty {type(items).__name__}. Add tools to it.")
        return Registry(items)
    if isinstance(found, Tool | Toolset) or inspect.isroutine(found):
        return Registry([cast(Any, found)])
    if found is None:
        raise CommandError(f"The module {module_name!r} has no {name!r}.{_other_module(module_name)}")
    raise CommandError(f"{address} is of type {type(found).__name__}. Name a Registry, a Tool or a list of tools.")


def _suggestion(file: str, name: str) -> str:
    """Return the option that names the module in a file, with the folder to change to if it is not this one."""
    path = Path(os.path.relpath(file.removesuffix(".py")))
    folder = f"cd {path.parent}, then " if ".." in path.parts else ""
    module = path.name if folder else ".".join(path.parts)
    return f"{folder}--tools {module}:{name or 'tools'}"


def _import(name: str) -> ModuleType:
    """Import a module. Raises `CommandError` with the line of the user's code that failed."""
    sys.path.insert(0, "")  # the current folder, as with `python -m`
    try:
        with contextlib.redirect_stdout(sys.stderr):  # standard output is for the command's result
            return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            message = f"There is no module {name!r} here or among the installed packages.{_other_module(name)}"
        else:
            message = f"{name} needs the module {error.name!r}, which is not installed{_place(error)}."
        raise CommandError(message) from error
    except CallboardError as error:
        raise CommandError(f"{error}{_place(error)}") from error
    except Exception as error:
        advice = _RELATIVE if isinstance(error, ImportError) and "relative import" in str(error) else ""
        message = f"{name} cannot be imported: {type(error).__name__}: {error}{_place(error)}{advice}"
        raise CommandError(message) from error
    finally:
        sys.path.remove("")


def _place(error: Exception) -> str:
    """Return the line of the user's code that raised an exception, in brackets. A syntax error names its own."""
    line = None if isinstance(error, SyntaxError) else line_in_user_code(error.__traceback__)
    return "" if line is None else f" ({line})"


def _other_module(name: str) -> str:
    """Return advice if a module of this name from elsewhere hides one in the current folder, otherwise nothing."""
    top = name.partition(".")[0]
    here = next((path for path in (Path(f"{top}.py"), Path(top)) if path.exists()), None)
    module = sys.modules.get(top)
    if here is None or module is None:
        return ""
    places = [getattr(module, "__file__", None), *getattr(module, "__path__", ())]
    if any(place is not None and Path(place).is_relative_to(here.resolve()) for place in places):
        return ""
    owner = "the standard library" if top in sys.stdlib_module_names else "an installed package"
    kind = "folder" if here.is_dir() else "file"
    return f" Python imports {top} from {owner}, not the {kind} {here.name} from here: rename the {kind}."


_RELATIVE = (
    ". The module is not part of a package: import without the dot, or start in the folder above and name the module "
    "as PACKAGE.MODULE."
)
