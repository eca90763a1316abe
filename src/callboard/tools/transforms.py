"""Transforms: toolsets that wrap another toolset and change its tools. They compose by wrapping.

Each is a function from a tool to a tool, or to None to leave it out. The original tools are frozen and stay unchanged.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeAlias, cast

from ..checks import Check
from ..errors import RegistrationError
from ..types import Mode
from .definition import Tool
from .toolset import Toolset

Transform: TypeAlias = Callable[[Tool], Tool | None]


class TransformedToolset:
    """A toolset that applies a transform to the tools of another one."""

    def __init__(self, inner: Toolset, transform: Transform) -> None:
        if not isinstance(given := cast(Any, inner), Toolset):
            raise RegistrationError(
                f"A transform takes a toolset, such as LocalToolset([…]), not {type(given).__name__}."
            )
        self._inner = inner
        self._transform = transform
        self._made: dict[int, tuple[Tool, Tool | None]] = {}
        """Results by the id of the original tool, so that an unchanged tool yields the same object again."""

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


def filtered(inner: Toolset, keep: Callable[[Tool], bool]) -> TransformedToolset:
    """Keep only the tools for which `keep` returns true."""
    return TransformedToolset(inner, lambda tool: tool if keep(tool) else None)


def allowed(inner: Toolset, names: Collection[str]) -> TransformedToolset:
    """Keep only the named tools. For a session's allow list, use `Registry.snapshot` or `Runtime.open` instead."""
    kept = frozenset(Check(RegistrationError).texts("names", names))
    return TransformedToolset(inner, lambda tool: tool if tool.name in kept else None)


def prefixed(inner: Toolset, prefix: str) -> TransformedToolset:
    """Add a prefix to every name, so that two sources with the same names can be combined."""
    return TransformedToolset(inner, lambda tool: tool.with_(name=f"{prefix}{tool.name}"))


def renamed(inner: Toolset, names: Mapping[str, str]) -> TransformedToolset:
    """Rename some tools. `names` maps old names to new ones."""
    return TransformedToolset(inner, lambda tool: tool.with_(name=names.get(tool.name, tool.name)))


def namespaced(inner: Toolset, namespace: str) -> TransformedToolset:
    """Put all tools into one namespace."""
    return TransformedToolset(inner, lambda tool: tool.with_(namespace=namespace))


def approval_required(inner: Toolset, needed: Callable[[Tool], bool] = lambda _: True) -> TransformedToolset:
    """Require a person's approval for each call of the tools for which `needed` returns true."""
    return TransformedToolset(inner, lambda tool: tool.with_(mode=Mode.HUMAN) if needed(tool) else tool)


def truncated(inner: Toolset, limit: int) -> TransformedToolset:
    """Limit the number of characters of each result that the model sees."""
    return TransformedToolset(inner, lambda tool: tool.with_(result_limit=min(limit, tool.result_limit or limit)))
