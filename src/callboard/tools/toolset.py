"""The port for sources of tools: a local list, a remote server, a generated client.

A toolset is entered, lists its tools and calls back when they change. It does not run them: a `Tool` has its own
handler.
"""

from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, Protocol, Self, runtime_checkable

from ..checks import Check
from ..errors import RegistrationError
from .definition import Tool


@runtime_checkable
class Toolset(Protocol):
    """A source of tools with a lifetime."""

    async def __aenter__(self) -> Self: ...
    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> bool | None: ...

    def tools(self) -> Sequence[Tool]:
        """List the current tools. The list is complete only while the toolset is entered."""
        ...

    def on_change(self, callback: Callable[[], Any]) -> None:
        """Set the callback to call after the tools have changed. It replaces an earlier callback."""
        ...


class LocalToolset:
    """A fixed list of tools."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools = Check(RegistrationError).items("tools", tools, Tool, "a list of tools, which @tool makes")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None: ...

    def tools(self) -> Sequence[Tool]:
        """List the tools."""
        return self._tools

    def on_change(self, callback: Callable[[], Any]) -> None:
        """Do nothing, because the tools never change."""
