"""A handler that has blocked the event loop is named in the log and on the boards of its sessions (X11)."""

import asyncio
import functools
import logging
import threading
import time
from collections.abc import Generator
from typing import Annotated, Any

import pytest

from callboard import Runtime, tool

pytestmark = pytest.mark.anyio

NOTICED = threading.Event()
"""Whether the watchdog has logged a handler. A handler blocks until then, however late the watchdog's thread runs."""


class Noticing(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        NOTICED.set()


@pytest.fixture(autouse=True)
def noticing() -> Generator[None]:
    NOTICED.clear()
    logger, handler = logging.getLogger("callboard.watchdog"), Noticing()
    logger.addHandler(handler)
    yield
    logger.removeHandler(handler)


def block() -> None:
    assert NOTICED.wait(90)


@tool
async def rude(seconds: Annotated[float, "How long at least"]) -> str:
    """Block the loop, as no handler should."""
    time.sleep(seconds)  # noqa: ASYNC251
    block()
    return "done"


@tool
async def polite() -> str:
    """Wait without blocking."""
    await asyncio.sleep(0.15)
    return "done"


async def test_x11_handler_that_blocks_the_loop_is_named(caplog: pytest.LogCaptureFixture) -> None:
    began = time.monotonic()
    async with Runtime([rude, polite], blocked_after=0.1) as runtime:
        session, other = await runtime.open("s", "u"), await runtime.open("other", "u")
        assert (await session.call("rude", {"seconds": 0.2})).value == "done"
        async with asyncio.timeout(90):
            await session.board.wait(4)  # after the four events of the call itself
        event = session.board.read(0)[-1]
        assert event.kind == "system_notice"
        assert event.data["tool"] == "rude"
        assert 0.1 < event.data["seconds"] < time.monotonic() - began
        assert "The tool rude blocked everything for" in event.data["message"]
        assert other.board.last_seq == 0, "other sessions are not notified"
    assert "the handler of rude has blocked the event loop" in caplog.text


async def test_x11_handlers_that_wait_are_not_reported(caplog: pytest.LogCaptureFixture) -> None:
    async with Runtime([rude, polite], blocked_after=0.1) as runtime:
        session = await runtime.open("s", "u")
        assert (await session.call("polite")).value == "done"
        assert "system_notice" not in [event.kind for event in session.board.read(0)]
    assert "has blocked the event loop" not in caplog.text


async def busy() -> None:
    block()


async def soon() -> None:
    await asyncio.sleep(0)


async def idle() -> None:
    await asyncio.Event().wait()


def decorated(function: Any) -> Any:
    @functools.wraps(function)
    async def wrapper() -> Any:
        if function is not idle:
            block()
        return await function()

    return wrapper


async def after_a_wait() -> None:
    await asyncio.sleep(0)
    await busy()


class Instance:
    async def __call__(self) -> None:
        await busy()


async def in_a_task() -> None:
    await asyncio.sleep(0)
    await asyncio.create_task(busy())


async def in_tasks_of_tasks() -> None:
    await asyncio.gather(asyncio.sleep(0), asyncio.create_task(in_a_task()))


async def in_a_group() -> None:
    async def own() -> None:
        await asyncio.sleep(0)
        await busy()

    async with asyncio.TaskGroup() as group:
        group.create_task(own())


BLOCKING = {
    "decorator": decorated(soon),
    "partial": functools.partial(functools.partial(busy)),
    "object": Instance(),
    "method": Instance().__call__,
    "after a wait": after_a_wait,
    "task": in_a_task,
    "task of a task": in_tasks_of_tasks,
    "group": in_a_group,
}


@pytest.mark.parametrize("handler", BLOCKING.values(), ids=BLOCKING)
async def test_x11_a_blocking_handler_of_any_form_is_named(handler: Any, caplog: pytest.LogCaptureFixture) -> None:
    culprit = tool(name="culprit", description="Block.")(handler)
    bystander = tool(name="bystander", description="Wait.", mode="background")(decorated(idle))
    async with Runtime([culprit, bystander], blocked_after=0.1) as runtime:
        session = await runtime.open("s", "u")
        await session.call("bystander")
        assert (await session.call("culprit")).status == "succeeded"
        async with asyncio.timeout(90):
            while session.board.read(0)[-1].kind != "system_notice":
                await session.board.wait(session.board.last_seq)
        assert session.board.read(0)[-1].data["tool"] == "culprit"
    assert "the handler of culprit has blocked the event loop" in caplog.text
