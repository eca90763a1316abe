"""What every store promises: one suite over all of them (B1, B8, D2, E2, E3, E5, E7, X10)."""

import asyncio
import json
import sys
from dataclasses import replace
from typing import Any

import pytest

from callboard.adapters.stores import open_store
from callboard.storage.port import (
    LEFT,
    PAGE_BYTES,
    TAKEN,
    Change,
    Conflict,
    Delivery,
    ExecutionWrite,
    Group,
    GroupWithdrawn,
    Head,
    Page,
    Recovered,
    RequestWrite,
    Store,
    StoreError,
)
from callboard.storage.rows import ExecutionRow, SessionRow

from .rows import (
    NOW,
    asks,
    claims,
    closes,
    ended_turn,
    event,
    execution_row,
    finished_row,
    goes_on,
    heard,
    held,
    input_row,
    made,
    new,
    owner_row,
    posts,
    request_row,
    session_row,
    starts,
    turn_row,
)

pytestmark = pytest.mark.anyio


async def one(store: Store, change: Change) -> int:
    """Commit a change that fits."""
    (result,) = await store.commit([change])
    assert not isinstance(result, Conflict), result
    return result


async def refused(store: Store, change: Change, why: str) -> None:
    """Commit a change that does not fit."""
    (result,) = await store.commit([change])
    assert isinstance(result, Conflict)
    assert why in str(result)
    assert result.code == "conflict"


def told(page: Page) -> list[tuple[int, dict[str, Any]]]:
    """The numbers and contents of a page."""
    return [(page.first + place, json.loads(line)) for place, line in enumerate(page.lines)]


def said(number: int, n: int) -> tuple[int, dict[str, Any]]:
    return number, json.loads(event(n))


# Sessions


async def test_e7_session_comes_back_as_it_was_written(store: Store) -> None:
    row = session_row(
        namespaces=("a", "b"), channel="voice", allow=("x",), tools=("x", "y"), open=False, updated_at=NOW + 0.125
    )
    await one(store, Change("s", session=row))
    assert await store.session("s") == row
    bare = session_row("bare", namespaces=(), allow=())
    await one(store, Change("bare", session=bare))
    assert await store.session("bare") == bare, "no namespaces are not all of them"
    assert await store.session("other") is None


async def test_e7_where_its_board_stands_is_not_the_writers_to_say(store: Store) -> None:
    await one(store, Change("s", session=session_row(last_seq=9, first_seq=4, unconsumed=("x",), writes=9)))
    assert await store.session("s") == session_row()


async def test_e7_a_session_says_when_its_newest_event_was_posted(store: Store) -> None:
    await one(store, made(updated_at=NOW + 1))
    row = await store.session("s")
    assert row is not None
    assert (row.active_at, row.last_activity) == (None, NOW + 1)
    await one(store, Change("s", events=[event(at=NOW + 5), event(at=NOW + 7.5)]))
    await one(store, made("t"))
    rows = await store.sessions()
    assert [(row.active_at, row.last_activity) for row in rows] == [(NOW + 7.5, NOW + 7.5), (None, NOW)]
    await store.trim("s", keep=0, before=0.0)
    [row, _] = await store.sessions()
    assert (row.active_at, row.last_activity) == (None, NOW + 1), "nothing is known of what is forgotten"


async def test_e2_session_is_written_again_by_its_user_alone(store: Store) -> None:
    await one(store, made())
    later = session_row(tools=("x",), open=False, created_at=NOW + 5, updated_at=NOW + 5)
    await one(store, Change("s", session=later))
    assert await store.session("s") == replace(later, created_at=NOW, writes=2), "it was made once"
    await refused(store, Change("s", session=session_row(user_id="bob"), events=[event()]), "another user")
    assert await store.session("s") == replace(later, created_at=NOW, writes=2)


async def test_e2_of_two_rows_of_a_session_the_newer_has_more_writes_whatever_the_clocks_say(store: Store) -> None:
    async def writes() -> int:
        row = await store.session("s")
        assert row is not None
        return row.writes

    assert await store.commit([made(), made(updated_at=NOW - 9)]) == [0, 0]
    assert await writes() == 2
    await one(store, posts(1))
    await refused(store, Change("s", session=session_row(), taken=["x"]), "waits to be consumed")
    assert await writes() == 2, "nothing was written of the session itself"
    await one(store, made(updated_at=NOW - 99))
    assert await writes() == 3
    await store.delete("s")
    await one(store, made())
    assert await writes() == 1


async def test_e2_change_of_a_session_that_is_not_there(store: Store) -> None:
    await refused(store, posts(1), "no session s")
    results = await store.commit([posts(1), made(), posts(2)])
    assert [isinstance(result, Conflict) for result in results] == [True, False, False]
    assert results[1:] == [0, 1], "changes of one session see each other in their order"
    await refused(store, Change("s", session=session_row("other")), "another session")


async def test_e2_sessions_are_listed_by_id_and_user(store: Store) -> None:
    ids = ["Z", "a", "a b", "b", "ä", "€", "\U0001f600"]
    assert ids == sorted(ids), "by the numbers of their characters, everywhere"
    await store.commit([made(name, user_id="ann" if name != "b" else "bob") for name in reversed(ids)])
    assert [row.id for row in await store.sessions()] == ids
    assert [row.id for row in await store.sessions("bob")] == ["b"]
    assert [row.id for row in await store.sessions(after="a b", limit=2)] == ["b", "ä"]
    assert [row.id for row in await store.sessions("ann", after="a b", limit=2)] == ["ä", "€"]
    assert await store.sessions("nobody") == []


async def test_e2_deleted_session_takes_along_what_is_its_own_and_nothing_else(store: Store) -> None:
    for name in ("s", "t"):
        await one(store, made(name))
        await one(store, new(execution_row(f"x{name}", name)))
        await one(store, asks(request_row(f"r{name}", name, execution_id=f"x{name}")))
        await one(store, Change(name, late=[f"x{name}"], transcript=[b"{}"], events=[event()]))
    assert await store.delete("s", NOW + 1) is False, "the one that is meant is gone, and another has its id"
    assert await store.session("s") is not None
    assert await store.delete("s", NOW) is True
    assert await store.delete("s") is False
    assert await store.session("s") is None
    assert await store.events("s", 0, 9) == Page(1, [], 1, 0)
    assert await store.executions("s") == []
    assert await store.execution_of_call("s", "call of xs") is None
    assert await store.transcript("s") == []
    assert await store.request("rs") is None
    assert await store.requests() == [request_row("rt", "t", execution_id="xt")]
    assert await store.executions("t") == [execution_row("xt", "t")]
    await one(store, made())
    assert await one(store, posts(1)) == 1, "a new one begins anew"


# The board


async def test_e7_what_is_meant_for_a_session_is_not_written_to_another_that_has_its_id(store: Store) -> None:
    await store.commit([made()])
    meant = Change("s", executions=[ExecutionWrite(execution_row(), "p1", new=True)], events=[event()], made_at=NOW)
    assert await one(store, Change("s", events=[event()], made_at=NOW)) == 1
    await store.delete("s")
    results = await store.commit([Change("s", session=session_row(created_at=NOW + 1)), meant, posts(1)])
    assert [isinstance(result, Conflict) for result in results] == [False, True, False], "also within one group"
    (result,) = await store.commit([meant])
    assert isinstance(result, Conflict)
    assert await store.executions("s") == []
    assert await store.heads(["s"]) == {"s": Head(1, NOW + 1)}
    assert await one(store, Change("s", events=[event()], made_at=NOW + 1)) == 2


async def test_b1_numbers_begin_at_one_and_have_no_gaps(store: Store) -> None:
    results = await store.commit([made(), made("t"), posts(1, 2), posts(3, session_id="t"), posts(4)])
    assert results == [0, 0, 2, 1, 3]
    assert await one(store, Change("s", transcript=[b"{}"])) == 3, "without events it is the newest one's"
    assert await one(store, posts(5)) == 4
    page = await store.events("s", 0, 100)
    assert told(page) == [said(1, 1), said(2, 2), said(3, 4), said(4, 5)]
    assert page[2:] == (1, 4)
    assert await store.heads(["t", "s", "u"]) == {"s": Head(4, NOW), "t": Head(1, NOW)}
    assert await store.heads([]) == {}
    row = await store.session("s")
    assert row is not None
    assert (row.first_seq, row.last_seq) == (1, 4)


async def test_b1_events_are_read_from_any_number(store: Store) -> None:
    await store.commit([made(), posts(1, 2, 3, 4)])
    assert told(await store.events("s", 2, 100)) == [said(3, 3), said(4, 4)]
    assert told(await store.events("s", 1, 2)) == [said(2, 2), said(3, 3)]
    assert await store.events("s", 4, 100) == Page(5, [], 1, 4)
    assert await store.events("s", 9, 100) == Page(10, [], 1, 4)
    assert await store.events("s", 0, 0) == Page(1, [], 1, 4)
    assert await store.events("unknown", 3, 100) == Page(4, [], 1, 0)
    assert (await store.events("s", 2**70, 100)).lines == []


async def test_b7_a_page_of_large_events_is_bounded_by_bytes(store: Store) -> None:
    large = b'{"kind":"tool_result","at":"2027-01-15T08:00:00.250Z","data":{"value":"%b"}}' % (b"x" * 1_500_000)
    await store.commit([made(), posts(1), Change("s", events=[large] * 5), posts(7)])
    read: list[int] = []
    cursor = 0
    while (page := await store.events("s", cursor, 100)).lines:
        assert (page.first, page.last_seq) == (cursor + 1, 7)
        assert sum(map(len, page.lines)) < PAGE_BYTES + len(large)
        read.append(len(page.lines))
        cursor = page.first + len(page.lines) - 1
    assert cursor == 7
    assert read[0] == 4, "one small, and three with which it is full"
    assert len((await store.events("s", 1, 2)).lines) == 2


async def test_b2_events_keep_kind_time_and_data(store: Store) -> None:
    body = b'{"kind":"hologram","at":"2027-01-15T08:00:00.250Z","data":{"z":[1,2.5,null],"a":{"t":"\xc3\xa4\\n"}}}'
    await store.commit([made(), Change("s", events=[body])])
    (line,) = (await store.events("s", 0, 9)).lines
    assert json.loads(line) == json.loads(body)


async def test_b8_oldest_events_are_forgotten_by_count(store: Store) -> None:
    await store.commit([made(), posts(1, 2, 3, 4, 5)])
    assert await store.trim("s", keep=10, before=0.0) == 1
    assert await store.trim("s", keep=2, before=0.0) == 4
    page = await store.events("s", 0, 100)
    assert told(page) == [said(4, 4), said(5, 5)]
    assert page[2:] == (4, 5)
    assert told(await store.events("s", 0, 1)) == [said(4, 4)], "a limit counts what is kept"
    assert await store.trim("s", keep=4, before=0.0) == 4, "what is forgotten does not come back"
    assert await store.trim("s", keep=0, before=0.0) == 6
    assert await store.events("s", 0, 100) == Page(6, [], 6, 5)
    assert await one(store, posts(6)) == 6, "numbers go on"
    assert told(await store.events("s", 5, 100)) == [said(6, 6)]
    assert await store.trim("unknown", keep=1, before=0.0) == 1


async def test_b8_oldest_events_are_forgotten_by_age(store: Store) -> None:
    times = [NOW, NOW + 1, NOW + 0.5, NOW + 2]
    await store.commit([made(), Change("s", events=[event(at=time) for time in times])])
    assert await store.trim("s", keep=100, before=NOW) == 1
    assert await store.trim("s", keep=100, before=NOW + 1) == 2, "one from before that stands behind a newer one stays"
    assert await store.trim("s", keep=1, before=NOW + 1) == 4, "whichever forgets more"
    assert await store.trim("s", keep=100, before=NOW + 9) == 5
    row = await store.session("s")
    assert row is not None
    assert (row.first_seq, row.last_seq) == (5, 4)


async def test_b8_nothing_is_forgotten_from_the_first_input_on_of_which_nobody_was_told(store: Store) -> None:
    inputs = [input_row(f"i{number}") for number in range(3)]
    await store.commit([made(), posts(1), *(heard(row) for row in inputs), posts(5, 6)])
    await store.commit([new(execution_row("x")), Change("s", events=[event(kind="user_input")])])
    assert await store.trim("s", keep=0, before=NOW + 9) == 2, "what came before the first one is forgotten"
    await store.commit([Change("s", deliveries=[Delivery("i1", NOW)])])
    assert await store.trim("s", keep=1, before=0.0) == 2, "the first one still waits"
    await store.commit([Change("s", deliveries=[Delivery("i0", NOW)])])
    assert await store.trim("s", keep=1, before=0.0) == 4
    assert await store.trim("s", keep=4, before=0.0) == 4, "what is kept anyway is kept"
    await store.commit([Change("s", deliveries=[Delivery("i2", NOW)])])
    assert await store.trim("s", keep=1, before=0.0) == 7, "other work that goes on holds nothing up"


# Executions


async def test_x2_execution_comes_back_as_it_was_written(store: Store) -> None:
    await one(store, made())
    row = ExecutionRow(
        id="x",
        session_id="s",
        user_id="ann",
        call_id="c",
        tool="add",
        kind="worker",
        document=b' {"b": 1,"a":\xff not even JSON',
        fingerprint="f",
        shown=b'{"b":1,"a":"***"}',
        status="waiting",
        priority=-3,
        attempt=2,
        max_attempts=5,
        errors=b'[{"category":"transient"}]',
        value=b"null",
        error=b'{"category":"timeout"}',
        late=True,
        parent_id="y",
        queued_at=NOW + 0.1,
        started_at=NOW + 0.2,
        completed_at=NOW + 0.3,
        owner="p",
        cancelling=True,
        retry_at=NOW + 20.25,
    )
    await one(store, new(row))
    stored = await store.execution("s", "x")
    assert stored is not None
    for name in ("shown", "errors", "error"):
        assert json.loads(getattr(stored, name)) == json.loads(getattr(row, name))
    assert replace(stored, shown=row.shown, errors=row.errors, error=row.error) == row
    assert await store.execution_of_call("s", "c") == stored
    bare = execution_row("y", document=None)
    await one(store, new(bare))
    assert await store.execution("s", "y") == bare, "None is not the JSON null"
    await one(store, held(replace(bare, status="waiting", retry_at=NOW + 5)))
    assert [each.retry_at for each in await store.executions("s")] == [NOW + 20.25, NOW + 5]
    await one(store, held(bare))
    assert await store.execution("s", "y") == bare, "a time that was waited for is gone"


async def test_x10_execution_and_call_are_there_once(store: Store) -> None:
    await store.commit([made(), made("t")])
    await one(store, new(execution_row()))
    await refused(store, new(execution_row(call_id="other")), "there already")
    await refused(store, new(execution_row("y", call_id="call of x")), "has an execution already")
    await one(store, new(execution_row("x", "t")))
    assert await store.execution("s", "x") == execution_row()
    twins = [ExecutionWrite(execution_row(name, call_id="c"), new=True) for name in ("a", "b")]
    await refused(store, Change("s", executions=twins), "has an execution already")
    results = await store.commit([Change("s", executions=[twin]) for twin in twins])
    assert [isinstance(result, Conflict) for result in results] == [False, True], "also within a group"
    assert [row.id for row in await store.executions("s")] == ["x", "a"]


async def test_e2_executions_of_another_session_are_not_there(store: Store) -> None:
    await store.commit([made(), made("t")])
    await one(store, new(execution_row()))
    assert await store.execution("t", "x") is None
    assert await store.execution_of_call("t", "call of x") is None
    await refused(store, Change("t", executions=[ExecutionWrite(execution_row())]), "not one of session t")
    await refused(store, held(execution_row("x", "t")), "no execution x")
    await refused(store, Change("t", cancel=["x"]), "no execution x")
    await refused(store, Change("t", late=["x"]), "no execution x")
    assert await store.execution("s", "x") == execution_row()


async def test_e5_execution_is_written_only_by_who_holds_it(store: Store) -> None:
    await store.commit([made(), new(execution_row())])
    await refused(store, held(finished_row(), by="p2"), "not held by p2")
    assert await store.execution("s", "x") == execution_row()
    await one(store, held(finished_row(), by="p1"))
    assert await store.execution("s", "x") == finished_row()
    await refused(store, held(finished_row(value=b"2"), by="p1"), "not held by p1")
    await one(store, held(finished_row(value=b"3")))
    assert await store.execution("s", "x") == finished_row(value=b"3"), "without a holder anybody may"
    await refused(store, held(execution_row("y"), by="p1"), "no execution y")
    await refused(store, held(execution_row("y")), "no execution y")
    await refused(store, held(finished_row(call_id="another")), "another call")


async def test_e5_changes_of_a_group_see_each_other(store: Store) -> None:
    row = execution_row()
    results = await store.commit(
        [
            made(),
            new(row),
            held(replace(row, owner="p2"), by="p1"),
            held(finished_row(), by="p1"),
            held(finished_row(value=b"2"), by="p2"),
            Change("s", executions=[ExecutionWrite(execution_row("y"), new=True), ExecutionWrite(finished_row("y"))]),
        ]
    )
    assert [isinstance(result, Conflict) for result in results] == [False, False, False, True, False, False]
    assert await store.executions("s") == [finished_row(value=b"2"), finished_row("y")]


async def test_executions_are_listed_in_the_order_of_their_coming(store: Store) -> None:
    await one(store, made())
    names = ["d", "b", "e", "a", "c"]
    await store.commit([new(execution_row(name)) for name in names[:3]])
    await store.commit([new(execution_row(name)) for name in names[3:]])
    await store.commit([held(finished_row(name)) for name in ("b", "c")])
    assert [row.id for row in await store.executions("s")] == names
    assert [row.id for row in await store.executions("s", limit=2)] == ["a", "c"], "the newest of them"
    assert [row.id for row in await store.executions("s", limit=0)] == []
    assert [row.id for row in await store.executions("s", unfinished=True)] == ["d", "e", "a"]
    assert [row.id for row in await store.executions("s", unfinished=True, limit=1)] == ["a"]
    assert [row.id for row in await store.executions("s", ids=["c", "d", "no", "e"])] == ["d", "e", "c"]
    assert [row.id for row in await store.executions("s", ids=["c", "d"], unfinished=True)] == ["d"]
    assert await store.executions("s", ids=[]) == []
    assert await store.executions("unknown") == []


async def test_x8_who_was_asked_to_stop_stays_asked(store: Store) -> None:
    await store.commit([made(), new(execution_row()), new(execution_row("y")), new(finished_row("z"))])
    await one(store, Change("s", cancel=["x", "z"]))
    assert await store.execution("s", "x") == execution_row(cancelling=True)
    assert await store.execution("s", "z") == finished_row("z"), "what has ended is not asked"
    await one(store, held(execution_row(status="waiting"), by="p1"))
    assert await store.execution("s", "x") == execution_row(status="waiting", cancelling=True)
    await one(store, Change("s", executions=[ExecutionWrite(execution_row("y", status="waiting"))], cancel=["y"]))
    assert await store.execution("s", "y") == execution_row("y", status="waiting", cancelling=True)
    row = execution_row("w")
    await store.commit([new(row), Change("s", cancel=["w"]), held(replace(row, attempt=2))])
    assert await store.execution("s", "w") == execution_row("w", attempt=2, cancelling=True)
    await refused(store, Change("s", cancel=["nobody"]), "no execution nobody")


async def test_b6_group_that_was_withdrawn_is_not_written(shared_store: Store) -> None:
    await one(shared_store, made())
    group = Group([posts(1), posts(2)])
    assert group.withdraw() is True
    with pytest.raises(GroupWithdrawn):
        await shared_store.commit(group)
    assert (await shared_store.events("s", 0, 9)).lines == []
    group = Group([posts(3)])
    assert await shared_store.commit(group) == [1]
    assert group.withdraw() is False, "it is committed"


async def test_b6_probe_changes_nothing_that_counts(store: Store) -> None:
    await one(store, made())
    before = await store.sessions()
    await store.probe()
    await store.probe()
    assert await store.sessions() == before
    assert await one(store, posts(1)) == 1


async def test_e5_what_a_process_was_asked_to_stop(store: Store) -> None:
    await store.commit([made(), made("t"), new(execution_row("x")), starts(turn_row(turn_id="y"))])
    await store.commit([new(execution_row("x", "t")), new(execution_row("z", "t", owner="p2"))])
    assert await store.stopping("p1") == []
    await store.commit([Change("s", cancel=["x"], stop_turns=[1]), Change("t", cancel=["z"])])
    assert sorted(await store.stopping("p1")) == [("s", "x", "tool"), ("s", "y", "turn")]
    assert await store.stopping("p2") == [("t", "z", "tool")]
    await store.commit([held(finished_row("x")), goes_on(ended_turn(turn_id="y"))])
    assert await store.stopping("p1") == []


async def test_m3_requests_that_are_closed_among_others(store: Store) -> None:
    rows = [request_row(f"r{number}") for number in range(4)]
    await store.commit([made(), *(asks(row) for row in rows)])
    assert await store.closed_requests([row.id for row in rows]) == []
    closed = [replace(rows[2], status="answered", answer=b"1"), replace(rows[1], status="withdrawn")]
    await store.commit([asks(row, was="open") for row in closed])
    assert await store.closed_requests(["r3", "r2", "r1", "r0", "unknown"]) == closed[::-1]
    assert await store.closed_requests(["r0", "r2"]) == closed[:1]
    assert await store.closed_requests([]) == []


# Requests


async def test_requests_come_back_as_they_were_written(store: Store) -> None:
    await one(store, made())
    row = request_row(
        kind="wallet_tx_request",
        purpose="wallet",
        payload=b"[1]",
        answer=b"null",
        status="answered",
        created_at=NOW + 0.1,
        expires_at=NOW + 0.2,
        answered_at=NOW + 0.3,
    )
    await one(store, asks(row))
    stored = await store.request("r")
    assert stored is not None
    assert json.loads(stored.schema) == json.loads(row.schema)
    assert replace(stored, schema=row.schema) == row
    assert await store.request("other") is None


async def test_request_is_changed_only_from_the_status_that_it_has(store: Store) -> None:
    await store.commit([made(), made("t"), asks(request_row())])
    await refused(store, asks(request_row()), "there already")
    await refused(store, asks(request_row("r", "t")), "there already")
    await refused(store, asks(request_row(status="used"), was="answered"), "is open, not answered")
    await refused(store, asks(request_row("q"), was="open"), "no request q")
    await refused(store, asks(request_row("r", "t", status="answered"), was="open"), "no request r in session t")
    await refused(store, Change("t", requests=[RequestWrite(request_row())]), "not one of session t")
    answered = request_row(status="answered", answer=b"1", answered_at=NOW)
    results = await store.commit(
        [asks(answered, was="open"), asks(replace(answered, answer=b"2"), was="open"), asks(request_row("q"))]
    )
    assert [isinstance(result, Conflict) for result in results] == [False, True, False], "the first answer counts"
    assert await store.request("r") == answered
    used = [RequestWrite(request_row("n")), RequestWrite(request_row("n", status="used"), was="open")]
    await one(store, Change("s", requests=used))
    assert await store.request("n") == request_row("n", status="used")


async def test_requests_are_listed_in_the_order_of_their_making(store: Store) -> None:
    await store.commit([made("a"), made("b", user_id="bob")])
    rows = [
        request_row("3", "b", user_id="bob"),
        request_row("1", "a"),
        request_row("2", "a", status="used"),
        request_row("0", "b", user_id="bob", status="answered"),
    ]
    for row in rows:
        await one(store, asks(row))
    await one(store, asks(replace(rows[1], status="answered"), was="open"))
    rows[1] = replace(rows[1], status="answered")
    assert await store.requests() == rows, "a change moves nothing"
    assert await store.requests(session_id="a") == rows[1:3]
    assert await store.requests(user_id="bob") == [rows[0], rows[3]]
    assert await store.requests(status="answered") == [rows[1], rows[3]]
    assert await store.requests(session_id="b", user_id="bob", status="open") == [rows[0]]
    assert await store.requests(session_id="a", user_id="bob") == []
    assert await store.requests(limit=2) == rows[:2]


async def test_c5_entries_are_taken_only_where_the_transcript_is_as_long_as_its_writer_knows_it(store: Store) -> None:
    unknown = Change("a", session=session_row("a"), transcript=[b"{}"], entries=1)
    (result,) = await store.commit([unknown])
    assert isinstance(result, Conflict)
    await store.commit([made("a")])
    first = Change("a", transcript=[b'{"n":1}', b'{"n":2}'], entries=0)
    late = Change("a", transcript=[b'{"n":3}'], entries=0, events=[event()])
    next_one = Change("a", transcript=[b'{"n":4}'], entries=2)
    results = await store.commit([first, late, next_one])
    assert [isinstance(each, Conflict) for each in results] == [False, True, False], "also within one group"
    assert await store.transcript("a") == [b'{"n":1}', b'{"n":2}', b'{"n":4}']
    assert (await store.heads(["a"])) == {"a": Head(0, NOW)}, "nothing of it was written"
    (result,) = await store.commit([Change("a", events=[event()], entries=2)])
    assert isinstance(result, Conflict), "also where nothing is added to it"


async def test_m3_requests_whose_time_is_over_are_found_among_any_number_of_others(store: Store) -> None:
    await store.commit([made("a")])
    rows = [request_row(f"{number}", "a", expires_at=at) for number, at in enumerate([None, NOW + 2, NOW + 1, None])]
    for row in rows:
        await one(store, asks(row))
    assert await store.requests(due=NOW) == []
    assert await store.requests(due=NOW + 1) == [rows[2]]
    assert await store.requests(due=NOW + 5, limit=1) == [rows[1]]
    assert await store.requests(due=NOW + 5, status="used") == []


# Late results and the transcript


async def unconsumed(store: Store, session_id: str = "s") -> tuple[str, ...]:
    row = await store.session(session_id)
    assert row is not None
    return row.unconsumed


async def test_e3_late_results_wait_in_order_and_are_taken_once(store: Store) -> None:
    await store.commit([made(), *(new(execution_row(name)) for name in "cab")])
    await one(store, Change("s", late=["c"]))
    await one(store, Change("s", late=["a", "b", "c"]))
    assert await unconsumed(store) == ("c", "a", "b"), "one that waits keeps its place"
    await one(store, Change("s", session=session_row(updated_at=NOW + 1)))
    assert await unconsumed(store) == ("c", "a", "b"), "it is not the writer's to say"
    await one(store, Change("s", taken=["a"]))
    assert await unconsumed(store) == ("c", "b")
    await refused(store, Change("s", taken=["a"]), "waits to be consumed")
    await refused(store, Change("s", taken=["b", "b"]), "waits to be consumed")
    await refused(store, Change("s", taken=["c", "nobody"]), "waits to be consumed")
    await refused(store, Change("s", late=["nobody"]), "no execution nobody")
    assert await unconsumed(store) == ("c", "b"), "nothing of a change that does not fit is written"
    results = await store.commit([Change("s", taken=["b"]), Change("s", taken=["b"]), Change("s", taken=["c"])])
    assert [isinstance(result, Conflict) for result in results] == [False, True, False]
    assert await unconsumed(store) == ()


async def test_e3_result_can_be_late_and_taken_in_one_change(store: Store) -> None:
    await one(store, made())
    written = [ExecutionWrite(finished_row(), new=True)]
    await one(store, Change("s", executions=written, late=["x"], taken=["x"], transcript=[b'"x"']))
    assert await unconsumed(store) == ()
    await one(store, Change("s", session=session_row(), executions=[ExecutionWrite(finished_row())], late=["x"]))
    assert await unconsumed(store) == ("x",)


async def test_c5_transcript_only_grows_and_keeps_its_bytes(store: Store) -> None:
    first, second, third = b'{"b": 1, "a":1.0}', b'["\\u0000", 1e400,  -0.0]', '"ä"'.encode()
    await store.commit([made(), Change("s", transcript=[first]), Change("s", transcript=[second, third])])
    assert await store.transcript("s") == [first, second, third]
    assert await store.transcript("s", 1) == [second, third]
    assert await store.transcript("s", 3) == []
    assert await store.transcript("s", 2**70) == []
    assert await store.transcript("unknown") == []


# Whole or not at all


async def test_e5_change_that_does_not_fit_leaves_no_trace_and_harms_nobody(store: Store) -> None:
    await one(store, made("t"))
    misfit = Change(
        "s",
        session=session_row(),
        executions=[ExecutionWrite(execution_row(), new=True)],
        requests=[RequestWrite(request_row())],
        late=["x"],
        taken=["nobody"],
        transcript=[b"{}"],
        events=[event(1)],
    )
    results = await store.commit([posts(1, session_id="t"), misfit, posts(2, session_id="t"), made("u")])
    assert isinstance(results[1], Conflict)
    assert [results[0], *results[2:]] == [1, 2, 0]
    assert await store.session("s") is None
    assert [row.id for row in await store.sessions()] == ["t", "u"]
    assert await store.executions("s") == []
    assert await store.request("r") is None
    assert await store.transcript("s") == []
    assert await store.commit([]) == []


async def test_e5_everything_of_a_change_is_written(store: Store) -> None:
    change = Change(
        "s",
        session=session_row(),
        executions=[ExecutionWrite(finished_row(), new=True), ExecutionWrite(execution_row("y"), new=True)],
        requests=[RequestWrite(request_row(execution_id="y"))],
        late=["x"],
        cancel=["y"],
        transcript=[b"1", b"2"],
        events=[event(1), event(2)],
    )
    assert await one(store, change) == 2
    assert await store.session("s") == session_row(last_seq=2, active_at=NOW, unconsumed=("x",))
    assert await store.executions("s") == [finished_row(), execution_row("y", cancelling=True)]
    assert await store.requests() == [request_row(execution_id="y")]
    assert await store.transcript("s") == [b"1", b"2"]
    assert told(await store.events("s", 0, 9)) == [said(1, 1), said(2, 2)]


async def test_b1_many_writers_of_one_process(store: Store) -> None:
    await store.commit([made(f"s{number}") for number in range(5)])

    async def write(number: int) -> list[int]:
        numbers: list[int] = []
        for step in range(10):
            (result,) = await store.commit([posts(step, session_id=f"s{number % 5}")])
            assert isinstance(result, int)
            numbers.append(result)
        return numbers

    written = await asyncio.gather(*(write(number) for number in range(20)))
    for session in range(5):
        numbers = sorted(seq for number in range(session, 20, 5) for seq in written[number])
        assert numbers == list(range(1, 41))
        assert len((await store.events(f"s{session}", 0, 100)).lines) == 40


# What is hard to keep

DOCUMENTS: dict[str, str] = {
    "nul": '{"t":"a\\u0000b","\\u0000":1}',
    "lone surrogates": '["\\ud800","\\udfff x","\\ud83d\\ude00"]',
    "surrogates the wrong way round": '"\\udc00\\ud800"',
    "a number that no float holds": '{"n":1e400,"m":-1E+400,"o":[1e-400]}',
    "a float that no integer equals": "[1e23,1.7976931348623157e308,5e-324,123e22]",
    "integers without end": f'{{"n":{10**400},"m":-{7**900}}}',
    "an integer beyond what databases count to": "1" + "0" * 140_000,
    "the smallest differences": "[0.1,0.30000000000000004,1.0,1,100.50,-1]",
    "nothing, negative": '{"a":-0.0,"b":-0}',
    "deep nesting": "[" * 30_000 + "]" * 30_000,
    "our own wrapper": '{"$json":"{}"}',
    "our own wrapper, hidden": '{"longer than that":1,"\\u0024json":"{}"}',
    "keys given twice": '{"a":1,"a":2}',
    "text that looks like structure": '"],[\\"s\\",1,\\"k\\",0,\\"{}\\"]"',
    "quotes and backslashes": '{"\\"\\\\":"\\\\u0000 \\/ \' %s %% :a ?"}',
    "every plane": json.dumps("ä€\U0001f600\x7f\x80\u2028", ensure_ascii=False),
    "null": "null",
    "text": '"text"',
    "much": json.dumps({"t": "äx" * 400_000}),
}


def meaning(document: bytes | str) -> Any:
    """A document as Python sees it, with what `==` does not tell apart told apart."""

    def told_apart(value: Any) -> Any:
        match value:
            case dict():
                return {key: told_apart(item) for key, item in value.items()}
            case list():
                return [told_apart(item) for item in value]
            case int() | float():
                return type(value), str(value) if isinstance(value, float) else value
            case _:
                return value

    limit = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        return told_apart(json.loads(document))
    finally:
        sys.set_int_max_str_digits(limit)


@pytest.mark.parametrize("name", DOCUMENTS)
async def test_e5_documents_are_never_altered(store: Store, name: str) -> None:
    document = DOCUMENTS[name].encode()
    body = b'{"kind":"k","at":"2027-01-15T08:00:00.000Z","data":%b}' % document
    row = execution_row(document=document, shown=document, value=document, error=document, errors=b"[%b]" % document)
    request = request_row(payload=document, schema=document, answer=document)
    results = await store.commit(
        [
            made("before"),
            Change(
                "s",
                session=session_row(),
                executions=[ExecutionWrite(row, new=True)],
                requests=[RequestWrite(request)],
                transcript=[document],
                events=[body],
            ),
            made("after"),
        ]
    )
    assert results == [0, 1, 0]
    stored = await store.execution("s", "x")
    asked = await store.request("r")
    assert stored is not None
    assert asked is not None
    assert asked.answer is not None
    assert stored.document == document, "byte for byte"
    assert await store.transcript("s") == [document], "byte for byte"
    (line,) = (await store.events("s", 0, 9)).lines
    documents = (stored.shown, stored.value, stored.error, asked.payload, asked.schema, asked.answer)
    for kept, written in [*((kept, document) for kept in documents), (stored.errors, row.errors), (line, body)]:
        assert kept is not None
        assert kept == written or meaning(kept) == meaning(written)


@pytest.mark.parametrize("name", ["\u0000", "a\u0000b", "\ud800", "a\udfffb"])
async def test_e2_names_that_no_database_holds_harm_nobody(store: Store, name: str) -> None:
    results = await store.commit([made("before"), made(name), Change(name, events=[event()]), made("after")])
    assert [isinstance(result, Conflict) for result in results] == [False, True, True, False]
    assert [row.id for row in await store.sessions()] == ["after", "before"]
    assert await store.session(name) is None
    assert await store.sessions(name) == []
    assert await store.heads(["before"]) == {"before": Head(0, NOW)}
    assert (await store.events(name, 0, 9)).lines == []
    assert await store.execution("before", name) is None
    assert await store.execution_of_call("before", name) is None
    assert await store.executions("before", ids=[name]) == []
    assert await store.request(name) is None
    assert await store.requests(user_id=name) == []
    assert await store.transcript(name) == []
    assert await store.delete(name) is False
    assert await store.trim(name, keep=1, before=0.0) == 1


@pytest.mark.parametrize("name", ["\u0000", "a\u0000b", "\ud800", "a\udfffb"])
async def test_e2_change_with_text_that_no_database_holds_is_refused_alone_by_every_store(
    store: Store, name: str
) -> None:
    await one(store, made())
    unfit = [
        made("t", user_id=name),
        made("t", channel=name),
        *(new(execution_row(**{field: name})) for field in ("call_id", "tool", "parent_id", "owner")),
        new(execution_row(name)),
        asks(request_row(name)),
        asks(request_row(tool=name)),
        Change("s", late=[name]),
        Change("s", cancel=[name], events=[event()]),
    ]
    results = await store.commit([posts(1), *unfit, new(execution_row("y")), posts(2)])
    assert [result for result in results if not isinstance(result, Conflict)] == [1, 1, 2]
    assert [row.id for row in await store.sessions()] == ["s"]
    assert [row.id for row in await store.executions("s")] == ["y"]
    assert await store.requests() == []


@pytest.mark.parametrize(
    "names",
    [
        "'; DROP TABLE sessions; --",
        '"],["s",9,"k",0,"{}"]',
        "%s %(rows)s :id ? $1",
        "ä€\U0001f600\u2028\x7f\x01\n",
        "x" * 200,
    ],
)
async def test_e2_names_are_never_taken_for_anything_else(store: Store, names: str) -> None:
    row = session_row(names, user_id=names, namespaces=(names,), channel=names, allow=(names,), tools=(names,))
    await one(store, Change(names, session=row))
    execution = execution_row(names, names, user_id=names, call_id=names, tool=names, fingerprint=names, owner=names)
    request = request_row(names, names, user_id=names, execution_id=names, tool=names)
    await one(store, new(execution))
    await one(store, asks(request))
    assert await one(store, Change(names, late=[names], cancel=[names], events=[event()])) == 1
    assert await store.session(names) == replace(row, last_seq=1, active_at=NOW, unconsumed=(names,))
    assert await store.execution(names, names) == replace(execution, cancelling=True)
    assert await store.execution_of_call(names, names) == replace(execution, cancelling=True)
    assert await store.requests(session_id=names, user_id=names) == [request]
    assert await store.heads([names]) == {names: Head(1, NOW)}
    await store.join(owner_row(names))
    assert store.beat(names) is True
    assert (await store.recover(names, 1, "heir")).claims == claims(execution)
    assert await store.executions_by_key([(names, names)]) == [replace(execution, cancelling=True, owner="heir")]
    assert await store.living([names]) in ({}, {names: True})


# Processes


async def test_e5_process_joins_beats_and_leaves(store: Store) -> None:
    assert await store.owners() == []
    await store.join(owner_row("p2", host="there", pid=2**40, started="2027", beat=5))
    await store.join(owner_row("p1"))
    assert store.beat("p1") is True
    assert await asyncio.to_thread(store.beat, "p1") is True, "from any thread"
    assert await store.owners() == [
        owner_row("p1", beat=2),
        owner_row("p2", host="there", pid=2**40, started="2027", beat=5),
    ]
    await store.join(owner_row("p1", pid=8))
    assert (await store.owners())[0] == owner_row("p1", pid=8)
    await store.leave("p1")
    assert [row.id for row in await store.owners()] == ["p2"]
    assert store.beat("p1") is False
    await store.leave("nobody")


async def test_e5_work_of_a_dead_process_is_given_to_one_heir(store: Store) -> None:
    await store.join(owner_row("dead"))
    await store.join(owner_row("alive"))
    await store.commit([made("b"), made("a")])
    rows = [
        execution_row("9", "a", owner="dead"),
        execution_row("2", "b", owner="dead"),
        execution_row("1", "b", owner="dead", status="waiting", cancelling=True),
    ]
    others = [
        finished_row("3", "b", owner="dead"),
        execution_row("4", "b", owner="alive"),
        execution_row("5", "b", owner=None),
    ]
    await store.commit([new(row) for row in (*rows, *others)])
    assert await store.recover("dead", 1, "heir") == Recovered([]), "it beats"
    assert await store.recover("dead", 0, "heir") == Recovered(claims(*rows), found=True)
    given = await store.executions_by_key([(row.session_id, row.id) for row in rows])
    assert given == [replace(row, owner="heir") for row in rows]
    assert [row.id for row in await store.owners()] == ["alive"]
    assert await store.recover("dead", 0, "other") == Recovered([])
    assert store.beat("dead") is False, "its work was given to another"
    assert [row.owner for row in await store.executions("b")] == ["heir", "heir", "dead", "alive", None]
    await refused(store, held(finished_row("2", "b"), by="dead"), "not held by dead")
    await one(store, held(finished_row("2", "b"), by="heir"))


async def test_e5_work_of_a_dead_process_is_given_in_steps(store: Store) -> None:
    await store.join(owner_row("dead"))
    rows = [execution_row(f"x{number}", owner="dead") for number in range(5)]
    await store.commit([made(), *(new(row) for row in rows)])
    assert await store.recover("dead", 0, "p1", limit=2) == Recovered(claims(*rows[:2]), more=True, found=True)
    assert await store.owners() == [owner_row("dead", beat=TAKEN)]
    assert store.beat("dead") is False, "it must not take itself for alive meanwhile"
    assert await store.recover("dead", 0, "p2", limit=2) == Recovered([]), "that was its beat before"
    assert await store.recover("dead", TAKEN, "p2", limit=2) == Recovered(claims(*rows[2:4]), more=True, found=True)
    assert await store.recover("dead", TAKEN, "p1", limit=2) == Recovered(claims(*rows[4:]), found=True)
    assert await store.owners() == []
    assert [row.owner for row in await store.executions("s")] == ["p1", "p1", "p2", "p2", "p1"]


async def test_e5_a_process_that_enters_again_keeps_what_was_not_taken(store: Store) -> None:
    await store.join(owner_row("dead"))
    await store.commit([made(), *(new(execution_row(f"x{number}", owner="dead")) for number in range(3))])
    await store.recover("dead", 0, "heir", limit=1)
    await store.join(owner_row("dead"))
    assert await store.recover("dead", TAKEN, "heir") == Recovered([])
    assert [row.owner for row in await store.executions("s")] == ["heir", "dead", "dead"]


async def test_e5_what_waits_for_a_person_needs_no_process(store: Store) -> None:
    await store.join(owner_row("dead"))
    waits: dict[str, Any] = {"status": "waiting", "owner": "dead"}
    rows = [
        execution_row("asks", **waits),
        execution_row("nested", parent_id="other", **waits),
        execution_row("stops", cancelling=True, **waits),
        execution_row("answered", **waits),
        execution_row("pauses", **waits),
    ]
    statuses = {"asks": "open", "nested": "open", "stops": "open", "answered": "answered", "pauses": "used"}
    await store.commit([made(), *(new(row) for row in rows)])
    await store.commit([asks(request_row(f"r-{of}", execution_id=of, status=how)) for of, how in statuses.items()])
    recovered = await store.recover("dead", 0, "heir")
    assert recovered == Recovered(claims(*rows[1:]), waiting=1, found=True)
    assert [row.owner for row in await store.executions("s")] == [None, *["heir"] * 4]
    assert await store.recover(None, 0, "heir") == Recovered([])
    await one(store, closes(request_row("r-asks", execution_id="asks", status="refused")))
    assert (await store.recover(None, 0, "heir")).claims == claims(rows[0])


async def test_e5_what_is_left_without_a_process_after_its_answer_is_ready(store: Store) -> None:
    row = execution_row(status="waiting", owner="p1")
    await store.commit([made(), new(row), asks(request_row())])
    await one(store, closes(request_row(status="answered")))
    assert await store.recover(None, 0, "heir") == Recovered([]), "it is held"
    await one(store, held(replace(row, owner=None), by="p1"))
    assert (await store.recover(None, 0, "heir")).claims == claims(row)


async def test_e5_what_is_ready_is_given_in_steps(store: Store) -> None:
    rows = [execution_row(f"x{number}", owner=None, cancelling=True) for number in range(3)]
    await store.commit([made(), *(new(row) for row in rows)])
    first = await store.recover(None, 0, "heir", limit=2)
    assert (first.claims, first.more) == (claims(*rows[:2]), True)
    second = await store.recover(None, 0, "heir", limit=2)
    assert (second.claims, second.more) == (claims(rows[2]), False)


async def test_e5_executions_and_requests_are_found_by_key(store: Store) -> None:
    await store.commit([made(), made("t")])
    rows = [execution_row("x"), execution_row("y"), execution_row("x", "t", call_id="other")]
    await store.commit([new(row) for row in rows])
    asked = [request_row("r1"), request_row("r2", execution_id="y"), request_row("r3", "t"), request_row("r4")]
    await store.commit([asks(row) for row in asked])
    keys = [("t", "x"), ("s", "x"), ("s", "nothing"), ("t", "x")]
    assert await store.executions_by_key(keys) == [rows[2], rows[0]]
    assert await store.executions_by_key([]) == []
    assert await store.requests(executions=keys) == [asked[0], asked[2], asked[3]]
    assert await store.requests(executions=keys, status="used") == []
    assert await store.requests(executions=[]) == []


async def test_m3_the_next_request_to_expire_is_known(store: Store) -> None:
    assert await store.next_expiry() is None
    await store.commit([made(), asks(request_row("r1")), asks(request_row("r2", expires_at=NOW + 7))])
    await store.commit([asks(request_row("r3", expires_at=NOW + 5)), asks(request_row("r4", expires_at=NOW + 6))])
    assert await store.next_expiry() == NOW + 5
    await one(store, closes(request_row("r3", expires_at=NOW + 5, status="expired")))
    assert await store.next_expiry() == NOW + 6


async def test_e5_process_that_leaves_work_behind_can_be_inherited_at_once(store: Store) -> None:
    await store.join(owner_row("p1", beat=3))
    await store.commit([made(), new(execution_row(owner="p1"))])
    await store.leave("p1")
    assert await store.owners() == [owner_row("p1", beat=LEFT)], "it will not beat again"
    assert store.beat("p1") is False
    assert await store.recover("p1", 3, "heir") == Recovered([])
    assert await store.recover("p1", LEFT, "heir") == Recovered(claims(execution_row()), found=True)
    assert await store.owners() == []


async def test_e5_a_lock_is_held_from_entering_until_leaving(store: Store) -> None:
    assert not any((await store.living(["p1"])).values())
    await store.join(owner_row("p1"))
    assert await store.living(["p1"]) == {"p1": True}
    await store.join(owner_row("p1"))
    assert store.beat("p1")
    await store.leave("p1")
    assert not any((await store.living(["p1", "p2"])).values())


@pytest.mark.parametrize(
    ("statuses", "goes_on"),
    [
        ([], False),
        (["open"], False),
        (["answered"], True),
        (["used", "open"], False),
        (["refused", "open"], False),
        (["answered", "open"], True),
        (["refused"], True),
        (["expired"], True),
        (["withdrawn", "used"], True),
    ],
)
async def test_m3_what_nobody_holds_goes_on_when_its_person_has_answered(
    store: Store, statuses: list[str], goes_on: bool
) -> None:
    await store.commit([made(), made("t")])
    row = execution_row(status="waiting", owner=None)
    await store.commit([new(row), new(execution_row("y", owner="p1")), new(finished_row("z"))])
    await store.commit([asks(request_row(f"r{place}", status=status)) for place, status in enumerate(statuses)])
    await store.commit([asks(request_row("y", execution_id="y", status="answered"))])
    await store.commit([asks(request_row("z", execution_id="z", status="answered"))])
    await store.commit([asks(request_row("other", "t", status="answered"))])
    assert (await store.recover(None, 0, "heir")).claims == (claims(row) if goes_on else [])
    assert [each.owner for each in await store.executions("s", ids=["x"])] == ["heir" if goes_on else None]
    assert (await store.recover(None, 0, "other")).claims == [], "it is held now"


async def test_x8_what_nobody_holds_is_recovered_to_be_stopped(store: Store) -> None:
    row = execution_row(status="waiting", owner=None)
    await store.commit([made(), new(row), asks(request_row())])
    assert (await store.recover(None, 0, "heir")).claims == []
    await one(store, Change("s", cancel=["x"]))
    assert (await store.recover(None, 0, "heir")).claims == claims(row)
    assert await store.executions("s") == [replace(row, owner="heir", cancelling=True)]


# Opening and closing


async def test_store_is_opened_before_it_is_used_and_can_be_opened_again(store_url: str) -> None:
    store = open_store(store_url)
    if store_url != "memory://":
        with pytest.raises(StoreError, match="not open"):
            await store.session("s")
        with pytest.raises(StoreError, match="not open"):
            store.beat("p1")
    await store.open(lambda session_id: None)
    await one(store, made())
    await store.close()
    await store.close()
    await store.open(lambda session_id: None)
    assert isinstance(await store.session("s"), SessionRow)
    assert await one(store, posts(1)) == 1
    await store.close()
