"""Operations: liveness, readiness and metrics."""

import anyio
from starlette.responses import Response
from starlette.types import ASGIApp

from ...protocols.problem import Problem
from ...storage.errors import StoreError
from ...telemetry.metrics import CONTENT_TYPE
from ..endpoint import ApiCall, Nothing, endpoint
from ..models import Health

PATIENCE = 3.0
"""Seconds that the store may take to respond."""
PER_TOOL = 1e-3
"""Seconds between two responses with metrics, for each tool: more than it takes to write those of a tool."""


async def get_health(call: ApiCall[Nothing, Nothing]) -> Health:
    """Check that the server is alive."""
    return Health()


async def get_readiness(call: ApiCall[Nothing, Nothing]) -> Health:
    """Check that the server is ready: the store responds, and the server is not shutting down."""
    if call.services.draining:
        raise _not_ready("The server is shutting down.")
    if not call.services.runtime.sessions.writer.available:
        raise _not_ready("The store accepts no writes.")
    try:
        with anyio.fail_after(PATIENCE):
            await call.services.runtime.store.sessions(limit=1)
    except (StoreError, TimeoutError):
        raise _not_ready("The store does not respond.") from None
    return Health()


async def get_metrics(call: ApiCall[Nothing, Nothing]) -> ASGIApp:
    """Get metrics for Prometheus."""
    if call.services.metrics is None:
        raise Problem(404, "not_found", "Not found", "This server has no metrics.")
    await call.services.pacer.enter(call.user_id, len(call.services.runtime.registry.names()) * PER_TOOL)
    return Response(call.services.metrics(), media_type=CONTENT_TYPE)


def _not_ready(why: str) -> Problem:
    return Problem(503, "not_ready", "Not ready", why, {"retry-after": "5"})


ENDPOINTS = [
    endpoint("GET", "/healthz", get_health),
    endpoint("GET", "/readyz", get_readiness, problems=(503,)),
    endpoint("GET", "/metrics", get_metrics, problems=(404,), media_type="text/plain"),
]
