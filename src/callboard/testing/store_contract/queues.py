"""Contract of a store: executions wait in queues, each goes to one worker, and those of dead workers wait again."""

from typing import Any

from pydantic_core import from_json

from ...storage.change import Change
from ...storage.errors import Conflict
from ...storage.owners import INTERRUPTED_CLAIM, LEFT, Claim, QueuedCall
from ...storage.queues import QueueDepth
from ...storage.store import Store
from ..store_rows import NOW, add, create, execution_row, finished_row, owner_row, request_row, update
from .contract import Contract, stored_execution


class QueueContract(Contract):
    async def test_d3_waiting_executions_are_claimed_once(self, store: Store) -> None:
        waiting = execution_row("x", owner=None, queue="gpu", attempt=0)
        await store.commit([create(), add(waiting), add(execution_row("y", owner=None)), add(execution_row("z"))])
        assert await stored_execution(store) == waiting
        claimed = await store.claim([("s", "x"), ("s", "y"), ("s", "z"), ("s", "none")], "w1")
        assert [row.id for row in claimed.rows] == ["x"], "others do not wait in a queue"
        assert claimed.rows[0].owner == "w1"
        assert claimed.refused == []
        assert claimed.sessions == {"s": NOW}
        assert await stored_execution(store) == claimed.rows[0]
        assert (await store.claim([("s", "x")], "w1")).rows == claimed.rows, "it may not know of its own claim"
        assert (await store.claim([("s", "x")], "w2")).rows == []
        await store.commit([update(finished_row("x", owner=None, queue="gpu"), "w1")])
        assert (await store.claim([("s", "x")], "w2")).rows == []

    async def test_d3_claimed_executions_that_have_not_begun_are_listed(self, store: Store) -> None:
        rows = [
            execution_row("b", owner="w1", queue="gpu", attempt=0),
            execution_row("a", owner="w1", queue="", attempt=0, parent_id="b"),
            execution_row("called", owner="w1", attempt=0),
            execution_row("other", owner="w2", queue="gpu", attempt=0),
            execution_row("waits", owner=None, queue="gpu", attempt=0),
            execution_row("began", owner="w1", queue="gpu", attempt=1),
            finished_row("ended", owner="w1", queue="gpu", attempt=0),
            execution_row("x", "r", owner="w1", queue="gpu", attempt=0),
        ]
        await store.commit([create(), create("r"), *map(add, rows)])
        claimed = await store.claimed_calls("w1")
        assert [claim.key for claim in claimed] == [("r", "x"), ("s", "b"), ("s", "a")]
        assert claimed[1] == Claim("s", "b", rows[0].user_id, rows[0].kind)
        assert await store.claimed_calls("none") == []

    async def test_e5_executions_that_a_dead_worker_had_claimed_say_so(self, store: Store) -> None:
        failed = b'[{"category":"transient","message":"no","retryable":null}]'
        rows = [
            execution_row("a", owner="dead", queue="gpu", status="validating", attempt=0),
            execution_row("b", owner="dead", queue="gpu", status="validating"),
            execution_row("c", owner="dead", queue="gpu"),
            execution_row("d", owner="dead", queue="gpu", status="waiting", errors=failed),
            execution_row("e", owner="left", queue="gpu", status="validating", attempt=0),
        ]
        await store.join(owner_row("dead"))
        await store.join(owner_row("left"))
        await store.commit([create(), *map(add, rows)])
        await store.leave("left")
        for owner_id, beat in (("dead", 0), ("left", LEFT)):
            assert (await store.recover(owner_id, beat, "heir")).requeued
        found = {row.id: from_json(row.errors) for row in await store.executions("s", limit=9)}
        lost, nothing = from_json(INTERRUPTED_CLAIM), list[Any]()
        assert found == {"a": lost, "b": lost, "c": nothing, "d": from_json(failed), "e": nothing}

    async def test_d3_depths_and_calls_of_queues(self, store: Store) -> None:
        assert await store.queue_depths() == []
        rows = [
            execution_row("1", owner=None, queue="gpu", queued_at=NOW + 2),
            execution_row("2", owner=None, queue="gpu", queued_at=NOW + 1),
            execution_row("3", owner=None, queue="default", queued_at=NOW),
            execution_row("4", owner="w1", queue="gpu", queued_at=NOW),
            execution_row("5", owner=None, queue="", parent_id="4", queued_at=NOW),
            finished_row("6", owner=None, queue="gpu"),
        ]
        await store.commit([create(), *map(add, rows)])
        assert await store.queue_depths() == [
            QueueDepth("default", 1, NOW, {"ann": 1}),
            QueueDepth("gpu", 2, NOW + 1, {"ann": 2}),
        ]
        tool = rows[0].tool
        assert await store.queued_calls("gpu", before=NOW + 9, limit=9) == [
            QueuedCall("s", "2", tool, "gpu", "ann"),
            QueuedCall("s", "1", tool, "gpu", "ann"),
        ]
        assert [call.id for call in await store.queued_calls("gpu", before=NOW + 2, limit=9)] == ["2"]
        assert [call.id for call in await store.queued_calls("gpu", before=NOW + 9, limit=1)] == ["2"]
        assert await store.queued_calls("none", before=NOW + 9, limit=9) == []
        await store.commit([add(execution_row("7", tool="draw", owner=None, queue="gpu", queued_at=NOW + 3))])
        drawn = await store.queued_calls("gpu", before=NOW + 9, limit=1, tools=["draw", "none"])
        assert drawn == [QueuedCall("s", "7", "draw", "gpu", "ann")]
        assert await store.queued_calls("gpu", before=NOW + 9, limit=9, tools=[]) == []

    async def test_d3_calls_of_users_in_a_queue(self, store: Store) -> None:
        assert await store.queued_calls_of("gpu", {}) == {}
        for user_id in ("ann", "ben"):
            rows = [
                execution_row(f"{user_id}{n}", user_id, user_id=user_id, owner=None, queue="gpu", queued_at=NOW - n)
                for n in range(4)
            ]
            others = [
                execution_row(f"{user_id}4", user_id, user_id=user_id, owner="w1", queue="gpu", queued_at=NOW - 9),
                execution_row(f"{user_id}5", user_id, user_id=user_id, owner=None, queue="cpu", queued_at=NOW - 9),
                finished_row(f"{user_id}6", user_id, user_id=user_id, owner=None, queue="gpu"),
            ]
            await store.commit([create(user_id, user_id=user_id), *map(add, [*rows, *others])])
        found = await store.queued_calls_of("gpu", {"ann": 2, "ben": 9, "none": 1})
        assert {user_id: [call.id for call in calls] for user_id, calls in found.items()} == {
            "ann": ["ann3", "ann2"],
            "ben": ["ben3", "ben2", "ben1", "ben0"],
            "none": [],
        }
        assert found["ann"][0] == QueuedCall("ann", "ann3", rows[0].tool, "gpu", "ann")
        assert [depth.users for depth in await store.queue_depths()] == [{"ann": 1, "ben": 1}, {"ann": 4, "ben": 4}]

    async def test_o1_trace_contexts_of_calls_are_kept(self, store: Store) -> None:
        trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        await store.commit([create(), add(execution_row("x", owner=None, queue="gpu", attempt=0, trace=trace))])
        assert (await stored_execution(store)).trace == trace
        assert [row.trace for row in (await store.claim([("s", "x")], "w1")).rows] == [trace]

    async def test_d3_work_of_a_dead_worker_waits_in_its_queue_again(self, store: Store) -> None:
        await store.join(owner_row("dead"))
        rows = [
            execution_row("1", owner="dead", queue="gpu", status="executing", attempt=1),
            execution_row("2", owner="dead", queue="", parent_id="1", status="waiting"),
            execution_row("3", owner="dead", queue="", parent_id="2"),
            execution_row("4", owner="dead", queue="gpu"),
            execution_row("5", owner="dead"),
        ]
        await store.commit([create(), *map(add, rows)])
        await store.commit([add(request_row("r", execution_id="2")), Change("s", cancel=["4"])])
        recovered = await store.recover("dead", 0, "heir")
        assert recovered.requeued == (QueuedCall("s", "1", rows[0].tool, "gpu", "ann"),)
        assert [claim.id for claim in recovered.claims] == ["5"]
        assert await store.owners() == []
        ready = await store.recover(None, 0, "heir")
        assert [claim.id for claim in ready.claims] == ["4"], "a cancelled execution needs no worker to end"
        claimed = await store.claim([("s", "1")], "w2")
        assert [(row.id, row.owner) for row in claimed.rows] == [("1", "w2"), ("2", "w2"), ("3", "w2")]

    async def test_d3_limits_of_tools_hold_over_all_workers(self, store: Store) -> None:
        rows = [execution_row(str(n), owner=None, queue="gpu") for n in range(4)]
        await store.commit([create(), *map(add, rows)])
        limits = {rows[0].tool: 2, "other": 1}
        keys = [("s", row.id) for row in rows]
        first = await store.claim(keys[:1], "w1", limits)
        assert (len(first.rows), first.refused) == (1, [])
        second = await store.claim(keys[1:], "w2", limits)
        assert (len(second.rows), len(second.refused)) == (1, 2)
        done = second.rows[0]
        await store.commit([update(finished_row(done.id, owner=None, queue="gpu"), "w2")])
        third = await store.claim(second.refused, "w1", limits)
        assert (len(third.rows), len(third.refused)) == (1, 1)

    async def test_d3_results_that_callers_received_are_not_late(self, store: Store) -> None:
        await store.commit([create(), add(execution_row("x")), add(execution_row("y"))])
        await store.commit([Change("s", late=["x"]), update(finished_row("x", late=True))])
        (missing,) = await store.commit([Change("s", received=["z"])])
        assert isinstance(missing, Conflict)
        await store.commit([Change("s", consumed=["x"], received=["x"])])
        assert await stored_execution(store) == finished_row("x", late=False)
        (again,) = await store.commit([Change("s", consumed=["x"], received=["x"])])
        assert isinstance(again, Conflict)
