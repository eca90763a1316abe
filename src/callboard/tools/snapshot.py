"""An immutable selection of tools for one turn: the code that runs matches the schema that the model saw."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from .definition import Tool


class Snapshot:
    """An immutable selection of tools. Later changes of the registry or of gates do not affect it."""

    __slots__ = ("_by_name", "tools")

    def __init__(self, tools: Iterable[Tool]) -> None:
        self.tools: tuple[Tool, ...] = tuple(tools)
        """The tools, in order."""
        self._by_name: Mapping[str, Tool] = MappingProxyType({tool.name: tool for tool in self.tools})

    def get(self, name: str) -> Tool | None:
        """Return the tool of that name, or None."""
        return self._by_name.get(name)

    def schemas(self, dialect: str = "claude") -> Sequence[Mapping[str, Any]]:
        """List the schema of every tool, in order. They are cached and shared: do not modify them."""
        return [tool.shared_schema(dialect) for tool in self.tools]

    def __iter__(self) -> Iterator[Tool]:
        return iter(self.tools)

    def __len__(self) -> int:
        return len(self.tools)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name
