"""A session: it sees its tools, makes its calls, and has one board.

It is a thin thing: who it belongs to, what it may see, where its events go. The work is done by the execution manager.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from pydantic_core import to_json

from ..clock import Clock
from ..errors import CallboardError, ToolError
from ..events.board import Board, Subscription
from ..events.event import Event, Events, encode_event
from ..events.kinds import EventKind
from ..execution.book import Book
from ..execution.excerpt import excerpt
from ..execution.execution import Execution, Priority
from ..execution.manager import ExecutionManager
from ..execution.outcome import Outcome
from ..execution.record import ExecutionRecord
from ..tools.definition import Tool
from ..tools.document import encode, shorten
from ..tools.registry import Registry
from ..tools.snapshot import Snapshot
from ..tools.view import View

_NORMAL = Priority.NORMAL
MAX_ID = 200
"""How long the ids that callers choose may be."""


class CallIdInvalid(CallboardError, ValueError):
    """A call id cannot be used."""

    code = "call_id"


class Session:
    """One user's conversation. Made by `Runtime.open`."""

    __slots__ = (
        "__weakref__",
        "_clock",
        "_found",
        "_found_at",
        "_manager",
        "_registry",
        "board",
        "book",
        "id",
        "running",
        "tell",
        "user_id",
        "view",
    )

    def __init__(
        self,
        session_id: str,
        user_id: str,
        view: View,
        *,
        registry: Registry,
        manager: ExecutionManager,
        clock: Clock,
        board: Board,
        book: Book,
    ) -> None:
        self.id = session_id
        self.user_id = user_id
        self.view = view
        self.running = 0
        self.board = board
        self.book = book
        self.tell = board.extend
        self._found: dict[str, Tool] = {}
        self._found_at = -1
        self._registry = registry
        self._manager = manager
        self._clock = clock

    # Tools

    def tools(self) -> Snapshot:
        """The tools that this session sees now, pinned."""
        seen = self._registry.look(self.view)
        shown = [tool for tool in seen if not self._manager.hides(self, tool)]
        return seen if len(shown) == len(seen) else Snapshot(shown)

    def find(self, name: str) -> Tool:
        """A tool that this session sees. Raises `ToolError` (not_found), also for tools that only others see."""
        if self._found_at == self._registry.version and (tool := self._found.get(name)) is not None:
            return tool
        return self._find(name)

    def _find(self, name: str) -> Tool:
        if self._found_at != self._registry.version:
            self._found, self._found_at = {}, self._registry.version
        tool = self._registry.get(name)
        if tool is None or not self.view.shows(tool, self._registry.settings.gates):
            raise ToolError(f"There is no tool {shorten(name, 80)!r}.", category="not_found")
        if tool.gate is None:  # a gate may close at any time, and nobody tells
            self._found[name] = tool
        return tool

    # Calls

    def call(
        self,
        name: str,
        arguments: Any = None,
        *,
        call_id: str | None = None,
        priority: Priority | str = Priority.NORMAL,
    ) -> Awaitable[Outcome]:
        """Call a tool, with arguments as data or as JSON text. Failures are outcomes too, unknown tools among them.

        An inline tool's outcome is its result, if it ends within its budget; otherwise, and for a background tool, the
        outcome is `started` and the result comes later: on the board, and from `result`. The same `call_id` again gives
        the first call's outcome. Raises `CallIdInvalid` for an id that cannot be one.
        """
        if call_id is not None and not (0 < len(call_id) <= MAX_ID and call_id.isprintable()):
            raise CallIdInvalid(f"A call id has 1 to {MAX_ID} printable characters.")
        if priority is not _NORMAL and isinstance(priority, str):
            priority = _priority(priority)
        try:
            document = arguments if isinstance(arguments, bytes) else _document(arguments)
            tool = self.find(name)
        except ToolError as error:
            return self._manager.refuse(self, shorten(name, 80).encode(errors="replace").decode(), call_id, error)
        return self._manager.call(self, tool, document, call_id, priority)

    async def result(self, execution_id: str, timeout: float | None = None) -> Outcome:
        """Wait for an execution's end, at most `timeout` seconds; then its outcome may still be `started`.

        Raises `ToolError` (not_found).
        """
        execution = self._execution(execution_id)
        if not execution.terminal:
            waiting = asyncio.ensure_future(self._manager.wait(execution))
            timer = None if timeout is None else self._clock.call_later(timeout, waiting.cancel)
            try:
                await asyncio.wait([waiting])
            finally:
                waiting.cancel()
                if timer is not None:
                    timer.cancel()
        return execution.outcome()

    def execution(self, execution_id: str) -> ExecutionRecord:
        """The record of an execution. Raises `ToolError` (not_found)."""
        return self._execution(execution_id).record(self._clock.monotonic())

    def executions(self) -> list[ExecutionRecord]:
        """The records of all executions that are kept, oldest first."""
        now = self._clock.monotonic()
        return [execution.record(now) for execution in self.book.values()]

    def result_text(self, execution_id: str, offset: int = 0, length: int | None = None) -> str:
        """A finished execution's result as the model reads it: rendered for the channel and, from the start, cut to the
        tool's limit. With an offset, that part of the whole text. Of one that goes on, its acknowledgement.

        Raises `ToolError` (not_found).
        """
        execution = self._execution(execution_id)
        if execution.error is not None:
            text = to_json(execution.error.to_model(), inf_nan_mode="null").decode()
        elif not execution.terminal:
            text = execution.acknowledgement().decode()
        else:
            text = execution.tool.render(execution.outcome().value, self.view.channel)
        limit = execution.tool.result_limit or DEFAULT_RESULT_LIMIT
        if offset or length is not None:
            start = max(0, offset)
            return text[start : start + max(0, min(limit if length is None else length, limit))]
        return excerpt(text, limit, execution_id)

    # Stopping

    async def cancel(self, execution_id: str) -> bool:
        """Stop an execution. False where it had ended. Raises `ToolError` (not_found)."""
        return self._manager.cancel(self._execution(execution_id))

    async def cancel_call(self, call_id: str) -> bool:
        """Stop the execution of a call, by the caller's id."""
        execution = self.book.by_call(call_id)
        return execution is not None and self._manager.cancel(execution)

    async def cancel_all(self) -> int:
        """Stop everything that this session runs, and say how many that were."""
        return sum([self._manager.cancel(execution) for execution in self.open_executions])

    # The board

    def events(self, after: int = 0) -> AsyncIterator[Event]:
        """Every event after a cursor, those that are there and those that come."""
        return self.board.follow(after)

    def subscribe(self, callback: Callable[[Events], Any], after: int | None = None) -> Subscription:
        """Have events delivered in batches to a callback, until the subscription is closed."""
        return self.board.subscribe(callback, after)

    def notice(self, message: str, **fields: Any) -> int:
        """Tell the people of this session something. Returns the event's number."""
        data = to_json({"message": message, **fields})
        return self.board.append(encode_event(EventKind.SYSTEM_NOTICE, self._clock.time(), data))

    @property
    def open_executions(self) -> list[Execution]:
        """What has not ended."""
        return [execution for execution in self.book.values() if not execution.terminal]

    def _execution(self, execution_id: str) -> Execution:
        if (execution := self.book.get(execution_id)) is None:
            raise ToolError(f"There is no execution {shorten(execution_id, 80)!r}.", category="not_found")
        return execution


DEFAULT_RESULT_LIMIT = 50_000
"""How many characters of a result a model is shown when its tool does not say."""


def _priority(name: str) -> Priority:
    try:
        return Priority[name.upper()]
    except KeyError:
        names = ", ".join(priority.name.lower() for priority in Priority)
        raise ValueError(f"{name!r} is no priority. There are: {names}.") from None


def _document(arguments: Any) -> bytes:
    if isinstance(arguments, str):
        try:
            return arguments.encode()
        except UnicodeEncodeError:
            raise ToolError(
                "The arguments contain a lone surrogate, which is not valid Unicode.", category="validation"
            ) from None
    return encode({} if arguments is None else arguments)
