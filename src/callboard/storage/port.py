"""The port of a store: what is written together, and what can be asked.

A `Change` is all that happens to one session at one moment: events and the state that they tell of. It is written whole
or not at all; there is no second place to disagree. Many changes are committed as one group, and one that cannot be
written fails alone.
"""

import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from ..errors import CallboardError
from .brief import Brief
from .rows import ExecutionRow, IdempotencyRow, InputRow, KeyRow, OwnerRow, RequestRow, SessionRow, TurnRow


class StoreError(CallboardError):
    """The store cannot be used: its address, its file or its contents are wrong. The message says what to do."""

    code = "store"


class StoreUnavailable(StoreError):
    """The store does not answer at the moment, or has no room. Trying again later may work.

    Nothing was written and nothing will be, unless it is `StoreUnconfirmed`.
    """

    code = "store_unavailable"


class StoreOutdated(StoreError):
    """Another version of Callboard has migrated the store while this process was using it. Nothing was written.

    Every further write raises it too: the process has to be restarted with that version.
    """

    def __init__(self, stored: str | None, expected: str) -> None:
        super().__init__(
            f"The store was migrated to revision {stored} while this process, which works with revision {expected}, "
            "was using it. This process writes nothing more: restart it with the version of Callboard that migrated "
            "the store."
        )


class StoreUnconfirmed(StoreUnavailable):
    """The store did not say in time whether something was written: it may be written, or come to be.

    A caller that gave it an id of its own can repeat it with the same id. Any other has to look how things stand first.
    """

    code = "store_unconfirmed"


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


class TurnWrite(NamedTuple):
    """A turn as it is now. `Conflict` where it does not exist, unless it is new."""

    row: TurnRow
    held_by: str | None = None
    """The process that must own the stored turn for this to be written."""
    new: bool = False
    """The session must not have a turn of this number yet."""


class Delivery(NamedTuple):
    """An input that enters the transcript with this change. `Conflict` where it does not exist."""

    input_id: str
    at: float


@dataclass(slots=True)
class Change:
    """What is written together for one session, in this order."""

    session_id: str
    session: SessionRow | None = None
    """The session itself: made if it is not there. `Conflict` where it is there for another user.

    When it was made, and what waits to be consumed, stay as they are; `writes` goes up by one."""
    executions: Sequence[ExecutionWrite] = ()
    requests: Sequence[RequestWrite] = ()
    turns: Sequence[TurnWrite] = ()
    inputs: Sequence[InputRow] = ()
    """New inputs. `Conflict` where the session has one of these ids already."""
    deliveries: Sequence[Delivery] = ()
    late: Sequence[str] = ()
    """Executions whose results wait to be consumed from now on. One that waits already keeps its place."""
    taken: Sequence[str] = ()
    """Executions whose results are consumed by this. `Conflict` where one is not waiting."""
    cancel: Sequence[str] = ()
    """Executions that are asked to stop, whoever holds them. Those that have ended stay as they are."""
    stop_turns: Sequence[int] = ()
    """The numbers of turns that are asked to stop, in any process. Turns that have ended stay as they are."""
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


class GroupWithdrawn(Exception):
    """A group was not written, because a change in it was withdrawn."""


class Group(list[Change]):
    """Changes that are committed together, and that can be withdrawn until the store begins to commit them.

    The event loop withdraws; the store's thread seals. Whichever comes first decides, so that nothing is written
    after a caller was told so.
    """

    def __init__(self, changes: Iterable[Change]) -> None:
        super().__init__(changes)
        self._lock = threading.Lock()
        self._withdrawn = self._sealed = False

    def withdraw(self) -> bool:
        """Have the group not written as it is. False where that is too late: it may be committed already.

        Also then it is not written again, should it turn out that it was not committed.
        """
        with self._lock:
            self._withdrawn = True
            return not self._sealed

    def seal(self) -> None:
        """The store commits now. Raises `GroupWithdrawn`, and then it must not."""
        with self._lock:
            if self._withdrawn:
                raise GroupWithdrawn
            self._sealed = True

    def unseal(self) -> None:
        """It is certain that the group is not committed."""
        with self._lock:
            self._sealed = False

    def check(self) -> None:
        """Raises `GroupWithdrawn` where it is withdrawn and certainly not written."""
        if self._withdrawn and not self._sealed:
            raise GroupWithdrawn


class Head(NamedTuple):
    """The end of a board."""

    last_seq: int
    """The number of the newest event."""
    made_at: float
    """When its session was made: one that was deleted and made again has another board."""


class Claim(NamedTuple):
    """Unfinished work that was given to a process which recovers: enough to find it and to choose an order."""

    session_id: str
    id: str
    user_id: str
    kind: str
    """The kind of an execution, as in `ExecutionRow.kind`, or `turn` or `input`."""

    @property
    def key(self) -> tuple[str, str]:
        """The session and the id of the execution, turn or input."""
        return self.session_id, self.id


class Recovered(NamedTuple):
    """What one step of a recovery did."""

    claims: list[Claim]
    """What the heir holds from now on: executions by session and then in the order in which they were queued, then
    turns, then inputs."""
    waiting: int = 0
    """How many executions wait for a person. No process holds them until their request closes."""
    more: bool = False
    """Whether the dead process holds more, for another step with `TAKEN` as its beat."""
    found: bool = False
    """Whether the process was there with that beat. Otherwise it lives after all, or another process was faster."""


LEFT = -1
"""The beat of a process that ended and left executions behind."""
TAKEN = -2
"""The beat of a process whose executions are being recovered, in steps."""


class Stopping(NamedTuple):
    """An unfinished execution, or turn, that was asked to stop."""

    session_id: str
    id: str
    """The id of the execution or of the turn."""
    kind: str
    """`tool`, `worker` or `turn`."""


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


PAGE_BYTES = 4 * 1024 * 1024
"""About how many bytes of events are read at once: with large ones a page has fewer than were asked for."""

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

    async def verify(self) -> None:
        """Raise `StoreOutdated` if another version has migrated the store since it was opened.

        So does every method that writes, except `leave`.
        """
        ...

    async def commit(self, changes: Sequence[Change]) -> list[int | Conflict]:
        """Write changes, all those that fit, in one transaction. In their order: each one's last number, or why not.

        The number of a change is that of the session's newest event after it. After `StoreUnavailable` the same list
        may be handed in again, and only then: where the connection broke during the commit itself, the store finds out
        whether the group was written after all, and does not write it twice.

        Raises `GroupWithdrawn` for a `Group` that was withdrawn before it was committed: nothing of it is written.
        """
        ...

    async def probe(self) -> None:
        """Find out whether something could be written now, without changing anything that counts.

        Raises `StoreUnavailable`.
        """
        ...

    async def session(self, session_id: str) -> SessionRow | None: ...

    async def sessions(self, user_id: str | None = None, *, after: str = "", limit: int = 100) -> list[SessionRow]:
        """By id, those after one."""
        ...

    async def delete(self, session_id: str, made_at: float | None = None) -> bool:
        """Remove a session and all that is its own; one that was made at another time than that is left alone."""
        ...

    async def events(self, session_id: str, after: int, limit: int, *, max_bytes: int = PAGE_BYTES) -> Page:
        """Events after a number, oldest first. An unknown session has an empty board.

        There may be fewer than `limit`, but one at least where there is one: a page ends with the event that makes it
        `max_bytes` long. Where it ends, `last_seq` says whether there are more.
        """
        ...

    async def heads(self, session_ids: Collection[str]) -> dict[str, Head]:
        """Where the boards of those sessions stand that are there."""
        ...

    async def trim(self, session_id: str, *, keep: int, before: float) -> int:
        """Forget events beyond the newest `keep`, and those from before a time. Returns the first kept number.

        What is kept has no gaps: one from before that time stays if one that is not stands before it. Whatever is asked
        for, an input (`input_id` in the data of its event) that is not delivered stays, with all that comes after it.
        """
        ...

    async def execution(self, session_id: str, execution_id: str) -> ExecutionRow | None: ...

    async def execution_of_call(self, session_id: str, call_id: str) -> ExecutionRow | None: ...

    async def executions(
        self, session_id: str, *, ids: Collection[str] | None = None, unfinished: bool = False, limit: int = 1000
    ) -> list[ExecutionRow]:
        """Executions of a session in the order in which they were queued: the newest `limit` that fit."""
        ...

    async def executions_by_key(self, keys: Collection[tuple[str, str]]) -> list[ExecutionRow]:
        """Executions of any sessions by session and id, in the order of these. Unknown ones are left out."""
        ...

    async def stopping(self, owner_id: str) -> list[Stopping]:
        """What a process carries out and was asked to stop. It costs the same however much the process carries out."""
        ...

    async def brief_executions(
        self,
        session_id: str,
        *,
        before: str | None = None,
        unfinished: bool = False,
        limit: int,
        longest: int,
    ) -> list[Brief[ExecutionRow]]:
        """The newest `limit` calls of a session, or those before an execution, in the order in which they were queued.

        `shown` and `value` are left out where they are longer than that; `document` always is. There are none before
        an execution that does not exist.
        """
        ...

    async def turn(self, session_id: str, number: int) -> TurnRow | None: ...

    async def running_turns(self, session_ids: Collection[str]) -> list[TurnRow]:
        """The turns of these sessions that have not ended, by session and number."""
        ...

    async def inputs(self, session_id: str, ids: Collection[str]) -> list[InputRow]:
        """Those of these inputs that are stored, delivered or not, by id."""
        ...

    async def request(self, request_id: str) -> RequestRow | None: ...

    async def closed_requests(self, request_ids: Collection[str]) -> list[RequestRow]:
        """Those of these requests that are not open any more, in the order in which they were made."""
        ...

    async def brief_requests(
        self,
        *,
        user_id: str,
        session_id: str | None = None,
        status: str | None = None,
        after: str | None = None,
        limit: int,
        longest: int,
    ) -> list[Brief[RequestRow]]:
        """Requests of a user in the order in which they were made: the first `limit` that fit, after a request.

        `payload` is left out where it is longer than that. There are none after a request that does not exist.
        """
        ...

    async def requests(
        self,
        *,
        session_id: str | None = None,
        user_id: str | None = None,
        status: str | None = None,
        due: float | None = None,
        executions: Collection[tuple[str, str]] | None = None,
        limit: int = 1000,
    ) -> list[RequestRow]:
        """Requests in the order in which they were made: the first `limit` that fit.

        With `due` those that expire at that time or before it; with `executions` those of these executions, each named
        by its session and its id.
        """
        ...

    async def next_expiry(self) -> float | None:
        """When the next open request expires, or the last one that is overdue did. None where none expires."""
        ...

    async def transcript(self, session_id: str, after: int = 0) -> list[bytes]:
        """Entries after a position, the first being at 1."""
        ...

    async def transcript_before(self, session_id: str, before: int | None, limit: int) -> tuple[int, list[bytes]]:
        """The newest `limit` entries, or those before a position, oldest first; and the position of the first."""
        ...

    async def idempotency(self, session_id: str, key: str) -> IdempotencyRow | None:
        """What a client's id was used for in a session; None where it is unknown, or forgotten."""
        ...

    async def forget_keys(self, before: float) -> int:
        """Forget the idempotency keys of all sessions that are older than a time. Returns how many those were."""
        ...

    async def join(self, owner: OwnerRow) -> None:
        """Enter a process, after taking its lock: one that the system gives back when the process dies."""
        ...

    def beat(self, owner_id: str) -> bool:
        """Count the beat of a process up, after taking its lock again where that was lost.

        Called from a thread of its own. False where the work of the process was given to another.
        """
        ...

    async def living(self, owner_ids: Collection[str]) -> dict[str, bool]:
        """Whether the locks of these processes are held, for those of which that can be known.

        A lock that is held proves that its process lives, even if it is stopped or its interpreter is held up. One that
        is not held proves nothing: the process may have lost it, and takes it again with its next beat.
        """
        ...

    async def owners(self) -> list[OwnerRow]: ...

    async def leave(self, owner_id: str) -> None:
        """A process ends: its executions, if any are left, may be recovered at once. Its lock is given back."""
        ...

    async def recover(self, owner_id: str | None, beat: int, heir: str, *, limit: int = 1000) -> Recovered:
        """Take up to `limit` unfinished executions, turns and inputs from a dead process, and give them to `heir`.

        Nothing is taken if the beat of the process is not that any more. Executions that wait for a person, and were
        not called by another execution, are given to no process: they become ready when their request closes. The dead
        process is removed with the last of what it owns.

        With None as `owner_id`: give up to `limit` executions to `heir` that no process holds and that are ready: asked
        to stop, or with a request that was answered, or with requests none of which is open. What that costs does not
        grow with the number of those that are not ready.
        """
        ...
