"""Routes without path parameters, found by one dictionary lookup because they serve most requests."""

from collections.abc import Mapping
from typing import Any, NoReturn

from starlette.routing import BaseRoute, Match, NoMatchFound
from starlette.types import ASGIApp, Receive, Scope, Send


class ExactRoutes(BaseRoute):
    """An app for each path, as one route. Each app checks the method itself."""

    def __init__(self, apps: Mapping[str, ASGIApp]) -> None:
        self._apps = apps

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        app = self._apps.get(request_path(scope)) if scope["type"] == "http" else None
        return (Match.NONE, {}) if app is None else (Match.FULL, {"endpoint": app, "path_params": {}})

    def url_path_for(self, name: str, /, **path_params: Any) -> NoReturn:
        raise NoMatchFound(name, path_params)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await scope["endpoint"](scope, receive, send)


def request_path(scope: Scope) -> str:
    """Return the path within the application, without the prefix under which it is mounted."""
    path: str = scope["path"]
    root = scope.get("root_path", "").rstrip("/")
    return path.removeprefix(root) if root and path.startswith(f"{root}/") else path
