"""Tools of one session: those of the registry that its view shows, and those that only this session has."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, cast

from ..errors import RegistrationError, ToolError
from ..shortening import shorten
from ..tools.definition import Tool
from ..tools.registry import Registry
from ..tools.snapshot import Snapshot
from ..tools.view import View

_NO_TOOLS: Mapping[str, Tool] = MappingProxyType({})


class SessionTools:
    """Finds the tools that a session may call. Lookups are cached until the registry or the view changes."""

    __slots__ = ("_cache", "_cached_at", "_own_tools", "_registry", "_view")

    def __init__(self, registry: Registry, view: View) -> None:
        self._registry = registry
        self._view = view
        self._own_tools = _NO_TOOLS
        self._cache: dict[str, Tool] = {}
        self._cached_at = -1

    @property
    def view(self) -> View:
        """Namespaces, channel and allow-list of the session."""
        return self._view

    @view.setter
    def view(self, view: View) -> None:
        self._view = view
        self._cached_at = -1

    def visible(self) -> Snapshot:
        """Return the registry's tools that the view shows now, pinned."""
        return self._registry.visible(self._view)

    @property
    def own_tools(self) -> Mapping[str, Tool]:
        """Tools that only this session has, by name."""
        return self._own_tools

    def replace_own_tools(self, tools: Iterable[Tool]) -> None:
        """Replace the tools that only this session has. Raises `RegistrationError` for a name that the registry has."""
        own = {tool.name: tool for tool in tools}
        if taken := sorted(name for name in own if self._registry.get(name) is not None):
            raise RegistrationError(f"The registry already has tools with these names: {', '.join(taken)}.")
        self._own_tools = own
        self._cached_at = -1

    def known(self, name: str) -> Tool | None:
        """Return a tool of the session or of the registry, also one that the session does not see now."""
        return self._own_tools.get(name) or self._registry.get(name)

    def find(self, name: str) -> Tool:
        """Return a visible tool. Raises `ToolError` (not_found), also for a tool that only other sessions see.

        Raises `TypeError` for a tool or a function instead of its name.
        """
        if self._cached_at == self._registry.version and (tool := self._cache.get(name)) is not None:
            return tool
        if self._cached_at != self._registry.version:
            self._cache, self._cached_at = {}, self._registry.version
        if (tool := self._own_tools.get(name)) is not None:
            return tool
        tool = self._registry.get(name)
        if tool is None or not self._view.admits(tool, self._registry.settings.gates):
            given: Any = name
            if isinstance(given, Tool) or callable(given):
                called = getattr(cast(Any, given), "name", None) or getattr(cast(Any, given), "__name__", "…")
                raise TypeError(f"The call names the tool by its object; name it as a string: {called!r}.")
            raise ToolError(f"There is no tool {shorten(name, 80)!r}.", category="not_found")
        if tool.gate is None:  # a gate may close at any time
            self._cache[name] = tool
        return tool
