"""The files of the page, read from the package once and served at their own paths.

`page/` is written by hand. `static/` is built from `web/`; its files are at `/static/`, and a clone has them after
`scripts/assets.py`.
"""

import hashlib
from collections.abc import Awaitable, Callable, Iterator
from importlib import resources
from importlib.resources.abc import Traversable
from typing import TypeAlias

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
_CHUNKS = "/static/chunks/"
"""The names of these files contain their hashes."""

Serve: TypeAlias = Callable[[Request], Awaitable[Response]]


def page_routes() -> list[Route]:
    """Create a route for each file of the page; `index.html` is also at `/`."""
    package = resources.files("callboard.server")
    found = dict([*_served_files(package / "page", "/"), *_served_files(package / "static", "/static/")])
    found["/"] = found["/index.html"]
    return [Route(path, serve, methods=["GET"], name=path) for path, serve in found.items()]


def _served_files(folder: Traversable, prefix: str) -> Iterator[tuple[str, Serve]]:
    """Yield each file of a folder and its subfolders with its path."""
    for file in folder.iterdir() if folder.is_dir() else ():
        if file.is_dir():
            yield from _served_files(file, f"{prefix}{file.name}/")
        elif (media_type := TYPES.get(f".{file.name.rpartition('.')[2]}")) is not None:
            path = f"{prefix}{file.name}"
            yield path, _served(file.read_bytes(), media_type, immutable=path.startswith(_CHUNKS))


def _served(content: bytes, media_type: str, *, immutable: bool) -> Serve:
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {"etag": tag, "cache-control": "public, max-age=31536000, immutable" if immutable else "no-cache"}

    async def serve(request: Request) -> Response:
        if request.headers.get("if-none-match") == tag:
            return Response(None, 304, headers)
        return Response(content, 200, headers, media_type)

    return serve
