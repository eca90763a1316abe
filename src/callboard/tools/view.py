"""The filter that determines the tools a session sees."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from ..checks import Check
from .definition import RESERVED_NAMESPACE, Tool
from .gates import is_open

_check = Check(TypeError)


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A filter by namespaces (None: all), channel (None: any) and allow list (None: all)."""

    namespaces: frozenset[str] | None = None
    channel: str | None = None
    allow: frozenset[str] | None = None

    @classmethod
    def of(
        cls, namespaces: Collection[str] | None = None, channel: str | None = None, allow: Collection[str] | None = None
    ) -> "View":
        """Make a view from any collections. Raises `TypeError` for a string, which is a collection too."""
        return cls(
            namespaces=None if namespaces is None else frozenset(_check.texts("namespaces", namespaces)),
            channel=channel,
            allow=None if allow is None else frozenset(_check.texts("allow", allow)),
        )

    def admits(self, tool: Tool, flags: Mapping[str, bool]) -> bool:
        """Whether a tool is visible now. The built-in namespace is always visible, if its gates are open."""
        if tool.gate is not None and not is_open(tool.gate, flags):
            return False
        if tool.namespace == RESERVED_NAMESPACE:
            return True
        if self.namespaces is not None and tool.namespace not in self.namespaces:
            return False
        return (self.allow is None or tool.name in self.allow) and tool.serves(self.channel)
