"""Claims of workers (D3): an execution that a worker owns is carried out, also if the worker does not learn of it."""

import asyncio
from collections.abc import Collection, Mapping
from typing import Annotated, Any

import pytest

from callboard import Registry, tool
from callboard.sessions.queue_worker import QueueWorker
from callboard.storage.owners import Claim
from callboard.storage.queues import Claimed
from callboard.storage.store import Store
from callboard.testing.clock import settle
from callboard.testing.engine_contract import until
from tests.engines.conftest import OpenDeployment

pytestmark = pytest.mark.anyio
Number = Annotated[int, "A number."]


class Work:
    """A tool that notes its runs."""

    def __init__(self) -> None:
        self.runs: list[int] = []
        self.may_end = asyncio.Event()

    def tools(self) -> Registry:
        @tool(mode="background", idempotent=True)
        async def work(n: Number) -> int:
            """Work until the test allows the end."""
            self.runs.append(n)
            async with asyncio.timeout(90):
                await self.may_end.wait()
            return n

        return Registry([work])


class HeldAnswer:
    """Makes a claim of a store, and holds its answer back until the test allows it."""

    def __init__(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        self._claim = store.claim
        self.made = asyncio.Event()
        self.may_arrive = asyncio.Event()
        self.is_lost = False
        monkeypatch.setattr(store, "claim", self)

    async def __call__(
        self, keys: Collection[tuple[str, str]], owner: str, limits: Mapping[str, int] | None = None
    ) -> Claimed:
        claimed = await self._claim(keys, owner, limits)
        self.made.set()
        await self.may_arrive.wait()
        return Claimed([], [], {}) if self.is_lost else claimed


def worker_of(runtime: Any) -> QueueWorker:
    assert isinstance(runtime.worker, QueueWorker)
    return runtime.worker


async def test_d3_a_claim_whose_answer_is_lost_is_carried_out(
    deployment: OpenDeployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = Work()
    work.may_end.set()
    async with deployment() as made:
        gateway, runtime = await made.gateway(work.tools()), await made.worker(work.tools())
        held, worker = HeldAnswer(runtime.store, monkeypatch), worker_of(runtime)
        session = await gateway.open("s", "ann")
        outcome = await session.call("work", {"n": 1})
        async with asyncio.timeout(90):
            await held.made.wait()
            held.is_lost = True
            held.may_arrive.set()
            await worker.check_claims()
            await settle()
            assert work.runs == [], "the answer may be on its way"
            await worker.check_claims()
        assert outcome.execution_id is not None
        assert (await session.result(outcome.execution_id, timeout=90)).value == 1
        assert work.runs == [1]
        await until(lambda: worker.done == 1)


async def test_d3_a_claim_whose_recovery_fails_is_not_tried_again(
    deployment: OpenDeployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    work, taken = Work(), list[Claim]()
    async with deployment() as made:
        gateway, runtime = await made.gateway(work.tools()), await made.worker(work.tools())
        held, worker = HeldAnswer(runtime.store, monkeypatch), worker_of(runtime)
        monkeypatch.setattr(runtime.sessions._recovery, "add", taken.extend)
        outcome = await (await gateway.open("s", "ann")).call("work", {"n": 1})
        async with asyncio.timeout(90):
            await held.made.wait()
            for _ in range(6):
                await worker.check_claims()
        assert [claim.id for claim in taken] == [outcome.execution_id]
        monkeypatch.undo()
        held.may_arrive.set()
        work.may_end.set()


async def test_d3_an_answer_that_arrives_after_a_check_is_carried_out_once(
    deployment: OpenDeployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = Work()
    async with deployment() as made:
        gateway, runtime = await made.gateway(work.tools()), await made.worker(work.tools())
        held, worker = HeldAnswer(runtime.store, monkeypatch), worker_of(runtime)
        session = await gateway.open("s", "ann")
        outcome = await session.call("work", {"n": 1})
        async with asyncio.timeout(90):
            await held.made.wait()
            for _ in range(2):
                await worker.check_claims()
            await until(lambda: work.runs == [1])
            held.may_arrive.set()
            await settle()
            for _ in range(3):
                await worker.check_claims()
        assert list(worker.running) == [outcome.execution_id]
        work.may_end.set()
        assert outcome.execution_id is not None
        assert (await session.result(outcome.execution_id, timeout=90)).value == 1
        assert work.runs == [1]


async def test_d3_a_call_that_is_claimed_while_its_worker_stops_is_carried_out(
    deployment: OpenDeployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = Work()
    async with deployment() as made:
        gateway, runtime = await made.gateway(work.tools()), await made.worker(work.tools())
        held, worker = HeldAnswer(runtime.store, monkeypatch), worker_of(runtime)
        session = await gateway.open("s", "ann")
        outcome = await session.call("work", {"n": 1})
        async with asyncio.timeout(90):
            await held.made.wait()
            stopping = asyncio.create_task(worker.drain())
            await settle()
            held.may_arrive.set()
            await until(lambda: work.runs == [1])
            assert not stopping.done(), "it waits for the call"
            work.may_end.set()
            await stopping
        assert outcome.execution_id is not None
        assert (await session.result(outcome.execution_id, timeout=90)).value == 1


async def test_d3_a_call_that_is_not_claimed_when_its_worker_stops_goes_to_another(
    deployment: OpenDeployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = Work()
    work.may_end.set()
    async with deployment() as made:
        gateway, runtime = await made.gateway(work.tools()), await made.worker(work.tools())
        worker, reached, may_go_on = worker_of(runtime), asyncio.Event(), asyncio.Event()
        sessions_of = runtime.sessions._recovery.sessions_of

        async def hold(keys: Any) -> Any:
            reached.set()
            await may_go_on.wait()
            return await sessions_of(keys)

        monkeypatch.setattr(runtime.sessions._recovery, "sessions_of", hold)
        session = await gateway.open("s", "ann")
        outcome = await session.call("work", {"n": 1})
        async with asyncio.timeout(90):
            await reached.wait()
            stopping = asyncio.create_task(worker.stop())
            await settle()
            may_go_on.set()
            await stopping
        assert work.runs == []
        await made.worker(work.tools())
        assert outcome.execution_id is not None
        assert (await session.result(outcome.execution_id, timeout=90)).value == 1
        assert (worker.done, work.runs) == (0, [1])
