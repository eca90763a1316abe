"""Metric families of a runtime, computed from its own counters at each scrape.

Labels are bounded: names of registered tools, and values from fixed lists. Text from models and people (names of
unknown tools, ids) is never a label.
"""

from collections import Counter
from collections.abc import Iterator
from sys import getsizeof

from prometheus_client.core import (
    CounterMetricFamily,
    GaugeHistogramMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    InfoMetricFamily,
    Metric,
    StateSetMetricFamily,
    SummaryMetricFamily,
)
from prometheus_client.registry import Collector

from .. import __version__
from ..execution.breaker import BreakerState
from ..execution.execution import Execution
from ..execution.lifecycle import Status
from ..runtime import Runtime
from ..sessions.live_session import LiveSession
from ..tools.histogram import Histogram

PER_SESSION = (0.0, 1.0, 2.0, 5.0, 10.0, 25.0, 50.0, 100.0, 250.0)
"""The bounds of the histogram of open executions."""
SAMPLE = 32
"""Sessions in the estimate of memory per session."""
MEASURED = 50
"""Events and executions of a session that are measured; the others count as their mean."""
OPEN = tuple(status for status in Status if not status.terminal)


def buckets(histogram: Histogram) -> list[tuple[str, float]]:
    """Return the buckets of a histogram for Prometheus."""
    names = [*map(str, histogram.bounds), "+Inf"]
    return list(zip(names, map(float, histogram.below()), strict=True))


class RuntimeCollector(Collector):
    """Collects the metrics of one runtime. Call it on the runtime's event loop."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def collect(self) -> Iterator[Metric]:
        yield InfoMetricFamily("callboard", "The running version.", {"version": __version__})
        yield from self._tools()
        yield from self._executions()
        yield from self._sessions()
        yield from self._store()
        yield from self._engine()
        lag = self._runtime.loop_lag
        yield HistogramMetricFamily(
            "callboard_event_loop_lag_seconds", "Delay of ready callbacks.", buckets(lag), lag.total
        )

    def _tools(self) -> Iterator[Metric]:
        calls = CounterMetricFamily("callboard_tool_calls", "Finished calls by status.", labels=("tool", "status"))
        errors = CounterMetricFamily("callboard_tool_errors", "Failed calls by category.", labels=("tool", "category"))
        ratio = GaugeMetricFamily(
            "callboard_tool_error_ratio", "The ratio of failed calls, without cancelled ones.", labels=("tool",)
        )
        retries = CounterMetricFamily("callboard_tool_retries", "Attempts after the first.", labels=("tool",))
        duration = HistogramMetricFamily(
            "callboard_tool_duration_seconds", "Time from the first attempt of a call to its end.", labels=("tool",)
        )
        breaker = StateSetMetricFamily("callboard_tool_breaker", "The state of the breaker.", labels=("tool",))
        paused = GaugeMetricFamily("callboard_tool_breakers_open", "Open breakers of any scope.", labels=("tool",))
        registry, refusing = self._runtime.registry, self._runtime.manager.refusing_breakers()
        for name in registry.names():
            paused.add_metric((name,), refusing.get(name, 0))
            counters = registry.counters(name)
            stats, histogram = counters.read(), counters.histogram()
            failed = sum(stats.failures.values())
            calls.add_metric((name, "succeeded"), stats.successes)
            calls.add_metric((name, "failed"), failed)
            calls.add_metric((name, "cancelled"), stats.cancellations)
            for category, count in sorted(stats.failures.items()):
                errors.add_metric((name, category), count)
            ratio.add_metric((name,), 0.0 if stats.success_rate is None else 1.0 - stats.success_rate)
            retries.add_metric((name,), stats.retries)
            if stats.calls:  # most lines of a tool are those of its durations
                duration.add_metric((name,), buckets(histogram), histogram.total)
            breaker.add_metric((name,), {state.value: state == stats.breaker for state in BreakerState})
        yield from (calls, errors, ratio, retries, duration, breaker, paused)
        unknown = "Calls of unknown tools, or with arguments that are not text."
        yield CounterMetricFamily("callboard_unknown_tool_calls", unknown, self._runtime.manager.unknown)

    def _executions(self) -> Iterator[Metric]:
        manager = self._runtime.manager
        live = manager.live
        by_status = Counter(execution.status for execution in live)
        executions = GaugeMetricFamily("callboard_executions", "Open executions.", labels=("status",))
        for status in OPEN:
            executions.add_metric((status.value,), by_status[status])
        yield executions
        busy = Counter(execution.scope.id for execution in live)
        spread = Histogram(PER_SESSION)
        spread.add_all([0.0] * max(0, len(self._runtime.sessions) - len(busy)))
        spread.add_all([float(count) for count in busy.values()])
        yield GaugeHistogramMetricFamily(
            "callboard_session_executions", "Live sessions by their open executions.", buckets(spread), spread.total
        )
        yield GaugeMetricFamily("callboard_queue_length", "Executions that wait for a slot.", manager.queued)
        waiting = sum(each.request is not None and each.status is Status.WAITING for each in live)
        yield GaugeMetricFamily("callboard_human_requests", "Executions that wait for a person.", waiting)

    def _sessions(self) -> Iterator[Metric]:
        session_manager = self._runtime.sessions
        sessions = tuple(session_manager)
        yield GaugeMetricFamily("callboard_sessions", "Sessions in memory.", len(sessions))
        late = sum(len(session.results) for session in sessions)
        yield GaugeMetricFamily("callboard_late_results", "Late results that are not delivered yet.", late)
        sample = sessions[:: len(sessions) // SAMPLE + 1]
        mean = sum(map(session_bytes, sample)) / len(sample) if sample else 0.0
        yield GaugeMetricFamily(
            "callboard_session_memory_bytes", "Estimated memory of a session: the mean of a sample.", mean
        )
        kept = "Bytes of large events, arguments and results in memory."
        yield GaugeMetricFamily("callboard_kept_bytes", kept, session_manager.budget.kept)
        restores = CounterMetricFamily(
            "callboard_session_restores", "Sessions read from the store.", labels=("result",)
        )
        restores.add_metric(("succeeded",), session_manager.restores.succeeded)
        restores.add_metric(("failed",), session_manager.restores.failed)
        yield restores

    def _store(self) -> Iterator[Metric]:
        writer = self._runtime.sessions.writer
        changes = CounterMetricFamily("callboard_store_changes", "Changes to the store by result.", labels=("result",))
        changes.add_metric(("written",), writer.written)
        changes.add_metric(("refused",), writer.refused)
        changes.add_metric(("lost",), writer.lost)
        yield changes
        yield SummaryMetricFamily(
            "callboard_store_commit_seconds",
            "Number and duration of transactions.",
            writer.commits,
            writer.commit_time,
        )
        failures = "Failed transactions; most are retried."
        yield CounterMetricFamily("callboard_store_commit_failures", failures, writer.failures)
        available = "0 while the store does not respond."
        yield GaugeMetricFamily("callboard_store_available", available, writer.available)

    def _engine(self) -> Iterator[Metric]:
        engine, dispatcher, worker = self._runtime.engine, self._runtime.dispatcher, self._runtime.worker
        if engine is None or dispatcher is None or worker is None:
            return
        yield GaugeMetricFamily("callboard_engine_connected", "0 while the engine is away.", engine.connected)
        now = self._runtime.clock.time()
        waiting = GaugeMetricFamily(
            "callboard_queue_waiting", "Executions that wait for a worker, at the last sweep.", labels=("queue",)
        )
        oldest = GaugeMetricFamily(
            "callboard_queue_oldest_seconds", "Age of the oldest execution that waits.", labels=("queue",)
        )
        unserved = GaugeMetricFamily(
            "callboard_queue_unserved", "1 if executions wait and no worker serves the queue.", labels=("queue",)
        )
        for depth in dispatcher.depths:
            waiting.add_metric((depth.queue,), depth.waiting)
            oldest.add_metric((depth.queue,), max(0.0, now - depth.oldest_at))
            unserved.add_metric((depth.queue,), depth.queue in dispatcher.unserved_queues)
        yield from (waiting, oldest, unserved)
        again = "Messages that were sent again because they were missing."
        yield CounterMetricFamily("callboard_engine_messages_resent", again, dispatcher.submitted_again)
        yield GaugeMetricFamily(
            "callboard_worker_slots", "Calls that this process carries out at once.", worker.concurrency
        )
        yield GaugeMetricFamily("callboard_worker_running", "Calls from queues that run here.", len(worker.running))
        yield CounterMetricFamily("callboard_worker_executions", "Calls from queues that ended here.", worker.done)
        unknown = "Messages that were put back, since this worker does not have the tool."
        yield CounterMetricFamily("callboard_worker_unknown_tools", unknown, sum(worker.unknown.values()))


def session_bytes(session: LiveSession) -> int:
    """Estimate the bytes of a session, its events and its executions, without those of handlers, models and readers.

    It measures a sample, so its cost is bounded.
    """
    board, index = session.board, session.index
    own = sum(map(getsizeof, (session, board, index, session.ledger)))
    kept = board.last_seq - board.first_seq + 1
    lines = board.read(board.first_seq - 1).encoded if kept else ()
    executions = index.entries
    return (
        own
        + _all(kept, [getsizeof(line) + 8 for line in lines[:: kept // MEASURED + 1]])
        + _all(len(executions), [_execution_bytes(each) for each in executions[:: len(executions) // MEASURED + 1]])
    )


def _all(count: int, sizes: list[int]) -> int:
    return count * sum(sizes) // len(sizes) if sizes else 0


def _execution_bytes(execution: Execution) -> int:
    texts = (execution.id, execution.event_ids, execution.document, execution.result_json)
    display = 0 if execution.display_arguments is execution.document else getsizeof(execution.display_arguments)
    return getsizeof(execution) + sum(map(getsizeof, texts)) + display
