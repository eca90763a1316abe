"""Users take turns in the queues of workers (D3, H5): one of them cannot keep the others waiting."""

import asyncio
from collections import Counter
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callboard import Registry, Session, ToolContext, tool
from callboard.adapters.stores import open_store
from callboard.clock import SystemClock
from callboard.execution.limits import Limits
from callboard.sessions import dispatcher, queue_turns, queue_worker
from callboard.sessions.queue_turns import USERS, QueueTurns
from callboard.sessions.redelivery import Redelivery
from callboard.storage.change import Change
from callboard.storage.owners import QueuedCall
from callboard.storage.queues import Claimed, QueueDepth
from callboard.testing import ManualClock
from callboard.testing.engine_contract import until
from callboard.testing.store_rows import add, create, execution_row
from tests.engines.conftest import Deployment, OpenDeployment

pytestmark = pytest.mark.anyio
Number = Annotated[int, "A number."]


class Shop:
    """Tools that note whose calls they run, one after the other."""

    def __init__(self) -> None:
        self.served: list[str] = []
        self.ran: Counter[tuple[str, int]] = Counter()
        self.may_end = asyncio.Event()
        self.may_use_printer = asyncio.Event()

    def tools(self) -> Registry:
        @tool(mode="background", idempotent=True)
        async def serve(ctx: ToolContext, n: Number) -> int:
            """Serve a user."""
            user_id = ctx.user_id or ""
            self.served.append(user_id)
            self.ran[user_id, n] += 1
            await self.may_end.wait()
            return n

        @tool(mode="background", idempotent=True, concurrency=1)
        async def print_page(ctx: ToolContext, n: Number) -> int:
            """Print a page. There is one printer."""
            self.served.append("printer")
            await self.may_use_printer.wait()
            return n

        return Registry([serve, print_page])


@pytest.fixture
def late_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets users take turns as soon as several of them wait. Sweeps are made by the tests alone."""
    monkeypatch.setattr(queue_turns, "LATE", 0.0)
    monkeypatch.setattr(dispatcher, "SWEEP", 3600.0)


async def queue_calls(made: Deployment, tools: Registry, calls: dict[str, int], name: str = "serve") -> list[Session]:
    """Queue calls of users, all those of a user before those of the next."""
    gateway = await made.gateway(tools)
    engine = gateway.engine
    await until(lambda: engine is not None and engine.connected)  # else messages are sent by the next sweep
    sessions: list[Session] = []
    for user_id, count in calls.items():
        session = await gateway.open(user_id, user_id)
        for n in range(count):
            assert (await session.call(name, {"n": n})).status == "started"
        sessions.append(session)
    return sessions


@pytest.mark.usefixtures("late_at_once")
async def test_h5_a_user_with_many_calls_does_not_keep_others_waiting(deployment: OpenDeployment) -> None:
    shop = Shop()
    async with deployment() as made:
        await queue_calls(made, shop.tools(), {"ann": 12, "ben": 2, "cleo": 1})
        worker = await made.worker(shop.tools(), concurrency=1)
        assert worker.dispatcher is not None
        await until(lambda: bool(shop.served))
        await worker.dispatcher.sweep()
        shop.may_end.set()
        await until(lambda: len(shop.served) == 15)
        assert sorted(shop.served[1:3]) == ["ben", "cleo"], "those who have waited without a turn are next"
        assert sorted(shop.served[3:5]) == ["ann", "ben"]
        assert shop.served[5:] == ["ann"] * 10
    assert set(shop.ran.values()) == {1}


@pytest.mark.usefixtures("late_at_once")
async def test_h5_every_call_runs_once_while_users_take_turns(deployment: OpenDeployment) -> None:
    """Each execution keeps its own message until it is claimed: without a sweep, none is left behind."""
    shop = Shop()
    async with deployment() as made:
        calls = {"ann": 40, "ben": 7, "cleo": 3, "dora": 1}
        await queue_calls(made, shop.tools(), calls)
        workers = [await made.worker(shop.tools(), concurrency=size) for size in (1, 3, 8)]
        await until(lambda: len(shop.served) == 12)
        for worker in workers[1:]:  # the first does not know that users take turns
            assert worker.dispatcher is not None
            await worker.dispatcher.sweep()
        shop.may_end.set()
        await until(lambda: shop.ran.total() == sum(calls.values()))
        for worker in workers:
            assert worker.worker is not None
            assert worker.dispatcher is not None
            await until(lambda part=worker.worker: not part.running)
            assert worker.dispatcher.submitted_again == 0
    assert set(shop.ran.values()) == {1}


@pytest.mark.usefixtures("late_at_once")
async def test_h5_calls_of_a_busy_tool_do_not_block_the_turns_of_others(deployment: OpenDeployment) -> None:
    shop = Shop()
    shop.may_end.set()
    async with deployment() as made:
        ann, _ = await queue_calls(made, shop.tools(), {"ann": 5, "ben": 5}, "print_page")
        last = await ann.call("serve", {"n": 7})
        worker = await made.worker(shop.tools(), concurrency=2)
        assert worker.dispatcher is not None
        await until(lambda: "printer" in shop.served)
        await worker.dispatcher.sweep()
        assert (await ann.result(last.execution_id or "", timeout=90)).value == 7
        assert shop.served.count("printer") == 1
        shop.may_use_printer.set()
        await until(lambda: shop.served.count("printer") == 10)


async def test_h5_calls_of_a_busy_tool_are_not_claimed_again_and_again(
    deployment: OpenDeployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue_worker, "BUSY_TOOL_DELAY", 0.01)
    shop = Shop()
    put_back: list[float] = []
    claimed: list[int] = []

    class CountedRedelivery(Redelivery):
        def next(self) -> float:
            put_back.append(delay := super().next())
            return delay

    monkeypatch.setattr(queue_worker, "Redelivery", CountedRedelivery)
    async with deployment() as made:
        await queue_calls(made, shop.tools(), {"ann": 40}, "print_page")
        worker = await made.worker(shop.tools(), concurrency=8, clock=ManualClock())
        claim = worker.store.claim

        async def counted_claim(*arguments: Any) -> Claimed:
            claimed.append(1)
            return await claim(*arguments)

        monkeypatch.setattr(worker.store, "claim", counted_claim)
        await until(lambda: len(put_back) >= 200)
        assert len(claimed) <= 1, "as many calls of the tool run as may"
        shop.may_use_printer.set()
        await until(lambda: shop.served.count("printer") == 40)


@pytest.mark.usefixtures("late_at_once")
async def test_h5_calls_may_end_while_the_users_of_a_queue_are_counted(
    deployment: OpenDeployment, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(queue_turns, "COUNT_AGAIN", 0.0)
    may_end = asyncio.Semaphore(0)
    served: list[str] = []

    @tool(mode="background", idempotent=True)
    async def serve(ctx: ToolContext, n: Number) -> int:
        """Serve a user."""
        served.append(ctx.user_id or "")
        await may_end.acquire()
        return n

    async with deployment() as made:
        await queue_calls(made, Registry([serve]), {"ann": 8, "ben": 4})
        gateway = await made.worker(Registry([serve]), concurrency=3)
        worker, count = gateway.worker, gateway.store.queue_depths
        assert worker is not None
        assert gateway.dispatcher is not None
        await until(lambda: len(served) == 3)
        await gateway.dispatcher.sweep()
        counted: list[int] = []

        async def count_while_calls_end() -> list[QueueDepth]:
            counted.append(len(worker.running))
            for _ in range(12):
                may_end.release()
            await until(lambda: not worker.running)
            return await count()

        may_end.release()
        await until(lambda: len(served) == 4)
        monkeypatch.setattr(gateway.store, "queue_depths", count_while_calls_end)
        may_end.release()
        await until(lambda: len(served) == 12)
        assert counted[0] == 2, "two calls ended meanwhile"
    assert "failed to carry out" not in caplog.text


async def test_h5_no_user_can_fill_a_queue(deployment: OpenDeployment) -> None:
    shop = Shop()
    async with deployment() as made:
        gateway = await made.gateway(shop.tools(), limits=Limits(queue=6))
        assert gateway.dispatcher is not None
        ann, ben = await gateway.open("a", "ann"), await gateway.open("b", "ben")
        for n in range(3):
            assert (await ann.call("serve", {"n": n})).status == "started"
            await gateway.dispatcher.sweep()
        refused = await ann.call("serve", {"n": 3})
        assert refused.error is not None
        assert (refused.error.category, refused.error.retryable) == ("resource", True)
        assert "3 calls of this user wait there, which is the user's share" in str(refused.error)
        assert (await ben.call("serve", {"n": 0})).status == "started"


async def test_h5_calls_between_two_sweeps_are_counted(deployment: OpenDeployment) -> None:
    shop = Shop()
    async with deployment() as made:
        gateway = await made.gateway(shop.tools(), limits=Limits(queue=40))
        ann, ben = await gateway.open("a", "ann"), await gateway.open("b", "ben")
        started = [(await ann.call("serve", {"n": n})).error is None for n in range(40)]
        assert 10 <= sum(started) <= 20, "half of the queue, less what was counted twice for a moment"
        assert (await ben.call("serve", {"n": 0})).status == "started"


async def test_h5_calls_that_workers_have_claimed_take_no_room(deployment: OpenDeployment) -> None:
    shop = Shop()
    shop.may_end.set()
    async with deployment() as made:
        gateway = await made.gateway(shop.tools(), limits=Limits(queue=32))
        await made.worker(shop.tools())
        ann = await gateway.open("a", "ann")
        for n in range(60):
            call = await ann.call("serve", {"n": n})
            assert (await ann.result(call.execution_id or "", timeout=90)).value == n


@pytest.mark.usefixtures("late_at_once")
async def test_h5_turns_leave_messages_to_workers_with_other_tools(deployment: OpenDeployment) -> None:
    """A worker that has one tool gets the calls of that tool, although another worker was given their messages."""
    shop, branch = Shop(), Shop()
    shop.may_use_printer.set()
    branch.may_end.set()
    async with deployment() as made:
        _, ben = await queue_calls(made, shop.tools(), {"ann": 10, "ben": 0})
        for n in range(3):
            assert (await ben.call("print_page", {"n": n})).status == "started"
        first = await made.worker(shop.tools(), concurrency=1)
        assert first.dispatcher is not None
        await until(lambda: shop.ran.total() == 1)
        await first.dispatcher.sweep()
        assert first.worker is not None
        first.worker.concurrency = 2
        first.worker._changed.set()
        await until(lambda: shop.ran.total() == 2)
        assert "printer" in shop.served, "the messages were ann's"
        await made.worker(Registry([each for each in branch.tools() if each.name == "serve"]), concurrency=4)
        await until(lambda: branch.ran.total() == 8)


@given(running=st.dictionaries(st.text(max_size=2), st.integers(0, 5), min_size=1), count=st.integers(1, 40))
def test_h5_turns_level_what_runs(running: dict[str, int], count: int) -> None:
    turns = QueueTurns(open_store("memory://"), SystemClock(), lambda: (), lambda tool: True)
    shares = turns._shares(set(running), count, running)
    assert sum(shares.values()) == count
    after = {user: runs + shares.get(user, 0) for user, runs in running.items()}
    for user in shares:
        higher = [other for other, runs in after.items() if runs < after[user] - 1]
        assert not higher or len(shares) == USERS, "no user gets a second one before another has its first"


async def test_h5_turns_of_users_that_wait_no_longer_are_forgotten() -> None:
    depths: tuple[QueueDepth, ...] = (QueueDepth("q", 2, 0.0, {"ann": 1, "ben": 1}),)
    turns = QueueTurns(open_store("memory://"), SystemClock(), lambda: depths, lambda tool: True)
    call = QueuedCall("s", "x", "t", "q", "ann")
    turns.took(["ann", "cleo"])
    await turns._users("q")
    assert turns._last_turns.keys() == {"ann"}
    depths = ()
    assert await turns.choose([call], []) == {("s", "x"): call}
    assert not turns._last_turns


async def test_h5_a_user_who_comes_to_a_late_queue_gets_a_turn_within_a_second() -> None:
    clock, store = ManualClock(), open_store("memory://")
    await store.open(lambda *_: None)

    def waiting(user_id: str, count: int, at: float) -> list[Change]:
        rows = [
            execution_row(f"{user_id}{n}", user_id, user_id=user_id, owner=None, queue="q", queued_at=at)
            for n in range(count)
        ]
        return [create(user_id, user_id=user_id), *map(add, rows)]

    await store.commit(waiting("ann", 3, clock.time() - 9))
    swept = tuple(await store.queue_depths())
    turns = QueueTurns(store, clock, lambda: swept, lambda tool: True)
    turns.took(["ann"])
    calls = [QueuedCall("ann", "ann0", "add", "q", "ann")]
    first = {("ann", "ann0"): calls[0]}
    assert await turns.choose(calls, ["ann"]) == first, "no other user waits"
    await store.commit(waiting("ben", 1, clock.time()))
    assert await turns.choose(calls, ["ann"]) == first
    await clock.advance(1.0)
    assert list(await turns.choose(calls, ["ann"])) == [("ben", "ben0")]
    await store.close()
