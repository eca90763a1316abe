"""Signing in with a key: for one tab or on the device, in every view, and out again."""

from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from tests.server.browser.chromium import Browser
from tests.server.browser.process import Serving
from tests.server.browser.tab import Tab

ASKED = "$('#token-dialog').open && focused() === $('#token')"


class Guarded:
    """A server that requires a key."""

    def __init__(self, server: Serving) -> None:
        self.server = server
        server.run("migrate")
        self.keys = {user: server.run("keys", "create", "--user", user) for user in ("ada", "bob")}
        self.url = server.start()


@pytest.fixture
def guarded(browser: Browser, tmp_path: Path) -> Generator[Guarded]:
    with Serving(tmp_path / "served") as server:
        yield Guarded(server)


def wide(tab: Tab) -> Tab:
    tab.call("Emulation.setDeviceMetricsOverride", width=1280, height=800, deviceScaleFactor=1, mobile=False)
    return tab


def sign_in(tab: Tab, key: str, *, remember: bool = False) -> None:
    tab.until(ASKED)
    tab.write(key)
    if remember:
        tab.click("$('#remember')")
    tab.push("Continue")


@pytest.mark.parametrize("remember", [False, True], ids=["tab", "device"])
def test_w3_key_is_kept_as_chosen_and_forgotten_on_demand(
    guarded: Guarded, tabs: Callable[..., Tab], remember: bool
) -> None:
    key = guarded.keys["ada"]
    tab = wide(tabs())
    tab.goto(guarded.url)
    sign_in(tab, "cb_wrong", remember=remember)
    tab.until(f"{ASKED} && $('#token-error').textContent === 'The server did not accept this API key or token.'")
    sign_in(tab, key, remember=remember)
    tab.connected()
    tab.say("what is 1 + 1")
    tab.until_model_said("= 2.")
    tab.reload()
    tab.connected()
    stores = "[sessionStorage, localStorage].map((each) => each['callboard.token'] ?? '')"
    assert tab.see(stores) == (["", key] if remember else [key, ""])

    other = wide(tabs(tab))
    other.goto(guarded.url)
    if remember:
        other.connected()
        other.until("$('nav .name')")
    else:
        sign_in(other, guarded.keys["bob"])
        other.connected()
        assert other.see("$$('nav .name').length") == 0, "a tab may belong to another user"
    tab.call("Page.bringToFront")
    tab.push("Sign out")
    for each in (tab, other) if remember else (tab,):
        each.call("Page.bringToFront")
        each.until(f"{ASKED} && !$('nav li') && !$('#timeline > li')")
        assert each.see(stores) == ["", ""]
        assert each.see("localStorage['callboard.session'] ?? ''") == ""
    if not remember:
        assert not other.see("$('#token-dialog').open")
    tab.call("Page.bringToFront")
    sign_in(tab, key, remember=remember)
    tab.until("$('nav .name')")
    if remember:
        other.call("Page.bringToFront")
        other.until("!$('#token-dialog').open && $('nav .name')")
    assert all("401" in each for each in tab.network)
    assert all("401" in each or "404" in each for each in other.network), "another user has no such conversation"


@pytest.mark.slow
@pytest.mark.parametrize("view", ["inbox", "timeline", "tools", "operations", "api"])
def test_w3_every_view_asks_for_the_key_in_the_same_dialog(
    guarded: Guarded, tabs: Callable[..., Tab], view: str
) -> None:
    tab = wide(tabs())
    tab.goto(f"{guarded.url}/?view={view}")
    sign_in(tab, guarded.keys["ada"])
    tab.until("!$('#token-dialog').open && $('#connection').dataset.state === 'connected' && seen($$('h1').find(seen))")
    tab.until("$('#sign-out') && !$('.notice.error:not([hidden])')")
    assert all("401" in each for each in tab.network)
    tab.network.clear()
    tab.reload()
    tab.until("$('#connection').dataset.state === 'connected' && !$('#token-dialog').open")
    assert tab.network == []


def test_w3_server_without_keys_offers_no_sign_out(offline: str, tab: Tab) -> None:
    wide(tab).open(offline)
    assert tab.see("!$('#sign-out') && !$('#token-dialog').open")
