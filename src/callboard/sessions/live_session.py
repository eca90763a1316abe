"""The live state of a session in this process, which the public `Session` wraps.

It is the scope of the session's calls for the execution manager. Above it stand the session manager, the conversation,
the server and the protocols, which use it directly. Below it are `SessionTools` (the tools it sees), `Calls` (the state
of its calls), `Cancellation`, `LateResults` (results that wait to be taken) and the ledger (everything it writes).
"""

from asyncio import get_running_loop
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping
from contextlib import aclosing
from typing import Any, Protocol

from pydantic_core import to_json

from ..errors import CallboardError, ToolError
from ..events.board import Board, Subscription
from ..events.event import Event, Events, encode_event
from ..events.kinds import EventKind
from ..events.routing import Family
from ..events.routing import family as family_of
from ..execution.execution import Execution, Priority
from ..execution.failures import not_stored, session_deleted
from ..execution.index import ExecutionIndex
from ..execution.outcome import Outcome, OutcomeStatus
from ..execution.scope import HumanDecision
from ..shortening import shorten
from ..storage import patience
from ..storage.change import Change, TitleWrite
from ..storage.errors import StoreUnavailable, StoreUnconfirmed
from ..storage.rows import IdempotencyRow, RequestRow
from ..tools.context import ClientContext
from ..tools.definition import Tool
from ..tools.snapshot import Snapshot
from ..tools.view import View
from ..types import Wake
from ..user_documents import UserDocuments
from ..user_memory import UserMemory
from .call_arguments import encode_arguments, parse_priority
from .calls import Calls, StoreSync
from .cancellation import Cancellation
from .conversation_port import ConversationPort
from .ids import MAX_ID, CallIdInvalid, is_valid_id
from .ledger import Ledger
from .model_view import render_for_model
from .results import LateResults
from .services import Services
from .session_title import SessionTitle
from .session_tools import SessionTools

_NORMAL = Priority.NORMAL


class SessionHost(StoreSync, Protocol):
    """The session manager as a live session sees it."""

    def find(self, session_id: str) -> "LiveSession | None":
        """Return a session that is in memory or still referenced."""
        ...

    def converse(self, session: "LiveSession") -> ConversationPort | None:
        """Make the conversation of a session; None if the runtime has no model."""
        ...

    def is_current(self, session_id: str) -> bool:
        """Whether a session is in memory, and no other process has changed it."""
        ...

    async def refresh(self, session: "LiveSession") -> None:
        """Bring a session up to date, and back into memory. Raises `SessionNotFound` if it is deleted."""
        ...

    async def log_out(self, session: "LiveSession", grace: float, idempotency: IdempotencyRow | None = None) -> None:
        """Log a session out. See `Session.close`."""
        ...


class LiveSession:
    """One session in memory. There is at most one per id and process."""

    __slots__ = (
        *("__weakref__", "_host", "_manager", "_touched_at", "append_beginning", "append_events", "board", "calls"),
        *("cancellation", "client", "created_at", "current_conversation", "deleted", "durable", "id", "index"),
        *("ledger", "open", "results", "running", "services", "settle", "title", "toolbox", "user", "user_id"),
        *("wake", "writes"),
    )

    def __init__(
        self,
        session_id: str,
        user_id: str,
        view: View,
        *,
        services: Services,
        host: SessionHost,
        board: Board,
        index: ExecutionIndex,
        ledger: Ledger,
        created_at: float,
    ) -> None:
        self.id = session_id
        self.user_id = user_id
        self.user = services.usage.of(user_id)
        """Usage of all sessions of the user in this process."""
        self.toolbox = SessionTools(services.registry, view)
        self.running = 0
        self.board = board
        self.index = index
        self.ledger = ledger
        self.durable, self.settle = ledger.durable, ledger.settle
        self.append_events, self.append_beginning = ledger.append_events, ledger.append_beginning
        manager, store, clock = services.manager, services.store, services.clock
        self.results = results = LateResults(session_id, index, ledger, store)
        self.calls = Calls(session_id, manager, store, clock, host, board, index, ledger, results, services.tool_of)
        self.cancellation = Cancellation(session_id, manager, store, host, index, ledger, self.calls)
        self.created_at = created_at
        self.writes = 0
        """Version of the stored row that this state was read from."""
        self.title = SessionTitle()
        self.wake: Wake | None = None
        """Effect of late results on the idle session; None: as their tools say."""
        self.current_conversation: ConversationPort | None = None
        """Its conversation, once there was a reason to make one."""
        self.client: ClientContext | None = None
        """Context that the user's client sent with its newest run. Kept in memory only."""
        self.open = True
        """False between a logout and the next login."""
        self.deleted = False
        """Whether the session was deleted, as far as this process knows."""
        self._touched_at = clock.monotonic()
        self.services = services
        self._host = host
        self._manager = manager

    def check_running(self) -> None:
        """Raise `RuntimeNotOpen` after the runtime has ended, and in another event loop than the runtime's."""
        self.services.check_running(self.id)

    # Tools

    def tools(self) -> Snapshot:
        """Return the tools that this session sees now, pinned."""
        seen, own = self.toolbox.visible(), self.toolbox.own_tools
        kept = [tool for tool in seen if not self._manager.hides(self, tool)]
        return seen if not own and len(kept) == len(seen) else Snapshot([*kept, *own.values()])

    def find(self, name: str) -> Tool:
        """Return a tool that this session sees. Raises `ToolError` (not_found)."""
        return self.toolbox.find(name)

    def own_tool(self, name: str) -> Tool | None:
        """Return a tool that only this session has."""
        return self.toolbox.own_tools.get(name)

    def add_tools_for_sessions(self, make: "Callable[[Callable[[str], LiveSession | None]], Iterable[Tool]]") -> None:
        """Register tools that look up the session of their call, unless the registry has them already.

        `make` gets the function that finds a live session by its id. All sessions of the runtime have the tools.
        """
        for tool in make(self._host.find):
            if self.services.registry.get(tool.name) is None:
                self.services.registry.register(tool)

    # Calls

    def call(
        self, name: str, arguments: Any = None, call_id: str | None = None, priority: Priority | str = _NORMAL
    ) -> Awaitable[Outcome]:
        """Call a tool. See `Session.call`."""
        try:
            if get_running_loop() is not self.services.loop:
                self.check_running()
        except RuntimeError:  # no loop runs yet
            return self._call_in_loop(name, arguments, call_id, priority)
        if call_id is not None and not is_valid_id(call_id):
            raise CallIdInvalid(f"A call id has 1 to {MAX_ID} printable characters.")
        if priority is not _NORMAL and not isinstance(priority, Priority):
            priority = parse_priority(str(priority))
        try:
            document = arguments if isinstance(arguments, bytes) else encode_arguments(arguments)
            tool = self.toolbox.find(name)
        except ToolError as error:
            return self._manager.refuse(self, shorten(name, 80), call_id, error)
        return self._manager.call(self, tool, document, call_id, priority)

    async def _call_in_loop(self, name: str, arguments: Any, call_id: str | None, priority: Priority | str) -> Outcome:
        return await self.call(name, arguments, call_id, priority)

    def call_among(self, tools: Snapshot | None, name: str, arguments: str, call_id: str) -> Awaitable[Outcome]:
        """Call a tool of a pinned snapshot, whatever was registered since; any other tool as `call` does."""
        tool = None if tools is None else tools.get(name)
        if tool is None:
            return self.call(name, arguments, call_id)
        try:
            return self._manager.call(self, tool, encode_arguments(arguments), call_id, _NORMAL)
        except ToolError as error:
            return self._manager.refuse(self, name, call_id, error)

    def render_for_model(self, outcome: Outcome, offset: int = 0) -> Any:
        """Return an outcome as a model reads it: the acknowledgement, the error, or the result from an offset on."""
        return render_for_model(outcome, self.toolbox.known(outcome.tool), self.toolbox.view.channel, offset)

    @property
    def has_pending_work(self) -> bool:
        """Whether anything runs, waits for a person, or waits to be taken. See `Session.has_pending_work`."""
        return bool(self.results or self.calls.unfinished or self.results.expected)

    def wakes(self, tool_name: str) -> Wake:
        """Return the effect of a tool's late result on the idle session: the quieter of the tool's and its own."""
        tool = self.services.registry.get(tool_name)
        effects = (Wake.WAKE if tool is None else tool.wake, self.wake or Wake.WAKE)
        return max(effects, key=tuple(Wake).index)

    # People and the system

    async def answer(
        self,
        request_id: str,
        answer: Any,
        *,
        arguments_hash: str | None = None,
        idempotency: IdempotencyRow | None = None,
    ) -> int:
        """Answer a request to a person. See `Session.answer`; `idempotency` is as in `post_event`."""
        self.touch()
        try:
            return await self.services.requests.answer(
                self, request_id, answer, expected_hash=arguments_hash, idempotency=idempotency
            )
        finally:
            if self.durable:
                self._host.poll_orphans()  # no process may hold the execution that waits for the answer

    async def requests(self) -> list[RequestRow]:
        """Return the stored rows of the open requests to people, oldest first."""
        self.touch()
        await self.ledger.settle()
        return await self.services.requests.open(self)

    async def notice(self, message: str, **details: Any) -> int:
        """Post a notice for the people of this session. Returns the event's number."""
        return await self.write_event(EventKind.SYSTEM_NOTICE, {"message": message, **details})

    async def write_event(
        self,
        kind: str,
        data: Mapping[str, Any],
        idempotency: IdempotencyRow | None = None,
        title: TitleWrite | None = None,
    ) -> int:
        """Write one event to the board. Returns its number, once it is stored."""
        self.touch()
        event = encode_event(kind, self.services.clock.time(), to_json(data))
        number = await self.ledger.write(Change(self.id, events=(event,), idempotency=idempotency, title=title))
        self.title.written(title)
        return number

    # The conversation

    @property
    def is_processing(self) -> bool:
        """Whether a turn runs in this process."""
        return self.current_conversation is not None and self.current_conversation.is_processing

    def find_conversation(self) -> ConversationPort | None:
        """Return the conversation with the model; None if the runtime has no model."""
        if self.current_conversation is None:
            self.current_conversation = self._host.converse(self)
        return self.current_conversation

    def conversation(self) -> ConversationPort:
        """Return the conversation with the model. Raises `CallboardError` if the runtime has no model."""
        if (conversation := self.find_conversation()) is None:
            raise CallboardError("There is no model to talk to. Set one: Runtime(…, model='anthropic:…' or 'offline').")
        return conversation

    async def retry(self, idempotency: IdempotencyRow | None = None) -> bool:
        """Let the model respond to messages without a response. False if there are none."""
        conversation = self.find_conversation()
        if conversation is None or not await conversation.retry():
            return False
        if idempotency is not None:  # a repeat that comes before this is stored joins the turn
            await self.ledger.write(Change(self.id, idempotency=idempotency))
        return True

    async def interrupt(self, idempotency: IdempotencyRow | None = None) -> bool:
        """Stop the turn that runs or waits for a person. See `Session.interrupt`."""
        conversation = self.find_conversation()
        return conversation is not None and await conversation.interrupt(idempotency)

    # The board

    async def catch_up(self) -> None:
        """Add to the board the events that other processes wrote."""
        if self.durable:
            await self._host.catch_up(self.id, self.board)

    async def events(self, after: int = 0, family: Family | str | None = None) -> AsyncGenerator[Event]:
        """Yield every event after a cursor, stored and new ones. See `Session.events`."""
        wanted = None if family is None else Family(family)
        with self.board.reading():  # before the first read, so that no event is missed
            self.touch()
            await self.catch_up()
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
        """Deliver events in batches to a callback, until the subscription is closed. See `Board.subscribe`."""
        self.touch()
        subscription = self.board.subscribe(callback, after, ended)
        self.board.refresh()
        return subscription

    # Lifetime

    async def close(self, grace: float = 30.0, *, idempotency: IdempotencyRow | None = None) -> None:
        """Log out. See `Session.close`; `idempotency` is as in `post_event`."""
        await self._host.log_out(self, grace, idempotency)

    @property
    def last_used(self) -> float:
        """Monotonic time of the last use, calls included."""
        if not self.index.entries:
            return self._touched_at
        newest = self.index.entries[-1]
        return max(self._touched_at, newest.queued, newest.ended or 0.0)

    def touch(self) -> None:
        """Note that the session is in use, which keeps it in memory."""
        self._touched_at = self.services.clock.monotonic()

    @property
    def is_current(self) -> bool:
        """Whether the session is in memory, and no other process has changed it, as far as this process knows."""
        return not self.deleted and (not self.durable or self._host.is_current(self.id))

    async def refresh(self) -> None:
        """Bring a session that is not current up to date, and back into memory. Raises `SessionNotFound`."""
        if not self.is_current:
            await self._host.refresh(self)

    async def check_deleted(self) -> bool:
        """Return whether the session is deleted, also if its id belongs to a new session."""
        if self.durable and not self.deleted:
            row = await self.services.store.session(self.id)
            self.deleted = row is None or row.created_at != self.created_at
        return self.deleted

    # The scope of the execution manager

    @property
    def memory(self) -> UserMemory:
        return self.services.memory_of(self.user_id, self.id)

    def documents(self, execution: Execution) -> UserDocuments:
        return self.services.documents_of(self.user_id, execution.id)

    async def wait_until_begun(self, execution: Execution, *, again: bool = False) -> None:
        if patience.writer() is not None:
            await self.wait_until_stored(execution, again=again)

    async def wait_until_stored(self, execution: Execution, *, again: bool = False) -> None:
        try:
            await self.ledger.settle()
        except StoreUnavailable as error:
            if patience.writer() is None:
                raise
            if again or execution.lost:
                raise StoreUnconfirmed("The call continues; the store does not answer at the moment.") from error
            raise self.ledger.withdraw(execution) from error

    def add_late_result(self, execution: Execution) -> None:
        self.results.add(execution.id)
        if (conversation := self.find_conversation()) is not None:
            conversation.handle_late_result(execution)
        self.ledger.add_late_result(execution)

    async def ask(self, execution: Execution) -> HumanDecision | None:
        return await self.services.requests.ask(self, execution)

    def stop_asking(self, execution: Execution) -> None:
        self.services.requests.stop_waiting(execution)

    def use_answer(self, execution: Execution) -> None:
        self.services.requests.use_answer(self, execution)

    async def recorded_call(self, parent: Execution, call_id: str, name: str, document: bytes) -> Outcome | None:
        return await self.calls.recorded(parent, call_id, name, document)

    async def stored_outcome(self, execution: Execution) -> Outcome:
        if (outcome := await self.calls.stored_outcome(execution)) is not None:
            return outcome
        error = session_deleted() if await self.check_deleted() else not_stored()
        return Outcome(OutcomeStatus.FAILED, execution.id, execution.call_id, execution.name, None, error)
