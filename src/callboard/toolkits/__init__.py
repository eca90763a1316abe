"""Tools that come with Callboard. Each toolkit uses only the public API, so it is also an example."""

from importlib import import_module

from callboard import Tool

TOOLKITS = ("time", "think", "http")
"""The toolkits that load by default, by module name. `http` needs the extra of that name."""


def built_in() -> list[Tool]:
    """The tools of every toolkit whose packages are installed."""
    found: list[Tool] = []
    for name in TOOLKITS:
        try:
            toolkit = import_module(f"callboard.toolkits.{name}")
        except ModuleNotFoundError as error:
            if (error.name or "").startswith("callboard"):
                raise
            continue
        found.extend(toolkit.tools)
    return found
