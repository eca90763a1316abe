"""The files of the page, read from the package once and served at their own paths."""

import hashlib
from collections.abc import Awaitable, Callable
from importlib import resources
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}


class Asset(NamedTuple):
    """A file of the page."""

    content: bytes
    media_type: str
    tag: str
    """The entity tag, a hash of the content."""


def page_routes() -> list[Route]:
    """Create a route for each file of the page; `index.html` is also at `/`."""
    found = {f"/{name}": asset for name, asset in _assets().items()}
    found["/"] = found["/index.html"]
    return [Route(path, _served(asset), methods=["GET"], name=path) for path, asset in found.items()]


def _assets() -> dict[str, Asset]:
    found: dict[str, Asset] = {}
    for file in resources.files("callboard.server").joinpath("page").iterdir():
        if (media_type := TYPES.get(f".{file.name.rpartition('.')[2]}")) is not None:
            content = file.read_bytes()
            found[file.name] = Asset(content, media_type, f'"{hashlib.sha256(content).hexdigest()[:32]}"')
    return found


def _served(asset: Asset) -> Callable[[Request], Awaitable[Response]]:
    async def serve(request: Request) -> Response:
        headers = {"etag": asset.tag, "cache-control": "no-cache"}
        if request.headers.get("if-none-match") == asset.tag:
            return Response(None, 304, headers)
        return Response(asset.content, 200, headers, asset.media_type)

    return serve
