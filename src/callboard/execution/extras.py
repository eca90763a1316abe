"""The state that few executions have, in a record of its own, so that an ordinary execution stays small."""

from dataclasses import dataclass

from ..errors import ToolError
from ..storage.rows import TOOL, WORKER, RequestRow


@dataclass(slots=True)
class Extras:
    """The optional state of one execution."""

    kind: str = TOOL
    """`WORKER` for an execution that answers a user's request: only its answer is reported."""
    errors: tuple[ToolError, ...] = ()
    """The failures of earlier attempts, oldest first."""
    error: ToolError | None = None
    """The failure with which it ended."""
    retry_at: float | None = None
    """The time of day before which the next attempt must not begin."""
    parent_id: str | None = None
    """The parent's id, for an execution that another process began."""
    entered: bool = False
    """Whether the handler of the current attempt may have begun. It is set only with a store."""
    request: RequestRow | None = None
    """The request to a person that must be answered before it runs."""
    continued: bool = False
    """Whether another process began it."""
    stored: bool = False
    """Whether the store has it, or is about to."""
    lost: bool = False
    """Whether this process no longer owns the execution."""
    settled: bool = False
    """Whether its end is stored. Until then another process may own it."""
    unloaded: bool = False
    """Whether its arguments and result are only in the store."""
    held: int = 0
    """The bytes of large arguments that count against the user's limit until it ends."""
    target: str | None = None
    """The key of the current attempt's breaker, for tools with breakers by target."""
    fingerprint: str = ""
    """The hash of the arguments that the caller sent, once it was needed."""
    queue: str | None = None
    """The queue that it was sent to or claimed from; empty for nested calls of such an execution."""
    sent: bool = False
    """Whether it is stored for the workers of its queue. Otherwise another call may have its id."""
    trace: str | None = None
    """The trace context of its call, in the format of the header `traceparent`."""
    keys_dropped: bool = False
    """Whether nested calls with keys were dropped from memory, so that an unknown key may have been used."""


class OptionalState:
    """The part of an execution that reads and writes its `Extras`. The record is made when it is first written."""

    __slots__ = ()

    extras: Extras | None
    """None while every optional field has its default."""

    @property
    def is_worker(self) -> bool:
        return self.extras is not None and self.extras.kind == WORKER

    @property
    def kind(self) -> str:
        return TOOL if self.extras is None else self.extras.kind

    @property
    def errors(self) -> tuple[ToolError, ...]:
        return () if self.extras is None else self.extras.errors

    @property
    def error(self) -> ToolError | None:
        return None if self.extras is None else self.extras.error

    @property
    def retry_at(self) -> float | None:
        return None if self.extras is None else self.extras.retry_at

    @property
    def entered(self) -> bool:
        return self.extras is not None and self.extras.entered

    @property
    def request(self) -> RequestRow | None:
        return None if self.extras is None else self.extras.request

    @property
    def continued(self) -> bool:
        return self.extras is not None and self.extras.continued

    @property
    def stored(self) -> bool:
        return self.extras is not None and self.extras.stored

    @property
    def lost(self) -> bool:
        return self.extras is not None and self.extras.lost

    @property
    def settled(self) -> bool:
        return self.extras is not None and self.extras.settled

    @property
    def unloaded(self) -> bool:
        return self.extras is not None and self.extras.unloaded

    @property
    def target(self) -> str | None:
        return None if self.extras is None else self.extras.target

    @property
    def fingerprint(self) -> str:
        return "" if self.extras is None else self.extras.fingerprint

    @property
    def queue(self) -> str | None:
        return None if self.extras is None else self.extras.queue

    @property
    def trace(self) -> str | None:
        return None if self.extras is None else self.extras.trace

    @property
    def keys_dropped(self) -> bool:
        return self.extras is not None and self.extras.keys_dropped

    @property
    def handed_over(self) -> bool:
        """Whether this process sent it to a queue, so that a worker carries it out."""
        return self.extras is not None and self.extras.lost and bool(self.extras.queue)

    @property
    def sent(self) -> bool:
        return self.extras is not None and self.extras.sent

    def _set(self) -> Extras:
        """Return the optional state, made on first use, to write to it."""
        if self.extras is None:
            self.extras = Extras()
        return self.extras

    def set_target(self, target: str | None) -> None:
        self._set().target = target

    def set_request(self, request: RequestRow | None) -> None:
        """Set the request to a person, or its new state."""
        self._set().request = request

    def set_fingerprint(self, fingerprint: str) -> None:
        self._set().fingerprint = fingerprint

    def set_queue(self, queue: str) -> None:
        self._set().queue = queue

    def mark_sent(self) -> None:
        self._set().sent = True

    def set_trace(self, trace: str) -> None:
        self._set().trace = trace

    def mark_keys_dropped(self) -> None:
        self._set().keys_dropped = True

    def mark_stored(self) -> None:
        self._set().stored = True

    def lose(self) -> None:
        """Give up ownership of the execution in this process."""
        self._set().lost = True
