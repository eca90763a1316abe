"""The files of the page, read from the package once and served at their own paths.

`scripts/assets.py` builds them from `web/`. A file below `chunks/` has its hash in its name and never changes; browsers
check the others with the server on each use.
"""

import hashlib
from collections.abc import Awaitable, Callable, Iterator
from importlib import resources
from importlib.resources.abc import Traversable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
CHUNKS = "chunks/"


def page_routes() -> list[Route]:
    """Create a route for each file of the page; `index.html` is also at `/`. Without built files there are none."""
    found: dict[str, Callable[[Request], Awaitable[Response]]] = {}
    for name, file in _files(resources.files("callboard.server").joinpath("static")):
        if (media_type := TYPES.get(f".{name.rpartition('.')[2]}")) is not None:
            found[f"/{name}"] = _served(file.read_bytes(), media_type, is_hashed=name.startswith(CHUNKS))
    if (index := found.get("/index.html")) is not None:
        found["/"] = index
    return [Route(path, serve, methods=["GET"], name=path) for path, serve in found.items()]


def _files(folder: Traversable, prefix: str = "") -> Iterator[tuple[str, Traversable]]:
    """Yield the files of a folder with their paths."""
    if not folder.is_dir():
        return
    for each in folder.iterdir():
        if each.is_dir():
            yield from _files(each, f"{prefix}{each.name}/")
        else:
            yield f"{prefix}{each.name}", each


def _served(content: bytes, media_type: str, *, is_hashed: bool) -> Callable[[Request], Awaitable[Response]]:
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    lifetime = "public, max-age=31536000, immutable" if is_hashed else "no-cache"
    headers = {"etag": tag, "cache-control": lifetime}

    async def serve(request: Request) -> Response:
        if request.headers.get("if-none-match") == tag:
            return Response(None, 304, headers)
        return Response(content, 200, headers, media_type)

    return serve
