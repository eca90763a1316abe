"""Contract of a store: titles of sessions, and the list of a user's sessions by activity."""

import pytest

from ...storage.change import Change, TitleWrite
from ...storage.session_list import ListPosition, SessionSummary
from ...storage.store import Store
from ..store_rows import (
    NOW,
    add,
    close,
    create,
    ended_turn,
    event,
    execution_row,
    finished_row,
    request_row,
    session_row,
    turn_row,
    update,
)
from .contract import Contract, commit_one, refused, stored_session


def active(session_id: str, at: float) -> Change:
    """Return a change that posts an event at a time."""
    return Change(session_id, events=[event(at=NOW + at)])


async def listed(store: Store, **options: object) -> list[SessionSummary]:
    return await store.recent_sessions("ann", now=NOW, **options)  # type: ignore[arg-type]


async def ids(store: Store, **options: object) -> list[str]:
    return [each.row.id for each in await listed(store, **options)]


class SessionListContract(Contract):
    async def test_e7_first_automatic_title_stays(self, store: Store) -> None:
        await commit_one(store, create())
        assert (await stored_session(store)).title is None
        first, second = (Change("s", title=TitleWrite(text, automatic=True)) for text in ("First", "Second"))
        assert await store.commit([first, second]) == [0, 0]
        await commit_one(store, second)
        assert await store.session("s") == session_row(auto_title="First", writes=2), "a newer row has more writes"

    async def test_e7_given_title_replaces_the_automatic_one_until_it_is_removed(self, store: Store) -> None:
        await store.commit([create(), Change("s", title=TitleWrite("Hello", automatic=True))])
        await store.commit([Change("s", title=TitleWrite(text)) for text in ("Ärger", "Trip")])
        row = await stored_session(store)
        assert (row.title, row.given_title, row.auto_title, row.writes) == ("Trip", "Trip", "Hello", 4)
        await commit_one(store, Change("s", title=TitleWrite(None)))
        assert (await stored_session(store)).title == "Hello"
        await commit_one(store, Change("s", title=TitleWrite("Mine"), events=[event()]))
        await commit_one(store, create(tools=("x",), given_title="ignored", auto_title="ignored"))
        row = await stored_session(store)
        assert (row.title, row.auto_title, row.tools) == ("Mine", "Hello", ("x",)), "writes of the session keep both"

    async def test_e7_title_of_an_unknown_session_or_with_a_nul_is_refused(self, store: Store) -> None:
        await refused(store, Change("s", title=TitleWrite("x")), "no session s")
        await commit_one(store, create())
        await refused(store, Change("s", title=TitleWrite("a\0b")), "NUL")
        assert (await stored_session(store)).title is None

    async def test_e7_sessions_are_listed_by_activity_for_their_user_only(self, store: Store) -> None:
        await store.commit([create(name, created_at=NOW + place) for place, name in enumerate("abc")])
        await store.commit([create("other", user_id="bob"), active("other", 99)])
        assert await ids(store) == ["c", "b", "a"], "without events by their creation"
        await store.commit([active("a", 10), active("b", 10)])
        assert await ids(store) == ["b", "a", "c"], "at the same time by id"
        assert [each.active_at - NOW for each in await listed(store)] == [10, 10, 2]
        assert await ids(store, limit=2) == ["b", "a"]
        assert await ids(store, before=ListPosition(NOW + 10, "b")) == ["a", "c"]
        assert await ids(store, after=ListPosition(NOW + 2, "c")) == ["b", "a"]
        assert await ids(store, before=ListPosition(NOW + 10, "b"), after=ListPosition(NOW + 2, "c")) == ["a"]
        await store.trim("a", keep=0, before=0.0)
        assert await ids(store) == ["b", "a", "c"], "deleted events do not move a session"
        assert await store.recent_sessions("unknown", now=NOW) == []

    async def test_e7_activity_moves_a_session_in_steps_and_never_back(self, store: Store) -> None:
        await store.commit([create(), active("s", 5), active("s", 5.5)])
        assert [each.active_at for each in await listed(store)] == [NOW + 5]
        await commit_one(store, active("s", 6))
        await commit_one(store, active("s", 2))
        assert [each.active_at for each in await listed(store)] == [NOW + 6]
        await store.commit([Change("s", title=TitleWrite("new")), create(updated_at=NOW + 50)])
        assert [each.active_at for each in await listed(store)] == [NOW + 6], "only events are activity"

    async def test_e7_summary_is_the_session_with_its_open_work(self, store: Store) -> None:
        await commit_one(store, create())
        assert await listed(store) == [SessionSummary(session_row(), NOW, 0, False)]
        await store.commit([add(execution_row()), add(request_row(expires_at=NOW + 1))])
        assert [(each.waiting, each.running) for each in await listed(store)] == [(1, False)], "it waits for a person"
        await store.commit([add(execution_row("y")), add(request_row("q", execution_id="y", expires_at=NOW))])
        assert [(each.waiting, each.running) for each in await listed(store)] == [(1, False)], "one has expired"
        await commit_one(store, close(request_row(status="answered")))
        assert [(each.waiting, each.running) for each in await listed(store)] == [(0, True)]
        await store.commit([update(finished_row()), update(finished_row("y"))])
        assert [each.running for each in await listed(store)] == [False]
        await commit_one(store, add(turn_row()))
        assert [each.running for each in await listed(store)] == [True]
        await commit_one(store, update(ended_turn()))
        assert [each.running for each in await listed(store)] == [False]

    async def test_e7_call_of_a_page_runs_and_waits_for_no_person(self, store: Store) -> None:
        await commit_one(store, create())
        await store.commit([add(execution_row()), add(request_row(purpose="front_end_tool"))])
        assert [(each.waiting, each.running) for each in await listed(store)] == [(0, True)]

    @pytest.mark.parametrize(
        ("search", "found"),
        [
            ("trip", ["trip", "plan"]),
            ("TRIP", ["trip", "plan"]),
            ("straße", ["street"]),
            ("STRASSE", ["street"]),
            ("éa", ["accent"]),
            ("100%", ["percent"]),
            ("%", ["percent"]),
            ("_", ["under"]),
            ("\\", ["back"]),
            ("'; DROP TABLE sessions; --", []),
            ("first message", []),
            ("\0", []),
            ("x" * 10_000, []),
        ],
    )
    async def test_e7_search_finds_titles_without_case_and_without_wildcards(
        self, store: Store, search: str, found: list[str]
    ) -> None:
        titles = {
            "plan": "Plan a trip",
            "trip": "TRIP to Rome",
            "street": "Straße",
            "accent": "Éa",
            "percent": "100% sure",
            "under": "snake_case",
            "back": "a\\b",
        }
        await store.commit([create("untitled"), create("theirs", user_id="bob")])
        await commit_one(store, Change("theirs", title=TitleWrite("Trip of bob")))
        for session_id, title in titles.items():
            await store.commit([create(session_id), Change(session_id, title=TitleWrite(title))])
        await commit_one(store, Change("plan", title=TitleWrite("first message", automatic=True)))
        assert await ids(store, search=search) == sorted(found, reverse=True), "only the shown title counts"
