"""Transforms: a toolset that wraps another and shows its tools differently. They compose by wrapping.

Each is one function from a tool to a tool, or to None to leave it out; `Transformed` applies it to whatever the inner
toolset tells. The tools inside are never changed, since they are frozen.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeAlias

from ..types import Mode
from .definition import Tool
from .toolset import Toolset

Transform: TypeAlias = Callable[[Tool], Tool | None]


class Transformed:
    """A toolset seen through a transform."""

    def __init__(self, inner: Toolset, transform: Transform) -> None:
        self._inner = inner
        self._transform = transform
        self._made: dict[int, tuple[Tool, Tool | None]] = {}
        """What was made of which tool, so that the same one gives the same one again."""

    async def __aenter__(self) -> Self:
        await self._inner.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._inner.__aexit__(kind, error, trace)

    def tools(self) -> Sequence[Tool]:
        before = self._made
        self._made = {id(tool): before.get(id(tool)) or (tool, self._transform(tool)) for tool in self._inner.tools()}
        return [made for _, made in self._made.values() if made is not None]

    def on_change(self, callback: Callable[[], Any]) -> None:
        self._inner.on_change(callback)


def filtered(inner: Toolset, keep: Callable[[Tool], bool]) -> Transformed:
    """Only the tools for which `keep` says yes."""
    return Transformed(inner, lambda tool: tool if keep(tool) else None)


def allowed(inner: Toolset, names: Collection[str]) -> Transformed:
    """Only the named tools. For one session's allow list give the names to `Registry.snapshot` or `Runtime.open`."""
    kept = frozenset(names)
    return Transformed(inner, lambda tool: tool if tool.name in kept else None)


def prefixed(inner: Toolset, prefix: str) -> Transformed:
    """Every name with a prefix, so that two sources with the same names can stand side by side."""
    return Transformed(inner, lambda tool: tool.with_(name=f"{prefix}{tool.name}"))


def renamed(inner: Toolset, names: Mapping[str, str]) -> Transformed:
    """New names for some tools: old to new."""
    return Transformed(inner, lambda tool: tool.with_(name=names.get(tool.name, tool.name)))


def namespaced(inner: Toolset, namespace: str) -> Transformed:
    """All tools in one namespace."""
    return Transformed(inner, lambda tool: tool.with_(namespace=namespace))


def approval_required(inner: Toolset, needed: Callable[[Tool], bool] = lambda _: True) -> Transformed:
    """A person must approve each call of the tools for which `needed` says yes."""
    return Transformed(inner, lambda tool: tool.with_(mode=Mode.HUMAN) if needed(tool) else tool)


def truncated(inner: Toolset, limit: int) -> Transformed:
    """The model is shown at most so many characters of each result."""
    return Transformed(inner, lambda tool: tool.with_(result_limit=min(limit, tool.result_limit or limit)))
