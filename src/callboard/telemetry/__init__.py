"""Metrics, traces and logs of a runtime. It observes the runtime from outside; no lower layer depends on it.

Each part is optional: `measure` needs the extra `server`, `trace` the extra `telemetry`, logs need nothing.
"""

from typing import TYPE_CHECKING, Any

from ..errors import MissingExtraError
from ..runtime import Runtime

if TYPE_CHECKING:
    from .metrics import Metrics
    from .tracing import Tracing


def measure(runtime: Runtime) -> "Metrics":
    """Measure a runtime; `render` writes its metrics for Prometheus. Raises `MissingExtraError`."""
    try:
        from .metrics import Metrics
    except ModuleNotFoundError as missing:
        raise MissingExtraError("Metrics for Prometheus", "server") from missing
    return Metrics(runtime)


def can_trace() -> bool:
    """Whether OpenTelemetry is installed and the process has set a tracer provider."""
    try:
        from opentelemetry import trace as api

        provider = api.get_tracer_provider()
        if isinstance(provider, api.ProxyTracerProvider):  # none is set; the SDK takes a while to load
            return False
        from opentelemetry.sdk.trace import TracerProvider
    except ModuleNotFoundError:
        return False
    return isinstance(provider, TracerProvider)


def trace(runtime: Runtime, tracer_provider: Any = None, *, content: bool = False) -> "Tracing":
    """Trace turns, calls and attempts until the returned object is closed. Raises `MissingExtraError`.

    The default provider is OpenTelemetry's global one. With `content`, the spans of calls have arguments and results,
    shortened and with secrets masked.
    """
    try:
        from .tracing import Tracing
    except ModuleNotFoundError as missing:
        raise MissingExtraError("Tracing", "telemetry") from missing
    return Tracing(runtime, tracer_provider, content=content)
