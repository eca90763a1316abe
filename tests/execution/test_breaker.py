"""A tool that keeps failing is refused for a while (X6)."""

import asyncio
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callboard import BreakerPolicy, ErrorCategory, Limits, RetryPolicy, Tool, ToolContext, ToolError, tool
from callboard.execution.breaker import COUNTED, Breaker, BreakerOpen, BreakerState
from callboard.sessions.session import live_session
from callboard.testing import Harness, settle

pytestmark = pytest.mark.anyio

TRANSIENT = ErrorCategory.TRANSIENT
CLOSED, OPEN, HALF_OPEN = BreakerState.CLOSED, BreakerState.OPEN, BreakerState.HALF_OPEN


# The state machine


def opened(policy: BreakerPolicy, now: float = 0.0) -> Breaker:
    breaker = Breaker(policy)
    for number in range(policy.failure_threshold):
        assert breaker.admit(str(number), now) is None
        breaker.failed(str(number), TRANSIENT, now)
    assert breaker.state is OPEN
    return breaker


def test_x6_defaults_are_those_of_the_specification() -> None:
    policy = BreakerPolicy()
    assert (policy.failure_threshold, policy.recovery_time, policy.success_threshold) == (5, 60.0, 2)


def test_x6_opens_after_failures_in_a_row_only() -> None:
    breaker = Breaker(BreakerPolicy(failure_threshold=3))
    for outcome in "FFSFFS":
        assert breaker.admit("x", 0) is None
        breaker.succeeded("x") if outcome == "S" else breaker.failed("x", TRANSIENT, 0)
    assert breaker.state is CLOSED
    assert breaker.pristine
    for _ in range(3):
        breaker.failed("x", TRANSIENT, 0)
    assert breaker.state is OPEN


def test_x6_refuses_with_the_time_until_the_next_probe() -> None:
    breaker = opened(BreakerPolicy(recovery_time=60), now=100.0)
    assert breaker.admit("a", 100.0) == 60.0
    assert breaker.admit("a", 145.5) == 14.5
    assert breaker.admit("a", 160.0) is None
    assert breaker.state is HALF_OPEN


def test_x6_half_open_lets_as_many_in_as_successes_are_needed() -> None:
    breaker = opened(BreakerPolicy(success_threshold=2))
    admitted = [breaker.admit(who, 60.0) is None for who in "abcd"]
    assert admitted == [True, True, False, False]
    breaker.succeeded("a")
    assert breaker.admit("e", 60.0) == 60.0, "one success is there and one is on its way"
    breaker.succeeded("b")
    assert breaker.state is CLOSED
    assert breaker.admit("f", 60.0) is None


def test_x6_reopening_resets_the_counter_of_successes_and_the_probes() -> None:
    breaker = opened(BreakerPolicy(success_threshold=3))
    assert [breaker.admit(who, 60.0) for who in "abc"] == [None, None, None]
    breaker.succeeded("a")
    breaker.failed("b", TRANSIENT, 70.0)
    assert breaker.state is OPEN
    assert breaker.admit("d", 129.0) == 1.0
    assert [breaker.admit(who, 130.0) is None for who in "efgh"] == [True, True, True, False]
    breaker.succeeded("c")  # a probe of the time before
    breaker.succeeded("e")
    breaker.succeeded("f")
    assert breaker.state is HALF_OPEN
    breaker.succeeded("g")
    assert breaker.state is CLOSED


def test_x6_attempts_admitted_before_the_opening_do_not_count_afterwards() -> None:
    breaker = Breaker(BreakerPolicy(failure_threshold=1, success_threshold=1))
    assert breaker.admit("old", 0) is None
    assert breaker.admit("older", 0) is None
    breaker.failed("bad", TRANSIENT, 0)
    assert breaker.admit("probe", 60) is None
    breaker.succeeded("old")
    assert breaker.state is HALF_OPEN
    breaker.failed("older", TRANSIENT, 60)
    assert breaker.state is HALF_OPEN
    assert breaker.admit("another", 60) is not None, "the probe is still inside"
    breaker.succeeded("probe")
    assert breaker.state is CLOSED


def test_x6_a_probe_with_a_failure_that_does_not_count_makes_room_for_another() -> None:
    breaker = opened(BreakerPolicy(success_threshold=1))
    assert breaker.admit("a", 60) is None
    assert breaker.admit("b", 60) == 60.0
    breaker.failed("a", ErrorCategory.CANCELLED, 60)
    assert breaker.state is HALF_OPEN
    assert breaker.admit("b", 60) is None


@pytest.mark.parametrize("category", ErrorCategory)
def test_x6_only_failures_that_say_something_about_the_tool_count(category: ErrorCategory) -> None:
    breaker = Breaker(BreakerPolicy(failure_threshold=1))
    breaker.failed("x", category, 0)
    assert (breaker.state is OPEN) is (category in COUNTED)
    assert (category in COUNTED) is (
        category in ("execution", "timeout", "transient", "resource", "configuration", "unknown")
    )


@given(st.integers(1, 4), st.integers(1, 4), st.lists(st.tuples(st.sampled_from("aAfscw"), st.integers(0, 7))))
def test_x6_never_more_probes_than_allowed_and_none_while_open(
    failures: int, successes: int, steps: list[tuple[str, int]]
) -> None:
    breaker = Breaker(BreakerPolicy(failure_threshold=failures, success_threshold=successes, recovery_time=10))
    now, inside, probes = 0.0, set[str](), set[str]()
    for number, (what, which) in enumerate(steps):
        who = sorted(inside)[which % len(inside)] if inside else None
        before = breaker.state
        if what in "aA":
            left = breaker.admit(str(number), now)
            assert left is None or left > 0
            if left is None:
                inside.add(str(number))
                assert breaker.state is not OPEN
                if breaker.state is HALF_OPEN:
                    probes = (probes if before is HALF_OPEN else set()) | {str(number)}
        elif what == "w":
            now += which
        elif who is not None:
            inside.discard(who)
            probes.discard(who)
            match what:
                case "s":
                    breaker.succeeded(who)
                case "f":
                    breaker.failed(who, TRANSIENT, now)
                case _:
                    breaker.failed(who, ErrorCategory.CANCELLED, now)
            if breaker.state is not HALF_OPEN:
                probes.clear()
        assert len(probes) <= successes


# Through the runtime


class Service:
    """A tool that succeeds or fails as the test decides."""

    def __init__(self, **options: Any) -> None:
        self.entered = 0
        self.fails = True
        self.gate: asyncio.Event | None = None

        @tool(name="service", description="Serve.", retry=RetryPolicy(max_attempts=1), **options)
        async def service(ctx: ToolContext, number: Annotated[int, "Any"] = 0) -> int:
            self.entered += 1
            if self.gate is not None:
                await self.gate.wait()
            if self.fails:
                raise ConnectionError("refused")
            return number

        self.tool: Tool = service


async def fail(harness: Harness, times: int) -> None:
    for _ in range(times):
        assert (await harness.session.call("service")).status == "failed"


async def test_x6_open_breaker_refuses_before_the_handler_runs() -> None:
    service = Service(breaker=BreakerPolicy(failure_threshold=3, recovery_time=60))
    async with Harness(service.tool) as harness:
        await fail(harness, 3)
        await harness.advance(20)
        outcome = await harness.session.call("service")
        assert service.entered == 3
        assert isinstance(outcome.error, BreakerOpen)
        assert outcome.error.to_model() == {
            "category": "transient",
            "message": "The tool service has failed several times in a row and is paused. Try again in 40 seconds.",
            "retry_after": 40.0,
        }
        assert harness.kinds(outcome.execution_id) == ["tool_started", "tool_validating", "tool_result"]
        assert harness.runtime.registry.stats("service").breaker == "open"


async def test_x6_breaker_closes_after_enough_probes() -> None:
    service = Service(breaker=BreakerPolicy(failure_threshold=3, recovery_time=60, success_threshold=2))
    async with Harness(service.tool) as harness:
        stats = harness.runtime.registry.stats
        assert stats("service").breaker == "closed"
        await fail(harness, 3)
        await harness.advance(59.999)
        assert (await harness.session.call("service")).status == "failed"
        assert service.entered == 3
        await harness.advance(0.001)
        assert stats("service").breaker == "half_open", "its time comes by itself"
        service.fails = False
        assert (await harness.session.call("service")).status == "succeeded"
        assert stats("service").breaker == "half_open"
        assert (await harness.session.call("service")).status == "succeeded"
        assert stats("service").breaker == "closed"
        service.fails = True
        await fail(harness, 2)
        assert stats("service").breaker == "closed", "it counts from nothing again"


async def test_x6_half_open_bounds_concurrent_probes() -> None:
    service = Service(breaker=BreakerPolicy(failure_threshold=1, recovery_time=60, success_threshold=2))
    async with Harness(service.tool) as harness:
        await fail(harness, 1)
        await harness.advance(60)
        service.fails, service.gate = False, asyncio.Event()
        calls = [await harness.start("service") for _ in range(10)]
        assert service.entered == 1 + 2
        service.gate.set()
        statuses = [str((await call).status) for call in calls]
        assert (statuses.count("succeeded"), statuses.count("failed")) == (2, 8)
        assert (await harness.session.call("service")).status == "succeeded"


@pytest.mark.parametrize("how", ["cancelled", "given up"])
async def test_x6_a_cancelled_probe_makes_room_for_another(how: str) -> None:
    service = Service(breaker=BreakerPolicy(failure_threshold=1, recovery_time=60, success_threshold=1))
    async with Harness(service.tool, grace=1.0) as harness:
        await fail(harness, 1)
        await harness.advance(60)
        service.fails, service.gate = False, asyncio.Event()
        if how == "given up":
            service.gate.wait = stubborn(service.gate.wait)
        probe = await harness.start("service", call_id="probe")
        assert isinstance((await harness.session.call("service")).error, BreakerOpen)
        assert await harness.session.cancel_call("probe")
        await harness.advance(1)
        assert (await probe).status == "cancelled"
        service.gate.set()
        await settle()
        assert (await harness.session.call("service")).status == "succeeded"


def stubborn(wait: Callable[[], Any]) -> Callable[[], Any]:
    async def on_and_on() -> None:
        while True:
            try:
                await wait()
            except asyncio.CancelledError:
                continue
            return

    return on_and_on


async def test_x6_a_probe_that_fails_at_another_open_breaker_makes_room_for_another() -> None:
    inner = Service(breaker=BreakerPolicy(failure_threshold=1, recovery_time=500))
    entered: list[int] = []

    @tool(breaker=BreakerPolicy(failure_threshold=1, recovery_time=10, success_threshold=1))
    async def outer(ctx: ToolContext) -> int:
        """Ask the other."""
        entered.append(1)
        return await ctx.call("service", {"number": 1})

    async with Harness(inner.tool, outer) as harness:
        await harness.session.call("outer")
        for _ in range(3):
            await harness.advance(10)
            assert (await harness.session.call("outer")).status == "failed"
        assert len(entered) == 4


async def test_x6_retries_of_one_call_stop_at_the_open_breaker() -> None:
    entered: list[int] = []
    policy = RetryPolicy(max_attempts=10, base_delay=1, strategy="fixed")  # pyright: ignore[reportArgumentType]

    @tool(idempotent=True, retry=policy, breaker=BreakerPolicy(failure_threshold=3))
    async def flaky(ctx: ToolContext) -> int:
        """Fail."""
        entered.append(ctx.attempt)
        raise ConnectionError("refused")

    async with Harness(flaky) as harness:
        call = await harness.start("flaky")
        await harness.advance(9)
        assert isinstance((await call).error, BreakerOpen)
        assert entered == [1, 2, 3]


async def test_x6_validation_errors_and_refusals_do_not_count() -> None:
    service = Service(breaker=BreakerPolicy(failure_threshold=2))

    @tool(breaker=BreakerPolicy(failure_threshold=2))
    async def strict() -> int:
        """Refuse."""
        raise ToolError("Not you.", category="permission")

    async with Harness(service.tool, strict) as harness:
        for _ in range(5):
            assert (await harness.session.call("service", {"number": "many"})).status == "failed"
            assert (await harness.session.call("strict")).status == "failed"
        assert harness.runtime.registry.stats("service").breaker == "closed"
        assert harness.runtime.registry.stats("strict").breaker == "closed"
        assert harness.runtime.manager._breakers.known == {}


async def test_x6_breaker_per_session() -> None:
    service = Service(breaker=BreakerPolicy(failure_threshold=2, scope="session", hide_when_open=True))
    async with Harness(service.tool) as harness:
        other = await harness.runtime.open("other", "someone")
        await fail(harness, 2)
        assert isinstance((await harness.session.call("service")).error, BreakerOpen)
        assert "service" not in harness.session.tools()
        assert "service" in other.tools()
        service.fails = False
        assert (await other.call("service")).status == "succeeded"
        assert harness.runtime.registry.stats("service").breaker == "closed", "one session's is no statistic of all"
        harness.runtime.sessions.delete(live_session(harness.session))
        assert harness.runtime.manager._breakers.known == {}


async def test_x6_the_end_of_a_session_visits_no_breakers_of_others() -> None:
    """Ten thousand may be kept, and many idle sessions leave memory at once."""

    class NeverVisited(dict[Any, Breaker]):
        def __iter__(self) -> Any:
            raise AssertionError("all breakers were visited")

    by_host = fetcher(scope="user_target", target=lambda arguments: arguments["host"])
    service = Service(breaker=BreakerPolicy(failure_threshold=2, scope="session"))
    async with Harness(by_host, service.tool) as harness:
        await fail(harness, 2)
        other = await harness.runtime.open("other", "someone")
        assert (await other.call("service")).status == "failed"
        await harness.session.call("fetch", {"host": "bad"})
        breakers = harness.runtime.manager._breakers
        breakers._scoped = NeverVisited(breakers._scoped)
        harness.runtime.manager.forget(live_session(harness.session))
        assert sorted(key[:2] for key, _ in breakers._scoped.items()) == [("fetch", ""), ("service", "other")]
        harness.runtime.manager.forget(live_session(other))
        assert breakers._of_sessions == {}


async def test_x6_default_policy_is_shared_by_all_sessions() -> None:
    service = Service()
    async with Harness(service.tool, breaker=BreakerPolicy(failure_threshold=2)) as harness:
        other = await harness.runtime.open("other", "someone")
        await fail(harness, 2)
        assert isinstance((await other.call("service")).error, BreakerOpen)


async def test_x6_hidden_while_open_and_shown_again_for_the_probe() -> None:
    service = Service(breaker=BreakerPolicy(failure_threshold=2, recovery_time=60, hide_when_open=True))
    async with Harness(service.tool) as harness:
        assert "service" in harness.session.tools()
        await fail(harness, 2)
        assert "service" not in harness.session.tools()
        assert isinstance((await harness.session.call("service")).error, BreakerOpen), "it is hidden, not gone"
        await harness.advance(59.9)
        assert "service" not in harness.session.tools()
        await harness.advance(0.1)
        assert "service" in harness.session.tools(), "otherwise no call could be the probe"
        service.fails = False
        assert (await harness.session.call("service")).status == "succeeded"


async def test_x6_visible_while_open_by_default() -> None:
    service = Service(breaker=BreakerPolicy(failure_threshold=1))
    async with Harness(service.tool, limits=Limits(total=1)) as harness:
        await fail(harness, 1)
        assert "service" in harness.session.tools()


async def test_x6_the_breaker_of_a_session_tool_is_not_shared() -> None:
    async with Harness() as harness:
        other = await harness.runtime.open("other", "tester")

        @tool
        async def pick(fails: Annotated[bool, "Whether it fails"]) -> int:
            """Pick."""
            if fails:
                raise ToolError("Broken.", category="transient")
            return 1

        for session in (harness.session, other):
            live_session(session).toolbox.replace_own_tools(
                [pick.with_(retry=RetryPolicy(max_attempts=1), breaker=BreakerPolicy(failure_threshold=1))]
            )
        await harness.session.call("pick", {"fails": True})
        refused = await harness.session.call("pick", {"fails": False})
        assert refused.status == "failed"
        assert (await other.call("pick", {"fails": False})).value == 1


# Breakers of users, sessions and targets


def fetcher(**policy: Any) -> Tool:
    """A tool that fails for hosts whose names begin with `bad`."""

    @tool(retry=RetryPolicy(max_attempts=1), breaker=BreakerPolicy(failure_threshold=2, **policy))
    async def fetch(host: Annotated[str, "Where"]) -> str:
        """Fetch."""
        if host.startswith("bad"):
            raise ConnectionError("refused")
        return host

    return fetch


async def refused(session: Any, host: str) -> bool:
    """Whether the breaker refused a call."""
    return isinstance((await session.call("fetch", {"host": host})).error, BreakerOpen)


async def test_x6_breaker_per_user() -> None:
    async with Harness(fetcher(scope="user", hide_when_open=True)) as harness:
        second = await harness.runtime.open("second", "tester")
        other = await harness.runtime.open("other", "someone")
        assert not await refused(harness.session, "bad")
        assert not await refused(second, "bad")
        assert await refused(harness.session, "good")
        assert await refused(second, "good")
        assert ("fetch" in second.tools(), "fetch" in other.tools()) == (False, True)
        assert not await refused(other, "good")
        assert harness.runtime.registry.stats("fetch").breaker == "closed"
        assert harness.runtime.manager.refusing_breakers() == {"fetch": 1}
        await harness.advance(60)
        assert harness.runtime.manager.refusing_breakers() == {}
        assert not await refused(second, "good")


@pytest.mark.parametrize("scope", ["target", "user_target"])
async def test_x6_breaker_per_target(scope: str) -> None:
    def host(arguments: dict[str, Any]) -> str:
        return str(arguments["host"])

    async with Harness(fetcher(scope=scope, target=host)) as harness:
        other = await harness.runtime.open("other", "someone")
        for _ in range(2):
            assert not await refused(harness.session, "bad.example")
        assert await refused(harness.session, "bad.example")
        assert not await refused(harness.session, "good.example"), "another target is not paused"
        assert await refused(other, "bad.example") == (scope == "target")
        assert "fetch" in harness.session.tools()
        error = (await harness.session.call("fetch", {"host": "bad.example"})).error
        assert error is not None
        assert error.message.startswith("The tool fetch for bad.example has failed several times in a row")


async def test_x6_a_target_that_is_no_text_counts_for_its_user(caplog: pytest.LogCaptureFixture) -> None:
    number: Any = lambda arguments: len(arguments["host"])  # noqa: E731
    async with Harness(fetcher(scope="target", target=number)) as harness:
        outcome = await harness.session.call("fetch", {"host": "good.example"})
        assert outcome.error is None
    assert "it returned int; a target is a str or None" in caplog.text


async def test_x6_a_call_without_a_target_counts_for_its_user(caplog: pytest.LogCaptureFixture) -> None:
    def broken(arguments: dict[str, Any]) -> str | None:
        return None if arguments["host"] == "bad.none" else str(arguments["nothing"])

    async with Harness(fetcher(scope="target", target=broken)) as harness:
        other = await harness.runtime.open("other", "someone")
        assert not await refused(harness.session, "bad.none")
        assert not await refused(harness.session, "bad.error")
        assert await refused(harness.session, "good")
        assert not await refused(other, "good")
    assert "target function" in caplog.text


async def test_x6_breaker_ends_with_its_tool() -> None:
    """A server that registers ever new tools keeps none of their breakers, and another tool starts without failures."""
    service = Service(breaker=BreakerPolicy(failure_threshold=2, recovery_time=60))
    by_host = fetcher(scope="user_target", target=lambda arguments: arguments["host"])
    async with Harness(service.tool, by_host) as harness:
        registry, breakers = harness.runtime.registry, harness.runtime.manager._breakers
        for end in (lambda: registry.unregister("service"), registry.clear):
            await fail(harness, 2)
            await harness.session.call("fetch", {"host": "bad"})
            assert registry.stats("service").breaker == "open"
            end()
            registry.register(service.tool)
            await settle()
            assert "service" not in {key[0] for key in breakers.known}
            await harness.advance(60)
            assert registry.stats("service").breaker == "closed", "the timer of the first breaker is cancelled"
        assert breakers.known == {}
        await fail(harness, 2)
        registry.replace(Service(breaker=BreakerPolicy(failure_threshold=2)).tool)
        await settle()
        assert isinstance((await harness.session.call("service")).error, BreakerOpen), "as after a reload"


async def test_x6_number_of_breakers_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hostile model names ever new hosts: the ones that were used last are remembered, and no tool's own is lost."""
    monkeypatch.setattr("callboard.execution.breakers.MAX_SCOPED", 20)
    service = Service(breaker=BreakerPolicy(failure_threshold=1))
    by_host = fetcher(scope="user_target", target=lambda arguments: arguments["host"])
    async with Harness(by_host, service.tool) as harness:
        await fail(harness, 1)
        for number in range(100):
            for _ in range(2):
                await harness.session.call("fetch", {"host": f"bad{number}"})
        assert len(harness.runtime.manager._breakers.known) == 21
        assert isinstance((await harness.session.call("service")).error, BreakerOpen)
        assert await refused(harness.session, "bad99")
        assert not await refused(harness.session, "bad0"), "it is forgotten, and so it is tried again"
        long = "bad" + "x" * 100_000
        for _ in range(2):
            await harness.session.call("fetch", {"host": long})
        assert await refused(harness.session, long)
        assert max(len(part) for key in harness.runtime.manager._breakers.known for part in key) <= 256
