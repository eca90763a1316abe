"""For those who run the server: whether it lives, whether it can work, and what it counts."""

import anyio
from starlette.responses import Response
from starlette.types import ASGIApp

from ...protocols.problem import Problem
from ...storage.port import StoreError
from ..endpoint import ApiCall, Nothing, endpoint
from ..models import Health

PATIENCE = 3.0
"""Seconds within which the store must answer."""
METRICS = "text/plain; version=0.0.4; charset=utf-8"


async def alive(call: ApiCall[Nothing, Nothing]) -> Health:
    return Health()


async def ready(call: ApiCall[Nothing, Nothing]) -> Health:
    """Whether requests can be sent here: the store answers, and the server is not about to end."""
    if call.services.draining:
        raise _not_ready("The server is ending.")
    if not call.services.runtime.sessions.writer.available:
        raise _not_ready("The store takes nothing in.")
    try:
        with anyio.fail_after(PATIENCE):
            await call.services.runtime.store.sessions(limit=1)
    except (StoreError, TimeoutError):
        raise _not_ready("The store does not answer.") from None
    return Health()


async def metrics(call: ApiCall[Nothing, Nothing]) -> ASGIApp:
    if call.services.metrics is None:
        raise Problem(404, "not_found", "Not found", "This server gives no metrics.")
    return Response(call.services.metrics(), media_type=METRICS)


def _not_ready(why: str) -> Problem:
    return Problem(503, "not_ready", "Not ready", why, {"retry-after": "5"})


ENDPOINTS = [
    endpoint("GET", "/healthz", alive, "Whether the server lives", answer=Health),
    endpoint("GET", "/readyz", ready, "Whether the server can work", answer=Health, problems=(503,)),
    endpoint("GET", "/metrics", metrics, "What is counted, for Prometheus", problems=(404,), media_type="text/plain"),
]
