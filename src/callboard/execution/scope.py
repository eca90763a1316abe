"""The port from executions to the session that they belong to. Sessions implement it."""

from typing import Any, NamedTuple, Protocol, TypeVar

from ..errors import ToolError
from ..tools.context import ClientContext
from ..tools.definition import Tool
from ..user_documents import UserDocuments
from ..user_memory import UserMemory
from .outcome import Outcome
from .usage import UserUsage

ExecutionT_contra = TypeVar("ExecutionT_contra", contravariant=True)
"""Stands for `Execution`, whose module imports this one."""


class HumanDecision(NamedTuple):
    """A person's answer to the request of a human tool."""

    error: ToolError | None = None
    """Why the call does not run: it was rejected, or the request expired."""
    document: bytes | None = None
    """Arguments that replace the caller's."""
    value: Any = None
    """The result, for a tool without a handler."""


class FinishedExecutions(Protocol[ExecutionT_contra]):
    """The part of a session's index that counts finished executions."""

    def ended(self, execution: ExecutionT_contra) -> None:
        """Count an execution that has ended, so that retention can drop it."""
        ...

    def count_bytes(self, execution: ExecutionT_contra) -> None:
        """Count the large arguments or result of an execution that has ended."""
        ...


class SessionCalls(Protocol[ExecutionT_contra]):
    """The calls of a session, in whichever process they run."""

    async def is_running(self, execution_id: str) -> bool:
        """Return whether a call of the session, in any process, has not ended."""
        ...

    async def end_elsewhere(self, execution: ExecutionT_contra) -> Outcome:
        """Return the outcome of a nested call that was handed over, when it has ended. Cancels it with the caller."""
        ...


class SessionScope(Protocol[ExecutionT_contra]):
    """A session, as the parts of the execution manager see it."""

    @property
    def id(self) -> str: ...
    @property
    def user_id(self) -> str: ...
    @property
    def index(self) -> FinishedExecutions[ExecutionT_contra]: ...

    @property
    def calls(self) -> SessionCalls[ExecutionT_contra]: ...

    running: int
    """The number of its executions that hold a slot."""

    @property
    def user(self) -> UserUsage:
        """The counters of its user, shared by all sessions of that user."""
        ...

    @property
    def client(self) -> ClientContext | None:
        """The context that the user's client sent with its newest run."""
        ...

    @property
    def memory(self) -> UserMemory:
        """The memory of its user, as its calls see it."""
        ...

    def documents(self, execution: ExecutionT_contra) -> UserDocuments:
        """Return the documents of its user, as an execution writes them."""
        ...

    @property
    def durable(self) -> bool:
        """Whether events and executions are stored."""
        ...

    def own_tool(self, name: str) -> Tool | None:
        """Return the tool of that name that only this session has."""
        ...

    def append_events(self, events: tuple[bytes, ...], execution: ExecutionT_contra, /) -> object:
        """Append encoded events of an execution to the board, together with its current state."""
        ...

    def append_beginning(self, events: tuple[bytes, ...], execution: ExecutionT_contra, /) -> object:
        """Append the first events of an attempt. They may be stored a moment later, together with the next ones."""
        ...

    async def settle(self) -> None:
        """Return when everything appended so far is stored."""
        ...

    async def wait_until_begun(self, execution: ExecutionT_contra, *, again: bool = False) -> None:
        """Return when the start of a call is stored, if its caller waits for the store only for a limited time."""
        ...

    async def wait_until_stored(self, execution: ExecutionT_contra, *, again: bool = False) -> None:
        """Return when everything appended for a call is stored. Raises if the caller's time to wait is over.

        A call of which nothing is stored is then withdrawn. `again` is for a caller that repeats a call.
        """
        ...

    def add_late_result(self, execution: ExecutionT_contra) -> None:
        """Keep the result of an execution whose caller does not wait, just before its terminal event is appended."""
        ...

    async def ask(self, execution: ExecutionT_contra) -> HumanDecision | None:
        """Ask a person about a waiting execution. None: the manager's `answered` is called with the answer."""
        ...

    def stop_asking(self, execution: ExecutionT_contra) -> None:
        """Withdraw the request of an execution that has ended, if it is still open."""
        ...

    def use_answer(self, execution: ExecutionT_contra) -> None:
        """Mark the answer to an execution's request as used, together with the events that are appended next."""
        ...

    async def stored_outcome(self, execution: ExecutionT_contra) -> Outcome:
        """Return the outcome of a call from the store: another process owns it, or its result left memory."""
        ...
