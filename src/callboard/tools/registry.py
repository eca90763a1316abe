"""The registry: tools by name, their visibility, and direct calls without a session.

It knows no sessions, stores or events; the layers above use its `Snapshot`. `call` validates the arguments, runs the
tool, encodes the result and counts the call. Retries, deadlines and records belong to the executions of a session.
"""

import asyncio
import logging
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from time import perf_counter
from types import TracebackType
from typing import Any, Self, cast

from anyio import CapacityLimiter
from pydantic_core import from_json

from ..categories import DEFAULT_ERRORS, ErrorTable
from ..errors import CATEGORIES, RegistrationError, SchemaError, ToolError
from ..settings import Settings
from ..shortening import shorten
from ..types import Mode
from .context import ToolContext
from .definition import RESERVED_NAMESPACE, Tool
from .document import Size, encode, encode_text, too_large
from .function import StatefulTool
from .function import tool as make_tool
from .lifetime_manager import LifetimeManager
from .manifest import manifest
from .snapshot import Snapshot
from .stats import Statistics, ToolStats
from .subscription import Change, ChangeKind, Subscription
from .toolset import Toolset
from .view import View

log = logging.getLogger("callboard.tools")


class Registry:
    """Tools by name. Enter it (`async with`) to call tools that hold resources; other tools do not need that.

    `strict` refuses tools with undescribed properties; otherwise they cause a warning. A tool whose schema cannot be
    expressed in all of `dialects` is refused when it is registered, not at its first use.
    """

    def __init__(
        self,
        tools: Iterable[Tool | Toolset | Callable[..., Any]] = (),
        *,
        strict: bool = True,
        dialects: Iterable[str] = (),
        settings: Settings | None = None,
        errors: ErrorTable = DEFAULT_ERRORS,
    ) -> None:
        self.settings = settings or Settings.from_environment()
        """Limits and flags."""
        self.errors = errors
        """The table that translates exceptions of other libraries."""
        self.argument_size = Size(self.settings.max_argument_bytes, self.settings.max_argument_values)
        """Size limits for the arguments of a call."""
        self._unchecked_bytes = self.argument_size.unchecked_bytes
        self.version = 0
        """Incremented with every change, to invalidate caches."""
        self._strict = strict
        if isinstance(dialects, str):
            raise RegistrationError(f"dialects is the string {dialects!r}; it must be a list of strings.")
        self._dialects = tuple(dialects)
        self._tools: dict[str, Tool] = {}
        self._stats: dict[str, ToolStats] = {}
        self._subscribers: list[Subscription] = []
        self._lifetimes = LifetimeManager()
        self._toolsets: list[tuple[Toolset, Callable[[], None]]] = []
        """Included toolsets, each with the function that brings the registry up to date with it."""
        self._is_entering = False
        self._entered = AsyncExitStack()
        self._threads: CapacityLimiter | None = None
        for given in _listed(tools):
            if isinstance(given, Tool):  # first, because the check against a protocol is slow
                self.register(cast(Tool, given))
            elif isinstance(given, Toolset):
                self.include(given)
            else:
                self.register(given)

    # Registration

    def register(self, given: Tool | Callable[..., Any], *, replace: bool = False, strict: bool | None = None) -> Tool:
        """Add a tool, or make one from a function and add it.

        Raises `RegistrationError` for a taken name, unless the tool was made from the same function (as after a reload)
        or `replace` is set.
        """
        tool = cast(Tool, given) if isinstance(given, Tool) else _made(given)
        if tool.namespace == RESERVED_NAMESPACE and not (tool.origin or "").startswith("callboard."):
            raise RegistrationError(f"The namespace {RESERVED_NAMESPACE!r} is reserved for built-in tools.")
        before = self._tools.get(tool.name)
        if before is not None and not replace and not _is_reloaded(before, tool):
            raise RegistrationError(
                f"A tool {tool.name!r} is already registered, in namespace {before.namespace!r}. "
                "Rename one of them, as with @tool(name=…). Registry.replace replaces a tool on purpose."
            )
        self._check(tool, self._strict if strict is None else strict)
        self._tools[tool.name] = tool
        self._stats.setdefault(tool.name, ToolStats())
        self._notify(ChangeKind.REGISTERED if before is None else ChangeKind.REPLACED, tool.name)
        return tool

    def replace(self, given: Tool | Callable[..., Any]) -> Tool:
        """Register a tool, replacing any tool of the same name."""
        return self.register(given, replace=True)

    def include(self, toolset: Toolset, *, strict: bool | None = None) -> None:
        """Add the tools of a toolset and keep them in sync. It is entered and left with the registry."""
        names: set[str] = set()

        def sync() -> None:
            """Register the present tools. Raises the first error, after the other tools are registered."""
            tools: dict[str, Tool] = {}
            errors: list[RegistrationError | SchemaError] = [
                RegistrationError(f"A toolset has two tools with the name {tool.name!r}. Rename one of them.")
                for tool in toolset.tools()
                if tools.setdefault(tool.name, tool) is not tool
            ]
            for name in names - tools.keys():
                names.discard(name)
                if name in self:
                    self.unregister(name)
            for name, tool in tools.items():
                try:
                    if self.get(name) is not tool:
                        self.register(tool, replace=name in names, strict=strict)
                    names.add(name)
                except (RegistrationError, SchemaError) as error:
                    errors.append(error)
            if errors:
                raise errors[0]

        def changed() -> None:
            if not self._is_entering:  # else it follows when all toolsets are entered, in their order
                sync()

        sync()
        toolset.on_change(changed)
        self._toolsets.append((toolset, sync))

    def unregister(self, name: str) -> Tool:
        """Remove a tool and its statistics. Raises `ToolError` (not_found)."""
        tool = self[name]
        del self._tools[name]
        del self._stats[name]
        self._notify(ChangeKind.UNREGISTERED, name)
        return tool

    def clear(self) -> None:
        """Remove all tools."""
        self._tools.clear()
        self._stats.clear()
        self._notify(ChangeKind.CLEARED, None)

    def subscribe(self, callback: Callable[[Change], Any]) -> Subscription:
        """Call back on every change until the subscription is closed."""
        return Subscription(callback, self._subscribers)

    # Lookup

    def get(self, name: str) -> Tool | None:
        """Return the tool of that name, or None."""
        return self._tools.get(name)

    def has(self, name: str) -> bool:
        """Return whether there is a tool of this name."""
        return name in self._tools

    def names(self) -> tuple[str, ...]:
        """List all names, in the order of registration."""
        return tuple(self._tools)

    def all(self) -> tuple[Tool, ...]:
        """List all tools, in the order of registration."""
        return tuple(self._tools.values())

    def by_namespace(self, namespace: str) -> tuple[Tool, ...]:
        """List the tools of a namespace."""
        return tuple(tool for tool in self if tool.namespace == namespace)

    def by_group(self, group: str) -> tuple[Tool, ...]:
        """List the tools of a group."""
        return tuple(tool for tool in self if tool.group == group)

    def by_tag(self, tag: str) -> tuple[Tool, ...]:
        """List the tools with a tag."""
        return tuple(tool for tool in self if tag in tool.tags)

    def by_channel(self, channel: str) -> tuple[Tool, ...]:
        """List the tools that may be used on a channel."""
        return tuple(tool for tool in self if tool.serves(channel))

    def __getitem__(self, name: str) -> Tool:
        if (tool := self._tools.get(name)) is None:
            raise _not_found(name)
        return tool

    def __contains__(self, name: object) -> bool:
        return name in self._tools

    def __iter__(self) -> Iterator[Tool]:
        return iter(self.all())

    def __len__(self) -> int:
        return len(self._tools)

    # Visibility

    def snapshot(
        self,
        *,
        namespaces: Collection[str] | None = None,
        channel: str | None = None,
        allow: Collection[str] | None = None,
    ) -> Snapshot:
        """Select the visible tools: in these namespaces (None: all), on this channel, allowed, with open gates.

        The built-in namespace is always visible.
        """
        return self.visible(View.of(namespaces, channel, allow))

    def visible(self, view: View) -> Snapshot:
        """Select the tools that a view admits now, except those hidden by an open breaker."""
        flags = self.settings.gates
        return Snapshot(tool for tool in self._tools.values() if view.admits(tool, flags) and not self._is_hidden(tool))

    def _is_hidden(self, tool: Tool) -> bool:
        return tool.breaker is not None and tool.breaker.hide_when_open and self._stats[tool.name].breaker == "open"

    def manifest(self, dialects: Iterable[str] = ()) -> dict[str, Any]:
        """Describe all tools as JSON data, including gated ones."""
        return manifest(self, self.settings.gates, dialects)

    def stats(self, name: str) -> Statistics:
        """Return the statistics of a tool. Raises `ToolError` (not_found)."""
        return self.counters(self[name].name).read()

    def reset_stats(self, name: str | None = None) -> None:
        """Reset the statistics of one tool, or of all."""
        for counters in self._stats.values() if name is None else [self.counters(self[name].name)]:
            counters.reset()

    def counters(self, name: str) -> ToolStats:
        """Return the live counters of a tool."""
        return self._stats[name]

    @property
    def counters_by_name(self) -> Mapping[str, ToolStats]:
        """The live counters of all registered tools."""
        return self._stats

    def counters_of(self, tool: Tool) -> ToolStats:
        """Return the live counters of a tool, or unused ones if it was unregistered while it ran."""
        return self._stats.get(tool.name) or ToolStats()

    async def start(self, tool: Tool) -> None:
        """Return once the tool's lifetime is entered. Raises `ToolError` (configuration)."""
        await self._lifetimes.ensure(tool)

    # Calling

    async def call(self, name: str, arguments: Any = None) -> Any:
        """Run a tool with arguments as Python data and return its value as JSON data. Raises `ToolError`."""
        return from_json(await self.call_json(name, encode({} if arguments is None else arguments)))

    async def call_json(self, name: str, arguments: bytes | str) -> bytes:
        """Run a tool with arguments as JSON text and return its value as JSON text. Raises `ToolError`."""
        if (tool := self._tools.get(name)) is None:
            raise _not_found(name)
        counters = self._stats[name]
        start = perf_counter()
        try:
            if len(arguments) > self.argument_size.max_bytes:  # before copying it
                raise too_large(len(arguments), self.argument_size.max_bytes)
            data = arguments if isinstance(arguments, bytes) else encode_text(arguments)
            if len(data) > self._unchecked_bytes:
                self.argument_size.check(data)
            parsed = tool.arguments.parse(name, data)
            if tool.direct is not None:
                value = await tool.direct(**parsed)
            else:
                value = await self._run(tool, parsed)
            written = tool.result.write(name, value)
        except BaseException as error:
            failure = self.errors.translate(error)
            counters.failed(failure.category, perf_counter() - start, datetime.now(UTC))
            if _is_for_caller(error):
                raise
            if CATEGORIES[failure.category].reported:
                log.warning("%s failed (%s): %s", name, failure.category, failure.report or failure.message)
            raise failure from failure.__cause__
        counters.ended(perf_counter() - start)
        return written

    async def _run(self, tool: Tool, parsed: Any) -> Any:
        if tool.handler is None or tool.mode is Mode.HUMAN:
            raise ToolError(
                f"The tool {tool.name} asks a person and needs a session.",
                category="configuration",
                report=f"{tool.name} has the mode 'human': call it with Session.call, which asks for the approval",
            )
        await self._lifetimes.ensure(tool)
        if self._threads is None:
            self._threads = CapacityLimiter(self.settings.max_threads)
        return await tool.handler.run(parsed, ToolContext(tool=tool.name), self._threads)

    # Lifetime

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._lifetimes)
            self._is_entering = True
            try:
                await self._lifetimes.enter_all(toolset for toolset, _ in self._toolsets)
            finally:
                self._is_entering = False
            for toolset, sync in self._toolsets:
                try:
                    sync()
                except (RegistrationError, SchemaError) as error:  # of a server's tools, which are known only now
                    log.error("a tool of %r cannot be registered: %s", toolset, error)
            self._entered = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._entered.__aexit__(kind, error, trace)

    def _check(self, tool: Tool, strict: bool) -> None:
        if missing := tool.arguments.undescribed():
            problem = (
                f"The tool {tool.name!r} has properties without a description: {', '.join(missing)}. Models need "
                'them: use Annotated[..., "text"] for a parameter, Field(description="text") for a field of a model, '
                'or the docstring (pip install "callboard[docstrings]").'
            )
            if strict:
                raise RegistrationError(problem)
            warnings.warn(problem, stacklevel=4)
        for dialect in self._dialects:
            tool.shared_schema(dialect)

    def _notify(self, kind: ChangeKind, name: str | None) -> None:
        self.version += 1
        if self._subscribers:
            change = Change(kind, name, self.names())
            for subscriber in tuple(self._subscribers):
                subscriber.deliver(change)


def _listed(tools: Any) -> Iterable[Any]:
    """Return the tools that a registry was given. Raises `RegistrationError` if they are not a list of tools."""
    name = type(tools).__name__
    is_single = isinstance(tools, Tool | Toolset) or callable(tools)
    if is_single or not isinstance(tools, Iterable) or isinstance(tools, str | bytes | Mapping):
        hint = " Put it into brackets: [tool]." if is_single else ""
        raise RegistrationError(f"The tools must be a list of tools, not {name}.{hint}")
    return cast("Iterable[Any]", tools)


def _made(given: Any) -> Tool:
    """Make a tool from a function. Raises `RegistrationError` for something else, such as a class."""
    if isinstance(given, StatefulTool | type):
        decorated = "" if isinstance(given, StatefulTool) else "decorated with @tool and "
        name = given.__name__
        raise RegistrationError(f"The class {name} must be {decorated}instantiated first: {name}(…).")
    if not callable(given):
        raise RegistrationError(f"A registry takes tools, functions and toolsets, not {type(given).__name__}.")
    return make_tool(given)


def _is_reloaded(before: Tool, tool: Tool) -> bool:
    """Whether a tool was made again from the same definition, and is not another closure of the same code."""
    if before is tool:
        return True
    codes = [getattr(each.handler and each.handler.function, "__code__", None) for each in (before, tool)]
    return before.origin is not None and before.origin == tool.origin and (codes[0] is None or codes[0] is not codes[1])


def _is_for_caller(error: BaseException) -> bool:
    """Whether an exception cancels the caller's task, rather than being the failure of a handler."""
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0
    return isinstance(error, KeyboardInterrupt | GeneratorExit)


def _not_found(name: str) -> ToolError:
    return ToolError(f"There is no tool {shorten(name)!r}.", category="not_found")
