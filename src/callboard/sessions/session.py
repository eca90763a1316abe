"""A session: it sees its tools, makes its calls, and has one board.

It is a thin thing: who it belongs to, what it may see, where its events go. The work is done by the execution manager;
what it writes goes through its ledger.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from pydantic_core import to_json

from ..errors import CallboardError, ErrorCategory, ToolError
from ..events.board import Board, Subscription
from ..events.event import Event, Events, encode_event
from ..events.kinds import EventKind
from ..events.routing import Side
from ..execution.book import Book
from ..execution.excerpt import excerpt
from ..execution.execution import Answer, Execution, Priority
from ..execution.failures import call_id_conflict
from ..execution.outcome import Outcome, OutcomeStatus
from ..execution.record import ExecutionRecord
from ..execution.storing import fingerprint_of, outcome_of, record_of
from ..storage.port import Change, Conflict
from ..storage.rows import ExecutionRow, RequestRow, SessionRow
from ..tools.definition import Tool
from ..tools.document import encode, shorten
from ..tools.snapshot import Snapshot
from ..tools.view import View
from .ledger import Ledger
from .services import Services

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
        "_found",
        "_found_at",
        "_late",
        "_manager",
        "_registry",
        "_services",
        "board",
        "book",
        "created_at",
        "durable",
        "id",
        "last_used",
        "ledger",
        "open",
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
        services: Services,
        board: Board,
        book: Book,
        ledger: Ledger,
        created_at: float,
    ) -> None:
        self.id = session_id
        self.user_id = user_id
        self.view = view
        self.running = 0
        self.board = board
        self.book = book
        self.ledger = ledger
        self.created_at = created_at
        self.open = True
        """False after a logout, until the next login."""
        self.last_used = services.clock.monotonic()
        self.durable = ledger.durable
        self.tell = ledger.tell
        self._late: dict[str, None] = {}
        """Results that wait to be taken, as far as this process knows."""
        self._found: dict[str, Tool] = {}
        self._found_at = -1
        self._services = services
        self._registry = services.registry
        self._manager = services.manager

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
        execution = self.book.get(execution_id)
        if execution is None or execution.lost:
            row = await self._stored(execution_id)
            if row.completed_at is not None:
                return outcome_of(row)
            await self._within(timeout, self._ended_elsewhere(execution_id))
            return outcome_of(await self._stored(execution_id))
        if not execution.terminal:
            await self._within(timeout, self._manager.wait(execution))
        if self.durable:
            await self.ledger.settle()
            if execution.lost:
                return outcome_of(await self._stored(execution_id))
        return execution.outcome()

    async def _within(self, timeout: float | None, wait: Awaitable[None]) -> None:
        """Wait for something, but not longer than that."""
        waiting = asyncio.ensure_future(wait)
        timer = None if timeout is None else self._services.clock.call_later(timeout, waiting.cancel)
        try:
            await asyncio.wait([waiting])
        finally:
            waiting.cancel()
            if timer is not None:
                timer.cancel()

    async def _ended_elsewhere(self, execution_id: str) -> None:
        """Return when the board says that an execution of another process has ended."""
        after = self.board.last_seq
        if (await self._stored(execution_id)).completed_at is not None:
            return
        async for event in self.events(after):
            if event.kind == EventKind.TOOL_RESULT and event.data["execution_id"] == execution_id:
                return

    def execution(self, execution_id: str) -> ExecutionRecord:
        """The record of an execution. Raises `ToolError` (not_found)."""
        return self._execution(execution_id).record(self._services.clock.monotonic())

    def executions(self) -> list[ExecutionRecord]:
        """The records of all executions that are kept in memory, oldest first."""
        now = self._services.clock.monotonic()
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

    async def history(self, limit: int = 1000) -> list[ExecutionRecord]:
        """The records of the newest executions, those of earlier times and of other processes too, oldest first."""
        if not self.durable:
            return self.executions()[-limit:]
        await self.ledger.settle()
        now = self._services.clock.time()
        return [record_of(row, now) for row in await self._services.store.executions(self.id, limit=limit)]

    # Stopping

    async def cancel(self, execution_id: str) -> bool:
        """Stop an execution, wherever it runs. False where it had ended. Raises `ToolError` (not_found)."""
        execution = self.book.get(execution_id)
        if execution is not None and not execution.lost:
            return self._manager.cancel(execution)
        row = await self._stored(execution_id)
        if row.completed_at is not None:
            return False
        await self.ledger.write(Change(self.id, cancel=[execution_id]))
        self._services.look_around()
        return True

    async def cancel_call(self, call_id: str) -> bool:
        """Stop the execution of a call, by the caller's id."""
        execution = self.book.by_call(call_id)
        if execution is not None and not execution.lost:
            return self._manager.cancel(execution)
        row = await self._services.store.execution_of_call(self.id, call_id) if self.durable else None
        return row is not None and await self.cancel(row.id)

    async def cancel_all(self) -> int:
        """Stop everything that this session runs, and say how many that were."""
        here = sum([self._manager.cancel(execution) for execution in self.open_executions])
        if not self.durable:
            return here
        await self.ledger.settle()
        rows = await self._services.store.executions(self.id, unfinished=True)
        others = [row.id for row in rows if not row.cancelling and row.id not in self.book]
        if others:
            await self.ledger.write(Change(self.id, cancel=others))
            self._services.look_around()
        return here + len(others)

    # Results that came late

    @property
    def has_pending_work(self) -> bool:
        """Whether anything runs, waits for a person, or waits to be taken."""
        return bool(self._late or self.open_executions)

    async def take_results(self) -> list[Outcome]:
        """The late results that nobody has taken yet, oldest first. Nobody gets them again."""
        if not self.durable:
            taken, self._late = tuple(self._late), {}
            return await self._outcomes(taken)
        await self.ledger.settle()
        while True:
            row = await self._services.store.session(self.id)
            if row is None or not row.unconsumed:
                return []
            outcomes = await self._outcomes(row.unconsumed)
            try:
                await self.ledger.write(Change(self.id, taken=row.unconsumed))
            except Conflict:  # somebody else took some of them in the same moment
                continue
            for execution_id in row.unconsumed:
                self._late.pop(execution_id, None)
            return outcomes

    async def _outcomes(self, ids: tuple[str, ...]) -> list[Outcome]:
        found = {each: self.book[each].outcome() for each in ids if each in self.book and not self.book[each].lost}
        if self.durable and len(found) < len(ids):
            missing = [each for each in ids if each not in found]
            rows = await self._services.store.executions(self.id, ids=missing, limit=len(missing))
            found.update({row.id: outcome_of(row) for row in rows})
        return [found[each] for each in ids if each in found]

    # People and the system

    async def post(self, event: Mapping[str, Any], *, side: Side | str = Side.PEOPLE) -> int:
        """Post an event: its kind and the fields of that kind. Returns its number, once it is stored.

        Raises `PostingRefused` for a kind that one's side may not post, `EventInvalid` for a wrong shape, and what
        `answer` raises for an answer.
        """
        from ..events.posting import accept

        kind, data = accept(event, Side(side))
        if kind == EventKind.USER_REQUEST:
            return await self._services.workers.handle(self, data)
        if kind == EventKind.HUMAN_ANSWER:
            return await self.answer(data["request_id"], data["answer"])
        if kind == EventKind.WALLET_TX_RESPONSE:
            request_id = data.pop("request_id")
            return await self.answer(request_id, {name: value for name, value in data.items() if value is not None})
        return await self._post(kind, data)

    async def answer(self, request_id: str, answer: Any) -> int:
        """Answer what a person is asked: `{"approved": True}`, or what the tool asks for. Returns the event's number.

        Raises `ToolError` (not_found), `RequestClosed`, or `AnswerInvalid`, after which the request is still open.
        """
        number = await self._services.requests.answer(self, request_id, answer)
        if self.durable:
            self._services.look_around()  # nobody may hold the execution that waits for it
        return number

    async def requests(self) -> list[RequestRow]:
        """What people are asked and have not answered, oldest first."""
        await self.ledger.settle()
        return await self._services.requests.open(self)

    async def notice(self, message: str, **details: Any) -> int:
        """Tell the people of this session something. Returns the event's number."""
        return await self._post(EventKind.SYSTEM_NOTICE, {"message": message, **details})

    async def _post(self, kind: str, data: Mapping[str, Any]) -> int:
        event = encode_event(kind, self._services.clock.time(), to_json(data))
        return await self.ledger.write(Change(self.id, events=(event,)))

    # The board

    async def events(self, after: int = 0) -> AsyncIterator[Event]:
        """Every event after a cursor, those that are there and those that come. Raises `CursorExpired`."""
        if self.durable:
            await self._services.catch_up(self)
        async for event in self.board.follow(after):
            yield event

    def subscribe(self, callback: Callable[[Events], Any], after: int | None = None) -> Subscription:
        """Have events delivered in batches to a callback, until the subscription is closed."""
        return self.board.subscribe(callback, after)

    # Its end

    async def close(self, grace: float = 30.0) -> None:
        """Log out: wait for what runs, as each tool says, at most the grace time; then free the memory.

        What then still runs ends as failed (timeout), with a notice. Everything is kept, and found at the next login.
        """
        await self._services.log_out(self, grace)

    @property
    def open_executions(self) -> list[Execution]:
        """What has not ended."""
        return [execution for execution in self.book.values() if not execution.terminal]

    def row(self) -> SessionRow:
        """What is stored of the session itself."""
        view = self.view
        return SessionRow(
            id=self.id,
            user_id=self.user_id,
            namespaces=None if view.namespaces is None else tuple(sorted(view.namespaces)),
            channel=view.channel,
            allow=None if view.allow is None else tuple(sorted(view.allow)),
            tools=tuple(tool.name for tool in self.tools()),
            open=self.open,
            created_at=self.created_at,
            updated_at=self._services.clock.time(),
        )

    def forget_tools(self) -> None:
        """What it sees has changed."""
        self._found_at = -1

    def remember(self, unconsumed: tuple[str, ...]) -> None:
        """Results that were there before this process knew the session."""
        self._late.update(dict.fromkeys(unconsumed))

    # For the execution manager

    async def settle(self) -> None:
        await self.ledger.settle()

    def late(self, execution: Execution) -> None:
        self._late[execution.id] = None
        if len(self._late) > self.book.limit and not self.durable:  # in memory only so many executions are kept
            self._late = dict.fromkeys(each for each in self._late if each in self.book)
        self.ledger.late(execution)

    async def ask(self, execution: Execution) -> Answer:
        requests = self._services.requests
        try:
            answer = await requests.ask(self, execution, self._manager.disown)
        except asyncio.CancelledError:
            request = execution.request
            if request is not None and request.status == "open" and not execution.lost:
                await requests.withdraw(self, request)
            raise
        if answer.error is not None or execution.tool.handler is None:
            self.use(execution)
        return answer

    def use(self, execution: Execution) -> None:
        if execution.request is not None and execution.request.status == "answered":
            execution.request = replace(execution.request, status="used")
            self.ledger.use(execution.request)

    async def elsewhere(self, execution: Execution) -> Outcome:
        store = self._services.store
        row = await store.execution_of_call(self.id, execution.call_id)
        if row is None:
            raise ToolError("The call was lost.", category=ErrorCategory.UNKNOWN)
        if row.tool != execution.name or row.fingerprint != fingerprint_of(execution.document):
            return _conflict(row, execution.name)
        if row.completed_at is None and not execution.late:
            return await self.result(row.id, execution.tool.inline_budget)
        return outcome_of(row)

    async def _stored(self, execution_id: str) -> ExecutionRow:
        row = await self._services.store.execution(self.id, execution_id) if self.durable else None
        if row is None:
            raise _no_execution(execution_id)
        return row

    def _execution(self, execution_id: str) -> Execution:
        if (execution := self.book.get(execution_id)) is None:
            raise _no_execution(execution_id)
        return execution


DEFAULT_RESULT_LIMIT = 50_000
"""How many characters of a result a model is shown when its tool does not say."""


def _no_execution(execution_id: str) -> ToolError:
    return ToolError(f"There is no execution {shorten(execution_id, 80)!r}.", category=ErrorCategory.NOT_FOUND)


def _conflict(row: ExecutionRow, name: str) -> Outcome:
    error = call_id_conflict(row.call_id, row.tool)
    return Outcome(OutcomeStatus.FAILED, row.id, row.call_id, name, None, error)


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
