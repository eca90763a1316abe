"""Coroutines that begin without a task of their own: for them nothing differs from an ordinary task.

What must not differ is tested twice, begun by a starter and by an ordinary task.
"""

import asyncio
import gc
import sys
import types
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from typing import Annotated, Any

import anyio
import pytest

from callboard import ToolContext, tool
from callboard.execution.starter import NAME, READY, Starter
from callboard.testing import Harness, settle

pytestmark = pytest.mark.anyio

Work = Coroutine[Any, Any, None]
Begin = Callable[[Work], Awaitable["asyncio.Task[None] | None"]]

place: ContextVar[str] = ContextVar("place", default="nowhere")


@asynccontextmanager
async def opened() -> AsyncGenerator[Starter]:
    """A starter, which leaves no task behind."""
    starter = Starter()
    await starter.open()
    try:
        yield starter
    finally:
        await starter.close()
    assert [task for task in asyncio.all_tasks() if task.get_name() == NAME] == []


@pytest.fixture(params=["starter", "task"])
async def begin(request: pytest.FixtureRequest) -> AsyncIterator[Begin]:
    """Begins a coroutine and lets it take its first step. Gives its task, if it still has one."""

    async def ordinary(work: Work) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        await asyncio.sleep(0)
        return task

    if request.param == "task":
        yield ordinary
        return
    async with opened() as starter:

        async def parked(work: Work) -> "asyncio.Task[None] | None":
            return starter.start(work)

        yield parked


async def finish(begin: Begin, work: Work) -> None:
    if (task := await begin(work)) is not None:
        await task


def this() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    assert task is not None
    return task


@contextmanager
def without_gc() -> Generator[None]:
    """Only what nothing refers to any more is freed here, no cycles."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class Thing:
    """Something whose end can be seen."""


# The task


async def test_the_current_task_is_a_real_one_and_stays_the_same(begin: Begin) -> None:
    seen: list[asyncio.Task[Any] | None] = []

    async def work() -> None:
        for _ in range(3):
            seen.append(asyncio.current_task())
            await asyncio.sleep(0)

    caller = this()
    task = await begin(work())
    assert asyncio.current_task() is caller
    assert isinstance(task, asyncio.Task)
    assert not task.done()
    await task
    assert seen == [task] * 3
    assert task is not caller
    assert (task.done(), task.cancelled(), task.exception()) == (True, False, None)


async def test_what_ends_in_its_first_step_needs_no_task() -> None:
    seen: list[Any] = []

    async def work(number: int) -> None:
        seen.append((number, this() is task))

    async with opened() as starter:
        task = starter.ready[-1].task
        for number in range(3):
            assert starter.start(work(number)) is None
        assert seen == [(number, True) for number in range(3)], "one after the other has the same"
        assert len(starter.ready) == READY
        assert not task.done()


async def test_an_error_after_a_wait_is_the_tasks_and_one_in_the_first_step_is_raised() -> None:
    async def work(turns: int) -> None:
        for _ in range(turns):
            await asyncio.sleep(0)
        raise KeyError("mine")

    async with opened() as starter:
        task = starter.start(work(2))
        assert task is not None
        with pytest.raises(KeyError, match="mine"):
            await task
        caller = this()
        with pytest.raises(KeyError, match="mine"):
            starter.start(work(0))
        assert this() is caller


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, asyncio.CancelledError, GeneratorExit])
async def test_what_ends_the_process_comes_through_and_leaves_all_in_order(error: type[BaseException]) -> None:
    async def stop() -> None:
        raise error

    done: list[str] = []

    async def work() -> None:
        await asyncio.sleep(0)
        done.append("done")

    async with opened() as starter:
        caller = this()
        for _ in range(2 * READY):
            with pytest.raises(error):
                starter.start(stop())
            assert this() is caller
            await settle(2)
        assert len(starter.ready) == READY
        task = starter.start(work())
        assert task is not None
        await task
        assert done == ["done"]


async def test_a_chain_of_starts_deeper_than_the_tasks_that_are_ready() -> None:
    depth, seen, tasks = 3 * READY, list[Any](), list[Any]()

    async def level(number: int) -> None:
        me = this()
        seen.append(me)
        if number < depth:
            task = starter.start(level(number + 1))
            assert this() is me
            if task is not None:
                tasks.append(task)
                await task
                assert this() is me

    async with opened() as starter:
        outermost = starter.start(level(1))
        assert outermost is not None
        assert len(seen) == READY, "as many as were ready have begun"
        await outermost
        assert len(seen) == len(set(seen)) == depth
        assert all(task.done() for task in tasks)
        await settle(2)
        assert len(starter.ready) == READY


async def test_start_outside_of_any_task() -> None:
    seen: list[Any] = []
    tasks: list[Any] = []

    async def work(turns: int) -> None:
        for _ in range(turns):
            seen.append(this() is spare)
            await asyncio.sleep(0)
        seen.append(this() is spare)

    def callback() -> None:
        seen.append(asyncio.current_task())
        tasks.append(starter.start(work(0)))
        tasks.append(starter.start(work(1)))
        seen.append(asyncio.current_task())

    async with opened() as starter:
        spare = starter.ready[-1].task
        asyncio.get_running_loop().call_soon(callback)
        await settle(3)
        assert tasks == [None, spare]
        assert seen == [None, True, True, None, True]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda: 3, "Task got bad yield: 3"),
        (lambda: asyncio.get_running_loop().create_future(), "yield was used instead of yield from"),
    ],
)
async def test_what_cannot_be_waited_for_is_told_to_the_coroutine(
    begin: Begin, given: Callable[[], Any], message: str
) -> None:
    errors: list[str] = []

    @types.coroutine
    def bare() -> Generator[Any, Any, None]:
        yield given()

    async def work() -> None:
        try:
            await bare()
        except RuntimeError as error:
            errors.append(str(error))

    await finish(begin, work())
    assert len(errors) == 1
    assert message in errors[0]


async def test_waiting_for_itself_is_an_error(begin: Begin) -> None:
    async def work() -> None:
        with pytest.raises(RuntimeError, match="Task cannot await on itself"):
            await this()
        ended.append(this())

    ended: list[asyncio.Task[Any]] = []
    await begin(work())
    await settle(3)
    assert [task.done() for task in ended] == [True]


async def test_many_wait_for_one_future_in_the_same_turn(begin: Begin) -> None:
    """A future that is on its way to a task is not one that nobody else may await."""
    future = asyncio.get_running_loop().create_future()
    got: list[int] = []

    async def work() -> None:
        got.append(await future)

    other = asyncio.create_task(work())
    first, second = await begin(work()), await begin(work())
    await settle()
    third = await begin(work())
    future.set_result(1)
    await asyncio.gather(*(task for task in (other, first, second, third) if task is not None))
    assert got == [1] * 4


async def test_a_future_that_is_done_before_the_task_takes_over(begin: Begin) -> None:
    future = asyncio.get_running_loop().create_future()
    got: list[int] = []

    async def work() -> None:
        got.append(await future)
        with pytest.raises(KeyError):
            await failing

    task = await begin(work())
    future.set_result(1)
    failing = asyncio.get_running_loop().create_future()
    failing.set_exception(KeyError())
    assert task is not None
    await task
    assert got == [1]


# Time limits and groups that are opened in the first step


async def for_ever() -> None:
    await asyncio.get_running_loop().create_future()


async def asyncio_timeout() -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await for_ever()


async def asyncio_timeout_moved() -> None:
    async def impatient() -> None:
        async with asyncio.timeout(None) as limit:
            await asyncio.sleep(0)
            limit.reschedule(asyncio.get_running_loop().time())
            await for_ever()

    with pytest.raises(TimeoutError):
        await impatient()


async def asyncio_wait_for() -> None:
    for seconds in (0, 1e-6):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(for_ever(), seconds)


async def fail() -> None:
    raise KeyError


async def asyncio_group() -> None:
    async def failing() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(fail())
            await for_ever()

    with pytest.raises(ExceptionGroup) as caught:
        await failing()
    assert [type(error) for error in caught.value.exceptions] == [KeyError]


async def asyncio_group_of_many() -> None:
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(asyncio.sleep(0, number)) for number in range(3)]
    assert [task.result() for task in tasks] == [0, 1, 2]


async def anyio_move_on() -> None:
    with anyio.move_on_after(0) as scope:
        await for_ever()
    assert scope.cancelled_caught


async def anyio_fail() -> None:
    with pytest.raises(TimeoutError), anyio.fail_after(0):
        await for_ever()


async def anyio_cancelled_at_once() -> None:
    with anyio.CancelScope() as scope:
        scope.cancel()
        await for_ever()
    assert scope.cancelled_caught


async def anyio_cancelled_later() -> None:
    with anyio.CancelScope() as scope:
        asyncio.get_running_loop().call_soon(scope.cancel)
        await anyio.sleep_forever()
    assert scope.cancelled_caught


async def anyio_shielded() -> None:
    steps: list[str] = []
    with anyio.CancelScope() as scope:
        scope.cancel()
        with anyio.CancelScope(shield=True):
            await asyncio.sleep(0)
            steps.append("shielded")
        await anyio.lowlevel.checkpoint()
        steps.append("not reached")
    assert steps == ["shielded"]


async def anyio_group() -> None:
    async def failing() -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(fail)
            await anyio.sleep_forever()

    with pytest.raises(ExceptionGroup) as caught:
        await failing()
    assert [type(error) for error in caught.value.exceptions] == [KeyError]


async def anyio_group_cancelled_by_a_child() -> None:
    async with anyio.create_task_group() as group:

        async def stop() -> None:
            group.cancel_scope.cancel()

        group.start_soon(stop)
        await anyio.sleep_forever()


async def anyio_group_with_a_start() -> None:
    async def serve(*, task_status: anyio.abc.TaskStatus[int]) -> None:
        task_status.started(1)
        await anyio.sleep_forever()

    async with anyio.create_task_group() as group:
        assert await group.start(serve) == 1
        group.cancel_scope.cancel()


async def anyio_thread() -> None:
    place.set("thread")
    assert await anyio.to_thread.run_sync(place.get) == "thread"
    assert await asyncio.to_thread(place.get) == "thread"


LIMITS = [
    asyncio_timeout,
    asyncio_timeout_moved,
    asyncio_wait_for,
    asyncio_group,
    asyncio_group_of_many,
    anyio_move_on,
    anyio_fail,
    anyio_cancelled_at_once,
    anyio_cancelled_later,
    anyio_shielded,
    anyio_group,
    anyio_group_cancelled_by_a_child,
    anyio_group_with_a_start,
    anyio_thread,
]


@pytest.mark.parametrize("limited", LIMITS)
async def test_limits_hit_the_coroutine_that_opened_them_and_nobody_else(
    begin: Begin, limited: Callable[[], Work]
) -> None:
    steps: list[str] = []

    async def work() -> None:
        await limited()
        assert this().cancelling() == 0
        for _ in range(3):
            await asyncio.sleep(0)
        steps.append("went on")

    async def bystander() -> None:
        await settle()
        steps.append("was left alone")

    other = await begin(bystander())
    await finish(begin, work())
    assert this().cancelling() == 0
    assert other is not None
    await other
    assert sorted(steps) == ["was left alone", "went on"]


@pytest.mark.parametrize("limited", LIMITS)
async def test_limits_of_a_handler_hit_the_handler_and_nobody_else(limited: Callable[[], Work]) -> None:
    @tool
    async def inner() -> str:
        """Wait, with a limit."""
        await limited()
        await asyncio.sleep(0)
        return "inner"

    @tool
    async def outer(ctx: ToolContext) -> list[str]:
        """Ask for it."""
        return [await ctx.call("inner"), "outer"]

    async with Harness(inner, outer) as harness:
        assert (await harness.session.call("inner")).value == "inner"
        assert (await harness.session.call("outer")).value == ["inner", "outer"]
        assert this().cancelling() == 0


async def test_limits_of_the_caller_hit_the_caller_alone() -> None:
    go = asyncio.Event()
    steps: list[str] = []

    async def work() -> None:
        await go.wait()
        steps.append("went on")

    async def impatient() -> None:
        async with asyncio.timeout(0):
            tasks.append(starter.start(work()))
            await for_ever()

    tasks: list[asyncio.Task[None] | None] = []
    async with opened() as starter:
        with pytest.raises(TimeoutError):
            await impatient()
        with anyio.move_on_after(0):
            tasks.append(starter.start(work()))
            await for_ever()
        go.set()
        for task in tasks:
            assert task is not None
            await task
    assert steps == ["went on"] * 2


@pytest.mark.parametrize(
    "enter",
    [
        lambda: asyncio.timeout(0),
        lambda: asyncio.timeout(1e-6),
        lambda: asyncio.TaskGroup(),
    ],
)
async def test_what_is_opened_and_closed_in_the_first_step_does_not_hit_the_next(enter: Callable[[], Any]) -> None:
    async def short() -> None:
        async with enter():
            pass

    async def scoped() -> None:
        with anyio.CancelScope() as scope:  # noqa: ASYNC100
            scope.cancel()

    async def work() -> None:
        await settle()
        steps.append("went on")

    steps: list[str] = []
    async with opened() as starter:
        for first in (short, scoped):
            assert starter.start(first()) is None
            task = starter.start(work())
            assert task is not None
            await task
    assert steps == ["went on"] * 2


# Context variables


async def test_context_variables_stay_with_the_coroutine(begin: Begin) -> None:
    seen: list[str] = []

    async def work(name: str) -> None:
        seen.append(place.get())
        token = place.set(name)
        for _ in range(2):
            await asyncio.sleep(0)
            seen.append(place.get())
        place.reset(token)
        seen.append(place.get())

    token = place.set("caller")
    task = await begin(work("first"))
    assert place.get() == "caller"
    place.set("changed")
    assert task is not None
    await task
    assert seen == ["caller", "first", "first", "caller"], "a copy of what its caller had when it began"
    assert place.get() == "changed"
    seen.clear()
    await finish(begin, work("second"))
    assert seen == ["changed", "second", "second", "changed"]
    place.reset(token)


async def test_context_variables_of_a_call_are_gone_with_it() -> None:
    @tool
    async def move(where: Annotated[str, "Where to"], turns: Annotated[int, "How often it waits"]) -> list[str]:
        """Go there."""
        seen = [place.get()]
        place.set(where)
        for _ in range(turns):
            await asyncio.sleep(0)
            seen.append(place.get())
        return seen

    async with Harness(move) as harness:
        for turns in (0, 0, 2, 0, 2):
            outcome = await harness.session.call("move", {"where": "x", "turns": turns})
            assert outcome.value == ["nowhere", *["x"] * turns]
            assert place.get() == "nowhere"


async def test_callbacks_and_tasks_of_a_coroutine_have_its_context(begin: Begin) -> None:
    seen: list[str] = []

    async def look() -> None:
        seen.append(place.get())

    async def work() -> None:
        place.set("here")
        asyncio.get_running_loop().call_soon(lambda: seen.append(place.get()))
        await asyncio.create_task(look())
        asyncio.get_running_loop().call_soon(lambda: seen.append(place.get()))
        await asyncio.create_task(look())

    await finish(begin, work())
    assert seen == ["here"] * 4


async def test_a_task_that_waits_for_work_keeps_nothing_of_a_caller() -> None:
    async def work() -> None:
        await asyncio.sleep(0)

    async def call() -> weakref.ref[Thing]:
        thing = Thing()
        held.set(thing)
        for _ in range(READY):
            task = starter.start(work())
            assert task is not None
            await task
        return weakref.ref(thing)

    held: ContextVar[Thing] = ContextVar("held")
    async with opened() as starter:
        thing = await asyncio.create_task(call())
        await settle(2)
        gc.collect()
        assert thing() is None


# Cancellation

MOMENTS = ["in the first step", "right after it", "while it waits"]


class Waits:
    """What a coroutine may wait for, and how that fares."""

    def __init__(self) -> None:
        self.future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.child: asyncio.Task[None] | None = None

    async def on_a_future(self) -> None:
        await self.future

    async def on_a_task(self) -> None:
        self.child = asyncio.create_task(for_ever())
        await self.child

    async def on_several(self) -> None:
        self.child = asyncio.create_task(for_ever())
        await asyncio.gather(self.child, self.future)

    async def on_nothing(self) -> None:
        while True:  # noqa: ASYNC110
            await asyncio.sleep(0)

    async def on_an_event(self) -> None:
        await asyncio.Event().wait()

    async def on_a_scope(self) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(for_ever)
            await anyio.sleep_forever()


WAITS = [
    Waits.on_a_future,
    Waits.on_a_task,
    Waits.on_several,
    Waits.on_nothing,
    Waits.on_an_event,
    Waits.on_a_scope,
]


@pytest.mark.parametrize("message", [None, "enough"])
@pytest.mark.parametrize("wait", WAITS)
@pytest.mark.parametrize("moment", MOMENTS)
async def test_x8_a_cancelled_coroutine_is_told_once_where_it_waits(
    begin: Begin, moment: str, wait: Callable[[Waits], Work], message: str | None
) -> None:
    told: list[tuple[Any, ...]] = []
    waits = Waits()
    cancel = partial(asyncio.Task[None].cancel, msg=message)

    async def work() -> None:
        if moment == "in the first step":
            cancel(this())
        try:
            await wait(waits)
        except asyncio.CancelledError as error:
            told.append(error.args)
        assert this().cancelling() == 1
        await asyncio.sleep(0)  # it is not told again
        told.append(("went on",))

    task = await begin(work())
    assert task is not None
    if moment == "right after it":
        cancel(task)
    elif moment == "while it waits":
        await settle()
        cancel(task)
    await task
    if wait is not Waits.on_a_scope:  # where AnyIO speaks
        assert told[0] == (() if message is None else (message,))
    assert len(told) == 2
    if wait is Waits.on_a_future:
        assert waits.future.cancelled()
    if wait in (Waits.on_a_task, Waits.on_several):
        assert waits.child is not None
        assert waits.child.cancelled()
    assert not task.cancelled()


@pytest.mark.parametrize("moment", MOMENTS)
async def test_x8_a_coroutine_that_lets_itself_be_cancelled_ends_as_a_cancelled_task(begin: Begin, moment: str) -> None:
    cleaned: list[str] = []

    async def work() -> None:
        try:
            if moment == "in the first step":
                this().cancel("enough")
            await for_ever()
        finally:
            await asyncio.sleep(0)
            cleaned.append("cleaned")

    task = await begin(work())
    assert task is not None
    if moment == "while it waits":
        await settle()
    if moment != "in the first step":
        task.cancel("enough")
    with pytest.raises(asyncio.CancelledError, match="enough"):
        await task
    assert task.cancelled()
    assert cleaned == ["cleaned"]
    assert this().cancelling() == 0


async def test_x8_a_coroutine_whose_future_was_done_is_cancelled_all_the_same(begin: Begin) -> None:
    future = asyncio.get_running_loop().create_future()
    told: list[str] = []

    async def work() -> None:
        try:
            await future
        except asyncio.CancelledError:
            told.append("cancelled")

    task = await begin(work())
    future.set_result(None)
    assert task is not None
    task.cancel()
    await task
    assert told == ["cancelled"]


async def test_x8_a_coroutine_that_cancels_itself_and_ends(begin: Begin) -> None:
    seen: list[asyncio.Task[Any]] = []

    async def work() -> None:
        seen.append(this())
        this().cancel()

    await begin(work())
    await settle()
    assert seen[0].cancelled()


async def test_x8_a_cancelled_coroutine_may_go_on_and_be_cancelled_again(begin: Begin) -> None:
    told: list[int] = []

    async def work() -> None:
        for number in range(3):
            try:
                await for_ever()
            except asyncio.CancelledError:
                told.append(number)

    task = await begin(work())
    assert task is not None
    for number in range(3):
        task.cancel()
        task.cancel()  # of which it is told once
        await settle(3)
        assert told == [*range(number + 1)]
    await task
    assert task.cancelling() == 6


async def test_x8_a_child_that_is_waited_for_may_ignore_its_cancellation(begin: Begin) -> None:
    got: list[str] = []

    async def stubborn() -> str:
        try:
            await for_ever()
        except asyncio.CancelledError:
            return "done anyway"
        return "never"

    async def work() -> None:
        child = asyncio.create_task(stubborn())
        await asyncio.sleep(0)
        got.append(await child)

    task = await begin(work())
    assert task is not None
    await settle()
    task.cancel()
    await task
    assert got == ["done anyway"]


@pytest.mark.skipif(sys.version_info < (3, 13), reason="before, a request to cancel could not be taken back")
async def test_x8_a_cancellation_that_is_taken_back_in_the_first_step_is_not_told(begin: Begin) -> None:
    steps: list[str] = []

    async def work() -> None:
        this().cancel()
        this().uncancel()
        await asyncio.sleep(0)
        steps.append("went on")

    await finish(begin, work())
    assert steps == ["went on"]


async def test_x8_cancelling_the_caller_in_a_first_step_hits_the_caller(begin: Begin) -> None:
    steps: list[str] = []

    async def work(caller: asyncio.Task[Any]) -> None:
        caller.cancel("you")
        await asyncio.sleep(0)
        steps.append("went on")

    async def call() -> None:
        tasks.append(await begin(work(this())))
        await for_ever()

    tasks: list[asyncio.Task[None] | None] = []
    with pytest.raises(asyncio.CancelledError, match="you"):
        await asyncio.create_task(call())
    await settle()
    assert steps == ["went on"]


# Tasks that are not used again


def a_strong_reference(task: asyncio.Task[Any]) -> Any:
    return task


def a_weak_reference(task: asyncio.Task[Any]) -> Any:
    return weakref.ref(task)


def a_weak_key(task: asyncio.Task[Any]) -> Any:
    return weakref.WeakKeyDictionary({task: 1})


def a_method(task: asyncio.Task[Any]) -> Any:
    return task.cancel


def a_callback(task: asyncio.Task[Any]) -> Any:
    task.add_done_callback(lambda _: None)


def a_name(task: asyncio.Task[Any]) -> Any:
    task.set_name("mine")


def a_request_to_end(task: asyncio.Task[Any]) -> Any:
    task.cancel()


def a_request_that_was_taken_back(task: asyncio.Task[Any]) -> Any:
    task.cancel()
    task.uncancel()


def an_attribute(task: asyncio.Task[Any]) -> Any:
    name = "left"
    setattr(task, name, 1)


@pytest.mark.parametrize(
    "leave",
    [
        a_strong_reference,
        a_weak_reference,
        a_weak_key,
        a_method,
        a_callback,
        a_name,
        a_request_to_end,
        a_request_that_was_taken_back,
        an_attribute,
    ],
)
@pytest.mark.parametrize("fails", [False, True])
async def test_a_task_on_which_something_was_left_is_not_used_again(
    leave: Callable[[asyncio.Task[Any]], Any], fails: bool
) -> None:
    kept: list[Any] = []
    seen: list[asyncio.Task[Any]] = []

    async def first() -> None:
        kept.append(leave(this()))
        if fails:
            raise KeyError

    async def next_one() -> None:
        seen.append(this())
        assert this().get_name() == NAME
        await settle(2)

    async with opened() as starter:
        used = starter.ready[-1].task
        try:
            assert starter.start(first()) is None
        except KeyError:
            assert fails
        tasks = [starter.start(next_one()) for _ in range(READY - 1)]
        await asyncio.gather(*(task for task in tasks if task is not None))
        assert len(seen) == READY - 1
        assert used not in seen
        assert used.done(), "it has ended, as the task of something that has ended"
        assert used.cancelled() == (leave in (a_request_to_end, a_request_that_was_taken_back))
        assert len(starter.ready) == READY, "and there is another for it"


async def test_a_callback_of_a_task_is_called_when_its_coroutine_has_ended(begin: Begin) -> None:
    ended: list[asyncio.Task[Any]] = []

    async def work(turns: int) -> None:
        this().add_done_callback(ended.append)
        for _ in range(turns):
            await asyncio.sleep(0)

    for number, turns in enumerate((0, 2)):
        await finish(begin, work(turns))
        await settle(3)
        assert len(ended) == number + 1
    assert all(task.done() for task in ended)


async def test_a_task_that_is_kept_by_a_handler_cannot_be_used_against_the_next() -> None:
    kept: list[asyncio.Task[Any]] = []

    @tool
    async def keep() -> None:
        """Keep the task."""
        kept.append(this())

    @tool
    async def work() -> str:
        """Wait a little."""
        kept[0].cancel()
        await asyncio.sleep(0)
        return "done"

    async with Harness(keep, work) as harness:
        await harness.session.call("keep")
        assert (await harness.session.call("work")).value == "done"


async def test_a_cancelled_spare_is_not_used() -> None:
    """As when `asyncio.run` ends and something is still called then."""
    seen: list[asyncio.Task[Any]] = []

    async def work() -> None:
        seen.append(this())
        await asyncio.sleep(0)

    async with opened() as starter:
        spares = [spare.task for spare in starter.ready]
        for task in spares:
            task.cancel()
        tasks = [starter.start(work()) for _ in range(READY + 1)]
        await asyncio.gather(*(task for task in tasks if task is not None))
        assert len(seen) == READY + 1
        assert not set(seen) & set(spares)
        assert all(task.cancelled() for task in spares)


async def test_spares_that_have_not_begun_yet_are_closed_too() -> None:
    async def work() -> None:
        await asyncio.sleep(0)

    async with opened() as starter:
        tasks = [starter.start(work()) for _ in range(READY)]
        assert starter.ready == []
        spares = list(starter._spares)
        await starter.close()
        assert all(spare.task.done() and not spare.task.cancelled() for spare in spares)
        await asyncio.gather(*(task for task in tasks if task is not None))
        late = starter.start(work())
        assert late is not None
        await late


@pytest.mark.parametrize("debug", [False, True])
def test_a_loop_that_ends_with_a_starter_still_open_has_nothing_to_complain_of(
    caplog: pytest.LogCaptureFixture, debug: bool
) -> None:
    ended: list[str] = []

    async def again() -> None:
        await asyncio.sleep(0)
        ended.append("called at the end")

    async def work(starter: Starter) -> None:
        try:
            await for_ever()
        finally:
            if (task := starter.start(again())) is not None:
                await task

    async def main() -> None:
        starter = Starter()
        await starter.open()
        assert starter.start(work(starter)) is not None

    asyncio.run(main(), debug=debug)
    gc.collect()
    assert ended == ["called at the end"]
    assert [record.getMessage() for record in caplog.records if record.name == "asyncio" and record.levelno > 10] == []


@pytest.mark.skipif(sys.version_info < (3, 12), reason="there are no eager tasks")
async def test_a_loop_whose_tasks_begin_at_once() -> None:
    steps: list[str] = []

    async def failing() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(fail())

    async def work() -> None:
        with pytest.raises(ExceptionGroup):
            await failing()
        steps.append("failed")

    loop = asyncio.get_running_loop()
    factory = loop.get_task_factory()
    loop.set_task_factory(getattr(asyncio, "eager_task_factory"))  # noqa: B009
    try:
        async with opened() as starter:
            assert len(starter.ready) == READY
            for _ in range(3 * READY):
                task = starter.start(work())
                if task is not None:
                    await task
                await asyncio.sleep(0)
    finally:
        loop.set_task_factory(factory)
    assert steps == ["failed"] * 3 * READY


# What is kept alive


@pytest.mark.parametrize("how", ["returns", "fails", "is failed", "is cancelled", "is cancelled at once", "ignores it"])
async def test_nothing_of_a_coroutine_outlives_it(begin: Begin, how: str) -> None:
    """Not in a cycle of an error and the frames of its traceback, which only the garbage collector would free."""

    async def work(thing: Thing) -> None:
        try:
            await futures.pop()
        except asyncio.CancelledError:
            if how != "ignores it":
                raise
        await asyncio.sleep(0)
        if how == "fails":
            raise KeyError

    with without_gc():
        future = asyncio.get_running_loop().create_future()
        futures = [future]
        thing = Thing()
        seen = weakref.ref(thing)
        task = await begin(work(thing))
        assert task is not None
        if how != "is cancelled at once":
            await settle(3)
        if how == "is failed":
            future.set_exception(KeyError())
        elif how in ("returns", "fails"):
            future.set_result(None)
        else:
            task.cancel()
        del thing, future
        await asyncio.wait([task])
        assert task.cancelled() or isinstance(task.exception(), KeyError if "fail" in how else type(None))
        del task
        await asyncio.sleep(0)
        assert seen() is None


async def test_nothing_of_a_failed_first_step_outlives_it() -> None:
    async def work(thing: Thing) -> None:
        raise KeyError

    async with opened() as starter:
        with without_gc():
            thing = Thing()
            seen = weakref.ref(thing)
            with pytest.raises(KeyError):
                starter.start(work(thing))
            del thing
            await settle(2)
            gc.collect()
            assert seen() is None


async def test_an_error_that_is_kept_keeps_nothing_of_the_caller(begin: Begin) -> None:
    kept: list[Exception] = []

    async def work(turns: int) -> None:
        for _ in range(turns):
            await asyncio.sleep(0)
        try:
            raise KeyError
        except KeyError as error:
            kept.append(error)

    async def call(turns: int) -> weakref.ref[Thing]:
        thing = Thing()
        await finish(begin, work(turns))
        return weakref.ref(thing)

    for turns in (0, 0, 2):
        seen = await call(turns)
        await settle(2)
        gc.collect()
        assert seen() is None
    assert len(kept) == 3


@pytest.mark.parametrize("turns", [0, 2])
async def test_a_record_of_a_failure_keeps_nothing_of_the_caller(turns: int) -> None:
    @tool
    async def fail(turns: Annotated[int, "How often it waits"]) -> None:
        """Fail."""
        for _ in range(turns):
            await asyncio.sleep(0)
        raise KeyError

    async def call() -> weakref.ref[Thing]:
        thing = Thing()
        assert (await harness.session.call("fail", {"turns": turns})).error is not None
        return weakref.ref(thing)

    async with Harness(fail) as harness:
        seen = await call()
        await settle(2)
        gc.collect()
        assert seen() is None
        assert harness.session.executions()[0].error is not None


async def test_what_was_waited_for_is_not_kept(begin: Begin) -> None:
    go = asyncio.Event()

    async def work(future: asyncio.Future[Thing]) -> None:
        await future
        del future
        await go.wait()

    with without_gc():
        future = asyncio.get_running_loop().create_future()
        task = await begin(work(future))
        thing = Thing()
        seen = weakref.ref(thing)
        future.set_result(thing)
        del thing, future
        await settle(3)
        assert seen() is None
        go.set()
        assert task is not None
        await task


async def test_an_error_that_was_dealt_with_is_not_seen_by_what_follows(begin: Begin) -> None:
    found: list[Any] = []

    async def work() -> None:
        for _ in range(2):
            failing = asyncio.get_running_loop().create_future()
            asyncio.get_running_loop().call_soon(failing.set_exception, KeyError())
            with suppress(KeyError):
                await failing
            found.append(sys.exc_info()[1])
            try:
                raise ValueError
            except ValueError as error:
                found.append(error.__context__)

    await finish(begin, work())
    assert found == [None] * 4


# Asynchronous generators


async def test_an_asynchronous_generator_is_closed_in_its_task(begin: Begin) -> None:
    steps: list[Any] = []

    async def numbers() -> AsyncIterator[int]:
        place.set("generator")
        try:
            for number in range(10):
                yield number
                await asyncio.sleep(0)
        finally:
            await asyncio.sleep(0)
            steps.append((this(), place.get()))

    async def work() -> None:
        stream = numbers()
        async for number in stream:
            if number == 3:
                break
        await stream.aclose()  # type: ignore[attr-defined]
        steps.append((this(), place.get()))

    task = await begin(work())
    assert task is not None
    await task
    assert steps == [(task, "generator")] * 2


async def test_an_asynchronous_generator_that_is_left_is_finished_by_the_loop(begin: Begin) -> None:
    steps: list[str] = []

    async def numbers() -> AsyncIterator[int]:
        try:
            yield 1
            yield 2
        finally:
            await asyncio.sleep(0)
            steps.append("closed")

    async def work() -> None:
        async for _ in numbers():
            break
        steps.append("left")

    await finish(begin, work())
    await settle()
    assert steps == ["left", "closed"]


# Calls


async def test_x1_calls_that_wait_for_the_same_thing_all_get_it() -> None:
    @tool
    async def shared() -> int:
        """Wait for what everyone waits for."""
        return await connection

    async def connect() -> int:
        await harness.clock.sleep(1)
        return 7

    async with Harness(shared) as harness:
        connection = asyncio.create_task(connect())
        calls = [asyncio.ensure_future(harness.session.call("shared")) for _ in range(2 * READY)]
        await harness.advance(1)
        assert [(await call).value for call in calls] == [7] * 2 * READY


async def test_x2_a_chain_of_calls_deeper_than_the_tasks_that_are_ready() -> None:
    @tool
    async def down(ctx: ToolContext, levels: Annotated[int, "How many"]) -> int:
        """Go down."""
        before = this()
        below = 0 if levels == 0 else await ctx.call("down", {"levels": levels - 1})
        assert this() is before
        return below + 1

    async with Harness(down) as harness:
        assert (await harness.session.call("down", {"levels": 3 * READY})).value == 3 * READY + 1
        assert (await harness.session.call("down", {"levels": 0})).value == 1
        assert harness.runtime.manager.live == ()


async def test_x8_a_handler_that_cancels_itself_in_its_first_step() -> None:
    @tool
    async def leave(turns: Annotated[int, "How often it waits"]) -> str:
        """Cancel itself."""
        this().cancel()
        for _ in range(turns):
            await asyncio.sleep(0)
        return "left"

    @tool
    async def stay() -> str:
        """Wait a little."""
        await settle(3)
        return "stayed"

    async with Harness(leave, stay) as harness:
        assert (await harness.session.call("leave", {"turns": 1})).status == "cancelled"
        assert (await harness.session.call("leave", {"turns": 0})).value == "left"
        assert (await harness.session.call("stay")).value == "stayed"
        assert this().cancelling() == 0
