"""What operators see of a runtime: metrics, traces, logs. It looks on from outside; nothing below knows of it.

Each part is optional. `measure` needs the extra `server`, `trace` the extra `telemetry`, logs need nothing.
"""

from typing import TYPE_CHECKING, Any

from ..errors import MissingExtraError
from ..runtime import Runtime

if TYPE_CHECKING:
    from .metrics import Metrics
    from .tracing import Tracing


def measure(runtime: Runtime) -> "Metrics":
    """The metrics of a runtime, which `render` writes for Prometheus. Raises `MissingExtraError`."""
    try:
        from .metrics import Metrics
    except ModuleNotFoundError as missing:
        raise MissingExtraError("Metrics for Prometheus", "server") from missing
    return Metrics(runtime)


def can_trace() -> bool:
    """Whether OpenTelemetry is installed here, and the process has said where spans go."""
    try:
        from opentelemetry import trace as api
        from opentelemetry.sdk.trace import TracerProvider
    except ModuleNotFoundError:
        return False
    return isinstance(api.get_tracer_provider(), TracerProvider)


def trace(runtime: Runtime, tracer_provider: Any = None, *, content: bool = False) -> "Tracing":
    """Have turns, calls and attempts traced, until what this returns is closed. Raises `MissingExtraError`.

    Without a provider it is the one that the process has set for OpenTelemetry. With `content` the spans of calls have
    arguments and results too, cut, and with secrets masked.
    """
    try:
        from .tracing import Tracing
    except ModuleNotFoundError as missing:
        raise MissingExtraError("Tracing", "telemetry") from missing
    return Tracing(runtime, tracer_provider, content=content)
