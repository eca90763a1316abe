"""The files of the page, read from the package once and served at their own paths."""

import hashlib
from collections.abc import Awaitable, Callable
from importlib import resources

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}


def page_routes() -> list[Route]:
    """Create a route for each file of the page; `index.html` is also at `/`."""
    found: dict[str, Callable[[Request], Awaitable[Response]]] = {}
    for file in resources.files("callboard.server").joinpath("page").iterdir():
        if (media_type := TYPES.get(f".{file.name.rpartition('.')[2]}")) is not None:
            found[f"/{file.name}"] = _served(file.read_bytes(), media_type)
    found["/"] = found["/index.html"]
    return [Route(path, serve, methods=["GET"], name=path) for path, serve in found.items()]


def _served(content: bytes, media_type: str) -> Callable[[Request], Awaitable[Response]]:
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {"etag": tag, "cache-control": "no-cache"}

    async def serve(request: Request) -> Response:
        if request.headers.get("if-none-match") == tag:
            return Response(None, 304, headers)
        return Response(content, 200, headers, media_type)

    return serve
