"""Health and metrics of a worker over HTTP, for orchestrators and Prometheus."""

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, closing, contextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ..runtime import Runtime
from ..telemetry import measure
from ..telemetry.metrics import CONTENT_TYPE
from .lingering import LingeringConnections
from .uvicorn_server import listen, server_config


class _Server(uvicorn.Server):
    """A server that leaves the signals to the worker, so that it responds until the worker's calls have ended."""

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield


@asynccontextmanager
async def serve_health(runtime: Runtime, host: str, port: int) -> AsyncGenerator[str]:
    """Serve `/healthz` and `/metrics` of a worker inside the block, and yield the address."""

    async def health(request: Request) -> Response:
        engine, available = runtime.engine, runtime.sessions.writer.available
        connected = engine is not None and engine.connected
        body = {"store": "ok" if available else "unavailable", "engine": "ok" if connected else "unavailable"}
        return JSONResponse(body, 200 if available and connected else 503)

    async def metrics(request: Request) -> Response:
        return Response(measured.render(), media_type=CONTENT_TYPE)

    with closing(listen(host, port)) as listener, measure(runtime) as measured:
        app = Starlette(routes=[Route("/healthz", health), Route("/metrics", metrics)])
        server = _Server(server_config(app, LingeringConnections(), grace=1.0))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield f"http://{host}:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            await asyncio.wait([serving])
