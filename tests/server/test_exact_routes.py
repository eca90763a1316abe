"""Routes without parameters: found by their exact path only."""

from typing import Any

import pytest
from starlette.routing import Match, NoMatchFound

from callboard.server.exact_routes import ExactRoutes


async def chat(scope: Any, receive: Any, send: Any) -> None: ...


ROUTES = ExactRoutes({"/api/chat": chat})


def found(path: str, root_path: str = "", kind: str = "http") -> tuple[Match, Any]:
    match, scope = ROUTES.matches({"type": kind, "path": path, "root_path": root_path})
    return match, scope.get("endpoint")


def test_exact_path_is_found():
    assert found("/api/chat") == (Match.FULL, chat)


@pytest.mark.parametrize("path", ["/api/chat/", "/api/chat\n", "/API/chat", "//api/chat", "/api", ""])
def test_other_paths_are_not_found(path: str):
    assert found(path) == (Match.NONE, None)


def test_path_is_found_below_the_mount_of_the_application():
    assert found("/board/api/chat", root_path="/board") == (Match.FULL, chat)
    assert found("/board/api/chat", root_path="/boar") == (Match.NONE, None)


def test_only_http_is_matched():
    assert found("/api/chat", kind="websocket") == (Match.NONE, None)


def test_routes_have_no_names():
    with pytest.raises(NoMatchFound):
        ROUTES.url_path_for("chat")
