"""Synchronization of a registry with a toolset that it includes."""

from typing import Protocol

from .definition import Tool
from .toolset import Toolset


class ToolRegistrar(Protocol):
    """The part of a registry that a synchronization uses."""

    def get(self, name: str) -> Tool | None: ...
    def register(self, given: Tool, *, replace: bool = False, strict: bool | None = None) -> Tool: ...
    def unregister(self, name: str) -> Tool: ...


class ToolsetSync:
    """Registers the tools of a toolset, and updates the registry when they change."""

    def __init__(self, toolset: Toolset, registrar: ToolRegistrar, *, strict: bool | None) -> None:
        self.toolset = toolset
        self._registrar = registrar
        self._strict = strict
        self._names: set[str] = set()
        self.sync()
        toolset.on_change(self.sync)

    def sync(self) -> None:
        """Register new and changed tools and unregister removed ones. Raises `RegistrationError` for a taken name."""
        now = {tool.name: tool for tool in self.toolset.tools()}
        for name in self._names - now.keys():
            if self._registrar.get(name) is not None:
                self._registrar.unregister(name)
        for name, tool in now.items():
            if self._registrar.get(name) is not tool:
                self._registrar.register(tool, replace=name in self._names, strict=self._strict)
        self._names = set(now)
