"""The reads of a store in a database, one statement each, so that every result is of one moment."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Select,
    and_,
    bindparam,
    case,
    func,
    literal,
    select,
    union_all,
)
from sqlalchemy.exc import DataError

from ...storage import patience
from ...storage.brief import Brief
from ...storage.document_records import DocumentRow
from ...storage.errors import StoreError
from ...storage.event_log import PAGE_BYTES, Head, Page
from ...storage.memory_records import MemoryQuery
from ...storage.owners import Claim, QueuedCall, Stopping
from ...storage.queues import QueueDepth
from ...storage.rows import (
    TURN,
    ExecutionRow,
    IdempotencyRow,
    InputRow,
    KeyRow,
    OwnerRow,
    RequestRow,
    SessionRow,
    TurnRow,
)
from ...storage.session_list import ListPosition, SessionSummary
from ...user_memory import MemoryHit, Note, NotePosition
from . import document_queries, note_queries
from .backend import Backend
from .brief_queries import brief_executions, brief_requests
from .key_queries import KEY
from .memory_search import search
from .open_database import OpenDatabase
from .owner_queries import tools_under_way
from .queue_queries import claimed_calls, queue_depths, queued_calls, queued_calls_of
from .session_queries import SESSION, TO_WAKE, USAGE, recent_sessions, session_row
from .statements import key_document
from .tables import (
    api_keys,
    columns_of,
    events,
    executions,
    idempotency_keys,
    incomplete,
    inputs,
    is_open,
    made_at,
    owners,
    request_conditions,
    requests,
    running,
    session_tool_state,
    sessions,
    stopping,
    stopping_turns,
    transcript,
    turns,
)

T = TypeVar("T")

_MOST = 2**62
"""A number beyond every number of an event that databases can hold."""

_FEW = 8
"""The number of events of a page that are read first, before their size is known."""

_EXECUTION = select(*columns_of(executions, ExecutionRow))
_TURN = select(*columns_of(turns, TurnRow))
_INPUT = select(*columns_of(inputs, InputRow))
_REQUEST = select(*columns_of(requests, RequestRow))
_IDEMPOTENCY = select(*columns_of(idempotency_keys, IdempotencyRow))

_after, _limit = bindparam("after", type_=BigInteger()), bindparam("limit", type_=BigInteger())
_first = case((sessions.c.first_seq > _after, sessions.c.first_seq), else_=_after + 1)
_on_page = and_(events.c.session_id == sessions.c.id, events.c.seq > _after, events.c.seq < _first + _limit)
_PAGE = (
    select(sessions.c.first_seq, sessions.c.last_seq, made_at, events.c.body)
    .select_from(sessions.outerjoin(events, _on_page))
    .where(sessions.c.id == bindparam("id"))
    .order_by(events.c.seq)
)
"""A session with its events after a number. Numbers have no gaps, so a limit is a number too."""


class SqlReads:
    """The methods of a store in a database that read."""

    def __init__(self, database: Backend) -> None:
        self._database = database
        self._opened: OpenDatabase | None = None
        key_filter, self._json = database.key_filter, database.json
        self._session = SESSION.where(sessions.c.id == bindparam("id"))
        self._heads = database.select_listed(select(sessions.c.id, sessions.c.last_seq, made_at), sessions.c.id)
        of_session = executions.c.session_id == bindparam("session_id")
        self._execution = _EXECUTION.where(of_session, executions.c.id == bindparam("id"))
        self._of_call = _EXECUTION.where(of_session, executions.c.call_id == bindparam("call_id"))
        self._among = key_filter(executions.c.id)
        self._by_key = database.select_listed(_EXECUTION, executions.c.session_id, executions.c.id)
        self._turn = _TURN.where(turns.c.session_id == bindparam("session_id"), turns.c.number == bindparam("number"))
        self._running_turns = _TURN.where(key_filter(turns.c.session_id), running).order_by(
            turns.c.session_id, turns.c.number
        )
        self._listed = key_filter(sessions.c.id)
        self._usage = USAGE.where(self._listed)
        self._inputs = _INPUT.where(inputs.c.session_id == bindparam("session_id"), key_filter(inputs.c.id)).order_by(
            inputs.c.id
        )
        self._request = _REQUEST.where(requests.c.id == bindparam("id"))
        self._closed = _REQUEST.where(key_filter(requests.c.id), requests.c.status != "open").order_by(requests.c.place)
        self._of_executions = key_filter(requests.c.session_id, requests.c.execution_id)
        self._next_expiry = select(func.min(requests.c.expires_at)).where(is_open)
        self._transcript = (
            select(transcript.c.entry)
            .where(transcript.c.session_id == bindparam("session_id"), transcript.c.position > bindparam("after"))
            .order_by(transcript.c.position)
            .limit(bindparam("limit"))
        )
        self._transcript_before = (
            select(transcript.c.position, transcript.c.entry)
            .where(transcript.c.session_id == bindparam("session_id"), transcript.c.position < bindparam("before"))
            .order_by(transcript.c.position.desc())
            .limit(bindparam("limit"))
        )
        self._idempotency = _IDEMPOTENCY.where(
            idempotency_keys.c.session_id == bindparam("session_id"), idempotency_keys.c.key == bindparam("key")
        )
        self._owners = select(owners).order_by(owners.c.id)
        self._stopping = union_all(
            select(executions.c.session_id, executions.c.id, executions.c.kind).where(
                executions.c.owner == bindparam("owner"), stopping
            ),
            select(turns.c.session_id, turns.c.turn_id, literal(TURN)).where(
                turns.c.owner == bindparam("owner"), stopping_turns
            ),
        )

    async def session(self, session_id: str) -> SessionRow | None:
        return await self._row(session_row, self._session, id=session_id)

    async def sessions(self, user_id: str | None = None, *, after: str = "", limit: int = 100) -> list[SessionRow]:
        statement = SESSION.where(sessions.c.id > after).order_by(sessions.c.id).limit(limit)
        if user_id is not None:
            statement = statement.where(session_tool_state.c.user_id == user_id)
        return await self._rows(session_row, statement)

    async def sessions_to_wake(
        self, *, ids: Collection[str] | None = None, after: str = "", limit: int = 100
    ) -> list[tuple[str, str]]:
        statement = (TO_WAKE if ids is None else TO_WAKE.where(self._listed)).where(sessions.c.id > after).limit(limit)
        found = await self._rows(dict[str, Any], statement, None if ids is None else zip(ids))
        return [(row["id"], row["user_id"]) for row in found]

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
        return await self._read(lambda c: recent_sessions(c, user_id, now, before, after, search, limit), [])

    async def events(self, session_id: str, after: int, limit: int, *, max_bytes: int = PAGE_BYTES) -> Page:
        after, limit = min(after, _MOST), min(limit, _MOST)
        nothing = Page(after + 1, [], 1, 0)
        return await self._read(lambda c: self._read_page(c, session_id, after, limit, max_bytes), nothing)

    async def heads(self, session_ids: Collection[str]) -> dict[str, Head]:
        rows = await self._rows(dict[str, Any], self._heads, zip(session_ids))
        return {row["id"]: Head(row["last_seq"], row["made_at"]) for row in rows}

    async def transcript(self, session_id: str, after: int = 0, limit: int | None = None) -> list[bytes]:
        most = _MOST if limit is None else min(limit, _MOST)
        wanted = {"session_id": session_id, "after": min(after, _MOST), "limit": most}
        return await self._read(lambda c: list(c.execute(self._transcript, wanted).scalars()), [])

    async def transcript_before(self, session_id: str, before: int | None, limit: int) -> tuple[int, list[bytes]]:
        end = _MOST if before is None else min(before, _MOST)
        rows = await self._rows(dict[str, Any], self._transcript_before, session_id=session_id, before=end, limit=limit)
        return (rows[-1]["position"], [row["entry"] for row in reversed(rows)]) if rows else (1, [])

    async def execution(self, session_id: str, execution_id: str) -> ExecutionRow | None:
        return await self._row(ExecutionRow, self._execution, session_id=session_id, id=execution_id)

    async def execution_of_call(self, session_id: str, call_id: str) -> ExecutionRow | None:
        return await self._row(ExecutionRow, self._of_call, session_id=session_id, call_id=call_id)

    async def executions(
        self, session_id: str, *, ids: Collection[str] | None = None, unfinished: bool = False, limit: int = 1000
    ) -> list[ExecutionRow]:
        statement = _EXECUTION.where(executions.c.session_id == session_id)
        if ids is not None:
            statement = statement.where(self._among)
        if unfinished:
            statement = statement.where(incomplete)
        newest = statement.order_by(executions.c.place.desc()).limit(limit)
        return (await self._rows(ExecutionRow, newest, None if ids is None else zip(ids)))[::-1]

    async def executions_by_key(self, keys: Collection[tuple[str, str]]) -> list[ExecutionRow]:
        rows = await self._rows(ExecutionRow, self._by_key, keys)
        found = {(row.session_id, row.id): row for row in rows}
        return [found[key] for key in dict.fromkeys(keys) if key in found]

    async def brief_executions(
        self,
        session_id: str,
        *,
        before: str | None = None,
        unfinished: bool = False,
        limit: int,
        longest: int,
    ) -> list[Brief[ExecutionRow]]:
        return await self._read(
            lambda c: brief_executions(c, self._json, session_id, before, unfinished, limit, longest), []
        )

    async def turn(self, session_id: str, number: int) -> TurnRow | None:
        return await self._row(TurnRow, self._turn, session_id=session_id, number=number)

    async def running_turns(self, session_ids: Collection[str]) -> list[TurnRow]:
        return await self._rows(TurnRow, self._running_turns, zip(session_ids))

    async def usage(self, session_ids: Collection[str]) -> dict[str, bytes]:
        rows = await self._rows(dict[str, Any], self._usage, zip(session_ids))
        return {row["id"]: row["usage"] for row in rows if row["usage"] is not None}

    async def inputs(self, session_id: str, ids: Collection[str]) -> list[InputRow]:
        return await self._rows(InputRow, self._inputs, zip(ids), session_id=session_id)

    async def request(self, request_id: str) -> RequestRow | None:
        return await self._row(RequestRow, self._request, id=request_id)

    async def closed_requests(self, request_ids: Collection[str]) -> list[RequestRow]:
        return await self._rows(RequestRow, self._closed, zip(request_ids))

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
        statement = _REQUEST.where(*request_conditions(session_id=session_id, user_id=user_id, status=status))
        oldest_first: ColumnElement[int] = requests.c.place
        if due is not None:
            statement = statement.where(requests.c.expires_at <= due)
            oldest_first += 0  # by the column itself, a database may read all requests in their order
        if executions is not None:
            statement = statement.where(self._of_executions)
        return await self._rows(RequestRow, statement.order_by(oldest_first).limit(limit), executions)

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
        wanted = {"user_id": user_id, "session_id": session_id, "status": status}
        return await self._read(lambda c: brief_requests(c, self._json, closed, after, limit, longest, **wanted), [])

    async def next_expiry(self) -> float | None:
        return await self._read(lambda c: c.execute(self._next_expiry).scalar_one(), None)

    async def idempotency(self, session_id: str, key: str) -> IdempotencyRow | None:
        return await self._row(_idempotency, self._idempotency, session_id=session_id, key=key)

    async def key(self, key_id: str) -> KeyRow | None:
        return await self._row(KeyRow, KEY.where(api_keys.c.id == key_id))

    async def keys(self, user_id: str | None = None, *, limit: int = 1000) -> list[KeyRow]:
        statement = KEY if user_id is None else KEY.where(api_keys.c.user_id == user_id)
        return await self._rows(KeyRow, statement.order_by(api_keys.c.place).limit(limit))

    async def note(self, user_id: str, key: str) -> Note | None:
        return await self._read(lambda c: note_queries.find(c, user_id, key), None)

    async def notes(
        self, user_id: str, *, tag: str | None = None, before: NotePosition | None = None, limit: int = 100
    ) -> list[Note]:
        return await self._read(lambda c: note_queries.listed(c, user_id, tag, before, limit), [])

    async def search_memory(self, query: MemoryQuery) -> list[MemoryHit]:
        return await self._read(lambda c: search(c, query, self._database.find_entries), [])

    async def document(self, user_id: str, collection: str, key: str) -> DocumentRow | None:
        return await self._read(lambda c: document_queries.find(c, user_id, collection, key), None)

    async def documents(
        self, user_id: str, collection: str, *, prefix: str = "", after: str = "", limit: int = 100
    ) -> list[DocumentRow]:
        return await self._read(lambda c: document_queries.listed(c, user_id, collection, prefix, after, limit), [])

    async def owners(self) -> list[OwnerRow]:
        return await self._rows(OwnerRow, self._owners)

    async def queue_depths(self) -> list[QueueDepth]:
        return await self._read(queue_depths, [])

    async def claimed_calls(self, owner_id: str) -> list[Claim]:
        return await self._read(lambda c: claimed_calls(c, owner_id), [])

    async def queued_calls(
        self, queue: str, *, before: float, limit: int, tools: Collection[str] | None = None
    ) -> list[QueuedCall]:
        return await self._read(lambda c: queued_calls(c, queue, before, limit, tools), [])

    async def queued_calls_of(self, queue: str, users: Mapping[str, int]) -> dict[str, list[QueuedCall]]:
        return await self._read(lambda c: queued_calls_of(c, queue, users), {})

    async def tools_under_way(self, owner_id: str) -> set[str]:
        return await self._read(lambda c: tools_under_way(c, owner_id), set())

    async def stopping(self, owner_id: str) -> list[Stopping]:
        found = self._stopping, {"owner": owner_id}
        return await self._read(lambda c: [Stopping(*row) for row in c.execute(*found)], [])

    @property
    def _here(self) -> OpenDatabase:
        if self._opened is None:
            raise StoreError("The store is not open.")
        return self._opened

    async def _read(self, job: Callable[[Connection], T], nothing: T) -> T:
        """Return the result of a query; `nothing` if it names what no database can hold."""
        try:
            return await self._here.readers.do(lambda connection: connection.run(job), patience.reader())
        except (DataError, ValueError):  # a name that no database can hold
            return nothing

    async def _rows(
        self,
        kind: Callable[..., T],
        statement: Select[*tuple[Any, ...]],
        keys: Iterable[Sequence[str]] | None = None,
        **parameters: Any,
    ) -> list[T]:
        """Return the rows of a query as values of a kind. `keys` are those of a `Backend.key_filter`."""

        def job(connection: Connection) -> list[T]:
            wanted = parameters if listed is None else {**parameters, "keys": key_document(listed)}
            return [kind(**row) for row in connection.execute(statement, wanted).mappings()]

        listed = None if keys is None else list(keys)  # the job may be repeated
        return await self._read(job, [])

    async def _row(self, kind: Callable[..., T], statement: Select[*tuple[Any, ...]], **parameters: Any) -> T | None:
        return next(iter(await self._rows(kind, statement, **parameters)), None)

    def _read_page(self, connection: Connection, session_id: str, after: int, limit: int, max_bytes: int) -> Page:
        """Read a page in parts: the size of the first few events says how many more to read."""
        first, first_seq, last_seq, created_at = after + 1, 1, 0, 0.0
        lines: list[bytes] = []
        size, count = 0, min(limit, _FEW)
        while True:
            start = first + len(lines) - 1
            rows = connection.execute(_PAGE, {"id": session_id, "after": start, "limit": max(0, count)}).all()
            if not rows or (lines and rows[0].first_seq > start + 1):  # some were trimmed: a page has no gaps
                break
            first_seq, last_seq, created_at, _ = rows[0]
            first = first if lines else max(first, first_seq)
            bodies = [row.body for row in rows if row.body is not None]
            for body in bodies:
                lines.append(body)
                size += len(body)
                if size >= max_bytes:
                    break
            if len(bodies) < count or len(lines) >= limit or size >= max_bytes:
                break
            count = min(limit - len(lines), max(1, (max_bytes - size) * len(lines) // size))
        return Page(first, lines, first_seq, last_seq, created_at)


def _idempotency(*, answer: str, **fields: Any) -> IdempotencyRow:
    return IdempotencyRow(answer=answer.encode(), **fields)
