"""The metrics of one runtime, as Prometheus reads them. Any number of runtimes can be measured in one process."""

from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Self

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from ..runtime import Runtime
from ..tools.histogram import Histogram
from ..turns import TurnStatus
from .collector import RuntimeCollector, buckets
from .turns import LOST, STATUSES, TurnEnd, TurnWatch

CONTENT_TYPE = CONTENT_TYPE_LATEST
"""The media type of what `render` gives."""
DIRECTIONS = ("input", "output")


class Metrics(Collector):
    """Measures a runtime, from now until it is closed; tools, sessions and the store are measured from their start.

    `render` is called on the runtime's event loop. `reading` is for a server: how many streams it serves.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._readers: Counter[str] = Counter({"sse": 0})
        self._durations = {status: Histogram() for status in STATUSES}
        self._tokens: Counter[str] = Counter()
        self._requests = 0
        self._cost = 0.0
        self._watch = TurnWatch(runtime, self)
        self.registry = CollectorRegistry()
        """To add collectors of one's own."""
        self.registry.register(RuntimeCollector(runtime))
        self.registry.register(self)
        ProcessCollector(registry=self.registry)

    def close(self) -> None:
        """Stop looking on."""
        self._watch.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def render(self) -> bytes:
        """All metrics in Prometheus's text format."""
        return generate_latest(self.registry)

    @contextmanager
    def reading(self, kind: str = "sse") -> Generator[None]:
        """Count a reader for as long as it is there. The kind is a label, so it is one of a few names."""
        self._readers[kind] += 1
        try:
            yield
        finally:
            self._readers[kind] -= 1

    # Turns

    def turn_began(self, session_id: str, turn_id: str) -> None:
        """It is counted when it ends."""

    def turn_ended(self, session_id: str, turn_id: str, end: TurnEnd) -> None:
        self._durations[end.status].add(end.seconds)
        if end.status in (TurnStatus.PAUSED, LOST):  # what it used is counted once, at the end of the whole turn
            return
        self._tokens["input"] += end.input_tokens
        self._tokens["output"] += end.output_tokens
        self._requests += end.requests
        self._cost += end.cost

    def collect(self) -> Iterator[Metric]:
        """What the runtime does not count by itself."""
        readers = GaugeMetricFamily("callboard_readers", "Streams that are being read.", labels=("kind",))
        for kind, count in sorted(self._readers.items()):
            readers.add_metric((kind,), count)
        yield readers
        duration = HistogramMetricFamily(
            "callboard_turn_duration_seconds", "Turns by how they ended, and how long they ran.", labels=("status",)
        )
        for status, histogram in self._durations.items():
            duration.add_metric((status,), buckets(histogram), histogram.total)
        yield duration
        yield GaugeMetricFamily("callboard_turns_running", "Turns that run now.", self._watch.running)
        tokens = CounterMetricFamily("callboard_model_tokens", "Tokens of the turns that ended.", labels=("direction",))
        for direction in DIRECTIONS:
            tokens.add_metric((direction,), self._tokens[direction])
        yield tokens
        yield CounterMetricFamily("callboard_model_requests", "Requests to models.", self._requests)
        yield CounterMetricFamily("callboard_model_cost_dollars", "What they cost, where it is known.", self._cost)
