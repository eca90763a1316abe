"""Tasks of calls: a coroutine cannot distinguish its first step from later ones."""

import asyncio
import gc
import sys
import types
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import partial
from typing import Annotated, Any

import anyio
import pytest

from callboard import ToolContext, tool
from callboard.execution.tasks import start_task
from callboard.testing import Harness, settle

pytestmark = pytest.mark.anyio

Work = Coroutine[Any, Any, None]
Begin = Callable[[Work], Awaitable["asyncio.Task[None]"]]

DEPTH = 12
"""The depth of the chains of calls."""

place: ContextVar[str] = ContextVar("place", default="nowhere")


def start(work: Work) -> asyncio.Task[None]:
    return start_task(work, asyncio.get_running_loop())


@pytest.fixture
def begin() -> Begin:
    """Starts a task and lets it take its first step, which it takes at once from Python 3.12 on."""

    async def first_step(work: Work) -> asyncio.Task[None]:
        task = start(work)
        if sys.version_info < (3, 12):
            await asyncio.sleep(0)
        return task

    return first_step


async def finish(begin: Begin, work: Work) -> None:
    await (await begin(work))


def this() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    assert task is not None
    return task


@contextmanager
def without_gc() -> Generator[None]:
    """Disable the garbage collector, so that only reference counts free objects."""
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


async def test_a_task_that_ends_in_its_first_step_is_done_after_it(begin: Begin) -> None:
    seen: list[Any] = []

    async def work() -> None:
        seen.append(this())

    tasks = [await begin(work()) for _ in range(3)]
    assert all(task.done() for task in tasks)
    assert seen == tasks


@pytest.mark.parametrize("turns", [0, 2])
async def test_an_error_of_any_step_is_the_tasks(begin: Begin, turns: int) -> None:
    async def work() -> None:
        for _ in range(turns):
            await asyncio.sleep(0)
        raise KeyError("mine")

    task = await begin(work())
    with pytest.raises(KeyError, match="mine"):
        await task


@pytest.mark.parametrize("error", [asyncio.CancelledError, GeneratorExit])
async def test_an_error_that_ends_a_coroutine_in_its_first_step_ends_its_task_alone(
    begin: Begin, error: type[BaseException]
) -> None:
    async def stop() -> None:
        raise error

    caller = this()
    task = await begin(stop())
    assert this() is caller
    with pytest.raises(error):
        await task
    assert task.cancelled() == (error is asyncio.CancelledError)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_exception_that_ends_the_process_propagates(error: type[BaseException]) -> None:
    async def stop() -> None:
        raise error

    async def main() -> None:
        task = start(stop())
        try:
            await asyncio.sleep(0)
        finally:
            task.exception()

    with pytest.raises(error):
        asyncio.run(main())


async def test_a_chain_of_starts(begin: Begin) -> None:
    seen: list[Any] = []

    async def level(number: int) -> None:
        me = this()
        seen.append(me)
        if number < DEPTH:
            await finish(begin, level(number + 1))
            assert this() is me

    await finish(begin, level(1))
    assert len(set(seen)) == DEPTH


async def test_start_outside_of_any_task() -> None:
    seen: list[Any] = []
    tasks: list[Any] = []

    async def work(turns: int) -> None:
        for _ in range(turns):
            seen.append(this() in tasks or turns)
            await asyncio.sleep(0)
        seen.append(turns)

    def callback() -> None:
        seen.append(asyncio.current_task())
        tasks.extend([start(work(0)), start(work(1))])
        seen.append(asyncio.current_task())

    asyncio.get_running_loop().call_soon(callback)
    await settle(4)
    assert all(task.done() for task in tasks)
    assert [each for each in seen if each is None] == [None, None]
    assert len(seen) == 5


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda: 3, "Task got bad yield: 3"),
        (lambda: asyncio.get_running_loop().create_future(), "yield was used instead of yield from"),
    ],
)
async def test_awaiting_an_invalid_object_raises_in_the_coroutine(
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
    """Other tasks may await a future that a task already awaits."""
    future = asyncio.get_running_loop().create_future()
    got: list[int] = []

    async def work() -> None:
        got.append(await future)

    other = asyncio.create_task(work())
    first, second = await begin(work()), await begin(work())
    await settle()
    third = await begin(work())
    future.set_result(1)
    await asyncio.gather(other, first, second, third)
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
async def test_a_timeout_affects_only_the_coroutine_that_opened_it(begin: Begin, limited: Callable[[], Work]) -> None:
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
    await other
    assert sorted(steps) == ["was left alone", "went on"]


@pytest.mark.parametrize("limited", LIMITS)
async def test_a_timeout_of_a_handler_affects_only_the_handler(limited: Callable[[], Work]) -> None:
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


async def test_a_timeout_of_the_caller_affects_only_the_caller() -> None:
    go = asyncio.Event()
    steps: list[str] = []

    async def work() -> None:
        await go.wait()
        steps.append("went on")

    async def impatient() -> None:
        async with asyncio.timeout(0):
            tasks.append(start(work()))
            await for_ever()

    tasks: list[asyncio.Task[None]] = []
    with pytest.raises(TimeoutError):
        await impatient()
    with anyio.move_on_after(0):
        tasks.append(start(work()))
        await for_ever()
    go.set()
    await asyncio.gather(*tasks)
    assert steps == ["went on"] * 2


@pytest.mark.parametrize(
    "enter",
    [
        lambda: asyncio.timeout(0),
        lambda: asyncio.timeout(1e-6),
        lambda: asyncio.TaskGroup(),
    ],
)
async def test_a_scope_that_is_closed_in_the_first_step_does_not_affect_later_steps(
    begin: Begin, enter: Callable[[], Any]
) -> None:
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
    for first in (short, scoped):
        await finish(begin, first())
        await finish(begin, work())
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


# Cancellation

MOMENTS = ["in the first step", "right after it", "while it waits"]


class Waits:
    """The awaitables of a coroutine, and their outcomes."""

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
async def test_x8_a_cancelled_coroutine_is_cancelled_once_where_it_waits(
    begin: Begin, moment: str, wait: Callable[[Waits], Work], message: str | None
) -> None:
    raised: list[tuple[Any, ...]] = []
    waits = Waits()
    cancel = partial(asyncio.Task[None].cancel, msg=message)

    async def work() -> None:
        if moment == "in the first step":
            cancel(this())
        try:
            await wait(waits)
        except asyncio.CancelledError as error:
            raised.append(error.args)
        assert this().cancelling() == 1
        await asyncio.sleep(0)  # it is not cancelled again
        raised.append(("went on",))

    task = await begin(work())
    if moment == "right after it":
        cancel(task)
    elif moment == "while it waits":
        await settle()
        cancel(task)
    await task
    if wait is not Waits.on_a_scope:  # where AnyIO speaks
        assert raised[0] == (() if message is None else (message,))
    assert len(raised) == 2
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
    raised: list[str] = []

    async def work() -> None:
        try:
            await future
        except asyncio.CancelledError:
            raised.append("cancelled")

    task = await begin(work())
    future.set_result(None)
    task.cancel()
    await task
    assert raised == ["cancelled"]


async def test_x8_a_coroutine_that_cancels_itself_and_ends(begin: Begin) -> None:
    seen: list[asyncio.Task[Any]] = []

    async def work() -> None:
        seen.append(this())
        this().cancel()

    await begin(work())
    await settle()
    assert seen[0].cancelled()


async def test_x8_a_cancelled_coroutine_may_go_on_and_be_cancelled_again(begin: Begin) -> None:
    raised: list[int] = []

    async def work() -> None:
        for number in range(3):
            try:
                await for_ever()
            except asyncio.CancelledError:
                raised.append(number)

    task = await begin(work())
    for number in range(3):
        task.cancel()
        task.cancel()  # which is raised once
        await settle(3)
        assert raised == [*range(number + 1)]
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
    await settle()
    task.cancel()
    await task
    assert got == ["done anyway"]


@pytest.mark.skipif(sys.version_info < (3, 13), reason="before, a request to cancel could not be taken back")
async def test_x8_a_cancellation_that_is_undone_in_the_first_step_is_not_raised(begin: Begin) -> None:
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


# Tasks that outlive their call


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


@pytest.mark.skipif(sys.version_info < (3, 12), reason="there are no eager tasks")
async def test_a_loop_whose_tasks_begin_at_once(begin: Begin) -> None:
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
        for _ in range(DEPTH):
            await finish(begin, work())
    finally:
        loop.set_task_factory(factory)
    assert steps == ["failed"] * DEPTH


# What is kept alive


@pytest.mark.parametrize("how", ["returns", "fails", "is failed", "is cancelled", "is cancelled at once", "ignores it"])
async def test_nothing_of_a_coroutine_outlives_it(begin: Begin, how: str) -> None:
    """There is no cycle of an error and its traceback, which only the garbage collector would free."""

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


async def test_nothing_of_a_failed_first_step_outlives_it(begin: Begin) -> None:
    async def work(thing: Thing) -> None:
        raise KeyError

    async def call() -> weakref.ref[Thing]:
        thing = Thing()
        with pytest.raises(KeyError):
            await finish(begin, work(thing))
        return weakref.ref(thing)

    seen = await call()
    await settle(2)
    gc.collect()
    assert seen() is None


async def test_an_error_that_is_kept_keeps_nothing_of_the_caller(begin: Begin) -> None:
    """The first step of an eager task runs on its caller's stack: there, a kept error keeps it as in any function."""
    steps = (0, 0, 2) if sys.version_info < (3, 12) else (1, 1, 2)
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

    for turns in steps:
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


async def test_an_awaited_future_is_not_kept(begin: Begin) -> None:
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
        await task


async def test_a_handled_error_is_not_the_context_of_later_errors(begin: Begin) -> None:
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
        calls = [asyncio.ensure_future(harness.session.call("shared")) for _ in range(8)]
        await harness.advance(1)
        assert [(await call).value for call in calls] == [7] * 8


async def test_x2_a_deep_chain_of_calls() -> None:
    @tool
    async def down(ctx: ToolContext, levels: Annotated[int, "How many"]) -> int:
        """Go down."""
        before = this()
        below = 0 if levels == 0 else await ctx.call("down", {"levels": levels - 1})
        assert this() is before
        return below + 1

    async with Harness(down) as harness:
        assert (await harness.session.call("down", {"levels": DEPTH})).value == DEPTH + 1
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
