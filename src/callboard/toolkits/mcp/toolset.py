"""The tools of an MCP server as a toolset. It owns the connection while it is entered."""

import shlex
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import anyio
from mcp import types

from callboard import CallboardError, RegistrationError, Tool, ToolContext, ToolError, dynamic_tool

from .address import Given, HttpAddress, StdioAddress, default_name, http_address, read_address
from .calls import Calls
from .connection import Connection, Sleep
from .definitions import MAX_REMOTE_NAME, Definition, local_name, policies, read_definition
from .pins import Pins
from .questions import Questions

APPROVALS_DELAY = 1.0
"""Seconds between two looks at the file of approved tools, while a tool is hidden."""
READ_LIMIT = 10.0
"""Seconds that reading a list may take. The tools that come later in it are skipped."""
MAX_REASON = 300
"""Characters of the reason why a tool is skipped."""
CHANGED = "the tool %r was changed after its approval: it is hidden. Look at it, and approve it with: %s"


@dataclass(frozen=True, slots=True)
class _List:
    """The list of a server as it was read, by the names on the server."""

    definitions: dict[str, Definition] = field(default_factory=dict[str, Definition])
    tools: dict[str, Tool] = field(default_factory=dict[str, Tool])
    """Approved tools, made of their definitions."""
    skipped: dict[str, str] = field(default_factory=dict[str, str])
    """Reasons why tools cannot be used."""


class McpToolset:
    """One tool for each tool of an MCP server, kept in step with it. `mcp_toolset` makes one."""

    def __init__(
        self,
        address: StdioAddress | HttpAddress,
        *,
        namespace: str,
        prefix: str,
        trust: bool,
        approval: bool | Collection[str],
        only: Collection[str] | None,
        pins: Pins,
        timeout: float,
        connect_timeout: float,
        max_result_bytes: int,
        concurrency: int | None,
        mode: str,
        sleep: Sleep,
    ) -> None:
        self.namespace = namespace
        self.prefix = prefix
        """How the names of its tools begin."""
        self._trust = trust
        self._approval = approval
        self._only = only
        self._pins = pins
        self._concurrency = concurrency
        self._connection = Connection(
            address,
            name=namespace,
            mode=mode,
            connect_timeout=connect_timeout,
            on_tools=self._update,
            elicit=self._elicit,
            sleep=sleep,
        )
        self._calls = Calls(
            self._connection,
            Questions(namespace, namespace),
            server=namespace,
            timeout=timeout,
            max_bytes=max_result_bytes,
            sleep=sleep,
        )
        self._made: dict[str, tuple[str, Tool]] = {}
        """Tools by their names on the server, each with the hash of its definition."""
        self._listed: dict[str, Definition] = {}
        self._ready: dict[str, Tool] = {}
        """Tools of the newest list that were made in advance."""
        self.reserved: tuple[str, ...] = ()
        """Beginnings of names that belong to other servers."""
        self._callback: Callable[[], Any] = lambda: None
        self._stack = AsyncExitStack()
        self.skipped: dict[str, str] = {}
        """Tools of the server that cannot be used, with the reasons."""
        self.changed: frozenset[str] = frozenset()
        """Tools, by their names on the server, that are hidden because their definitions changed: see `approve`."""

    def __repr__(self) -> str:
        return f"McpToolset({self.namespace!r})"

    @property
    def problem(self) -> str | None:
        """Why the server is not connected, for operators; None while it is."""
        return self._connection.problem

    async def __aenter__(self) -> Self:
        """Connect. A server that cannot be reached is tried again in the background, and has no tools until then."""
        async with AsyncExitStack() as stack:
            group = await stack.enter_async_context(anyio.create_task_group())
            stack.callback(group.cancel_scope.cancel)
            group.start_soon(self._connection.run)
            if self._pins.is_kept:
                group.start_soon(self._follow_approvals)
            await self._connection.settled()
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        try:
            await self._connection.stop()
        finally:
            await self._stack.__aexit__(None, None, None)  # without the error, which would be wrapped in a group

    def tools(self) -> Sequence[Tool]:
        """The approved tools of the server, in its order."""
        return [tool for _, tool in self._made.values()]

    def on_change(self, callback: Callable[[], Any]) -> None:
        """Set the callback to call after the tools have changed."""
        self._callback = callback

    def approve(self, name: str | None = None) -> None:
        """Approve the present definition of a tool that is hidden because it changed, or of all of them.

        `name` is its name on the server. Raises `RegistrationError` if it is not hidden.
        """
        if name is not None and name not in self.changed:
            raise RegistrationError(f"{name!r} is not a changed tool of {self.namespace}.")
        names = self.changed if name is None else {name}
        self._pins.approve({each: self._listed[each].fingerprint for each in names})
        self._build()

    def definition(self, name: str) -> Definition:
        """Return the present definition of a tool by its name on the server. Raises `KeyError`."""
        return self._listed[name]

    async def _follow_approvals(self) -> None:
        """Show tools again that another process approves, such as `callboard mcp approve`."""
        while True:
            await anyio.sleep(APPROVALS_DELAY)
            try:
                if self.changed and self._pins.reload():
                    self._build()
            except RegistrationError as error:
                self._connection.log.warning("%s", error)

    async def _elicit(self, context: Any, params: Any) -> Any:
        return await self._calls.elicit(context, params)

    # The list of tools

    async def _update(self, listed: Sequence[types.Tool]) -> None:
        """Take over the list of the server, which is read in a thread: a hostile list may take long."""
        wanted = [each for each in listed if self._only is None or each.name in self._only]
        read = await anyio.to_thread.run_sync(self._read, wanted, abandon_on_cancel=True)
        for name, reason in read.skipped.items():
            if self.skipped.get(name) != reason:
                self._connection.log.warning("the tool %r cannot be used: %s", name[:100], reason)
        self._listed, self._ready, self.skipped = read.definitions, read.tools, read.skipped
        self._build()

    def _read(self, listed: Sequence[types.Tool]) -> "_List":
        """Read a list and make the tools that are approved. What cannot be used is skipped."""
        deadline = time.monotonic() + READ_LIMIT
        read = _List()
        owners = {local_name(name, self.prefix): name for name in tuple(self._pins.names)}
        for each in listed:
            name = each.name[:MAX_REMOTE_NAME]
            try:
                if time.monotonic() > deadline:
                    raise RegistrationError(f"the tools before it took more than {READ_LIMIT:g} s to read")
                definition = read_definition(each, self.prefix)
                if name in read.definitions or owners.setdefault(definition.name, name) != name:
                    raise RegistrationError(f"there is another tool with the name {definition.name}")
                if definition.name.startswith(self.reserved):
                    raise RegistrationError(f"the name {definition.name} belongs to another server")
                if self._pins.is_full and name not in self._pins.names:
                    raise RegistrationError("the server has had too many other tools")
                if self._pins.admits(name, definition.fingerprint):
                    read.tools[name] = self._tool_of(definition)
            except CallboardError as error:
                read.skipped[name] = str(error)[:MAX_REASON]
            else:
                read.definitions[name] = definition
        return read

    def _build(self) -> None:
        """Offer the approved tools. A tool whose definition is unchanged stays the same object."""
        made: dict[str, tuple[str, Tool]] = {}
        for name, definition in self._listed.items():
            if self._pins.admits(name, definition.fingerprint):
                try:
                    made[name] = definition.fingerprint, self._tool_of(definition)
                except CallboardError as error:
                    self.skipped[name] = str(error)[:MAX_REASON]
        self._pins.add({name: fingerprint for name, (fingerprint, _) in made.items()})
        changed = {name for name, each in self._listed.items() if not self._pins.admits(name, each.fingerprint)}
        for name in changed & made.keys():  # another process has seen another definition before
            del made[name]
        for name in sorted(changed - self.changed):
            self._connection.log.warning(CHANGED, name, self._how_to_approve(name))
        self.changed = frozenset(changed)
        is_same = made == self._made
        self._made, self._ready = made, {}
        if not is_same:
            try:
                self._callback()
            except CallboardError as error:  # such as a name that another toolset has
                self._connection.log.error("its tools cannot be registered: %s", error)

    def _tool_of(self, definition: Definition) -> Tool:
        """Return the tool of a definition: the one that was made of it before, or a new one."""
        name = definition.remote_name
        if name in self._ready:
            return self._ready[name]
        fingerprint, known = self._made.get(name, ("", None))
        return known if known is not None and fingerprint == definition.fingerprint else self._tool(definition)

    def _how_to_approve(self, name: str) -> str:
        if not self._pins.is_kept:
            return f"toolset.approve({name!r})"
        return f"callboard mcp approve {shlex.quote(f'{self.namespace}.{name}')} --mcp-config FILE"

    def _tool(self, definition: Definition) -> Tool:
        declared = definition.output_schema is not None

        def check() -> None:
            listed = self._listed.get(definition.remote_name)
            if listed is None or listed.fingerprint != definition.fingerprint:  # the call is from an older list
                message = f"The tool {definition.name} was changed or removed by its server. Nothing was done."
                raise ToolError(message, category="not_found")

        async def call(arguments: dict[str, Any], context: ToolContext) -> Any:
            return await self._calls.call(definition.remote_name, arguments, context, declared=declared, check=check)

        if isinstance(self._approval, bool):
            needs_approval = self._approval
        else:  # a model sees local names, which several names of a server can have
            needs_approval = definition.name in {local_name(name, self.prefix) for name in self._approval}
        mode = "human" if needs_approval else "background" if definition.background else "inline"
        made = dynamic_tool(
            definition.name,
            definition.input_schema,
            call,
            description=definition.description,
            output_schema=definition.output_schema,
            namespace=self.namespace,
            topic=definition.title,
            mode=mode,
            placement="any",  # the connection is that of this process
            tags=("mcp", "network"),
            concurrency=self._concurrency,
            **policies(definition, self._trust),
        )
        return replace(made, origin=f"mcp:{self.namespace}:{definition.remote_name}")


def mcp_toolset(
    server: Given,
    *,
    namespace: str | None = None,
    prefix: str | None = None,
    headers: Mapping[str, str] | None = None,
    token: str | None = None,
    auth: Any = None,
    env: Mapping[str, str] | None = None,
    cwd: str | Path | None = None,
    trust: bool = False,
    approval: bool | Collection[str] = False,
    only: Collection[str] | None = None,
    pins: str | Path | None = None,
    timeout: float = 60.0,
    connect_timeout: float = 30.0,
    max_result_bytes: int = 4 * 1024 * 1024,
    concurrency: int | None = None,
    mode: str = "auto",
    sleep: Sleep = anyio.sleep,
) -> McpToolset:
    """Make a toolset of an MCP server: a URL, a command (text or list), or an entry of `mcpServers`.

    Tools are in `namespace`, by default named after the server, and their names begin with `prefix`, by default the
    namespace and `_`. `headers`, `token` (a bearer token) and `auth` (see `oauth_login`) are for a URL, `env` and `cwd`
    for a command. The hints of a server decide on retries only with `trust=True`. `approval` makes calls of all tools,
    or of these, wait for a person; `only` chooses tools; both have names on the server. `pins` is a file for the hashes
    of approved tools. `timeout` is for a call, in seconds, without the time in which a person is asked. `mode` is
    `auto`, `legacy` (with a handshake) or a revision. Raises `RegistrationError`.
    """
    address = read_address(server)
    if isinstance(address, HttpAddress):
        if env or cwd:
            raise RegistrationError("env= and cwd= are for an MCP server that is started by a command.")
        bearer = {} if token is None else {"authorization": f"Bearer {token}"}
        address = http_address(address.url, {**address.headers, **(headers or {}), **bearer}, address.transport)
        address = replace(address, auth=auth)
    else:
        if headers or token or auth:
            raise RegistrationError("headers=, token= and auth= are for an MCP server with a URL.")
        address = replace(address, env={**address.env, **(env or {})}, cwd=address.cwd if cwd is None else str(cwd))
    for name, value in {"timeout": timeout, "connect_timeout": connect_timeout}.items():
        if not value > 0:
            raise RegistrationError(f"{name} is {value}; it must be above 0.")
    name = local_name(namespace or default_name(address), "")
    return McpToolset(
        address,
        namespace=name,
        prefix=f"{name}_" if prefix is None else prefix,
        trust=trust,
        approval=approval,
        only=only,
        pins=Pins(name, None if pins is None else Path(pins)),
        timeout=timeout,
        connect_timeout=connect_timeout,
        max_result_bytes=max_result_bytes,
        concurrency=concurrency,
        mode=mode,
        sleep=sleep,
    )
