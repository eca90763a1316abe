"""The context of a call: its identity, its deadline, and methods to report progress to people.

A handler receives it through a parameter annotated `ToolContext`. It is never part of a schema, and only the runtime
fills it: no data from a model reaches it.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from pydantic_core import core_schema

from ..checks import Check
from ..errors import ToolError
from ..user_documents import UserDocuments
from ..user_memory import UserMemory

MAX_KEY = 100
"""The number of characters of the key of a nested call."""


_check = Check(TypeError)


def is_valid_key(key: str) -> bool:
    """Return whether text can be the key of a nested call."""
    return 0 < len(key) <= MAX_KEY and key.isprintable()


class Reporter(Protocol):
    """The port behind `ToolContext`. The runtime implements it; a call through a bare registry has a null reporter."""

    async def progress(self, stage: str, fraction: float | None, message: str | None) -> None: ...
    async def partial(self, value: Any) -> None: ...
    async def call(self, tool: str | Any, arguments: Any, key: str | None) -> Any:
        """Run another tool within this call. It inherits the deadline and is cancelled with this call.

        With a key, the call is made once, however often this call is attempted.
        """
        ...

    async def is_running(self, execution_id: str) -> bool:
        """Return whether another call of the session has not ended."""
        ...

    def cancelled(self) -> bool: ...
    def remaining(self) -> float | None:
        """Return the seconds until the deadline, or None if there is none."""
        ...

    def memory(self) -> UserMemory:
        """Return the memory of the user that the call is made for."""
        ...

    def documents(self) -> UserDocuments:
        """Return the documents of the user that the call is made for."""
        ...


class _NullReporter:
    """A reporter for calls outside of a session. It discards reports; only the caller's task can cancel the call."""

    __slots__ = ()

    async def progress(self, stage: str, fraction: float | None, message: str | None) -> None: ...
    async def partial(self, value: Any) -> None: ...
    async def call(self, tool: str | Any, arguments: Any, key: str | None) -> Any:
        raise ToolError("Tools can call other tools only within a session.", category="configuration")

    async def is_running(self, execution_id: str) -> bool:
        return False

    def cancelled(self) -> bool:
        return False

    def remaining(self) -> float | None:
        return None

    def memory(self) -> UserMemory:
        raise ToolError("Notes and memory belong to a user: call the tool within a session.", category="configuration")

    def documents(self) -> UserDocuments:
        raise ToolError("Documents belong to a user: call the tool within a session.", category="configuration")


NULL_REPORTER: Reporter = _NullReporter()


class ContextItem(NamedTuple):
    """A value that the client provides about itself, with its description."""

    description: str
    value: str


@dataclass(frozen=True, slots=True)
class ClientContext:
    """Data sent by the user's client, such as an AG-UI page. It is untrusted: validate it like input."""

    context: tuple[ContextItem, ...] = ()
    """Values that the model sees too."""
    forwarded_props: Any = None
    """Any JSON value, visible to tools only."""


class ToolContext:
    """The call that a handler runs for. Every attempt has its own context, with the same idempotency key."""

    __slots__ = (
        "_reporter",
        "attempt",
        "call_id",
        "client",
        "execution_id",
        "idempotency_key",
        "session_id",
        "tool",
        "user_id",
    )

    def __init__(
        self,
        *,
        tool: str,
        session_id: str | None = None,
        user_id: str | None = None,
        call_id: str | None = None,
        execution_id: str | None = None,
        attempt: int = 1,
        idempotency_key: str | None = None,
        client: ClientContext | None = None,
        reporter: Reporter = NULL_REPORTER,
    ) -> None:
        self.tool = tool
        """Name of the tool."""
        self.session_id = session_id
        """Id of the session; None outside of one."""
        self.user_id = user_id
        """Id of the user; None outside of a session."""
        self.call_id = call_id
        """The caller's id of the call."""
        self.execution_id = execution_id
        """Id of the execution."""
        self.attempt = attempt
        """Number of the attempt; the first is 1."""
        self.idempotency_key = idempotency_key
        """A key that all attempts of the call share. Pass it to services that support one."""
        self.client = client
        """Data from the client of the session's newest run, or None."""
        self._reporter = reporter

    async def progress(self, stage: str, fraction: float | None = None, message: str | None = None) -> None:
        """Report a stage, the completed fraction (0 to 1) and a message to people. Models do not see it."""
        if stage.__class__ is not str:
            _check.text("stage", stage)
        if message is not None and message.__class__ is not str:
            _check.text("message", message, optional=True)
        if fraction is not None:
            if fraction.__class__ is not float:
                _check.number("fraction", fraction, "a number from 0 to 1")
            if not 0.0 <= fraction <= 1.0:
                raise ValueError(f"fraction is {fraction}; it must be from 0 to 1")
        await self._reporter.progress(stage, fraction, message)

    async def partial(self, value: Any) -> None:
        """Publish a partial result to people before the result is complete."""
        await self._reporter.partial(value)

    async def call(self, tool: str | Any, arguments: Any = None, *, key: str | None = None) -> Any:
        """Run another tool and return its value. Raises the `ToolError` of that tool.

        `tool` is the name of a tool of the session, or a `Tool` that only this call has, such as a question to a person
        with an answer type made for it.

        With a `key`, the call is made once, however often this handler runs: a later attempt with the same key, in
        this process or after a crash, waits for the same call, or gets its recorded value or error. The value returns
        once it is stored. With other arguments, the key is refused.
        """
        if key is not None and not (isinstance(key, str) and is_valid_key(key)):
            raise ValueError(f"a key has 1 to {MAX_KEY} printable characters, not {key!r}")
        return await self._reporter.call(tool, arguments or {}, key)

    async def is_running(self, execution_id: str) -> bool:
        """Return whether another call of the session, in any process, has not ended. False for an unknown one."""
        return await self._reporter.is_running(execution_id)

    @property
    def cancelled(self) -> bool:
        """Whether this call was asked to stop. Loops in threads poll this; async handlers are cancelled anyway."""
        return self._reporter.cancelled()

    @property
    def remaining(self) -> float | None:
        """Seconds until the deadline, or None if there is none."""
        return self._reporter.remaining()

    @property
    def memory(self) -> UserMemory:
        """The notes and past conversations of the user. Raises `ToolError` outside of a session."""
        return self._reporter.memory()

    @property
    def documents(self) -> UserDocuments:
        """JSON values that tools keep for the user. Raises `ToolError` outside of a session."""
        return self._reporter.documents()

    def __repr__(self) -> str:
        return f"ToolContext(tool={self.tool!r}, call_id={self.call_id!r}, attempt={self.attempt})"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> core_schema.CoreSchema:
        raise TypeError("ToolContext is provided by the runtime and cannot be part of a tool's input")
