"""Background tasks: their errors are logged, and they end with their owner."""

import asyncio
import inspect

import pytest

from callboard.background_tasks import BackgroundTasks
from callboard.storage.errors import StoreError, StoreUnavailable
from callboard.testing import settle

pytestmark = pytest.mark.anyio


async def test_error_of_a_background_task_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def fails(error: Exception) -> None:
        raise error

    background = BackgroundTasks(expected=StoreError)
    background.run(fails(StoreUnavailable("it is away")))
    background.run(fails(ValueError("a fault of ours")))
    await settle()
    assert [(record.levelname, record.message) for record in caplog.records] == [
        ("WARNING", "a background task failed: it is away"),
        ("ERROR", "the runtime failed in a background task"),
    ]
    await background.close()


async def test_closing_cancels_running_and_unstarted_tasks() -> None:
    ended: list[str] = []

    async def waits() -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.append("under way")

    background = BackgroundTasks()
    background.run(waits())
    await settle()
    never = waits()
    background.run(never)
    await background.close()
    assert ended == ["under way"]
    assert inspect.getcoroutinestate(never) == inspect.CORO_CLOSED


async def test_finish_returns_whether_all_tasks_have_ended() -> None:
    background, gate = BackgroundTasks(), asyncio.Event()
    assert await background.finish(timeout=0)
    task = background.start(gate.wait(), "the gate")
    assert task.get_name() == "the gate"
    assert not await background.finish(timeout=0)
    gate.set()
    assert await background.finish()
    assert task.result() is True
