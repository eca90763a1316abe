"""Metrics for Prometheus (O1, G3)."""

import asyncio
import re
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from callboard import RetryPolicy, Runtime, ToolContext, ToolError, telemetry, tool
from callboard.adapters.engines import LocalEngine
from callboard.sessions.conversation_scope import ConversationScope
from callboard.sessions.session import live_session
from callboard.storage.errors import StoreUnavailable
from callboard.telemetry.collector import RuntimeCollector, session_bytes
from callboard.telemetry.metrics import CONTENT_TYPE, Metrics
from callboard.testing import settle
from callboard.tools.histogram import SECONDS, Histogram
from callboard.turns import Usage

pytestmark = pytest.mark.anyio

FIGURES = {
    "call latency": "callboard_tool_duration_seconds_bucket",
    "live sessions": "callboard_sessions",
    "open executions": "callboard_executions",
    "open executions per session, distribution": "callboard_session_executions_bucket",
    "persistence: successes and failures": "callboard_store_changes_total",
    "persistence: transactions": "callboard_store_commit_seconds_count",
    "persistence: failed transactions": "callboard_store_commit_failures_total",
    "restores: successes and failures": "callboard_session_restores_total",
    "memory per session": "callboard_session_memory_bytes",
    "memory of the process": "process_resident_memory_bytes",
    "errors by tool": "callboard_tool_errors_total",
    "error rates by tool": "callboard_tool_error_ratio",
    "retries": "callboard_tool_retries_total",
    "breaker states": "callboard_tool_breaker",
    "queue": "callboard_queue_length",
    "readers": "callboard_readers",
    "turns": "callboard_turn_duration_seconds_count",
    "tokens": "callboard_model_tokens_total",
    "late results": "callboard_late_results",
    "human requests": "callboard_human_requests",
    "event loop lag": "callboard_event_loop_lag_seconds_bucket",
}


@tool
async def add(a: Annotated[int, "One"], b: Annotated[int, "Other"]) -> int:
    """Add."""
    return a + b


@tool
async def fail(kind: Annotated[str, "How"]) -> None:
    """Fail."""
    raise ToolError("no", category=kind)


@tool(mode="background")
async def wait(ctx: ToolContext) -> str:
    """Wait until it is stopped."""
    await asyncio.Event().wait()
    return ""


@tool(mode="background")
async def build() -> str:
    """Build."""
    return "built"


@tool(mode="human")
async def pay(amount: Annotated[int, "How much"]) -> str:
    """Pay."""
    return f"paid {amount}"


TOOLS = [add, fail, wait, build, pay]


def samples(metrics: Metrics) -> dict[str, list[tuple[dict[str, str], float]]]:
    """Return the samples of a scrape by name, read by Prometheus's own parser."""
    found: dict[str, list[tuple[dict[str, str], float]]] = {}
    for family in text_string_to_metric_families(metrics.render().decode()):
        for sample in family.samples:
            found.setdefault(sample.name, []).append((dict(sample.labels), sample.value))
    return found


def value(metrics: Metrics, name: str, **labels: str) -> float:
    (found,) = [value for given, value in samples(metrics)[name] if given == labels]
    return found


async def test_o1_every_required_metric_exists() -> None:
    async with Runtime(TOOLS) as runtime:
        with telemetry.measure(runtime) as metrics:
            session = await runtime.open("s", user_id="u")
            await session.call("fail", {"kind": "execution"})
            found = samples(metrics)
            if sys.platform != "linux":  # the memory of the process is known only on Linux
                found["process_resident_memory_bytes"] = []
            assert {figure: name for figure, name in FIGURES.items() if name not in found} == {}
    assert CONTENT_TYPE.startswith("text/plain")


async def test_o1_calls_errors_rates_retries_and_breakers_by_tool() -> None:
    policy = RetryPolicy(max_attempts=2, base_delay=0.0)
    async with Runtime(TOOLS, retry=policy) as runtime:
        session = await runtime.open("s", user_id="u")
        for _ in range(3):
            await session.call("add", {"a": 1, "b": 2})
        await session.call("add", {"a": "x"})
        for _ in range(5):
            await session.call("fail", {"kind": "execution"})
        metrics = telemetry.measure(runtime)
        assert value(metrics, "callboard_tool_calls_total", tool="add", status="succeeded") == 3
        assert value(metrics, "callboard_tool_calls_total", tool="add", status="failed") == 1
        assert value(metrics, "callboard_tool_errors_total", tool="add", category="validation") == 1
        assert value(metrics, "callboard_tool_errors_total", tool="fail", category="execution") == 5
        assert value(metrics, "callboard_tool_error_ratio", tool="add") == 0.25
        assert value(metrics, "callboard_tool_error_ratio", tool="fail") == 1.0
        assert value(metrics, "callboard_tool_error_ratio", tool="build") == 0.0
        assert value(metrics, "callboard_tool_breaker", tool="fail", callboard_tool_breaker="open") == 1
        assert value(metrics, "callboard_tool_breaker", tool="add", callboard_tool_breaker="closed") == 1
        assert value(metrics, "callboard_tool_duration_seconds_count", tool="add") == 4
        assert value(metrics, "callboard_tool_duration_seconds_bucket", tool="add", le="+Inf") == 4
        assert value(metrics, "callboard_tool_retries_total", tool="fail") == 0
        assert 'callboard_tool_duration_seconds_bucket{le="+Inf",tool="build"}' not in metrics.render().decode()


async def test_o1_retries_are_counted() -> None:
    tries = 0

    @tool(idempotent=True)
    async def shaky() -> str:
        """Fail once."""
        nonlocal tries
        tries += 1
        if tries == 1:
            raise ToolError("again", category="transient")
        return "ok"

    async with Runtime([shaky], retry=RetryPolicy(max_attempts=2, base_delay=0.0)) as runtime:
        session = await runtime.open("s", user_id="u")
        assert (await session.call("shaky")).value == "ok"
        assert value(telemetry.measure(runtime), "callboard_tool_retries_total", tool="shaky") == 1


async def test_o1_tool_names_invented_by_models_are_not_labels() -> None:
    async with Runtime(TOOLS) as runtime:
        session = await runtime.open("s", user_id="u")
        for number in range(20):
            await session.call(f"made_up_{number}")
        metrics = telemetry.measure(runtime)
        assert b"made_up" not in metrics.render()
        assert value(metrics, "callboard_unknown_tool_calls_total") == 20
        tools = {labels["tool"] for labels, _ in samples(metrics)["callboard_tool_calls_total"]}
        assert tools == set(runtime.registry.names())


async def test_o1_sessions_executions_requests_and_late_results() -> None:
    async with Runtime(TOOLS) as runtime:
        metrics = telemetry.measure(runtime)
        first = await runtime.open("one", user_id="u")
        await runtime.open("two", user_id="u")
        await runtime.open("three", user_id="u")
        for _ in range(2):
            await first.call("wait")
        await first.call("pay", {"amount": 1})
        done = await first.call("build")
        await first.result(done.execution_id)
        await settle()
        assert value(metrics, "callboard_executions", status="executing") == 2
        assert value(metrics, "callboard_sessions") == 3
        assert value(metrics, "callboard_human_requests") == 1
        assert value(metrics, "callboard_executions", status="waiting") == 1
        assert value(metrics, "callboard_late_results") == 1
        assert value(metrics, "callboard_queue_length") == 0
        assert value(metrics, "callboard_session_executions_bucket", le="0.0") == 2
        assert value(metrics, "callboard_session_executions_bucket", le="2.0") == 2
        assert value(metrics, "callboard_session_executions_bucket", le="5.0") == 3
        assert value(metrics, "callboard_session_executions_gsum") == 3
        await first.take_results()
        assert value(metrics, "callboard_late_results") == 0


async def test_o1_persistence_and_restores(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/a.db"
    async with Runtime(TOOLS, store=store) as runtime:
        metrics = telemetry.measure(runtime)
        session = await runtime.open("s", user_id="u")
        await session.call("add", {"a": 1, "b": 2})
        assert value(metrics, "callboard_store_changes_total", result="written") >= 2
        assert value(metrics, "callboard_store_changes_total", result="lost") == 0
        assert value(metrics, "callboard_store_commit_seconds_count") >= 2
        assert value(metrics, "callboard_store_commit_seconds_sum") > 0
        assert value(metrics, "callboard_session_restores_total", result="succeeded") == 0
        assert value(metrics, "callboard_store_available") == 1
    async with Runtime(TOOLS, store=store) as runtime:
        metrics = telemetry.measure(runtime)
        await runtime.open("s", user_id="u")
        assert value(metrics, "callboard_session_restores_total", result="succeeded") == 1


async def test_o1_failures_of_the_store_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with Runtime(TOOLS, store=f"sqlite:///{tmp_path}/a.db") as runtime:
        metrics, store = telemetry.measure(runtime), runtime.store
        session = await runtime.open("s", user_id="u")
        commit, answers = store.commit, [StoreUnavailable("gone"), StoreUnavailable("gone")]

        async def failing(changes: Any) -> Any:
            if answers:
                raise answers.pop()
            return await commit(changes)

        monkeypatch.setattr(store, "commit", failing)
        await session.notice("hello")
        assert value(metrics, "callboard_store_commit_failures_total") == 2

        async def gone(*_: Any) -> Any:
            raise StoreUnavailable("gone")

        monkeypatch.setattr(store, "session", gone)
        with pytest.raises(StoreUnavailable):
            await runtime.open("other", user_id="u")
        assert value(metrics, "callboard_session_restores_total", result="failed") == 1
        monkeypatch.undo()


async def test_o1_readers_are_counted_while_they_read() -> None:
    async with Runtime(TOOLS) as runtime:
        metrics = telemetry.measure(runtime)
        assert value(metrics, "callboard_readers", kind="sse") == 0
        with suppress(ValueError), metrics.reading(), metrics.reading("ag-ui"), metrics.reading():
            assert value(metrics, "callboard_readers", kind="sse") == 2
            assert value(metrics, "callboard_readers", kind="ag-ui") == 1
            raise ValueError
        assert value(metrics, "callboard_readers", kind="sse") == 0


async def test_o1_turns_and_tokens() -> None:
    async with Runtime(TOOLS) as runtime:
        metrics = telemetry.measure(runtime)
        session = await runtime.open("s", user_id="u")
        scope = ConversationScope(live_session(session))

        def turn(status: str, usage: Usage | None) -> None:
            scope.turn_began("t1")
            assert value(metrics, "callboard_turns_running") == 1
            scope.turn_ended("t1", status, usage)

        usage = Usage(requests=2, input_tokens=10, output_tokens=3, cost=0.5)
        turn("finished", usage)
        turn("failed", replace(usage, cost=None))
        turn("paused", usage)  # counted at the end of the whole turn
        turn("lost", usage)
        turn("interrupted", None)
        assert value(metrics, "callboard_turns_running") == 0
        for status, count in (("finished", 1), ("failed", 1), ("paused", 1), ("lost", 1), ("interrupted", 1)):
            assert value(metrics, "callboard_turn_duration_seconds_count", status=status) == count
        assert value(metrics, "callboard_model_tokens_total", direction="input") == 20
        assert value(metrics, "callboard_model_tokens_total", direction="output") == 6
        assert value(metrics, "callboard_model_requests_total") == 4
        assert value(metrics, "callboard_model_cost_dollars_total") == 0.5
        metrics.close()
        scope.turn_began("t2")
        assert value(metrics, "callboard_turns_running") == 0


async def test_o1_runtimes_are_measured_separately() -> None:
    async with Runtime(TOOLS) as one, Runtime(TOOLS) as other:
        first, second = telemetry.measure(one), telemetry.measure(other)
        await one.open("s", user_id="u")
        assert value(first, "callboard_sessions") == 1
        assert value(second, "callboard_sessions") == 0


async def test_o1_the_lag_of_the_event_loop_is_sampled() -> None:
    async with Runtime(TOOLS, blocked_after=3_600.0) as runtime:
        metrics = telemetry.measure(runtime)
        runtime._watchdog._beat(time.monotonic() - 0.2)
        assert value(metrics, "callboard_event_loop_lag_seconds_bucket", le="0.1") == 0
        assert value(metrics, "callboard_event_loop_lag_seconds_bucket", le="+Inf") == 1
        assert value(metrics, "callboard_event_loop_lag_seconds_sum") >= 0.2


async def test_o1_memory_of_a_session_grows_with_its_content() -> None:
    async with Runtime(TOOLS) as runtime:
        session = await runtime.open("s", user_id="u")
        empty = session_bytes(live_session(session))
        assert 500 < empty < 20_000
        for _ in range(200):
            await session.notice("x" * 1_000)
        full = session_bytes(live_session(session))
        assert 200_000 < full - empty < 400_000
        for _ in range(100):
            await session.call("add", {"a": 1, "b": 2})
        assert session_bytes(live_session(session)) > full + 20_000


async def test_o1_a_scrape_samples_a_few_of_many_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[Any] = []
    monkeypatch.setattr("callboard.telemetry.collector.session_bytes", lambda session: measured.append(session) or 7)
    async with Runtime(TOOLS) as runtime:
        for number in range(100):
            await runtime.open(f"s{number}", user_id="u")
        names = {family.name: family for family in RuntimeCollector(runtime).collect()}
        assert names["callboard_session_memory_bytes"].samples[0].value == 7
        assert 20 <= len(measured) <= 32


def below(values: Iterable[float], bound: float) -> int:
    return sum(value <= bound for value in values)


@given(st.lists(st.floats(0, 10_000) | st.sampled_from(SECONDS)), st.integers(0, 40))
def test_g3_a_histogram_counts_the_same_one_by_one_and_in_groups(values: list[float], cut: int) -> None:
    alone, together = Histogram(), Histogram()
    for each in values:
        alone.add(each)
    together.add_all(values[:cut])
    together.add_all(values[cut:])
    expected = [*(below(values, bound) for bound in SECONDS), len(values)]
    assert alone.below() == together.below() == expected
    assert alone.total == pytest.approx(sum(values)) == pytest.approx(together.total)


async def test_g3_the_histogram_of_a_tool_is_reset_with_its_statistics() -> None:
    async with Runtime(TOOLS) as runtime:
        await runtime.registry.call("add", {"a": 1, "b": 2})
        assert runtime.registry.counters("add").histogram().below()[-1] == 1
        runtime.registry.reset_stats("add")
        assert runtime.registry.counters("add").histogram().below()[-1] == 0


async def test_o1_the_documentation_lists_every_metric() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "operations.md").read_text()
    listed = set(re.findall(r"^\| `(callboard_\w+)`", guide, re.MULTILINE))
    async with Runtime(TOOLS, engine=LocalEngine()) as runtime:
        families = text_string_to_metric_families(telemetry.measure(runtime).render().decode())
        rendered = {
            f"{family.name}_total" if family.type == "counter" else family.name
            for family in families
            if family.name.startswith("callboard_") and not family.name.endswith(("_gsum", "_gcount"))
        }
    assert rendered == listed
