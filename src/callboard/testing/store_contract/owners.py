"""Contract of a store: processes register and beat; the work of dead ones is given to one heir."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from ...storage.change import Change
from ...storage.owners import LEFT, RECOVERING, Claim, QueuedCall, Recovered
from ...storage.store import Store
from ..store_rows import (
    add,
    claims,
    close,
    create,
    ended_turn,
    execution_row,
    finished_row,
    input_row,
    owner_row,
    request_row,
    turn_row,
    update,
)
from .contract import Contract, commit_one, refused


class OwnerContract(Contract):
    async def test_e5_work_that_a_process_is_to_cancel_is_found(self, store: Store) -> None:
        await store.commit([create(), create("t"), add(execution_row("x")), add(turn_row(turn_id="y"))])
        await store.commit([add(execution_row("x", "t")), add(execution_row("z", "t", owner="p2"))])
        assert await store.stopping("p1") == []
        await store.commit([Change("s", cancel=["x"], stop_turns=[1]), Change("t", cancel=["z"])])
        assert sorted(await store.stopping("p1")) == [("s", "x", "tool"), ("s", "y", "turn")]
        assert await store.stopping("p2") == [("t", "z", "tool")]
        await store.commit([update(finished_row("x")), update(ended_turn(turn_id="y"))])
        assert await store.stopping("p1") == []

    async def test_e5_process_joins_beats_and_leaves(self, store: Store) -> None:
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
        await store.leave("unknown")

    async def test_e5_work_of_a_dead_process_is_recovered_by_one_heir(self, store: Store) -> None:
        await store.join(owner_row("dead"))
        await store.join(owner_row("alive"))
        await store.commit([create("b"), create("a")])
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
        await store.commit([add(row) for row in (*rows, *others)])
        assert await store.recover("dead", 1, "heir") == Recovered([]), "the process is alive"
        assert await store.recover("dead", 0, "heir") == Recovered(claims(*rows), found=True)
        given = await store.executions_by_key([(row.session_id, row.id) for row in rows])
        assert given == [replace(row, owner="heir") for row in rows]
        assert [row.id for row in await store.owners()] == ["alive"]
        assert await store.recover("dead", 0, "other") == Recovered([])
        assert store.beat("dead") is False, "its work was recovered"
        assert [row.owner for row in await store.executions("b")] == ["heir", "heir", "dead", "alive", None]
        await refused(store, update(finished_row("2", "b"), by="dead"), "no longer held by dead")
        await commit_one(store, update(finished_row("2", "b"), by="heir"))

    async def test_e5_work_of_a_dead_process_is_recovered_in_steps(self, store: Store) -> None:
        await store.join(owner_row("dead"))
        rows = [execution_row(f"x{number}", owner="dead") for number in range(5)]
        await store.commit([create(), *(add(row) for row in rows)])
        assert await store.recover("dead", 0, "p1", limit=2) == Recovered(claims(*rows[:2]), more=True, found=True)
        assert await store.owners() == [owner_row("dead", beat=RECOVERING)]
        assert store.beat("dead") is False, "a process under recovery cannot beat"
        assert await store.recover("dead", 0, "p2", limit=2) == Recovered([]), "the beat has changed"
        assert await store.recover("dead", RECOVERING, "p2", limit=2) == Recovered(
            claims(*rows[2:4]), more=True, found=True
        )
        assert await store.recover("dead", RECOVERING, "p1", limit=2) == Recovered(claims(*rows[4:]), found=True)
        assert await store.owners() == []
        assert [row.owner for row in await store.executions("s")] == ["p1", "p1", "p2", "p2", "p1"]

    async def test_e5_process_that_joins_again_keeps_what_was_not_recovered(self, store: Store) -> None:
        await store.join(owner_row("dead"))
        await store.commit([create(), *(add(execution_row(f"x{number}", owner="dead")) for number in range(3))])
        await store.recover("dead", 0, "heir", limit=1)
        await store.join(owner_row("dead"))
        assert await store.recover("dead", RECOVERING, "heir") == Recovered([])
        assert [row.owner for row in await store.executions("s")] == ["heir", "dead", "dead"]

    async def test_e5_execution_that_waits_for_a_person_needs_no_owner(self, store: Store) -> None:
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
        await store.commit([create(), *(add(row) for row in rows)])
        await store.commit([add(request_row(f"r-{of}", execution_id=of, status=how)) for of, how in statuses.items()])
        recovered = await store.recover("dead", 0, "heir")
        assert recovered == Recovered(claims(*rows[1:]), waiting=1, found=True)
        assert [row.owner for row in await store.executions("s")] == [None, *["heir"] * 4]
        assert await store.recover(None, 0, "heir") == Recovered([])
        await commit_one(store, close(request_row("r-asks", execution_id="asks", status="refused")))
        assert (await store.recover(None, 0, "heir")).claims == claims(rows[0])

    async def test_e5_execution_without_owner_is_ready_after_its_answer(self, store: Store) -> None:
        row = execution_row(status="waiting", owner="p1")
        await store.commit([create(), add(row), add(request_row())])
        await commit_one(store, close(request_row(status="answered")))
        assert await store.recover(None, 0, "heir") == Recovered([]), "a process owns it"
        await commit_one(store, update(replace(row, owner=None), by="p1"))
        assert (await store.recover(None, 0, "heir")).claims == claims(row)

    async def test_e5_ready_executions_are_recovered_in_steps(self, store: Store) -> None:
        rows = [execution_row(f"x{number}", owner=None, cancelling=True) for number in range(3)]
        await store.commit([create(), *(add(row) for row in rows)])
        first = await store.recover(None, 0, "heir", limit=2)
        assert (first.claims, first.more) == (claims(*rows[:2]), True)
        second = await store.recover(None, 0, "heir", limit=2)
        assert (second.claims, second.more) == (claims(rows[2]), False)

    async def test_e5_sessions_with_calls_of_other_tools_stay_with_the_dead_process(self, store: Store) -> None:
        await store.join(owner_row("dead"))
        known = [
            execution_row("x", "a", tool="known", owner="dead"),
            execution_row("w", "a", kind="worker", owner="dead"),
        ]
        foreign = [execution_row("x", "b", tool="foreign", owner="dead"), execution_row("y", "b", owner="dead")]
        asks = execution_row("x", "c", tool="foreign", status="waiting", owner="dead")
        queued = execution_row("q", "b", tool="foreign", queue="slow", owner="dead")
        await store.commit([*map(create, "abc"), *map(add, (*known, *foreign, asks, queued))])
        await store.commit([add(request_row("r", "c")), add(turn_row(1, "a", owner="dead"))])
        await store.commit([add(turn_row(1, "b", owner="dead")), add(input_row("i", "b", owner="dead"))])
        assert await store.tools_under_way("dead") == {"known", "foreign", "add"}
        assert await store.tools_under_way("heir") == set()
        tools = ["known", "more"]
        turn = Claim("a", "t1", "ann", "turn")
        first = await store.recover("dead", 0, "heir", tools=tools)
        requeued = (QueuedCall("b", "q", "foreign", "slow", "ann"),)
        assert first == Recovered([*claims(*known), turn], waiting=1, found=True, requeued=requeued)
        assert await store.owners() == [owner_row("dead", beat=RECOVERING)]
        assert await store.recover("dead", RECOVERING, "heir", tools=tools) == Recovered([], found=True)
        rest = await store.recover("dead", RECOVERING, "other", conversations=False, tools=["foreign", "add"])
        assert rest == Recovered(claims(*foreign), found=True)
        rest = await store.recover("dead", RECOVERING, "other")
        assert [claim.kind for claim in rest.claims] == ["turn", "input"]
        assert await store.owners() == []

    async def test_e5_ready_executions_of_other_tools_are_left(self, store: Store) -> None:
        waits: dict[str, Any] = {"status": "waiting", "owner": None}
        foreign, known = execution_row("a", tool="foreign", **waits), execution_row("b", tool="known", **waits)
        page = execution_row("c", tool="of the page", **waits)
        stops = execution_row("d", tool="foreign", cancelling=True, **waits)
        await store.commit([create(), *map(add, (foreign, known, page, stops))])
        for row in (foreign, known, page):
            purpose = "front_end_tool" if row is page else "approval"
            answered = request_row(f"r{row.id}", execution_id=row.id, status="answered", purpose=purpose)
            await store.commit([add(answered)])
        assert (await store.recover(None, 0, "heir", tools=["known"])).claims == claims(known, page, stops)
        assert await store.recover(None, 0, "heir", tools=["known"]) == Recovered([])
        assert (await store.recover(None, 0, "heir", tools=["foreign"])).claims == claims(foreign)

    async def test_e5_process_that_leaves_work_behind_is_recovered_at_once(self, store: Store) -> None:
        await store.join(owner_row("p1", beat=3))
        await store.commit([create(), add(execution_row(owner="p1"))])
        await store.leave("p1")
        assert await store.owners() == [owner_row("p1", beat=LEFT)], "it has left"
        assert store.beat("p1") is False
        assert await store.recover("p1", 3, "heir") == Recovered([])
        assert await store.recover("p1", LEFT, "heir") == Recovered(claims(execution_row()), found=True)
        assert await store.owners() == []

    async def test_e5_lock_is_held_from_join_to_leave(self, store: Store) -> None:
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
    async def test_m3_execution_without_owner_is_ready_when_its_person_has_answered(
        self, store: Store, statuses: list[str], goes_on: bool
    ) -> None:
        await store.commit([create(), create("t")])
        row = execution_row(status="waiting", owner=None)
        await store.commit([add(row), add(execution_row("y", owner="p1")), add(finished_row("z"))])
        await store.commit([add(request_row(f"r{place}", status=status)) for place, status in enumerate(statuses)])
        await store.commit([add(request_row("y", execution_id="y", status="answered"))])
        await store.commit([add(request_row("z", execution_id="z", status="answered"))])
        await store.commit([add(request_row("other", "t", status="answered"))])
        assert (await store.recover(None, 0, "heir")).claims == (claims(row) if goes_on else [])
        assert [each.owner for each in await store.executions("s", ids=["x"])] == ["heir" if goes_on else None]
        assert (await store.recover(None, 0, "other")).claims == [], "a process owns it now"

    async def test_x8_cancelled_execution_without_owner_is_recovered(self, store: Store) -> None:
        row = execution_row(status="waiting", owner=None)
        await store.commit([create(), add(row), add(request_row())])
        assert (await store.recover(None, 0, "heir")).claims == []
        await commit_one(store, Change("s", cancel=["x"]))
        assert (await store.recover(None, 0, "heir")).claims == claims(row)
        assert await store.executions("s") == [replace(row, owner="heir", cancelling=True)]
