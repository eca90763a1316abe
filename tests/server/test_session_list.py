"""The list of conversations: by activity, searched, and at the same cost for any number of sessions (H1, H5)."""

import asyncio
from base64 import urlsafe_b64encode
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event as sqlalchemy_event

from callboard import Runtime
from callboard.server.session_pages import PageCursor, read_session_page
from callboard.storage.change import Change, TitleWrite
from callboard.storage.session_list import ListPosition, SessionSummary
from callboard.storage.store import Store
from callboard.testing import ManualClock
from callboard.testing.store_rows import NOW, create, event, session_row
from callboard.tools.front_end import FrontEndTool, front_end_tools
from tests.server.conftest import TOOLS, Served, serve

pytestmark = pytest.mark.anyio


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture(params=["memory", "sqlite"])
async def timed(request: pytest.FixtureRequest, tmp_path: Path, clock: ManualClock) -> AsyncGenerator[Served]:
    store = "memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'b.db'}"
    async with serve(Runtime(TOOLS, clock=clock, store=store)) as served:
        yield served


async def say(served: Served, clock: ManualClock, session_id: str, text: str = "hello", **headers: str) -> None:
    await clock.advance(10)
    body = {"session_id": session_id, "event": {"kind": "user_input", "text": text}}
    assert (await served.post("/api/system/event", body, **headers)).status_code == 202


async def listed(served: Served, headers: dict[str, str] | None = None, **params: Any) -> dict[str, Any]:
    answer = await served.get("/api/sessions", {"order": "recent", **params}, **headers or {})
    assert answer.status_code == 200, answer.text
    return answer.json()


def ids(page: dict[str, Any]) -> list[str]:
    return [each["session_id"] for each in page["sessions"]]


async def test_h1_sessions_are_listed_by_activity_with_their_open_work(timed: Served, clock: ManualClock) -> None:
    for session_id in ("a", "b", "c"):
        await timed.session(session_id)
        await say(timed, clock, session_id, f"Talk {session_id}")
    await say(timed, clock, "a")
    page = await listed(timed)
    assert ids(page) == ["a", "c", "b"]
    assert page["next"] is None
    assert [each["title"] for each in page["sessions"]] == ["Talk a", "Talk c", "Talk b"]
    times = [each["last_activity_at"] for each in page["sessions"]]
    assert times == sorted(times, reverse=True)
    assert {(each["waiting"], each["running"]) for each in page["sessions"]} == {(0, False)}
    await clock.advance(10)
    await timed.post("/api/executions", {"session_id": "b", "tool": "pay", "arguments": {"amount": 5}})
    await clock.advance(10)
    await timed.post("/api/executions", {"session_id": "c", "tool": "wait_for_ever"})
    found = [(each["session_id"], each["waiting"], each["running"]) for each in (await listed(timed))["sessions"]]
    assert found == [("c", 0, True), ("b", 1, False), ("a", 0, False)]


async def test_h1_a_call_of_a_page_tool_runs_and_waits_for_no_person(timed: Served) -> None:
    (paint,) = front_end_tools([FrontEndTool(name="paint", description="Paint the page.", parameters={})])
    timed.runtime.registry.register(paint)
    await timed.session("a")
    await timed.post("/api/executions", {"session_id": "a", "tool": "paint"})
    (session,) = (await listed(timed))["sessions"]
    assert (session["waiting"], session["running"]) == (0, True)


async def test_h1_list_is_searched_by_title(timed: Served, clock: ManualClock) -> None:
    for session_id, text in (("a", "Trip to RÖM"), ("b", "100% sure"), ("c", "A trip")):
        await timed.session(session_id)
        await say(timed, clock, session_id, text)
    assert ids(await listed(timed, search="TRIP")) == ["c", "a"]
    assert ids(await listed(timed, search="röm")) == ["a"]
    assert ids(await listed(timed, search="%")) == ["b"]
    for hostile in ("_", "' OR 1=1 --", "\0", "\\", "*"):
        assert ids(await listed(timed, search=hostile)) == []
    first = await listed(timed, search="trip", limit=1)
    assert ids(first) == ["c"]
    assert ids(await listed(timed, search="trip", limit=1, after=first["next"])) == ["a"]


async def test_h1_list_refuses_what_it_does_not_understand(plain: Served) -> None:
    for params in (
        {"search": "x"},
        {"order": "recent", "search": "x" * 201},
        {"order": "newest"},
        {"after": "x" * 201},
    ):
        assert (await plain.get("/api/sessions", params)).status_code == 422, params
    positions = [
        '[NaN,"a"]',
        '[1e999,"a"]',
        "[1,2]",
        "[1]",
        '[true,""]',
        '[1,"\\u0000"]',
        "[" * 3000,
        f'[1{"0" * 400},"a"]',
    ]
    cursors = [str(PageCursor())[:-2], "x", "ä", "W10="]
    cursors += [urlsafe_b64encode(f"[{position},null,null]".encode()).decode() for position in positions]
    for cursor in cursors:
        refused = await plain.get("/api/sessions", {"order": "recent", "after": cursor})
        assert (refused.status_code, refused.json()["code"]) == (400, "cursor_invalid"), cursor


async def test_h5_list_has_only_sessions_of_its_user(timed: Served, clock: ManualClock) -> None:
    for user in ("ann", "bob"):
        await timed.session(f"of {user}", x_user=user)
        await say(timed, clock, f"of {user}", f"Secret of {user}", x_user=user)
    await timed.session("more of ann", x_user="ann")
    assert ids(await listed(timed, {"x_user": "ann"})) == ["more of ann", "of ann"]
    assert ids(await listed(timed, {"x_user": "bob"}, search="secret")) == ["of bob"]
    anns = (await listed(timed, {"x_user": "ann"}, limit=1))["next"]
    assert ids(await listed(timed, {"x_user": "bob"}, after=anns)) in ([], ["of bob"]), "a cursor is no key"
    assert ids(await listed(timed, {"x_user": "eve"})) == []


# Paging while sessions move


class Moving:
    """A list of sessions in memory that moves between reads."""

    def __init__(self, count: int) -> None:
        self.at = {f"s{number:02}": float(number) for number in range(count)}

    def move(self, session_id: str) -> None:
        self.at[session_id] = max(self.at.values()) + 1

    async def read(self, before: ListPosition | None, after: ListPosition | None, limit: int) -> list[SessionSummary]:
        found = sorted((ListPosition(at, session_id) for session_id, at in self.at.items()), reverse=True)
        wanted = [each for each in found if (before is None or each < before) and (after is None or each > after)]
        return [SessionSummary(session_row(each.session_id), each.active_at, 0, False) for each in wanted[:limit]]

    async def pages(self, limit: int) -> AsyncIterator[list[str]]:
        cursor: PageCursor | None = PageCursor()
        while cursor is not None:
            page, cursor = await read_session_page(self.read, cursor, limit)
            cursor = cursor and PageCursor.parse(str(cursor))
            assert len(page) <= limit
            yield [each.row.id for each in page]


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5, 9, 10, 11])
async def test_h1_pages_have_every_session_once_if_none_moves(limit: int) -> None:
    moving = Moving(10)
    found = [each async for page in moving.pages(limit) for each in page]
    assert found == sorted(moving.at, reverse=True)


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 7])
async def test_h1_session_that_moves_past_a_reader_is_not_lost(limit: int) -> None:
    moving, found = Moving(10), list[str]()
    async for page in moving.pages(limit):
        found += page
        if len(found) <= limit:
            for session_id in ("s01", "s00", "s09"):  # two that were not read, and one that was
                moving.move(session_id)
    assert set(found) == set(moving.at)
    assert {each for each in found if found.count(each) > 1} <= {"s09"}, "only what changed after it was read"


@pytest.mark.parametrize("limit", [1, 2, 3])
async def test_h1_reader_of_a_list_that_always_moves_reads_all(limit: int) -> None:
    moving, found = Moving(8), list[str]()
    async for page in moving.pages(limit):
        found += page
        if len(found) < 100:
            moving.move(min(moving.at, key=lambda each: moving.at[each]))
    assert set(found) == set(moving.at)


# Cost


async def fill(store: Store, count: int) -> None:
    """Store sessions of two users, each with a title and an event."""
    for start in range(0, count, 500):
        for user in ("ann", "bob"):
            names = [f"{user} {number:05}" for number in range(start, min(count, start + 500))]
            await store.commit([create(name, user_id=user, created_at=NOW + place) for place, name in enumerate(names)])
            await store.commit(
                [Change(name, events=[event(at=NOW + 5)], title=TitleWrite(f"Talk {name}")) for name in names]
            )


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_h1_page_costs_the_same_for_10_and_10_000_sessions(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    url = request.getfixturevalue("postgres_url") if kind == "postgres" else f"sqlite:///{tmp_path / 'b.db'}"
    statements: list[tuple[str, Any]] = []
    async with serve(Runtime(TOOLS, store=url)) as served:
        store: Any = served.runtime.store
        engine = store._database._engine
        await fill(store, 10)
        few = await counted(engine, served, statements)
        await fill(store, 10_000)
        many = await counted(engine, served, statements)
        assert few == many == [1, 1, 1]
        plan = await asyncio.to_thread(explained, engine, kind, *statements[-1])
        assert PLANS[kind] in plan, plan
        assert not any(each in plan for each in ("SCAN", "Seq Scan", "TEMP B-TREE", "Sort")), plan


PLANS = {
    "sqlite": "SEARCH sessions USING INDEX sessions_recent (user_id=? AND (active_at,id)<(?,?))",
    "postgres": "Index Scan Backward using sessions_recent on sessions",
}
"""How a page is found: by the index, which holds the sessions of one user in their order."""


async def counted(engine: Any, served: Served, statements: list[tuple[str, Any]]) -> list[int]:
    """Return the numbers of queries of three pages."""
    counts: list[int] = []

    def record(connection: Any, cursor: Any, statement: str, parameters: Any, *rest: Any) -> None:
        if "session_tool_state" in statement:
            statements.append((statement, parameters))

    sqlalchemy_event.listen(engine, "before_cursor_execute", record)
    try:
        after = ""
        for _ in range(3):
            before = len(statements)
            page = await listed(served, {"x_user": "ann"}, limit=3, after=after)
            after = page["next"]
            counts.append(len(statements) - before)
            assert all(each.startswith("ann ") for each in ids(page))
    finally:
        sqlalchemy_event.remove(engine, "before_cursor_execute", record)
    return counts


def explained(engine: Any, kind: str, statement: str, parameters: Any) -> str:
    with engine.connect() as connection:
        if kind == "sqlite":
            rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
            return "\n".join(row[3] for row in rows)
        connection.exec_driver_sql("ANALYZE")
        connection.exec_driver_sql("SET enable_seqscan = off")  # other tables are empty
        return "\n".join(row[0] for row in connection.exec_driver_sql(f"EXPLAIN {statement}", parameters))
