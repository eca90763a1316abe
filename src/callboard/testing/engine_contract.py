"""The test suite that every engine must pass. Run it over an engine of your own with pytest:

```python
import pytest

from callboard.testing.engine_contract import EngineContract


class TestMyEngine(EngineContract):
    @pytest.fixture
    def engines(self):
        return lambda: MyEngine("my://…")  # engines that are connected with each other
```

The fixture `engines` returns a function that makes engines of one deployment, not opened yet, without messages. The
suite needs pytest, and runs on AnyIO's pytest plugin, which comes with Callboard.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager

import pytest

from ..execution.engine import Deliver, Engine, QueueMessage, WorkerStatus
from ..storage.owners import QueuedCall

TIMEOUT = 20.0
"""Seconds to wait for something that takes milliseconds."""
MakeEngine = Callable[[], Engine]


def call(number: int, queue: str = "default") -> QueuedCall:
    return QueuedCall("s", f"x{number}", "add", queue, "ann")


async def plenty() -> int:
    return 100


@asynccontextmanager
async def opened(engines: MakeEngine) -> AsyncGenerator[Engine]:
    """Open an engine, and wait until it is connected."""
    engine, connected = engines(), asyncio.Event()
    await engine.open(connected.set)
    try:
        async with asyncio.timeout(TIMEOUT):
            await connected.wait()
        yield engine
    finally:
        await engine.close()


async def until(condition: Callable[[], bool], timeout: float = TIMEOUT) -> None:
    """Wait until a condition holds that no event announces."""
    async with asyncio.timeout(timeout):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def until_waiting(engine: Engine, count: int) -> None:
    """Wait until so many messages of the default queue are not done."""
    async with asyncio.timeout(TIMEOUT):
        while await engine.waiting("default") != count:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


class Served:
    """The messages of a queue that were received."""

    def __init__(self, handle: Callable[[QueueMessage], Awaitable[None]] | None = None) -> None:
        self.ids: list[str] = []
        self.batches: list[int] = []
        self._handle = handle
        self._came = asyncio.Event()

    async def deliver(self, messages: Sequence[QueueMessage]) -> None:
        self.batches.append(len(messages))
        for message in messages:
            self.ids.append(message.call.id)
            await (message.done() if self._handle is None else self._handle(message))
        self._came.set()

    async def until(self, count: int) -> None:
        async with asyncio.timeout(TIMEOUT):
            while len(self.ids) < count:
                self._came.clear()
                await self._came.wait()


@asynccontextmanager
async def serving(
    engine: Engine, deliver: Deliver, queue: str = "default", room: Callable[[], Awaitable[int]] = plenty
) -> AsyncGenerator[None]:
    task = asyncio.create_task(engine.serve(queue, room, deliver))
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


class EngineContract:
    """The promises of every engine, for the fixture `engines`."""

    pytestmark = pytest.mark.anyio

    @pytest.fixture
    def anyio_backend(self) -> str:
        return "asyncio"

    async def test_d3_messages_reach_a_worker_of_their_queue(self, engines: MakeEngine) -> None:
        async with opened(engines) as gateway, opened(engines) as worker:
            gateway.submit(call(1))
            gateway.submit(call(2, "gpu"))
            served = Served()
            async with serving(worker, served.deliver):
                gateway.submit(call(3))
                await served.until(2)
            assert sorted(served.ids) == ["x1", "x3"]
            gpu = Served()
            async with serving(worker, gpu.deliver, "gpu"):
                await gpu.until(1)
            assert gpu.ids == ["x2"], "it waited for a worker"

    async def test_d3_each_message_goes_to_one_worker(self, engines: MakeEngine) -> None:
        async with opened(engines) as gateway, opened(engines) as one, opened(engines) as two:
            first, second = Served(), Served()
            async with serving(one, first.deliver), serving(two, second.deliver):
                for number in range(50):
                    gateway.submit(call(number))
                await until(lambda: len(first.ids) + len(second.ids) == 50)
            assert sorted([*first.ids, *second.ids]) == sorted(f"x{number}" for number in range(50))

    async def test_d3_messages_that_are_put_back_come_again(self, engines: MakeEngine) -> None:
        tries = 0

        async def refuse_twice(message: QueueMessage) -> None:
            nonlocal tries
            tries += 1
            await (message.put_back() if tries < 3 else message.done())

        async with opened(engines) as engine:
            engine.submit(call(1))
            served = Served(refuse_twice)
            async with serving(engine, served.deliver):
                await served.until(3)
            assert served.ids == ["x1"] * 3

    async def test_d3_messages_that_are_not_done_count_as_waiting(self, engines: MakeEngine) -> None:
        taken: list[QueueMessage] = []

        async def keep(message: QueueMessage) -> None:
            taken.append(message)

        async with opened(engines) as engine:
            assert await engine.waiting("default") == 0
            for number in range(3):
                engine.submit(call(number))
            served = Served(keep)
            async with serving(engine, served.deliver):
                await served.until(3)
                assert await engine.waiting("default") == 3
                for message in taken:
                    await message.done()
                await until_waiting(engine, 0)
            assert await engine.waiting("other") == 0

    async def test_d3_no_more_messages_are_taken_than_there_is_room_for(self, engines: MakeEngine) -> None:
        async def room() -> int:
            return 2

        async with opened(engines) as engine:
            for number in range(7):
                engine.submit(call(number))
            served = Served()
            async with serving(engine, served.deliver, room=room):
                await served.until(7)
            assert max(served.batches) <= 2

    async def test_d3_a_wake_reaches_one_gateway(self, engines: MakeEngine) -> None:
        woken: list[str | None] = []
        came = asyncio.Event()

        async def wake(session_id: str | None) -> None:
            woken.append(session_id)
            came.set()

        async with opened(engines) as worker, opened(engines) as one, opened(engines) as two:
            tasks = [asyncio.create_task(engine.serve_wakes(wake)) for engine in (one, two)]
            worker.wake("s")
            async with asyncio.timeout(TIMEOUT):
                await came.wait()
            came.clear()
            worker.wake(None)
            async with asyncio.timeout(TIMEOUT):
                await came.wait()
            assert woken == ["s", None]
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)

    async def test_d3_a_wake_waits_for_the_connection(self, engines: MakeEngine) -> None:
        woken: list[str | None] = []

        async def wake(session_id: str | None) -> None:
            woken.append(session_id)

        worker = engines()
        await worker.open(lambda: None)
        worker.wake("early")
        async with opened(engines) as gateway:
            task = asyncio.create_task(gateway.serve_wakes(wake))
            await until(lambda: woken == ["early"])
            task.cancel()
            await asyncio.wait([task])
        await worker.close()

    async def test_d3_workers_describe_themselves(self, engines: MakeEngine) -> None:
        def describe(name: str) -> WorkerStatus:
            running = [{"tool": "add", "execution_id": "x", "session_id": "s", "seconds": 1.0}]
            return WorkerStatus(id=name, host="h", pid=1, queues=["default"], concurrency=4, running=running, done=2)

        async with opened(engines) as one, opened(engines) as two, opened(engines) as looking:
            assert await looking.workers(0.2) == []
            await two.announce(lambda: describe("b"))
            await one.announce(lambda: describe("a"))
            async with asyncio.timeout(TIMEOUT):
                while len(found := await looking.workers(0.2)) < 2:
                    pass
            assert [each.id for each in found] == ["a", "b"]
            assert found[0] == describe("a")

    async def test_d3_an_engine_without_problems_reports_none(self, engines: MakeEngine) -> None:
        assert await engines().problems() == []
