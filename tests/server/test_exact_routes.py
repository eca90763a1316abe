"""Addresses without parameters are found at once, and only as they are written."""

from typing import Any

import pytest
from starlette.routing import Match, NoMatchFound

from callboard.server.exact_routes import ExactRoutes


async def chat(scope: Any, receive: Any, send: Any) -> None: ...


ROUTES = ExactRoutes({"/api/chat": chat})


def found(path: str, root_path: str = "", kind: str = "http") -> tuple[Match, Any]:
    match, scope = ROUTES.matches({"type": kind, "path": path, "root_path": root_path})
    return match, scope.get("endpoint")


def test_an_address_is_found_as_it_is_written():
    assert found("/api/chat") == (Match.FULL, chat)


@pytest.mark.parametrize("path", ["/api/chat/", "/api/chat\n", "/API/chat", "//api/chat", "/api", ""])
def test_no_other_is(path: str):
    assert found(path) == (Match.NONE, None)


def test_an_application_that_is_mounted_finds_its_own():
    assert found("/board/api/chat", root_path="/board") == (Match.FULL, chat)
    assert found("/board/api/chat", root_path="/boar") == (Match.NONE, None)


def test_nothing_but_http_is_answered():
    assert found("/api/chat", kind="websocket") == (Match.NONE, None)


def test_no_address_has_a_name():
    with pytest.raises(NoMatchFound):
        ROUTES.url_path_for("chat")
