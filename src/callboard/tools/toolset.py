"""The port for anything that brings tools: a list here, a remote server, a generated client.

Small on purpose. A toolset is entered, tells its tools, and says when they change; running them is not its business,
because a `Tool` carries its own handler.
"""

from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, Protocol, Self, runtime_checkable

from .definition import Tool


@runtime_checkable
class Toolset(Protocol):
    """A source of tools with a lifetime."""

    async def __aenter__(self) -> Self: ...
    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> bool | None: ...

    def tools(self) -> Sequence[Tool]:
        """The tools as they are now; complete only while entered."""
        ...

    def on_change(self, callback: Callable[[], Any]) -> None:
        """Call back after the tools have changed. One callback: the last one given."""
        ...


class LocalToolset:
    """Tools that are simply there."""

    def __init__(self, tools: Iterable[Tool]) -> None:
        self._tools = tuple(tools)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None: ...

    def tools(self) -> Sequence[Tool]:
        return self._tools

    def on_change(self, callback: Callable[[], Any]) -> None: ...
