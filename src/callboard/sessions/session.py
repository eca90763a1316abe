"""The public session: what users call, and nothing else.

A thin facade over `LiveSession`, which holds the state and does the work. Packages of Callboard that need more reach
the live session with `live_session`.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from typing import Any

from pydantic_core import PydanticSerializationError

from ..events.board import Subscription
from ..events.board_view import BoardView
from ..events.event import Event, Events
from ..events.routing import Family, Side
from ..execution.execution import Priority
from ..execution.failures import session_deleted
from ..execution.outcome import Outcome, OutcomeStatus
from ..execution.record import ExecutionRecord
from ..tools.snapshot import Snapshot
from ..turns import Turn
from .conversation_port import Messages
from .ids import SessionNotFound
from .live_session import LiveSession
from .open_request import OpenRequest
from .posting import post_event
from .session_arguments import check, family_of, id_of
from .snapshot import SessionSnapshot, take_snapshot


class Session:
    """One user's conversation, made by `Runtime.open`.

    After the runtime has ended, the properties, `execution`, `executions` and `result_text` still read what is in
    memory; every other method raises `RuntimeNotOpen`, as it does in another event loop than that of the runtime.
    """

    __slots__ = ("__weakref__", "_live")

    def __init__(self, live: LiveSession) -> None:
        self._live = live

    def __repr__(self) -> str:
        return f"Session(id={self.id!r}, user_id={self.user_id!r})"

    def _running(self) -> LiveSession:
        self._live.check_running()
        return self._live

    async def _current(self) -> LiveSession:
        live = self._running()
        await live.refresh()
        return live

    @property
    def id(self) -> str:
        """Id of the session."""
        return self._live.id

    @property
    def user_id(self) -> str:
        """Id of the session's user."""
        return self._live.user_id

    @property
    def is_open(self) -> bool:
        """Whether the user is logged in: false between `close` and the next `Runtime.open`."""
        return self._live.open

    @property
    def board(self) -> BoardView:
        """The session's events that are in memory, to read. `events` also reads stored ones."""
        return BoardView(self._live.board)

    def tools(self) -> Snapshot:
        """Return the tools that this session sees now, pinned."""
        return self._running().tools()

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

        The outcome of an inline tool is its result, if it ends within its budget. Otherwise, and for a background tool,
        the outcome is `started` and the result comes later: on the board, and from `result`. The same `call_id` again
        gives the first call's outcome. Raises `CallIdInvalid`.
        """
        if self._live.is_current:
            return self._live.call(name, arguments, call_id, priority)
        return self._refreshed_call(name, arguments, call_id, priority)

    async def _refreshed_call(
        self, name: str, arguments: Any, call_id: str | None, priority: Priority | str
    ) -> Outcome:
        try:
            live = await self._current()
        except SessionNotFound:
            return Outcome(OutcomeStatus.FAILED, "", call_id or "", name, None, session_deleted())
        return await live.call(name, arguments, call_id, priority)

    async def result(self, execution_id: str, timeout: float | None = None) -> Outcome:
        """Wait for the end of an execution, at most `timeout` seconds. Raises `ToolError` (not_found).

        The outcome is `started` or `waiting` if the execution has not ended by then. With 0 it is not waited for.
        """
        if timeout is not None:
            check.seconds("timeout", timeout)
        return await self._running().calls.result(id_of(execution_id), timeout)

    def execution(self, execution_id: str) -> ExecutionRecord:
        """Return the record of an execution that is in memory. Raises `ToolError` (not_found)."""
        return self._live.calls.record(execution_id)

    def executions(self) -> list[ExecutionRecord]:
        """Return the records of all executions that are in memory, oldest first."""
        return self._live.calls.records()

    async def history(self, limit: int = 1000, *, unfinished: bool = False) -> list[ExecutionRecord]:
        """Return the records of the newest executions, stored ones and those of other processes too, oldest first.

        With `unfinished`, only of those that have not ended.
        """
        check.count("limit", limit, least=1)
        return await self._running().calls.history(limit, unfinished)

    def result_text(self, execution_id: str, offset: int = 0, length: int | None = None) -> str:
        """Return a result as a model reads it: rendered for the channel, and cut to the tool's limit.

        With an offset, that part of the whole text; of an execution that has not ended, its acknowledgement. Raises
        `ToolError` (not_found).
        """
        return self._live.calls.result_text(execution_id, self._live.toolbox.view.channel, offset, length)

    async def cancel(self, execution_id: str) -> bool:
        """Stop an execution, in whichever process it runs. False if it had ended. Raises `ToolError` (not_found)."""
        return await self._running().cancellation.cancel(id_of(execution_id))

    async def cancel_call(self, call_id: str) -> bool:
        """Stop the execution of a call, by the caller's id. False if it had ended or does not exist."""
        if call_id != "":  # which no call has
            check.text("call_id", call_id)
        return await self._running().cancellation.cancel_call(call_id)

    async def cancel_all(self) -> int:
        """Stop all executions of this session. Returns their number."""
        return await self._running().cancellation.cancel_all()

    async def take_results(self) -> list[Outcome]:
        """Take the late results that have not been taken yet, oldest first. Each is returned once."""
        return await self._running().results.take()

    @property
    def has_pending_work(self) -> bool:
        """Whether anything runs, waits for a person, or waits to be taken.

        The work of other processes counts as it was when the session was opened, or results were last taken.
        """
        return self._live.has_pending_work

    # People and the system

    async def post(self, event: Mapping[str, Any], *, side: Side | str = Side.PEOPLE) -> int:
        """Post an event: its kind and the fields of that kind. Returns its number, once it is stored.

        Raises `PostingRefused` for a kind that the side may not post, `EventInvalid` for a wrong shape, the errors of
        `answer` for an answer, and `SessionNotFound` if the session was deleted.
        """
        return await post_event(await self._current(), event, side=side)

    async def answer(self, request_id: str, answer: Any, *, arguments_hash: str | None = None) -> int:
        """Answer a request: with `{"approved": True}`, or with what the tool asks for. Returns the event's number.

        `arguments_hash` is that of the `OpenRequest` that the person saw: an answer to other arguments is refused.
        Raises `ToolError` (not_found), `RequestClosed`, or `ArgumentsMismatch` and `AnswerInvalid`, after which the
        request is still open.
        """
        return await self._running().answer(id_of(request_id), answer, arguments_hash=arguments_hash)

    async def requests(self) -> list[OpenRequest]:
        """Return the requests that wait for a person's answer, oldest first."""
        return [OpenRequest.from_row(row) for row in await self._running().requests()]

    async def notice(self, message: str, **details: Any) -> int:
        """Post a notice for the people of this session. Returns the event's number."""
        check.text("message", message)
        try:
            return await self._running().notice(message, **details)
        except PydanticSerializationError as error:
            raise ValueError(f"The notice cannot be written as JSON: {error}") from error

    # The conversation

    async def say(self, text: str) -> Turn:
        """Send a message to the model. Returns when the turn is finished, or waits for a person.

        To return at once, post a `user_input` instead. Raises `CallboardError` if the runtime has no model.
        """
        return await (await self._current()).conversation().say(text)

    @property
    def is_processing(self) -> bool:
        """Whether a turn runs in this process."""
        return self._live.is_processing

    async def messages(self, *, waiting: bool = False) -> list[dict[str, Any]]:
        """Return the conversation as the model sees it: messages of the user and the model, calls and results.

        With `waiting`, it ends with the messages of the user that the model has not received yet.
        """
        return await self._running().conversation().messages(waiting=waiting)

    async def latest_messages(self, before: int | None = None, most: int = 100) -> Messages:
        """Return the newest messages, those that the model has not received yet included, or the page before a cursor.

        It costs the same however long the conversation is.
        """
        check.count("most", most, least=0)
        if before is not None:
            check.count("before", before)
        return await self._running().conversation().window(before, most)

    async def interrupt(self) -> bool:
        """Stop the turn that runs, in any process, or that waits for a person. False if there is none."""
        return await self._running().interrupt()

    # The board

    async def snapshot(self) -> SessionSnapshot:
        """Return the session's state, for a reader that starts or whose cursor has expired.

        The reader continues after `last_seq`.
        """
        return await take_snapshot(self._running())

    def events(self, after: int = 0, family: Family | str | None = None) -> AsyncGenerator[Event]:
        """Iterate over every event after a cursor, stored and new ones. Raises `CursorExpired`.

        With a family, only those of the conversation (`chat`) or all others (`system`).
        """
        check.count("after", after)
        return self._running().events(after, family_of(family))

    def subscribe(
        self,
        callback: Callable[[Events], Any],
        after: int | None = None,
        ended: Callable[[Exception], Any] | None = None,
    ) -> Subscription:
        """Deliver events in batches to a callback, until the subscription is closed. See `Board.subscribe`."""
        if not callable(callback):
            raise TypeError(f"callback is {callback!r}; it must be a function that takes a list of events.")
        if after is not None:
            check.count("after", after)
        return self._running().subscribe(callback, after, ended)

    async def close(self, grace: float = 30.0) -> None:
        """Log out: wait for running work as each tool says, at most the grace time; then free the memory.

        Work that still runs then ends as failed (timeout), with a notice. Everything is kept for the next login.
        """
        check.seconds("grace", grace)
        await self._running().close(grace)


def live_session(session: Session) -> LiveSession:
    """Return the live state of a session. For Callboard's own packages; it is not part of the public interface."""
    return session._live  # pyright: ignore[reportPrivateUsage]
