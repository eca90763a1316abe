"""The Prometheus metrics of one runtime. A process can measure several runtimes."""

from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Self

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector

from ..runtime import Runtime
from ..tools.histogram import Histogram
from ..turns import TurnStatus, Usage
from .collector import RuntimeCollector, buckets
from .turn_watch import LOST, STATUSES, TurnEnd, TurnWatch

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
"""The media type of `render`."""


class Metrics(Collector):
    """Measures a runtime until it is closed; tools, sessions and the store are measured from the runtime's start.

    Call `render` on the runtime's event loop. A server counts its streams with `reading`.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._readers: Counter[str] = Counter({"sse": 0})
        self._durations = {status: Histogram() for status in STATUSES}
        self._usage = Usage()
        self._watch = TurnWatch(runtime, self)
        self.registry = CollectorRegistry()
        """The registry, to which you can add collectors."""
        self.registry.register(RuntimeCollector(runtime))
        self.registry.register(self)
        ProcessCollector(registry=self.registry)

    def close(self) -> None:
        """Stop measuring."""
        self._watch.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def render(self) -> bytes:
        """Return all metrics in Prometheus's text format."""
        return generate_latest(self.registry)

    @contextmanager
    def reading(self, kind: str = "sse") -> Generator[None]:
        """Count a stream until the end of the `with`. The kind is a label, so use few different names."""
        self._readers[kind] += 1
        try:
            yield
        finally:
            self._readers[kind] -= 1

    def turn_began(self, session_id: str, turn_id: str) -> None:
        """Do nothing: a turn is counted when it ends."""

    def turn_ended(self, session_id: str, turn_id: str, end: TurnEnd) -> None:
        self._durations[end.status].add(end.seconds)
        if end.status not in (TurnStatus.PAUSED, LOST):  # else the usage is counted at the end of the whole turn
            self._usage.add(end.usage)

    def collect(self) -> Iterator[Metric]:
        """Collect the metrics that the runtime does not count itself."""
        readers = GaugeMetricFamily("callboard_readers", "Open streams.", labels=("kind",))
        for kind, count in sorted(self._readers.items()):
            readers.add_metric((kind,), count)
        yield readers
        duration = HistogramMetricFamily(
            "callboard_turn_duration_seconds", "Duration of turns by status.", labels=("status",)
        )
        for status, histogram in self._durations.items():
            duration.add_metric((status,), buckets(histogram), histogram.total)
        yield duration
        yield GaugeMetricFamily("callboard_turns_running", "Running turns.", self._watch.running)
        tokens = CounterMetricFamily("callboard_model_tokens", "Tokens of finished turns.", labels=("direction",))
        tokens.add_metric(("input",), self._usage.input_tokens)
        tokens.add_metric(("output",), self._usage.output_tokens)
        yield tokens
        yield CounterMetricFamily("callboard_model_requests", "Requests to models.", self._usage.requests)
        cost = "Cost of requests to models, if known."
        yield CounterMetricFamily("callboard_model_cost_dollars", cost, self._usage.cost or 0.0)
