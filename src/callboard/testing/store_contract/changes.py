"""Contract of a store: a change is written whole or not at all."""

import asyncio

from ...storage.change import Change, ExecutionWrite, RequestWrite
from ...storage.errors import Conflict
from ...storage.store import Store
from ..store_rows import (
    NOW,
    create,
    event,
    execution_row,
    finished_row,
    post,
    request_row,
    session_row,
)
from .contract import Contract, commit_one, event_at, numbered


class ChangeContract(Contract):
    async def test_b6_probe_changes_no_records(self, store: Store) -> None:
        await commit_one(store, create())
        before = await store.sessions()
        await store.probe()
        await store.probe()
        assert await store.sessions() == before
        assert await commit_one(store, post(1)) == 1

    async def test_e5_change_in_conflict_writes_nothing_and_fails_alone(self, store: Store) -> None:
        await commit_one(store, create("t"))
        misfit = Change(
            "s",
            session=session_row(),
            executions=[ExecutionWrite(execution_row(), new=True)],
            requests=[RequestWrite(request_row())],
            late=["x"],
            consumed=["unknown"],
            transcript=[b"{}"],
            events=[event(1)],
        )
        results = await store.commit([post(1, session_id="t"), misfit, post(2, session_id="t"), create("u")])
        assert isinstance(results[1], Conflict)
        assert [results[0], *results[2:]] == [1, 2, 0]
        assert await store.session("s") is None
        assert [row.id for row in await store.sessions()] == ["t", "u"]
        assert await store.executions("s") == []
        assert await store.request("r") is None
        assert await store.transcript("s") == []
        assert await store.commit([]) == []

    async def test_e5_everything_of_a_change_is_written(self, store: Store) -> None:
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
        assert await commit_one(store, change) == 2
        assert await store.session("s") == session_row(last_seq=2, active_at=NOW, unconsumed=("x",))
        assert await store.executions("s") == [finished_row(), execution_row("y", cancelling=True)]
        assert await store.requests() == [request_row(execution_id="y")]
        assert await store.transcript("s") == [b"1", b"2"]
        assert numbered(await store.events("s", 0, 9)) == [event_at(1, 1), event_at(2, 2)]

    async def test_b1_many_writers_of_one_process(self, store: Store) -> None:
        await store.commit([create(f"s{number}") for number in range(5)])

        async def write(number: int) -> list[int]:
            numbers: list[int] = []
            for step in range(10):
                (result,) = await store.commit([post(step, session_id=f"s{number % 5}")])
                assert isinstance(result, int)
                numbers.append(result)
            return numbers

        written = await asyncio.gather(*(write(number) for number in range(20)))
        for session in range(5):
            numbers = sorted(seq for number in range(session, 20, 5) for seq in written[number])
            assert numbers == list(range(1, 41))
            assert len((await store.events(f"s{session}", 0, 100)).lines) == 40
