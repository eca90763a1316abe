"""Ports between sessions and the conversation, which is an optional part above them."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ..execution.execution import Execution
from ..storage.rows import IdempotencyRow, TurnRow
from ..turns import Turn, Usage


class Messages(Protocol):
    """A page of a conversation's messages."""

    @property
    def messages(self) -> list[dict[str, Any]]: ...

    @property
    def before(self) -> int | None:
        """Cursor of the previous page; None if there is none."""
        ...


class ConversationPort(Protocol):
    """A conversation as its session sees it."""

    @property
    def is_processing(self) -> bool: ...

    @property
    def usage(self) -> Usage | None:
        """The usage of all turns that this process has read; None before the first turn."""
        ...

    async def say(self, text: str) -> Turn: ...

    async def accept_input(
        self, data: Mapping[str, Any], client_id: str | None = None, *, idempotency: IdempotencyRow | None = None
    ) -> int:
        """Post a user input and schedule a turn for it. Returns the number of its event.

        An input with a client's id is accepted once: 0 if it was accepted before.
        """
        ...

    async def accept_inputs(self, texts: Mapping[str, str]) -> int:
        """Post user inputs in one write, by their client's ids; each is accepted once.

        Returns the number of the newest event; 0 if all were accepted before.
        """
        ...

    async def accepted_inputs(self, client_ids: Sequence[str]) -> dict[str, bool]:
        """Return which inputs were accepted, by their client's ids, and whether the model has received each."""
        ...

    async def entries(self) -> tuple[Sequence[Any], int]:
        """Return the entries of the transcript, read-only, and how many of them are responses of the model."""
        ...

    def wake(self) -> None:
        """Check for results and inputs that the model has not received."""
        ...

    async def idle(self) -> None:
        """Return when no turn runs in this process. Cancelling this does not stop the turn."""
        ...

    async def messages(self, *, waiting: bool = False) -> list[dict[str, Any]]: ...

    async def window(self, before: int | None = None, most: int = 100) -> Messages:
        """Return the newest messages, or those before a cursor."""
        ...

    async def retry(self) -> bool:
        """Start a turn for messages that an earlier turn left without a response. False if there are none."""
        ...

    async def interrupt(self, idempotency: IdempotencyRow | None = None) -> bool: ...

    def stop(self) -> None:
        """Stop the turn that runs in this process, without waiting for its end."""
        ...

    def poll_inputs(self) -> None:
        """Check for inputs that another process stored."""
        ...

    async def resume_turn(self, row: TurnRow) -> None:
        """Continue a turn that a dead process left behind."""
        ...

    def handle_late_result(self, execution: Execution) -> None:
        """Handle the end of an execution whose caller no longer waits."""
        ...


class TurnListener(Protocol):
    """Receives the beginnings and ends of turns: metrics, traces. It is quick and never raises."""

    def turn_began(self, session_id: str, turn_id: str) -> None:
        """Handle a turn that begins or continues, in the task that runs it and makes its calls."""
        ...

    def turn_ended(self, session_id: str, turn_id: str, status: str, usage: Any) -> None:
        """Handle the end of a turn: its `TurnStatus`, or `lost` to another process, and the usage of all its parts."""
        ...
