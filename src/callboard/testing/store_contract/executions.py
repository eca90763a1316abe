"""Contract of a store: executions are written by their owner, found by id and call, and listed."""

import json
from dataclasses import replace

from ...storage.change import Change, ExecutionWrite
from ...storage.store import Store
from ..store_rows import (
    NOW,
    add,
    create,
    execution_row,
    finished_row,
    input_row,
    request_row,
    turn_row,
    update,
)
from .contract import LONG, Contract, commit_one, refusals, refused, stored_execution


class ExecutionContract(Contract):
    async def test_x2_execution_is_read_as_it_was_written(self, store: Store) -> None:
        await commit_one(store, create())
        row = execution_row(
            call_id="c",
            kind="worker",
            document=b' {"b": 1,"a":\xff not even JSON',
            display_arguments=b'{"b":1,"a":"***"}',
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
        await commit_one(store, add(row))
        stored = await stored_execution(store)
        for name in ("display_arguments", "errors", "error"):
            assert json.loads(getattr(stored, name)) == json.loads(getattr(row, name))
        assert replace(stored, display_arguments=row.display_arguments, errors=row.errors, error=row.error) == row
        assert await store.execution_of_call("s", "c") == stored
        bare = execution_row("y", document=None)
        await commit_one(store, add(bare))
        assert await store.execution("s", "y") == bare, "None is not the JSON null"
        await commit_one(store, update(replace(bare, status="waiting", retry_at=NOW + 5)))
        assert [each.retry_at for each in await store.executions("s")] == [NOW + 20.25, NOW + 5]
        await commit_one(store, update(bare))
        assert await store.execution("s", "y") == bare, "a retry time can be reset"

    async def test_x10_ids_of_executions_and_calls_are_unique(self, store: Store) -> None:
        await store.commit([create(), create("t")])
        await commit_one(store, add(execution_row()))
        await refused(store, add(execution_row(call_id="other")), "there already")
        await refused(store, add(execution_row("y", call_id="call of x")), "has an execution already")
        await commit_one(store, add(execution_row("x", "t")))
        assert await store.execution("s", "x") == execution_row()
        twins = [add(execution_row(name, call_id="c")) for name in ("a", "b")]
        both = [write for twin in twins for write in twin.executions]
        await refused(store, Change("s", executions=both), "has an execution already")
        assert refusals(await store.commit(twins)) == [False, True], "also within one group"
        assert [row.id for row in await store.executions("s")] == ["x", "a"]

    async def test_e2_executions_of_another_session_are_not_found(self, store: Store) -> None:
        await store.commit([create(), create("t")])
        await commit_one(store, add(execution_row()))
        assert await store.execution("t", "x") is None
        assert await store.execution_of_call("t", "call of x") is None
        await refused(store, replace(update(execution_row()), session_id="t"), "not one of session t")
        await refused(store, update(execution_row("x", "t")), "no execution x")
        await refused(store, Change("t", cancel=["x"]), "no execution x")
        await refused(store, Change("t", late=["x"]), "no execution x")
        assert await store.execution("s", "x") == execution_row()

    async def test_e5_execution_is_written_only_by_its_owner(self, store: Store) -> None:
        await store.commit([create(), add(execution_row())])
        await refused(store, update(finished_row(), by="p2"), "no longer held by p2")
        assert await store.execution("s", "x") == execution_row()
        await commit_one(store, update(finished_row(), by="p1"))
        assert await store.execution("s", "x") == finished_row()
        await refused(store, update(finished_row(value=b"2"), by="p1"), "no longer held by p1")
        await commit_one(store, update(finished_row(value=b"3")))
        assert await store.execution("s", "x") == finished_row(value=b"3"), "without a holder any process may write"
        await refused(store, update(execution_row("y"), by="p1"), "no execution y")
        await refused(store, update(execution_row("y")), "no execution y")
        await refused(store, update(finished_row(call_id="another")), "another call")

    async def test_e5_changes_of_a_group_see_each_other(self, store: Store) -> None:
        row = execution_row()
        results = await store.commit(
            [
                create(),
                add(row),
                update(replace(row, owner="p2"), by="p1"),
                update(finished_row(), by="p1"),
                update(finished_row(value=b"2"), by="p2"),
                Change(
                    "s", executions=[ExecutionWrite(execution_row("y"), new=True), ExecutionWrite(finished_row("y"))]
                ),
            ]
        )
        assert refusals(results) == [False, False, False, True, False, False]
        assert await store.executions("s") == [finished_row(value=b"2"), finished_row("y")]

    async def test_executions_are_listed_in_the_order_of_queueing(self, store: Store) -> None:
        await commit_one(store, create())
        names = ["d", "b", "e", "a", "c"]
        await store.commit([add(execution_row(name)) for name in names[:3]])
        await store.commit([add(execution_row(name)) for name in names[3:]])
        await store.commit([update(finished_row(name)) for name in ("b", "c")])
        assert [row.id for row in await store.executions("s")] == names
        assert [row.id for row in await store.executions("s", limit=2)] == ["a", "c"], "the newest two"
        assert [row.id for row in await store.executions("s", limit=0)] == []
        assert [row.id for row in await store.executions("s", unfinished=True)] == ["d", "e", "a"]
        assert [row.id for row in await store.executions("s", unfinished=True, limit=1)] == ["a"]
        assert [row.id for row in await store.executions("s", ids=["c", "d", "no", "e"])] == ["d", "e", "c"]
        assert [row.id for row in await store.executions("s", ids=["c", "d"], unfinished=True)] == ["d"]
        assert await store.executions("s", ids=[]) == []
        assert await store.executions("unknown") == []

    async def test_x8_cancelled_execution_stays_cancelled(self, store: Store) -> None:
        await store.commit([create(), add(execution_row()), add(execution_row("y")), add(finished_row("z"))])
        await commit_one(store, Change("s", cancel=["x", "z"]))
        assert await store.execution("s", "x") == execution_row(cancelling=True)
        assert await store.execution("s", "z") == finished_row("z"), "a finished execution stays as it is"
        await commit_one(store, update(execution_row(status="waiting"), by="p1"))
        assert await store.execution("s", "x") == execution_row(status="waiting", cancelling=True)
        await commit_one(
            store, Change("s", executions=[ExecutionWrite(execution_row("y", status="waiting"))], cancel=["y"])
        )
        assert await store.execution("s", "y") == execution_row("y", status="waiting", cancelling=True)
        row = execution_row("w")
        await store.commit([add(row), Change("s", cancel=["w"]), update(replace(row, attempt=2))])
        assert await store.execution("s", "w") == execution_row("w", attempt=2, cancelling=True)
        await refused(store, Change("s", cancel=["unknown"]), "no execution unknown")

    async def test_x8_owner_learns_of_a_cancellation_with_its_next_write(self, store: Store) -> None:
        await store.commit([create(), add(execution_row()), add(execution_row("y"))])
        before = update(execution_row(attempt=2), by="p1")
        await commit_one(store, before)
        await commit_one(store, Change("s", cancel=["x"]))
        after = update(execution_row(attempt=3), by="p1")
        other, late = update(execution_row("y", attempt=2)), Change("s", late=["x"])
        end = update(finished_row(), by="p1")
        assert await store.commit([after, other, late, end]) == [0, 0, 0, 0]
        found = [tuple(each.cancelled) for each in (before, after, other, late, end)]
        assert found == [(), ("x",), (), (), ()], "an execution that ends has nothing to stop"

    async def test_e5_executions_and_requests_are_found_by_key(self, store: Store) -> None:
        await store.commit([create(), create("t")])
        rows = [execution_row("x"), execution_row("y"), execution_row("x", "t", call_id="other")]
        await store.commit([add(row) for row in rows])
        asked = [request_row("r1"), request_row("r2", execution_id="y"), request_row("r3", "t"), request_row("r4")]
        await store.commit([add(row) for row in asked])
        keys = [("t", "x"), ("s", "x"), ("s", "nothing"), ("t", "x")]
        assert await store.executions_by_key(keys) == [rows[2], rows[0]]
        assert await store.executions_by_key([]) == []
        assert await store.requests(executions=keys) == [asked[0], asked[2], asked[3]]
        assert await store.requests(executions=keys, status="used") == []
        assert await store.requests(executions=[]) == []

    async def test_h1_newest_calls_are_listed_in_pages(self, store: Store) -> None:
        rows = [finished_row(f"x{n}") for n in range(5)]
        writes = [ExecutionWrite(row, row.owner, new=True) for row in rows]
        await store.commit([create(), create("other"), Change("s", executions=writes)])
        await store.commit([add(turn_row()), Change("s", inputs=[input_row()])])

        async def listed(**wanted: object) -> list[str]:
            found = await store.brief_executions("s", **{"limit": 10, "longest": 1_000, **wanted})  # pyright: ignore
            return [each.row.id for each in found]

        assert await listed() == ["x0", "x1", "x2", "x3", "x4"], "turns and inputs are not calls"
        assert await listed(limit=2) == ["x3", "x4"]
        assert await listed(limit=2, before="x3") == ["x1", "x2"]
        assert await listed(before="x0") == []
        assert await listed(before="unknown") == []
        assert await listed(unfinished=True) == []
        assert await store.brief_executions("other", before="x3", limit=9, longest=9) == []

    async def test_h1_json_with_a_reserved_key_is_listed_unaltered(self, store: Store) -> None:
        document = b'{"$json":"{}"}'
        await store.commit([create(), add(finished_row(value=document, display_arguments=document))])
        (listed,) = await store.brief_executions("s", limit=1, longest=1_000)
        assert listed.row.value is not None
        assert json.loads(listed.row.value) == json.loads(listed.row.display_arguments) == {"$json": "{}"}

    async def test_h1_long_fields_of_calls_are_left_out_of_lists(self, store: Store) -> None:
        short = finished_row("short", value=b'{"a": 1}')
        long = finished_row("long", value=LONG, display_arguments=b'{"text": %b}' % LONG, document=LONG)
        await store.commit([create(), add(short), add(long)])
        whole, cut = await store.brief_executions("s", limit=10, longest=1_000)
        assert not whole.cut
        assert json.loads(whole.row.value or b"") == {"a": 1}
        assert whole.row == replace(
            short, document=None, value=whole.row.value, display_arguments=whole.row.display_arguments
        )
        assert (cut.row.value, cut.row.display_arguments, cut.row.document) == (None, b"null", None)
        assert set(cut.cut) == {"value", "display_arguments"}
        assert cut.cut["value"].length == len(LONG)
        assert cut.cut["value"].excerpt.startswith('"xxx')
        assert len(cut.cut["value"].excerpt) == 200
        assert (await stored_execution(store, "long")).value == LONG
