"""Lost connections, several tabs, unsent messages and drafts (W4), and the end of what was stopped."""

import json
import time
from collections.abc import Callable
from urllib.request import Request, urlopen

import pytest

from tests.server.browser.chromium import DEADLINE
from tests.server.browser.gated_server import FINAL, FINISHED, PENDING, GatedServer
from tests.server.browser.tab import Tab

NOTICED_WITHIN = 5.0
"""Seconds in which the page must show that its connection is dead."""
CONNECTED = "$('#connection').dataset.state === 'connected'"
STORED = "Object.keys(localStorage).filter((key) => key.includes('outbox') || key.includes('unsent'))"
INPUTS = "$$('#timeline > li.user .text').map((each) => each.textContent)"
SETTLED = f"{CONNECTED} && !$('#outbox > li') && !seen($('#stop')) && !$('[data-live]')"


def session_of(tab: Tab) -> str:
    return str(tab.until("new URLSearchParams(location.search).get('session')"))


def set_offline(tab: Tab, offline: bool) -> None:
    rates = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    tab.call("Network.enable")
    tab.call("Network.emulateNetworkConditions", offline=offline, **rates)


def post(server: GatedServer, path: str, **body: str) -> None:
    """Send a request past the proxy, as another client."""
    request = Request(server.serving.url + path, json.dumps(body).encode(), {"content-type": "application/json"})
    urlopen(request, timeout=DEADLINE).close()


def converse(tab: Tab, server: GatedServer) -> str:
    """Hold a conversation in which a call has succeeded. Returns its label."""
    label = server.new_label()
    tab.say(f"transfer {label}")
    tab.push("Approve")
    tab.until_model_said(FINAL + FINISHED)
    tab.until(SETTLED)
    return label


def test_w4_silent_connection_is_noticed_within_five_seconds(gated: GatedServer, tabs: Callable[..., Tab]) -> None:
    tab = tabs()
    tab.open(gated.proxy.url)
    converse(tab, gated)
    tab.until(CONNECTED)
    gated.proxy.stall()
    try:
        since = time.monotonic()
        tab.until(f"!({CONNECTED})")
        took = time.monotonic() - since
    finally:
        gated.proxy.resume()
    print(f"a silent connection was noticed after {took:.1f} s")  # noqa: T201
    assert took < NOTICED_WITHIN
    tab.until(CONNECTED)


@pytest.mark.slow
def test_w4_new_page_without_a_response_says_so_and_connects_later(
    gated: GatedServer, tabs: Callable[..., Tab]
) -> None:
    tab = tabs()
    tab.hold("/api/tools*")
    tab.goto(gated.proxy.url)
    since = time.monotonic()
    tab.until("$('#connection').dataset.state === 'lost'")
    assert time.monotonic() - since < NOTICED_WITHIN
    tab.release()
    tab.connected()


def test_w4_dead_stream_is_noticed_although_requests_work(gated: GatedServer, tabs: Callable[..., Tab]) -> None:
    tab = tabs()
    tab.open(gated.proxy.url)
    label = converse(tab, gated)
    gated.proxy.lose_streams()
    since = time.monotonic()
    post(gated, "/api/chat", session_id=session_of(tab), message=f"ponder {label}")
    tab.until(f"!({CONNECTED})")
    took = time.monotonic() - since
    print(f"a dead stream was noticed after {took:.1f} s")  # noqa: T201
    assert took < NOTICED_WITHIN
    tab.until("$$('#timeline > li').length === 8")
    tab.until(SETTLED)
    assert tab.see(INPUTS) == [f"transfer {label}", f"ponder {label}"]


@pytest.mark.slow
def test_w4_message_that_the_board_has_leaves_the_outbox_after_a_reload(
    gated: GatedServer, tabs: Callable[..., Tab]
) -> None:
    tab = tabs()
    tab.open(gated.proxy.url)
    label = converse(tab, gated)
    session = session_of(tab)
    gated.proxy.mute()
    tab.say(f"ponder {label}")
    gated.until(lambda: not gated.get("/api/state", session_id=session)["is_processing"]
                and gated.effects()[-1] == "ended")  # fmt: skip
    tab.goto("about:blank")
    gated.proxy.cut()
    gated.proxy.resume()
    tab.open(gated.proxy.url)
    tab.until("$$('#timeline > li').length === 8")
    tab.until(SETTLED)
    assert tab.see(INPUTS) == [f"transfer {label}", f"ponder {label}"]
    assert gated.effects() == ["transfer 25", "began", "ended"]
    tab.until(f"{STORED}.length === 0")


@pytest.mark.slow
def test_w4_cards_are_completed_after_a_failed_request(gated: GatedServer, tabs: Callable[..., Tab]) -> None:
    tab = tabs()
    tab.open(gated.proxy.url)
    converse(tab, gated)
    tab.until("seen($('.card .decision'))")
    tab.hold("/api/events?*")
    tab.reload()
    failed = tab.held()
    tab.call("Fetch.failRequest", requestId=failed["requestId"], errorReason="ConnectionReset")
    tab.release()
    tab.until("seen($('.card .decision'))")


@pytest.mark.slow
def test_w4_draft_survives_a_reload_and_a_cut(gated: GatedServer, tabs: Callable[..., Tab]) -> None:
    tab = tabs()
    tab.open(gated.proxy.url)
    converse(tab, gated)
    tab.click("$('#message')")
    tab.write("half a message")
    gated.proxy.cut()
    tab.until(f"!({CONNECTED})")
    tab.write(" and more")
    gated.proxy.resume()
    tab.until(CONNECTED)
    assert tab.see("$('#message').value") == "half a message and more"
    tab.reload()
    tab.until("$('#message').value === 'half a message and more'")


def test_w4_unsent_messages_survive_their_tab(gated: GatedServer, tabs: Callable[..., Tab]) -> None:
    tab = tabs()
    tab.open(gated.proxy.url)
    label = converse(tab, gated)
    set_offline(tab, True)
    tab.until(f"!({CONNECTED})")
    tab.say(f"ponder {label}")
    tab.until("$('#outbox > li')")
    tab.goto("about:blank")
    again = tabs(tab)
    again.open(gated.proxy.url)
    again.until_model_said(FINAL + FINISHED)
    again.until("$$('#timeline > li').length === 8")
    again.until(SETTLED)
    assert again.see(INPUTS) == [f"transfer {label}", f"ponder {label}"]
    assert gated.effects() == ["transfer 25", "began", "ended"]
    again.until(f"{STORED}.length === 0")


@pytest.mark.slow
def test_w4_unsent_message_of_a_new_conversation_survives_its_tab(gated: GatedServer, tabs: Callable[..., Tab]) -> None:
    tab = tabs()
    tab.open(gated.proxy.url)
    label = gated.new_label()
    set_offline(tab, True)
    tab.say(f"ponder {label}")
    tab.until("$('#outbox > li')")
    tab.goto("about:blank")
    again = tabs(tab)
    again.open(gated.proxy.url)
    again.until_model_said(FINAL + FINISHED)
    again.until(SETTLED)
    assert again.see(INPUTS) == [f"ponder {label}"]
    assert gated.effects() == ["began", "ended"]
    again.until(f"{STORED}.length === 0")


@pytest.mark.slow
def test_w4_two_tabs_show_the_same_after_cuts_in_one(gated: GatedServer, tabs: Callable[..., Tab]) -> None:
    one = tabs()
    one.open(gated.proxy.url)
    label = gated.new_label()
    one.say(f"transfer {label}")
    one.until("seen($('.request'))")
    other = tabs(one)
    other.open(gated.proxy.url)
    other.until("seen($('.request'))")
    one.call("Page.bringToFront")
    set_offline(one, True)
    one.until(f"!({CONNECTED})")
    other.call("Page.bringToFront")
    other.push("Approve")
    other.until_model_said(FINAL + FINISHED)
    one.call("Page.bringToFront")
    one.say(f"ponder {label}")
    one.until("$('#outbox > li')")
    other.call("Page.bringToFront")
    set_offline(other, True)
    other.until(f"!({CONNECTED})")
    other.say(f"gather {label}")
    other.until("$('#outbox > li')")
    one.call("Page.bringToFront")
    set_offline(one, False)
    one.until("$$('#timeline > li').length === 8")
    one.until(SETTLED)
    set_offline(other, False)
    for tab in (other, one):
        tab.call("Page.bringToFront")
        tab.until(f"{INPUTS}.length === 3")
        tab.until("$$('.card[data-status=succeeded]').length === 3")
        tab.until_model_said(FINAL + FINISHED)
        tab.until(SETTLED)
    shown = one.timeline()
    assert other.timeline() == shown
    one.reload()
    one.until(f"$$('#timeline > li').length === {len(shown)}")
    assert one.timeline() == shown
    assert sorted(text for who, text in shown if who == "user") == sorted(
        f"{tool} {label}" for tool in ("transfer", "ponder", "gather")
    )
    assert gated.effects().count("transfer 25") == gated.effects().count("began") == 1
    one.until(f"{STORED}.length === 0")


@pytest.mark.slow
def test_w4_many_tabs_leave_each_other_connections(gated: GatedServer, tabs: Callable[..., Tab]) -> None:
    first = tabs()
    first.open(gated.proxy.url)
    label = converse(first, gated)
    others = [tabs(first) for _ in range(7)]  # the browser opens six connections to a server
    for tab in others:
        tab.call("Page.bringToFront")
        tab.open(gated.proxy.url)
    others[-1].say(f"ponder {label}")
    others[-1].until("$$('#timeline > li').length === 8")
    others[-1].until(SETTLED)
    shown = others[-1].timeline()
    for tab in (first, others[2]):
        tab.call("Page.bringToFront")
        tab.until("$$('#timeline > li').length === 8")
        tab.until(SETTLED)
        assert tab.timeline() == shown


@pytest.mark.slow
def test_w4_stop_also_stops_the_tools_of_the_turn(gated: GatedServer, tabs: Callable[..., Tab]) -> None:
    tab = tabs()
    tab.open(gated.proxy.url)
    label = gated.new_label()
    gated.hold_tool()
    tab.say(f"ponder {label}")
    gated.until(lambda: gated.effects() == ["began"])
    gated.proxy.cut()
    tab.until(f"!({CONNECTED})")
    tab.push("Stop")  # it is sent over the next connection
    gated.proxy.resume()
    tab.until("!seen($('#stop'))")
    gated.until(lambda: gated.effects() == ["began", "stopped"])
    tab.until("$('.card').dataset.status === 'cancelled'")
    for _ in range(2):
        assert tab.see("$$('.card progress, [data-live]').length") == 0, "nothing seems to be running"
        assert not tab.see("seen($('#stop'))")
        tab.reload()
        tab.until(f"{CONNECTED} && $('.card')?.dataset.status === 'cancelled'")
    tab.say(f"ponder {label}-2")  # the conversation goes on
    tab.until_model_said(FINAL + FINISHED)


@pytest.mark.slow
def test_w4_cancelled_call_ends_on_the_screen(gated: GatedServer, tabs: Callable[..., Tab]) -> None:
    tab = tabs()
    tab.open(gated.proxy.url)
    label = gated.new_label()
    gated.hold_tool()
    tab.say(f"gather {label}")
    tab.until_model_said(PENDING)
    gated.proxy.cut()
    tab.until(f"!({CONNECTED})")
    tab.push("Cancel")  # it is sent over the next connection
    gated.proxy.resume()
    tab.until("$('.card').dataset.status === 'cancelled'")
    tab.until("!seen($('#stop'))")
    for _ in range(2):
        assert tab.see("$$('.card progress, [data-live]').length") == 0, "nothing seems to be running"
        tab.reload()
        tab.until(f"{CONNECTED} && $('.card')?.dataset.status === 'cancelled'")
    assert gated.effects() == []
