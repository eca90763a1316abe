"""A session: it sees its tools, makes its calls, and has one board.

It is a thin thing: who it belongs to, what it may see, where its events go. The work is done by the execution manager,
for which it is the scope of its calls; what it writes goes through its ledger. How its calls stand is known to its
`Calls`, which results wait to its `LateResults`; what only a conversation needs of it is a `ConversationScope`.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from pydantic_core import to_json

from ..errors import CallboardError, ErrorCategory, RegistrationError, ToolError
from ..events.board import Board, Subscription
from ..events.event import Event, Events, encode_event
from ..events.kinds import EventKind
from ..events.routing import Family, Side
from ..events.routing import family as family_of
from ..execution.execution import Execution, Priority
from ..execution.index import ExecutionIndex
from ..execution.outcome import Outcome
from ..execution.record import ExecutionRecord
from ..execution.scope import HumanDecision
from ..execution.storing import live_record
from ..shortening import shorten
from ..storage import patience
from ..storage.change import Change
from ..storage.errors import StoreUnavailable, StoreUnconfirmed
from ..storage.rows import IdempotencyRow, RequestRow, SessionRow
from ..tools.context import ClientContext
from ..tools.definition import Tool
from ..tools.document import encode
from ..tools.snapshot import Snapshot
from ..tools.view import View
from ..turns import Turn
from ..types import Wake
from .calls import Calls
from .ids import MAX_ID, CallIdInvalid, is_call_id
from .ledger import Ledger
from .model_view import shown_text, shown_to_model
from .results import LateResults
from .services import ConversationPort, Messages, Services
from .snapshot import BriefSnapshot, SessionSnapshot, take_brief_snapshot, take_snapshot

_NORMAL = Priority.NORMAL
_LOUD_TO_QUIET = (Wake.WAKE, Wake.WAIT, Wake.UI_ONLY)
_NO_TOOLS: Mapping[str, Tool] = MappingProxyType({})


class Session:
    """One user's conversation. Made by `Runtime.open`."""

    __slots__ = (
        "__weakref__",
        "_found",
        "_found_at",
        "_lent",
        "_manager",
        "_registry",
        "_services",
        "_used",
        "board",
        "calls",
        "client",
        "created_at",
        "current_conversation",
        "durable",
        "gone",
        "id",
        "index",
        "ledger",
        "open",
        "results",
        "running",
        "tell",
        "user",
        "user_id",
        "view",
        "wake",
        "writes",
    )

    def __init__(
        self,
        session_id: str,
        user_id: str,
        view: View,
        *,
        services: Services,
        board: Board,
        index: ExecutionIndex,
        ledger: Ledger,
        created_at: float,
    ) -> None:
        self.id = session_id
        self.user_id = user_id
        self.user = services.usage.of(user_id)
        """What all sessions of the user take up in this process."""
        self.view = view
        self.running = 0
        self.board = board
        self.index = index
        self.ledger = ledger
        self.created_at = created_at
        self.writes = 0
        """How often it had been written when it was last read, in whatever process."""
        self.wake: Wake | None = None
        """What late results do to it while it is idle; None: what their tools say."""
        self.current_conversation: ConversationPort | None = None
        """Its conversation, once there was anything to talk about."""
        self.client: ClientContext | None = None
        """What the user's client sent along with its newest run, for tools and model; kept in memory only."""
        self.open = True
        """False after a logout, until the next login."""
        self.gone = False
        """Whether it was deleted, here or by another process, as far as that is known here."""
        self._used = services.clock.monotonic()
        self.durable = ledger.durable
        self.tell = ledger.tell
        self.calls = Calls(session_id, services, board, index, ledger)
        """How they stand, and how they are stopped."""
        self.results = LateResults(session_id, index, ledger, services.store)
        """Results that came late and wait to be taken."""
        self._lent: Mapping[str, Tool] = _NO_TOOLS
        self._found: dict[str, Tool] = {}
        self._found_at = -1
        self._services = services
        self._registry = services.registry
        self._manager = services.manager

    # Tools

    def tools(self) -> Snapshot:
        """The tools that this session sees now, pinned."""
        seen = self._registry.visible(self.view)
        shown = [tool for tool in seen if not self._manager.hides(self, tool)]
        if not self._lent and len(shown) == len(seen):
            return seen
        return Snapshot([*shown, *self._lent.values()])

    def lend(self, tools: Iterable[Tool]) -> None:
        """Give this session tools that nobody else has, such as those that its page carries out. They take the place of
        those that it was lent before, and are forgotten with the session's memory.

        Raises `RegistrationError` for a name that a tool of the registry has.
        """
        lent = {tool.name: tool for tool in tools}
        if taken := sorted(name for name in lent if self._registry.get(name) is not None):
            raise RegistrationError(f"There are tools with these names already: {', '.join(taken)}.")
        self._lent = lent
        self.forget_tools()

    def add_tools_for_sessions(self, make: "Callable[[Callable[[str], Session | None]], Iterable[Tool]]") -> None:
        """Register tools that look up the session of their call, unless the registry has them already.

        `make` gets the function that finds a live session by its id. All sessions of the runtime have the tools.
        """
        for tool in make(self._services.find):
            if self._registry.get(tool.name) is None:
                self._registry.register(tool)

    def lent(self, name: str) -> Tool | None:
        """A tool that only this session has, if it has one of that name."""
        return self._lent.get(name)

    def find(self, name: str) -> Tool:
        """A tool that this session sees. Raises `ToolError` (not_found), also for tools that only others see."""
        if self._found_at == self._registry.version and (tool := self._found.get(name)) is not None:
            return tool
        return self._find(name)

    def _find(self, name: str) -> Tool:
        if self._found_at != self._registry.version:
            self._found, self._found_at = {}, self._registry.version
        if (tool := self._lent.get(name)) is not None:
            return tool
        tool = self._registry.get(name)
        if tool is None or not self.view.admits(tool, self._registry.settings.gates):
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
        if call_id is not None and not is_call_id(call_id):
            raise CallIdInvalid(f"A call id has 1 to {MAX_ID} printable characters.")
        if priority is not _NORMAL and isinstance(priority, str):
            priority = _priority(priority)
        try:
            document = arguments if isinstance(arguments, bytes) else _document(arguments)
            tool = self._found.get(name) if self._found_at == self._registry.version else None
            if tool is None:
                tool = self._find(name)
        except ToolError as error:
            return self._manager.refuse(self, shorten(name, 80), call_id, error)
        return self._manager.call(self, tool, document, call_id, priority)

    def call_among(self, tools: Snapshot | None, name: str, arguments: str, call_id: str) -> Awaitable[Outcome]:
        """Call one of the tools that were shown: what was seen is what runs, whatever was registered meanwhile."""
        tool = None if tools is None else tools.get(name)
        if tool is None:
            return self.call(name, arguments, call_id=call_id)
        try:
            return self._manager.call(self, tool, _document(arguments), call_id, _NORMAL)
        except ToolError as error:
            return self._manager.refuse(self, name, call_id, error)

    async def result(self, execution_id: str, timeout: float | None = None) -> Outcome:
        """Wait for an execution's end, at most `timeout` seconds; then its outcome may still be `started`.

        With 0 it is how it stands now. Raises `ToolError` (not_found).
        """
        return await self.calls.result(execution_id, timeout)

    def execution(self, execution_id: str) -> ExecutionRecord:
        """The record of an execution. Raises `ToolError` (not_found)."""
        return live_record(self.calls.execution(execution_id), self._services.clock.monotonic())

    def executions(self) -> list[ExecutionRecord]:
        """The records of all executions that are kept in memory, oldest first."""
        return self.calls.records(self.index.entries)

    async def history(self, limit: int = 1000, *, unfinished: bool = False) -> list[ExecutionRecord]:
        """The records of the newest executions, those of earlier times and of other processes too, oldest first.

        With `unfinished` only of those that have not ended.
        """
        return await self.calls.history(limit, unfinished)

    @property
    def open_executions(self) -> list[Execution]:
        """What this process carries out and has not ended."""
        return self.calls.unfinished

    def result_text(self, execution_id: str, offset: int = 0, length: int | None = None) -> str:
        """A finished execution's result as the model reads it: rendered for the channel and, from the start, cut to the
        tool's limit. With an offset, that part of the whole text. Of one that goes on, its acknowledgement.

        Raises `ToolError` (not_found).
        """
        execution = self.calls.execution(execution_id)
        return shown_text(execution.outcome(), execution.tool, self.view.channel, offset, length)

    def shown(self, outcome: Outcome, offset: int = 0) -> Any:
        """What a model is shown of an outcome: the acknowledgement, the error, or the result from a character on."""
        return shown_to_model(
            outcome, self.lent(outcome.tool) or self._registry.get(outcome.tool), self.view.channel, offset
        )

    async def cancel(self, execution_id: str, *, idempotency: IdempotencyRow | None = None) -> bool:
        """Stop an execution, wherever it runs. False where it had ended. Raises `ToolError` (not_found)."""
        cancelled = await self.calls.cancel(execution_id)
        if idempotency is not None:
            answer = to_json({"cancelled": cancelled})
            await self.ledger.write(Change(self.id, idempotency=replace(idempotency, answer=answer)))
        return cancelled

    async def cancel_call(self, call_id: str) -> bool:
        """Stop the execution of a call, by the caller's id."""
        return await self.calls.cancel_call(call_id)

    async def cancel_all(self) -> int:
        """Stop everything that this session runs, and say how many that were."""
        return await self.calls.cancel_all()

    # Results that came late

    @property
    def has_pending_work(self) -> bool:
        """Whether anything runs, waits for a person, or waits to be taken.

        Of what other processes do it is known how it stood when the session was opened, or results were last taken.
        """
        return bool(self.results or self.open_executions or self.results.expected)

    def wakes(self, tool_name: str) -> Wake:
        """What a tool's late result does to this session while it is idle: the quieter of what both say."""
        tool = self._registry.get(tool_name)
        said = (Wake.WAKE if tool is None else tool.wake, self.wake or Wake.WAKE)
        return max(said, key=_LOUD_TO_QUIET.index)

    async def take_results(self) -> list[Outcome]:
        """The late results that nobody has taken yet, oldest first. Nobody gets them again."""
        return await self.results.take()

    # People and the system

    async def post(
        self,
        event: Mapping[str, Any],
        *,
        side: Side | str = Side.PEOPLE,
        idempotency: IdempotencyRow | None = None,
    ) -> int:
        """Post an event: its kind and the fields of that kind. Returns its number, once it is stored.

        `idempotency` is stored with the event; where its key was stored before, nothing is posted, and `AlreadyWritten`
        or `IdempotencyConflict` is raised. Raises `PostingRefused` for a kind that the side may not post,
        `EventInvalid` for a wrong shape, and what `answer` raises for an answer.
        """
        from ..events.posting import accept

        kind, data = accept(event, Side(side))
        if kind == EventKind.USER_REQUEST:
            return await self._services.workers.handle(self, data, idempotency)
        if kind == EventKind.HUMAN_ANSWER:
            seen = data.get("arguments_hash")
            return await self.answer(data["request_id"], data["answer"], arguments_hash=seen, idempotency=idempotency)
        if kind == EventKind.WALLET_TX_RESPONSE:
            request_id, seen = data.pop("request_id"), data.pop("arguments_hash", None)
            said = {name: value for name, value in data.items() if value is not None}
            return await self.answer(request_id, said, arguments_hash=seen, idempotency=idempotency)
        if kind == EventKind.USER_INPUT:
            data = {name: value for name, value in data.items() if value is not None}
            if (conversation := self._services.conversation(self)) is not None:
                return await conversation.hear(data, idempotency=idempotency)
        return await self._post(kind, data, idempotency)

    async def answer(
        self,
        request_id: str,
        answer: Any,
        *,
        arguments_hash: str | None = None,
        idempotency: IdempotencyRow | None = None,
    ) -> int:
        """Answer what a person is asked: `{"approved": True}`, or what the tool asks for. Returns the event's number.

        `arguments_hash` is the one of the request as the person saw it; an answer that was given for other arguments is
        refused. Raises `ToolError` (not_found), `RequestClosed`, or `ArgumentsMismatch` and `AnswerInvalid`, after
        which the request is still open.
        """
        self.touch()
        try:
            return await self._services.requests.answer(
                self, request_id, answer, seen=arguments_hash, idempotency=idempotency
            )
        finally:
            if self.durable:
                self._services.poll_orphans()  # nobody may hold the execution that waits for it

    async def requests(self) -> list[RequestRow]:
        """What people are asked and have not answered, oldest first."""
        self.touch()
        await self.ledger.settle()
        return await self._services.requests.open(self)

    async def notice(self, message: str, **details: Any) -> int:
        """Tell the people of this session something. Returns the event's number."""
        return await self._post(EventKind.SYSTEM_NOTICE, {"message": message, **details})

    async def _post(self, kind: str, data: Mapping[str, Any], idempotency: IdempotencyRow | None = None) -> int:
        self.touch()
        event = encode_event(kind, self._services.clock.time(), to_json(data))
        return await self.ledger.write(Change(self.id, events=(event,), idempotency=idempotency))

    # The conversation

    async def say(self, text: str) -> Turn:
        """Tell the model something. Returns when the turn is finished, or waits for a person.

        Whoever does not want to wait for that posts a `user_input`.
        """
        return await self.conversation().say(text)

    @property
    def is_processing(self) -> bool:
        """Whether a turn runs, in this process."""
        return self.current_conversation is not None and self.current_conversation.is_processing

    async def messages(self, *, waiting: bool = False) -> list[dict[str, Any]]:
        """The conversation as the model sees it: what the user wrote, what the model said and called, and results.

        With `waiting` it ends with what the user wrote that the model has not been told yet.
        """
        return await self.conversation().messages(waiting=waiting)

    async def latest_messages(self, before: int | None = None, most: int = 100) -> Messages:
        """The newest messages, with what the user wrote that the model has not been told yet; or those before a place.

        It costs the same however long the conversation is.
        """
        return await self.conversation().window(before, most)

    async def interrupt(self, *, idempotency: IdempotencyRow | None = None) -> bool:
        """Stop the turn that runs, in whatever process, or that waits for a person. False where there is none."""
        conversation = self._services.conversation(self)
        return conversation is not None and await conversation.interrupt(idempotency)

    def conversation(self) -> ConversationPort:
        """Its conversation with the model. Raises `CallboardError` where there is no model."""
        if (conversation := self._services.conversation(self)) is None:
            raise CallboardError(
                "There is no model to talk to. Give one: Runtime(…, model='anthropic:…' or 'offline')."
            )
        return conversation

    # The board

    async def snapshot(self) -> SessionSnapshot:
        """How things stand now, for a reader who begins, or whose cursor has expired: he goes on after `last_seq`."""
        return await take_snapshot(self, self._services)

    async def brief_snapshot(self, limit: int, longest: int) -> BriefSnapshot:
        """How things stand now, with at most `limit` executions and requests, and nothing in them over `longest`."""
        self.touch()
        return await take_brief_snapshot(self, self._services, limit, longest)

    async def events(self, after: int = 0, family: Family | str | None = None) -> AsyncGenerator[Event]:
        """Every event after a cursor, those that are there and those that come. Raises `CursorExpired`.

        With a family only those of the conversation (`chat`), or all the others (`system`).
        """
        wanted = None if family is None else Family(family)
        with self.board.attended():  # from before the first look: nothing that comes meanwhile is missed
            self.touch()
            if self.durable:
                await self._services.catch_up(self.id, self.board)
            async with aclosing(self.board.follow(after)) as events:
                async for event in events:
                    if wanted is None or family_of(event.kind, event.data) is wanted:
                        yield event

    def subscribe(
        self,
        callback: Callable[[Events], Any],
        after: int | None = None,
        ended: Callable[[Exception], Any] | None = None,
    ) -> Subscription:
        """Have events delivered in batches to a callback, until the subscription is closed. See `Board.subscribe`."""
        self.touch()
        subscription = self.board.subscribe(callback, after, ended)
        self.board.refresh()
        return subscription

    # Its end

    async def close(self, grace: float = 30.0, *, idempotency: IdempotencyRow | None = None) -> None:
        """Log out: wait for what runs, as each tool says, at most the grace time; then free the memory.

        What then still runs ends as failed (timeout), with a notice. Everything is kept, and found at the next login.
        """
        await self._services.log_out(self, grace, idempotency)

    # For the keeper of sessions

    @property
    def last_used(self) -> float:
        """When anything was last done here, by the clock's monotonic time. Calls are seen by their executions."""
        if not self.index.entries:
            return self._used
        newest = self.index.entries[-1]
        return max(self._used, newest.queued, newest.ended or 0.0)

    def touch(self) -> None:
        """It is in use: it is not to be let go from memory yet."""
        self._used = self._services.clock.monotonic()

    def row(self) -> SessionRow:
        """What is to be stored of the session itself, now."""
        view = self.view
        return SessionRow(
            id=self.id,
            user_id=self.user_id,
            namespaces=None if view.namespaces is None else tuple(sorted(view.namespaces)),
            channel=view.channel,
            allow=None if view.allow is None else tuple(sorted(view.allow)),
            tools=tuple(tool.name for tool in self.tools()),
            open=self.open,
            wake=self.wake,
            created_at=self.created_at,
            updated_at=self._services.clock.time(),
        )

    def take_over(self, row: SessionRow) -> None:
        """Be as it is stored."""
        self.view, self.open = View.of(row.namespaces, row.channel, row.allow), row.open
        self.wake, self.writes = None if row.wake is None else Wake(row.wake), row.writes
        self.forget_tools()

    async def is_gone(self) -> bool:
        """Whether it is deleted, or its id is another session's by now."""
        if self.durable and not self.gone:
            row = await self._services.store.session(self.id)
            self.gone = row is None or row.created_at != self.created_at
        return self.gone

    def forget_tools(self) -> None:
        """What it sees has changed."""
        self._found_at = -1

    # For the execution manager

    async def settle(self) -> None:
        await self.ledger.settle()

    async def begun(self, execution: Execution, *, again: bool = False) -> None:
        """Return when the beginning of a call is stored, if its caller does not wait for that as long as it takes.

        Raises what `stored` does.
        """
        if patience.writer() is not None:
            await self.stored(execution, again=again)

    async def stored(self, execution: Execution, *, again: bool = False) -> None:
        """Return when what was told of a call is stored. Raises `StoreUnavailable` for a caller whose patience ends.

        A call of which nothing is stored is then taken back, unless its caller is not the first one (`again`); else the
        error is `StoreUnconfirmed`: the call goes on.
        """
        try:
            await self.ledger.settle()
        except StoreUnavailable as error:
            if patience.writer() is None:
                raise
            if again or execution.lost:
                raise StoreUnconfirmed("The call goes on; the store does not answer at the moment.") from error
            raise self.ledger.withdraw(execution) from error

    def late(self, execution: Execution) -> None:
        self.results.add(execution.id)
        if (conversation := self._services.conversation(self)) is not None:
            conversation.came_late(execution)
        self.ledger.late(execution)

    async def ask(self, execution: Execution) -> HumanDecision:
        user, most = self.user, self._registry.settings.max_user_requests
        if execution.request is None and user.requests >= most:
            said = f"{user.requests:,} calls of this user wait for a person already; {most:,} may. Nothing was done."
            return HumanDecision(error=ToolError(said, category=ErrorCategory.RESOURCE, retryable=False))
        user.requests += 1
        try:
            return await self._services.requests.ask(self, execution, self._manager.disown)
        finally:
            user.requests -= 1

    def use(self, execution: Execution) -> None:
        self._services.requests.use(self, execution)

    async def elsewhere(self, execution: Execution) -> Outcome:
        if (outcome := await self.calls.elsewhere(execution)) is not None:
            return outcome
        if await self.is_gone():
            raise ToolError("The session was deleted.", category=ErrorCategory.NOT_FOUND)
        raise ToolError("The call was lost.", category=ErrorCategory.UNKNOWN)


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
