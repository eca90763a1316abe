"""The tools that one turn sees, pinned: the schema that the model saw is the code that runs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from .definition import Tool


class Snapshot:
    """An unchanging choice of tools. Registering, replacing or closing a gate afterwards does not alter it."""

    __slots__ = ("_by_name", "tools")

    def __init__(self, tools: Iterable[Tool]) -> None:
        self.tools: tuple[Tool, ...] = tuple(tools)
        self._by_name: Mapping[str, Tool] = MappingProxyType({tool.name: tool for tool in self.tools})

    def get(self, name: str) -> Tool | None:
        """The tool of that name, or None where this choice has none."""
        return self._by_name.get(name)

    def schemas(self, dialect: str = "claude") -> Sequence[Mapping[str, Any]]:
        """Every tool's schema, in order. They are shared and cached: read them, do not change them."""
        return [tool.shared_schema(dialect) for tool in self.tools]

    def __iter__(self) -> Iterator[Tool]:
        return iter(self.tools)

    def __len__(self) -> int:
        return len(self.tools)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name
