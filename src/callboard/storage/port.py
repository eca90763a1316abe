"""The port of a store: what is written together, and what can be asked.

A `Change` is all that happens to one session at one moment: events and the state that they tell of. It is written whole
or not at all; there is no second place to disagree. Many changes are committed as one group, and one that cannot be
written fails alone.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from ..errors import CallboardError
from .rows import ExecutionRow, IdempotencyRow, KeyRow, OwnerRow, RequestRow, SessionRow


class StoreError(CallboardError):
    """The store cannot be used: its address, its file or its contents are wrong. The message says what to do."""

    code = "store"


class StoreUnavailable(StoreError):
    """The store does not answer at the moment, or has no room. Trying again later may work; nothing was written."""

    code = "store_unavailable"


class Conflict(CallboardError):
    """A change does not fit what is stored, and was not written: somebody else was faster, or an id is taken."""

    code = "conflict"


class AlreadyWritten(Conflict):
    """The same request was written before, under the same idempotency key. Nothing was written again."""

    code = "already_written"

    def __init__(self, row: IdempotencyRow) -> None:
        super().__init__(f"The idempotency key {row.key!r} was written before, for the same request.")
        self.row = row
        """What the first request came to."""


class IdempotencyConflict(Conflict):
    """An idempotency key was used before, for another request. Nothing was written."""

    code = "idempotency_conflict"

    def __init__(self, key: str) -> None:
        super().__init__(f"The idempotency key {key!r} was used before, for another request. Use a new key.")
        self.key = key


class ExecutionWrite(NamedTuple):
    """An execution as it is now. `Conflict` where it is not there, unless it is new."""

    row: ExecutionRow
    held_by: str | None = None
    """Who must hold it in the store for this to be written."""
    new: bool = False
    """It must not be there yet, and no other execution of its session may have its call id."""


class RequestWrite(NamedTuple):
    """A request as it is now."""

    row: RequestRow
    was: str | None = None
    """The status that it must have in the store; None: it must not be there."""


@dataclass(slots=True)
class Change:
    """What is written together for one session, in this order."""

    session_id: str
    session: SessionRow | None = None
    """The session itself: made if it is not there. `Conflict` where it is there for another user.

    When it was made, and what waits to be consumed, stay as they are; `writes` goes up by one."""
    executions: Sequence[ExecutionWrite] = ()
    requests: Sequence[RequestWrite] = ()
    late: Sequence[str] = ()
    """Executions whose results wait to be consumed from now on. One that waits already keeps its place."""
    taken: Sequence[str] = ()
    """Executions whose results are consumed by this. `Conflict` where one is not waiting."""
    cancel: Sequence[str] = ()
    """Executions that are asked to stop, whoever holds them. Those that have ended stay as they are."""
    transcript: Sequence[bytes] = ()
    """Entries that go to the end of the transcript: JSON documents."""
    entries: int | None = None
    """How many entries the transcript must have before these; `Conflict` where somebody else has written some."""
    made_at: float | None = None
    """When the session was made that this is meant for; `Conflict` where there is none, or another by now."""
    idempotency: IdempotencyRow | None = None
    """The client's id of this change. Where the session has the key already, nothing is written: `AlreadyWritten` for
    the same fingerprint, `IdempotencyConflict` for another one. The newest `MAX_KEYS` keys of a session are kept."""
    events: Sequence[bytes] = field(default=())
    """Encoded events (see `events.event.encode_event`) for the end of the board: `{"kind":…,"at":…,"data":{…}}`."""


class Head(NamedTuple):
    """The end of a board."""

    last_seq: int
    """The number of the newest event."""
    made_at: float
    """When its session was made: one that was deleted and made again has another board."""


class Page(NamedTuple):
    """A run of a board's events, and where the board stands."""

    first: int
    """The number of the first line: the next after the one that was asked for, or the oldest kept if that is later."""
    lines: list[bytes]
    """Encoded events, as they were handed in: their numbers follow from the first one's."""
    first_seq: int
    """The number of the oldest kept event of the board."""
    last_seq: int
    """The number of the newest."""


class Keys(Protocol):
    """Where API keys are kept. None is ever removed: one that is revoked still tells whose it was."""

    async def add_key(self, row: KeyRow) -> None:
        """Raises `Conflict` where its id is taken."""
        ...

    async def key(self, key_id: str) -> KeyRow | None: ...

    async def keys(self, user_id: str | None = None, *, limit: int = 1000) -> list[KeyRow]:
        """In the order in which they were made: the first `limit` that fit."""
        ...

    async def revoke_key(self, key_id: str, at: float) -> KeyRow | None:
        """End a key. One that was revoked before keeps its time. Returns it as it is now, None where there is none."""
        ...

    async def key_used(self, key_id: str, at: float) -> None:
        """Note when a key was last used. An earlier time than the stored one is ignored, and so is an unknown key."""
        ...


MAX_KEYS = 1_000
"""How many idempotency keys a session keeps. A new one takes the place of the oldest."""

EVERYTHING = 1 << 60
"""A limit that is none."""


class Store(Keys, Protocol):
    """Where everything is kept. Safe with many processes. Any method raises `StoreUnavailable` if it is not reached."""

    async def open(self, woken: Callable[[str | None], None]) -> None:
        """Begin. `woken` is called on this event loop when another process wrote: with the session, or None: any."""
        ...

    async def close(self) -> None: ...

    async def commit(self, changes: Sequence[Change]) -> list[int | Conflict]:
        """Write changes, all those that fit, in one transaction. In their order: each one's last number, or why not.

        The number of a change is that of the session's newest event after it. After `StoreUnavailable` the same list
        may be handed in again, and only then: where the connection broke during the commit itself, the store finds out
        whether the group was written after all, and does not write it twice.
        """
        ...

    async def session(self, session_id: str) -> SessionRow | None: ...

    async def sessions(self, user_id: str | None = None, *, after: str = "", limit: int = 100) -> list[SessionRow]:
        """By id, those after one."""
        ...

    async def delete(self, session_id: str, made_at: float | None = None) -> bool:
        """Remove a session and all that is its own; one that was made at another time than that is left alone."""
        ...

    async def events(self, session_id: str, after: int, limit: int) -> Page:
        """Events after a number, oldest first. An unknown session has an empty board."""
        ...

    async def heads(self, session_ids: Collection[str]) -> dict[str, Head]:
        """Where the boards of those sessions stand that are there."""
        ...

    async def trim(self, session_id: str, *, keep: int, before: float) -> int:
        """Forget events beyond the newest `keep`, and those from before a time. Returns the first kept number.

        What is kept has no gaps: one from before that time stays if one that is not stands before it. Whatever is asked
        for, an input (`input_id` in the data of its event) whose row is unfinished stays, with all that comes after it.
        """
        ...

    async def execution(self, session_id: str, execution_id: str) -> ExecutionRow | None: ...

    async def execution_of_call(self, session_id: str, call_id: str) -> ExecutionRow | None: ...

    async def executions(
        self, session_id: str, *, ids: Collection[str] | None = None, unfinished: bool = False, limit: int = 1000
    ) -> list[ExecutionRow]:
        """Executions of a session in the order in which they were queued: the newest `limit` that fit."""
        ...

    async def request(self, request_id: str) -> RequestRow | None: ...

    async def requests(
        self,
        *,
        session_id: str | None = None,
        user_id: str | None = None,
        status: str | None = None,
        due: float | None = None,
        limit: int = 1000,
    ) -> list[RequestRow]:
        """Requests in the order in which they were made: the first `limit` that fit.

        With `due` those that expire at that time or before it.
        """
        ...

    async def transcript(self, session_id: str, after: int = 0) -> list[bytes]:
        """Entries after a position, the first being at 1."""
        ...

    async def idempotency(self, session_id: str, key: str) -> IdempotencyRow | None:
        """What a client's id was used for in a session; None where it is unknown, or forgotten."""
        ...

    async def forget_keys(self, before: float) -> int:
        """Forget the idempotency keys of all sessions that are older than a time. Returns how many those were."""
        ...

    async def join(self, owner: OwnerRow) -> None:
        """Enter a process."""
        ...

    def beat(self, owner_id: str) -> bool:
        """Say that a process lives. Called from a thread of its own. False where its work was given to another."""
        ...

    async def owners(self) -> list[OwnerRow]: ...

    async def leave(self, owner_id: str) -> None:
        """A process ends: its executions, if any are left, may be recovered at once."""
        ...

    async def recover(self, owner_id: str | None, beat: int, heir: str) -> list[ExecutionRow]:
        """Give the unfinished executions of a dead process to another, if its beat still is that; remove the dead one.

        With None: those that nobody holds and whose person has answered, or that are asked to stop. A request that was
        refused, expired or withdrawn counts as answered when no other one of the execution is open.
        """
        ...
