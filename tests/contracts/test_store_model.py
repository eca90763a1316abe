"""Databases compared with the store in memory: the same steps give the same results (B1, E3, E5)."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from callboard.adapters.stores.memory import MemoryStore
from callboard.storage.change import Change, ExecutionWrite, RequestWrite, TitleWrite
from callboard.storage.errors import Conflict
from callboard.storage.store import Store
from callboard.testing.store_rows import NOW, event, execution_row, idempotency_row, owner_row, request_row, session_row
from tests.examples import examples

pytestmark = pytest.mark.anyio

SESSIONS = ("a", "b")
EXECUTIONS = ("x", "y", "z")
OWNERS = ("p1", "p2")

Step = Callable[[Store], Awaitable[Any]]


@st.composite
def execution_writes(draw: st.DrawFn, session_id: str) -> ExecutionWrite:
    execution_id = draw(st.sampled_from(EXECUTIONS))
    finished = draw(st.booleans())
    row = execution_row(
        execution_id,
        draw(st.sampled_from([session_id] * 9 + ["a"])),
        call_id=draw(st.sampled_from([execution_id] * 9 + ["c"])),
        status="succeeded" if finished else "executing",
        attempt=draw(st.integers(1, 3)),
        completed_at=NOW + 1 if finished else None,
        owner=draw(st.sampled_from([*OWNERS, None])),
        cancelling=draw(st.sampled_from([False] * 5 + [True])),
    )
    return ExecutionWrite(row, draw(st.sampled_from([None, *OWNERS])), draw(st.booleans()))


@st.composite
def request_writes(draw: st.DrawFn, session_id: str) -> RequestWrite:
    statuses = st.sampled_from(["open", "answered", "used", "expired"])
    row = request_row(
        draw(st.sampled_from(["r", "q"])),
        session_id,
        execution_id=draw(st.sampled_from(EXECUTIONS)),
        status=draw(statuses),
    )
    return RequestWrite(row, draw(st.none() | statuses))


@st.composite
def changes(draw: st.DrawFn) -> Change:
    session_id = draw(st.sampled_from(SESSIONS))
    few = st.lists(st.sampled_from(EXECUTIONS), max_size=2)
    user = draw(st.sampled_from([None, "ann", "ann", "bob"]))
    tools = draw(st.sampled_from([(), ("t",)]))
    return Change(
        session_id,
        session=session_row(session_id, user_id=user, tools=tools, updated_at=NOW + len(tools)) if user else None,
        executions=draw(st.lists(execution_writes(session_id), max_size=2)),
        requests=draw(st.lists(request_writes(session_id), max_size=1)),
        late=draw(few),
        consumed=draw(few),
        cancel=draw(st.lists(st.sampled_from(EXECUTIONS), max_size=1)),
        transcript=draw(st.lists(st.sampled_from([b"1", b'"t"']), max_size=2)),
        idempotency=draw(st.none() | st.builds(idempotency_row, st.sampled_from("kl"), st.sampled_from("fg"))),
        title=draw(st.none() | st.builds(TitleWrite, st.sampled_from("Tt"), st.booleans())),
        events=[event(at=NOW + second) for second in draw(st.lists(st.integers(0, 3), max_size=3))],
    )


def opening_changes() -> list[Change]:
    """Sessions to work on: without them most drawn changes would be refused."""
    return [Change(session_id, session=session_row(session_id)) for session_id in SESSIONS]


def simple_changes() -> st.SearchStrategy[Change]:
    """Changes that mostly fit."""

    def made(session_id: str, execution_id: str, owner: str | None) -> Change:
        row = execution_row(execution_id, session_id, owner=owner)
        return Change(session_id, executions=[ExecutionWrite(row, new=True)], late=[execution_id], events=[event()])

    return st.builds(
        made, st.sampled_from(SESSIONS), st.sampled_from(EXECUTIONS), st.sampled_from([*OWNERS, None])
    ) | st.builds(
        lambda session_id, consumed: Change(session_id, consumed=[consumed]),
        st.sampled_from(SESSIONS),
        st.sampled_from(EXECUTIONS),
    )


@st.composite
def steps(draw: st.DrawFn) -> tuple[str, Step]:
    kind = draw(st.sampled_from(["commit"] * 6 + ["delete", "trim", "join", "beat", "leave", "recover", "recover"]))
    session_id, owner = draw(st.sampled_from(SESSIONS)), draw(st.sampled_from(OWNERS))
    if kind == "commit":
        group = draw(st.lists(simple_changes() | changes(), min_size=1, max_size=4))
        return f"commit {group}", lambda store: store.commit(group)
    if kind == "delete":
        return f"delete {session_id}", lambda store: store.delete(session_id)
    if kind == "trim":
        keep, before = draw(st.integers(0, 4)), NOW + draw(st.integers(-1, 4))
        return f"trim {session_id} {keep} {before}", lambda store: store.trim(session_id, keep=keep, before=before)
    if kind == "join":
        return f"join {owner}", lambda store: store.join(owner_row(owner))
    if kind == "leave":
        return f"leave {owner}", lambda store: store.leave(owner)
    if kind == "recover":
        dead, beat = draw(st.sampled_from([None, owner])), draw(st.sampled_from([0, 0, 1, -1]))
        return f"recover {dead} {beat}", lambda store: store.recover(dead, beat, "heir")

    async def beat_once(store: Store) -> bool:
        return store.beat(owner)

    return f"beat {owner}", beat_once


async def emptied(store: Store) -> None:
    for row in await store.sessions():
        await store.delete(row.id)
    for owner in await store.owners():
        await store.leave(owner.id)


async def everything(store: Store) -> dict[str, Any]:
    """Everything that can be read from a store."""
    rows = await store.sessions()
    found: dict[str, Any] = {
        "sessions": rows,
        "heads": await store.heads(SESSIONS),
        "recent": await store.recent_sessions("ann", now=NOW),
        "found": await store.recent_sessions("ann", now=NOW, search="t", limit=1),
        "owners": await store.owners(),
        "requests": await store.requests(),
        "open": await store.requests(status="open", limit=1),
    }
    for session_id in SESSIONS:
        page = await store.events(session_id, 0, 100)
        found[session_id] = {
            "row": await store.session(session_id),
            "page": page._replace(lines=[]),
            "events": [json.loads(line) for line in page.lines],
            "some": [json.loads(line) for line in (await store.events(session_id, 2, 2)).lines],
            "executions": await store.executions(session_id),
            "unfinished": await store.executions(session_id, unfinished=True, limit=2),
            "of call": await store.execution_of_call(session_id, "c"),
            "transcript": await store.transcript(session_id, 1),
            "keys": [await store.idempotency(session_id, key) for key in "kl"],
        }
    return found


def comparable(result: Any) -> Any:
    if isinstance(result, list):
        return [str(item) if isinstance(item, Conflict) else item for item in result]
    return result


@given(drawn=st.lists(steps(), max_size=12))
@examples(30, 300, suppress=[HealthCheck.function_scoped_fixture])
async def test_e5_database_gives_the_results_of_memory(shared_store: Store, drawn: list[tuple[str, Step]]) -> None:
    await emptied(shared_store)
    memory = MemoryStore()
    assert await shared_store.commit(opening_changes()) == await memory.commit(opening_changes())
    for name, step in drawn:
        said, expected = comparable(await step(shared_store)), comparable(await step(memory))
        assert said == expected, name
        assert await everything(shared_store) == await everything(memory), name
