"""Addresses without parameters, found at once: the routes that are asked most are not searched one after the other."""

from collections.abc import Mapping
from typing import Any, NoReturn

from starlette.routing import BaseRoute, Match, NoMatchFound
from starlette.types import ASGIApp, Receive, Scope, Send


class FixedRoutes(BaseRoute):
    """An app for every address, as one route. Methods are the apps' to refuse."""

    def __init__(self, apps: Mapping[str, ASGIApp]) -> None:
        self._apps = apps

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        app = self._apps.get(path_of(scope)) if scope["type"] == "http" else None
        return (Match.NONE, {}) if app is None else (Match.FULL, {"endpoint": app, "path_params": {}})

    def url_path_for(self, name: str, /, **path_params: Any) -> NoReturn:
        raise NoMatchFound(name, path_params)

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await scope["endpoint"](scope, receive, send)


def path_of(scope: Scope) -> str:
    """The path within the application, wherever it is mounted."""
    path: str = scope["path"]
    root = scope.get("root_path", "").rstrip("/")
    return path.removeprefix(root) if root and path.startswith(f"{root}/") else path
