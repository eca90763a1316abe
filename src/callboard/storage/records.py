"""The ports of stored records: sessions, executions, turns and inputs, requests, idempotency keys and API keys."""

from collections.abc import Collection
from typing import Protocol

from .brief import Brief
from .rows import ExecutionRow, IdempotencyRow, InputRow, KeyRow, RequestRow, SessionRow, TurnRow
from .session_list import ListPosition, SessionSummary

MAX_IDEMPOTENCY_KEYS = 1_000
"""The number of idempotency keys that a session keeps. A new key replaces the oldest."""


class SessionRecords(Protocol):
    """Reads and deletes sessions. `Change.session` writes them, `Change.transcript` appends to a transcript."""

    async def session(self, session_id: str) -> SessionRow | None:
        """Return a session; None if it does not exist."""
        ...

    async def sessions(self, user_id: str | None = None, *, after: str = "", limit: int = 100) -> list[SessionRow]:
        """Return sessions of all users or of one user, in the order of their ids, beginning after an id."""
        ...

    async def sessions_to_wake(
        self, *, ids: Collection[str] | None = None, after: str = "", limit: int = 100
    ) -> list[tuple[str, str]]:
        """Return sessions whose unconsumed results may start a turn, each with its user, by their ids after an id.

        They have a transcript, and either they are open and their own `wake` does not keep results from starting turns,
        or their newest turn is paused: the results may be what it waits for, however quiet the session is. With `ids`,
        only these sessions are searched; otherwise all are.
        """
        ...

    async def recent_sessions(
        self,
        user_id: str,
        *,
        now: float,
        before: ListPosition | None = None,
        after: ListPosition | None = None,
        search: str = "",
        limit: int = 100,
    ) -> list[SessionSummary]:
        """Return the newest `limit` sessions of a user by activity, newest first, between two positions.

        `search` is a text that their titles contain; differences of case are ignored, and no character is special. A
        request that expired before `now` does not count as waiting.
        """
        ...

    async def delete(self, session_id: str, made_at: float | None = None) -> bool:
        """Delete a session with all its records, unless it was created at another time than `made_at`.

        Return whether it was deleted.
        """
        ...

    async def transcript(self, session_id: str, after: int = 0, limit: int | None = None) -> list[bytes]:
        """Return entries of a transcript after a position, oldest first; the first entry is at position 1."""
        ...

    async def transcript_before(self, session_id: str, before: int | None, limit: int) -> tuple[int, list[bytes]]:
        """Return the newest `limit` entries, or those before a position, oldest first, and their first position."""
        ...


class ExecutionRecords(Protocol):
    """Reads executions. `Change.executions` writes them."""

    async def execution(self, session_id: str, execution_id: str) -> ExecutionRow | None:
        """Return an execution; None if it does not exist."""
        ...

    async def execution_of_call(self, session_id: str, call_id: str) -> ExecutionRow | None:
        """Return the execution of a call id; None if there is none."""
        ...

    async def executions(
        self, session_id: str, *, ids: Collection[str] | None = None, unfinished: bool = False, limit: int = 1000
    ) -> list[ExecutionRow]:
        """Return the newest `limit` matching executions of a session, in the order in which they were queued."""
        ...

    async def executions_by_key(self, keys: Collection[tuple[str, str]]) -> list[ExecutionRow]:
        """Return executions of any sessions by session and id, in the order of the keys. Unknown keys are left out."""
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
        """Return the newest `limit` calls of a session, or those before an execution, in the order of their queueing.

        `display_arguments` and `value` are left out if they are longer than `longest` bytes; `document` always is. The
        result is empty if `before` does not exist.
        """
        ...


class ConversationRecords(Protocol):
    """Reads the turns and inputs of conversations. `Change.turns` and `Change.inputs` write them."""

    async def turn(self, session_id: str, number: int) -> TurnRow | None:
        """Return a turn of a session by its number; None if it does not exist."""
        ...

    async def running_turns(self, session_ids: Collection[str]) -> list[TurnRow]:
        """Return the turns of these sessions that have not ended, by session and number."""
        ...

    async def usage(self, session_ids: Collection[str]) -> dict[str, bytes]:
        """Return the usage of conversations: that of their newest turns. Conversations without one are left out."""
        ...

    async def inputs(self, session_id: str, ids: Collection[str]) -> list[InputRow]:
        """Return those of the given inputs that are stored, delivered or not, by id."""
        ...


class RequestRecords(Protocol):
    """Reads requests. `Change.requests` writes them."""

    async def request(self, request_id: str) -> RequestRow | None:
        """Return a request; None if it does not exist."""
        ...

    async def closed_requests(self, request_ids: Collection[str]) -> list[RequestRow]:
        """Return those of the given requests that are no longer open, oldest first."""
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
        """Return the first `limit` matching requests, oldest first.

        `due` selects requests that expire at that time or before it; `executions` selects requests of these
        executions, each given by session and id.
        """
        ...

    async def brief_requests(
        self,
        *,
        user_id: str,
        session_id: str | None = None,
        status: str | None = None,
        closed: bool = False,
        after: str | None = None,
        limit: int,
        longest: int,
    ) -> list[Brief[RequestRow]]:
        """Return the first `limit` matching requests of a user after a request, oldest first.

        With `closed`, only requests that are no longer open, newest first.

        `payload` is left out if it is longer than `longest` bytes. The result is empty if `after` does not exist.
        """
        ...

    async def next_expiry(self) -> float | None:
        """Return the earliest expiry time of all open requests, which may be past; None if no request expires."""
        ...


class IdempotencyRecords(Protocol):
    """Reads and expires idempotency keys. `Change.idempotency` writes them."""

    async def idempotency(self, session_id: str, key: str) -> IdempotencyRow | None:
        """Return the record of a client's key in a session; None if it is unknown or expired."""
        ...

    async def forget_idempotency_keys(self, before: float) -> int:
        """Delete the idempotency keys of all sessions that are older than a time. Return their number."""
        ...


class ApiKeyRecords(Protocol):
    """Stores API keys. No key is ever deleted: a revoked key still names its user."""

    async def add_key(self, row: KeyRow) -> None:
        """Store a new key. Raises `Conflict` if another key has its id."""
        ...

    async def key(self, key_id: str) -> KeyRow | None:
        """Return a key; None if it does not exist."""
        ...

    async def keys(self, user_id: str | None = None, *, limit: int = 1000) -> list[KeyRow]:
        """Return the first `limit` keys of all users or of one user, oldest first."""
        ...

    async def revoke_key(self, key_id: str, at: float) -> KeyRow | None:
        """Revoke a key and return it; None if it does not exist. A key that is revoked already keeps its time."""
        ...

    async def key_used(self, key_id: str, at: float) -> None:
        """Store the time at which a key was last used. An earlier time and an unknown key are ignored."""
        ...
