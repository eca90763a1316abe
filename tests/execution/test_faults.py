"""Handlers, subscribers and parts that misbehave: no execution stays open, and other calls go on (X4, X8)."""

import asyncio
import gc
import json
import subprocess
import sys
import weakref
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator

from callboard import ErrorTable, Registry, RetryPolicy, Runtime, ToolContext, ToolError, tool
from callboard.execution.breakers import Breakers
from callboard.execution.manager import ExecutionManager
from callboard.sessions.session import live_session
from callboard.testing import Harness, ManualClock, settle

pytestmark = pytest.mark.anyio


class Weird(BaseException):
    pass


def nested(levels: int) -> list[Any]:
    return [nested(levels - 1)] if levels else []


def raiser(error: BaseException | type[BaseException]) -> Any:
    @tool(name="bad", description="Raise.")
    async def bad() -> None:
        raise error

    return bad


class Held:
    """Something large."""


@pytest.mark.parametrize("foreign", [False, True])
async def test_x2_a_failure_keeps_nothing_that_its_handler_had(foreign: bool) -> None:
    held: list[weakref.ref[Held]] = []

    @tool(retry=RetryPolicy(max_attempts=2, base_delay=1.0, strategy="fixed"), idempotent=True)
    async def fail() -> None:
        """Fail with something at hand."""
        large = Held()
        held.append(weakref.ref(large))
        try:
            raise KeyError("inner")
        except KeyError as inner:
            raise (ConnectionError("broken") if foreign else ToolError("Broken.", category="transient")) from inner

    async with Harness(fail) as harness:
        call = await harness.start("fail")
        await harness.advance(1)
        error = call.result().error
        assert error is not None
        assert (error.origin or "").startswith("test_faults.py, line ")
        assert len(harness.session.execution(call.result().execution_id).previous_errors) == 1
        gc.collect()
        assert [each() for each in held] == [None, None]
        assert isinstance(error.__cause__, ConnectionError if foreign else KeyError), "what it was is still known"


async def test_x2_a_failed_validation_keeps_nothing_of_the_validator() -> None:
    @tool
    async def tick() -> int:
        """Tick."""
        return 1

    async with Harness(tick) as harness:
        for count in (1, 5_000):
            outcome = await harness.session.call("tick", {f"k{number}": 1 for number in range(count)})
            error = outcome.error
            assert error is not None
            assert (error.category, error.__cause__, error.__context__) == ("validation", None, None)


async def test_x2_an_error_that_is_raised_again_and_again_does_not_grow() -> None:
    constant = ToolError("Never.", category="permanent")
    async with Harness(raiser(constant)) as harness:
        for _ in range(3):
            assert (await harness.session.call("bad")).error is constant
            assert constant.__traceback__ is None


@pytest.mark.parametrize(
    ("error", "status", "category"),
    [
        (RuntimeError("at /etc/passwd"), "failed", "execution"),
        (Weird("strange"), "failed", "execution"),
        (SystemExit(3), "failed", "execution"),
        (GeneratorExit(), "failed", "execution"),
        (asyncio.CancelledError(), "cancelled", "cancelled"),
        (StopAsyncIteration(), "failed", "execution"),
        (MemoryError(), "failed", "resource"),
        (ExceptionGroup("several", [ValueError("a"), KeyError("b")]), "failed", "execution"),
        (ToolError("No.", details=object()), "failed", "execution"),
        (ToolError("No. \ud800"), "failed", "execution"),
        (ToolError("No.", details={"x": float("nan")}), "failed", "execution"),
        (ToolError("No.", details={"x": 10**4300}), "failed", "execution"),
        (ToolError("No.", details={1: 1, "1": 2}), "failed", "execution"),
        (ToolError("No.", details=nested(220)), "failed", "execution"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else str(value),
)
async def test_x4_whatever_a_handler_raises_is_an_outcome(error: BaseException, status: str, category: str) -> None:
    async with Harness(raiser(error)) as harness:
        outcome = await harness.session.call("bad")
        assert outcome.error is not None
        assert (outcome.status, outcome.error.category) == (status, category)
        assert "passwd" not in str(outcome.error.to_model())
        assert harness.kinds()[-1] == "tool_result"
        assert harness.events()[-1].data["error"]["category"] == category
        assert harness.session.result_text(outcome.execution_id)
        assert json.dumps(harness.session.executions()[0].error)
        assert harness.runtime.manager.live == ()


async def test_x4_error_that_cannot_be_written_does_not_stop_a_retry() -> None:
    @tool
    async def odd(ctx: ToolContext) -> int:
        """Fail oddly once."""
        if ctx.attempt == 1:
            raise ToolError("Odd \ud800.", category="rate_limited", details=object())
        return ctx.attempt

    async with Harness(odd) as harness:
        call = await harness.start("odd")
        await harness.advance(2)
        outcome = await call
        assert outcome.value == 2
        (error,) = harness.session.execution(outcome.execution_id).previous_errors
        assert error == {"category": "rate_limited", "message": "Odd ?."}


KEYBOARD = """
import asyncio
import json
from callboard import Runtime, tool

@tool
async def bad() -> None:
    '''Raise.'''
    raise KeyboardInterrupt

@tool(mode="background")
async def other() -> None:
    '''Hang.'''
    try:
        await asyncio.Event().wait()
    finally:
        print("cleaned", flush=True)

async def main():
    global session
    async with Runtime([bad, other]) as runtime:
        session = await runtime.open("s", "u")
        await session.call("other")
        await asyncio.sleep(0)
        await session.call("bad")

try:
    asyncio.run(main())
finally:
    print([(record.tool, str(record.status)) for record in session.executions()], flush=True)
    print([event.kind for event in session.board.read(0)].count("tool_result"), flush=True)
"""


def test_x8_keyboard_interrupt_ends_the_process_after_the_executions_ended() -> None:
    done = subprocess.run([sys.executable, "-c", KEYBOARD], capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode != 0
    assert done.stderr.rstrip().endswith("KeyboardInterrupt")
    assert done.stdout.splitlines() == ["cleaned", "[('other', 'cancelled'), ('bad', 'failed')]", "2"]


async def test_x8_handler_that_leaves_tasks_behind() -> None:
    go = asyncio.Event()
    kept: list[asyncio.Task[None]] = []

    @tool
    async def careless(ctx: ToolContext) -> int:
        """Start something, and leave."""

        async def later() -> None:
            await go.wait()
            await ctx.progress("after the end")
            await ctx.partial(1)

        kept.append(asyncio.create_task(later()))
        return 1

    async with Harness(careless) as harness:
        outcome = await harness.session.call("careless")
        assert outcome.value == 1
        go.set()
        await asyncio.wait(kept)
        assert kept[0].exception() is None
        assert harness.kinds()[-1] == "tool_result"


async def test_x3_an_attempt_that_has_ended_reports_nothing_in_the_delay_and_the_next_attempt(
    caplog: pytest.LogCaptureFixture,
) -> None:
    contexts: list[ToolContext] = []

    @tool(idempotent=True)
    async def flaky(ctx: ToolContext) -> int:
        """Fail once."""
        contexts.append(ctx)
        if ctx.attempt == 1:
            raise ConnectionError("refused")
        await asyncio.Event().wait()
        return 1

    async with Harness(flaky) as harness:
        await harness.start("flaky")
        assert harness.session.executions()[0].status == "waiting"
        await contexts[0].progress("in the delay")
        await harness.advance(1)
        await contexts[0].progress("in the next attempt")
        assert contexts[0].cancelled
        assert not contexts[1].cancelled
        assert "tool_progress" not in harness.kinds()
        assert caplog.text.count("flaky reported tool_progress after its end") == 2
        await contexts[1].progress("still there")
        assert harness.kinds()[-1] == "tool_progress"


@pytest.mark.parametrize("error", [KeyError, Weird, asyncio.CancelledError, SystemExit])
async def test_x2_validator_that_fails_in_its_own_way_is_a_failure_of_the_call(error: type[BaseException]) -> None:
    def check(value: str) -> str:
        raise error(value)

    @tool
    async def odd(text: Annotated[str, AfterValidator(check), "What"]) -> str:
        """Echo."""
        return text

    async with Harness(odd) as harness:
        outcome = await harness.session.call("odd", {"text": "x"})
        assert outcome.error is not None
        assert outcome.error.category == ("cancelled" if error is asyncio.CancelledError else "execution")
        assert harness.kinds() == ["tool_started", "tool_validating", "tool_result"]
        assert (live_session(harness.session).running, harness.runtime.manager.live) == (0, ())


async def test_x8_keyboard_interrupt_in_a_validator_ends_the_execution_and_goes_on() -> None:
    def check(value: str) -> str:
        raise KeyboardInterrupt

    @tool
    async def odd(text: Annotated[str, AfterValidator(check), "What"]) -> str:
        """Echo."""
        return text

    async with Harness(odd) as harness:
        with pytest.raises(KeyboardInterrupt):
            await harness.session.call("odd", {"text": "x"})
        assert harness.kinds() == ["tool_started", "tool_validating", "tool_result"]
        assert (live_session(harness.session).running, harness.runtime.manager.live) == (0, ())


# Parts of the runtime that fail


@tool
async def work(fails: Annotated[bool, "Whether it fails"] = False) -> int:
    """Work."""
    if fails:
        raise ConnectionError("refused")
    return 1


def broken(*_: Any) -> Any:
    raise RuntimeError("broken part")


@pytest.mark.parametrize("method", ["admit", "succeeded", "failed"])
async def test_x8_breaker_that_fails_leaves_nothing_open(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Harness(work) as harness:
        await harness.session.call("work", {"fails": True})
        monkeypatch.setattr(Breakers, method, broken)
        outcome = await harness.session.call("work", {"fails": method == "failed"})
        assert outcome.done
        assert (live_session(harness.session).running, harness.runtime.manager.live) == (0, ())
        assert harness.kinds(outcome.execution_id).count("tool_result") == 1


@pytest.mark.parametrize("at", range(1, 8))
@pytest.mark.parametrize("method", ["time", "monotonic"])
async def test_x8_clock_that_fails_once_leaves_nothing_open(
    method: str, at: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Harness(work) as harness:
        real: Callable[[], float] = getattr(harness.clock, method)
        readings = iter(range(1, 1_000))

        def unreliable() -> float:
            return broken() if next(readings) == at else real()

        monkeypatch.setattr(harness.clock, method, unreliable)
        try:
            outcome = await harness.session.call("work")
        except RuntimeError:  # before the call was accepted, or while its caller's patience was noted
            await settle()
        else:
            assert outcome.done
        monkeypatch.undo()
        for record in harness.session.executions():
            assert record.status.terminal
            assert harness.kinds(record.id).count("tool_result") == 1
        assert (live_session(harness.session).running, harness.runtime.manager.live) == (0, ())


async def test_x8_error_table_that_fails_leaves_nothing_open(monkeypatch: pytest.MonkeyPatch) -> None:
    async with Harness(work) as harness:
        monkeypatch.setattr(ErrorTable, "translate", broken)
        outcome = await harness.session.call("work", {"fails": True})
        assert outcome.error is not None
        assert outcome.error.message == "The system failed."
        assert harness.runtime.manager.live == ()


async def test_x8_one_bad_execution_does_not_stop_the_deadlines_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    @tool(timeout=1.0)
    async def slow() -> None:
        """Hang."""
        await asyncio.Event().wait()

    async with Harness(slow) as harness:
        manager = harness.runtime.manager
        first, second = await harness.start("slow"), await harness.start("slow")
        victim = manager.live[0]
        real = manager._stopping.stop

        def unreliable(execution: Any, reason: Any) -> None:
            if execution is victim:
                monkeypatch.undo()
                broken()
            real(execution, reason)

        monkeypatch.setattr(manager._stopping, "stop", unreliable)
        await harness.advance(1)
        assert (await second).status == "failed"
        assert await harness.session.cancel(victim.id)
        assert (await first).status == "cancelled"


# Readers


async def test_b7_slow_failing_and_leaving_readers_do_not_disturb_others(caplog: pytest.LogCaptureFixture) -> None:
    def fails(events: Any) -> None:
        raise RuntimeError("bad reader")

    got: list[int] = []
    async with Harness(work) as harness:
        with (
            harness.session.subscribe(fails),
            harness.session.subscribe(lambda events: got.extend(e.seq for e in events)),
        ):
            stream = harness.session.events()
            for _ in range(3):
                assert (await harness.session.call("work")).value == 1
            assert (await anext(stream)).seq == 1
            await stream.aclose()  # pyright: ignore[reportAttributeAccessIssue]  # it leaves in the middle
            await settle()
        assert got == list(range(1, 13))
        assert caplog.text.count("a subscriber of a board failed; it is not called again") == 1


async def test_x8_call_outside_of_the_runtime_is_an_outcome() -> None:
    """The manager closes before its sessions do: a call in between ends as failed."""
    clock, registry = ManualClock(), Registry([work])
    async with Runtime(registry, clock=clock) as runtime:
        session = live_session(await runtime.open("s", "u"))
        outcome = await ExecutionManager(registry, clock=clock).call(session, work, b"{}")
    assert outcome.error is not None
    assert outcome.error.category == "resource"
