"""A toolset that a registry includes: its tools are registered, and follow it when they change."""

from typing import Protocol

from .definition import Tool
from .toolset import Toolset


class Shelf(Protocol):
    """What an inclusion needs of a registry."""

    def get(self, name: str) -> Tool | None: ...
    def register(self, given: Tool, *, replace: bool = False, strict: bool | None = None) -> Tool: ...
    def unregister(self, name: str) -> Tool: ...


class Inclusion:
    """Keeps a registry's tools at what one toolset tells."""

    def __init__(self, toolset: Toolset, shelf: Shelf, *, strict: bool | None) -> None:
        self.toolset = toolset
        self._shelf = shelf
        self._strict = strict
        self._names: set[str] = set()
        self.follow()
        toolset.on_change(self.follow)

    def follow(self) -> None:
        """Register what is new or changed, and unregister what is gone. Raises `RegistrationError` for a taken name."""
        now = {tool.name: tool for tool in self.toolset.tools()}
        for name in self._names - now.keys():
            if self._shelf.get(name) is not None:
                self._shelf.unregister(name)
        for name, tool in now.items():
            if self._shelf.get(name) is not tool:
                self._shelf.register(tool, replace=name in self._names, strict=self._strict)
        self._names = set(now)
