"""The inbox: what waits over all conversations, answered in place, with a badge and notifications."""

import json
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from tests.server.browser.chromium import Browser
from tests.server.browser.conftest import ScriptedServer
from tests.server.browser.process import Serving
from tests.server.browser.stored import copy_requests
from tests.server.browser.tab import Tab

PAYMENT = {"amount": "25", "to": "Ada", "currency": "EUR", "purpose": "lunch"}
BADGE = "$('a[data-view=inbox] .badge')?.textContent ?? ''"
MANY = 10_000
RECORDERS = """
  window.badges = [];
  navigator.setAppBadge = async (count) => { badges.push(count); };
  navigator.clearAppBadge = async () => { badges.push(0); };
  window.shown = [];
  window.asked = 0;
  window.Notification = class extends EventTarget {
    static permission = localStorage.permission ?? "default";
    static async requestPermission() {
      asked += 1;
      localStorage.permission = Notification.permission = "granted";
      return "granted";
    }
    constructor(title, options) {
      super();
      shown.push({ title, ...options });
      window.newest = this;
    }
    close() {}
  };
"""


@pytest.fixture
def server(browser: Browser, tmp_path: Path) -> Generator[Serving]:
    """Start a server for whose user nothing waits."""
    with Serving(tmp_path / "served") as made:
        made.start()
        yield made


def send(tab: Tab, path: str, body: dict[str, Any]) -> Any:
    """Send a request as another client of the same user. Returns the response."""
    options = {"method": "POST", "headers": {"content-type": "application/json"}, "body": json.dumps(body)}
    return tab.see(f"fetch({json.dumps(path)}, {json.dumps(options)}).then((response) => response.json())")


def ask(tab: Tab, session: str, tool: str = "send_payment", **arguments: str) -> str:
    """Let a tool ask the person in a conversation. Returns the id of the request."""
    send(tab, "/api/sessions", {"session_id": session})
    call = {"session_id": session, "tool": tool, "arguments": arguments or PAYMENT}
    send(tab, "/api/executions", call)
    found = f"fetch('/api/requests?session_id={session}').then((response) => response.json())"
    return tab.see(f"{found}.then(({{ requests }}) => requests.at(-1).request_id)")


def open_inbox(tab: Tab, url: str) -> None:
    tab.call("Emulation.setDeviceMetricsOverride", width=1280, height=900, deviceScaleFactor=1, mobile=False)
    tab.goto(f"{url}/?view=inbox")
    tab.until("$('callboard-inbox-view') && !$$('.hint').some((each) => each.textContent === 'Loading…')")


def test_w1_requests_of_all_conversations_are_answered_in_place(server: Serving, tab: Tab) -> None:
    open_inbox(tab, server.url)
    assert "Nothing is waiting for you." in tab.until("$('main .empty')?.innerText")
    ask(tab, "one")
    ask(tab, "two", "ask_delivery", parcel="lamp")
    ask(tab, "three", amount="7", to="Grace")
    tab.reload()
    tab.until("$$('.cards > li').length === 3")
    tab.until("document.title === '(3) Callboard'")
    assert tab.see(BADGE) == "3"
    assert tab.see("$$('.card strong').map((each) => each.textContent)") == [
        "Send payment",
        "Ask delivery",
        "Send payment",
    ], "the newest first"
    assert tab.see("$$('.cards > li').map((card) => card.querySelectorAll('.yes, .send').length)") == [1, 1, 1]
    assert "Grace" in tab.see("$('.cards > li .facts').innerText")

    tab.click("$('.cards > li .yes')")
    tab.until("$$('.cards > li').length === 2 && document.title === '(2) Callboard'")
    assert tab.until("focused().matches('select')"), "the next request has the focus"
    tab.until("$('#inbox-announcer').textContent === 'Your answer was sent. 2 waiting.'")
    assert tab.until("$('.decided li')?.innerText").split("\n")[0] == "Approved"
    assert "by local" in tab.see("$('.decided li').innerText")

    tab.click("$$('.cards > li').at(-1).querySelector('[data-mode=edit]')")
    tab.until("$('.cards input')")
    tab.click("$$('.cards input').find((each) => each.value === '25')")
    tab.select_all()
    tab.write("12.50")
    tab.push("Approve with these")
    tab.until("$$('.decided li').length === 2 && document.title === '(1) Callboard'")
    tab.click("$('.decided summary')")
    tab.until("$('.decided details').open")
    assert tab.see("$('.decided .changes dd').textContent") == "was 25 → is 12.50"


@pytest.mark.slow
def test_w1_rejection_and_its_reason_are_listed(server: Serving, tab: Tab) -> None:
    tab.goto(server.url)
    ask(tab, "one")
    open_inbox(tab, server.url)
    tab.push("Reject…")
    tab.write("Too dear.")
    tab.push("Reject")
    tab.until("$('.decided [data-outcome=rejected]') && $('main .empty')")
    tab.until("focused().matches('h1')")
    tab.click("$('.decided summary')")
    assert "Too dear." in tab.see("$('.decided li').innerText")
    tab.click("$('.decided .open')")
    tab.until("seen($('#message')) && new URLSearchParams(location.search).get('session') === 'one'")


@pytest.mark.slow
def test_w1_answer_to_a_question_is_listed_with_all_its_fields(carded: ScriptedServer, tab: Tab) -> None:
    tab.goto(carded.url)
    request = ask(tab, "inspected", "inspect", item="lamp")
    answer = {"approved": True, "arguments": {"watts": 5}}
    send(tab, f"/api/requests/{request}/answer", {"session_id": "inspected", "answer": answer})
    open_inbox(tab, carded.url)
    tab.click("$('.decided [data-outcome=answered] summary')")
    names = "$$('.decided [open] .facts dt').map((each) => each.textContent)"
    assert tab.until(f"{names}.length > 1 && {names}") == ["Item", "Approved", "Arguments"]
    assert tab.see("$$('.decided [open] .changes').length") == 0


@pytest.mark.slow
def test_w1_request_opens_in_its_conversation(server: Serving, tab: Tab) -> None:
    tab.open(server.url)
    tab.say("pay 25 EUR to Ada for lunch")
    tab.until("seen($('.request .question'))")
    open_inbox(tab, server.url)
    tab.until("$('.conversation')?.textContent === 'in pay 25 EUR to Ada for lunch'")
    tab.click("$('.card .open')")
    tab.until("seen($('#message')) && focused().textContent === 'Approve'")
    assert "request=" in tab.see("location.search")
    tab.push("Approve")
    tab.until_model_said("25.00 EUR went to Ada")
    assert tab.see("document.title") == "Callboard"


def test_w1_count_is_right_in_all_tabs_and_a_late_answer_is_told(server: Serving, tabs: Callable[..., Tab]) -> None:
    one = tabs()
    one.goto(server.url)
    ask(one, "one")
    ask(one, "two")
    open_inbox(one, server.url)
    one.until("$$('.cards > li').length === 2")
    other = tabs(one)
    open_inbox(other, server.url)
    other.until("$$('.cards > li').length === 2")
    one.call("Page.bringToFront")
    one.click("$('.cards > li .yes')")
    one.until("$$('.cards > li').length === 1")
    other.until("$$('.cards > li').length === 1 && document.title === '(1) Callboard'")
    other.hold("*/api/requests?limit=100")  # this tab does not hear of it
    other.see("new BroadcastChannel('callboard').postMessage('requests')")
    other.held()  # an older response, which may still be on its way, is ignored now
    one.click("$('.cards > li .yes')")
    one.until("$('main .empty') && document.title === 'Callboard'")
    other.call("Page.bringToFront")
    other.click("$('.cards > li .yes')")
    other.until(
        "$$('.notice').some((each) => each.textContent.startsWith('This request was already closed elsewhere'))"
    )
    other.until("$('main .empty')")
    other.release()
    assert [each for each in other.network if "409" not in each] == []


@pytest.mark.slow
def test_w1_new_requests_do_not_move_those_that_are_shown(server: Serving, tab: Tab) -> None:
    tab.goto(server.url)
    first = ask(tab, "one")
    open_inbox(tab, server.url)
    tab.until("$$('.cards > li').length === 1")
    second = ask(tab, "two")
    tab.see("new BroadcastChannel('callboard').postMessage('requests')")
    tab.until("$('#fresh')?.textContent.trim() === 'Show 1 new request'")
    assert tab.see("$$('.cards > li').map((each) => each.dataset.id)") == [first]
    tab.push("Show 1 new request")
    tab.until("$$('.cards > li').length === 2")
    assert tab.see("$$('.cards > li').map((each) => each.dataset.id)") == [second, first]


@pytest.mark.slow
def test_w1_ten_thousand_open_requests_are_shown_in_pages(server: Serving, tmp_path: Path, tab: Tab) -> None:
    tab.goto(server.url)
    copy_requests(tmp_path / "served" / "callboard.db", ask(tab, "one"), MANY)
    open_inbox(tab, server.url)
    tab.until("$$('.cards > li').length === 20 && document.title === '(99+) Callboard'")
    assert tab.see("[$('.count').textContent, $('a[data-view=inbox] .badge').textContent]") == ["99+", "99+"]
    for page in range(1, 8):
        tab.click("$('#next-page')")
        tab.until(f"$('.pages span').textContent.startsWith('{page * 20 + 1}–{page * 20 + 20} of ')")
        assert tab.see("$$('.cards > li').length") == 20
    assert tab.see("$('.pages span').textContent") == "141–160 of 200+"
    assert tab.see("$('callboard-inbox-view').shadowRoot.querySelectorAll('*').length") < 2_500
    tab.push("Previous")
    tab.until("$('.pages span').textContent.startsWith('121–140')")


def test_w1_notifications_are_asked_for_on_demand_and_open_the_request(server: Serving, tab: Tab) -> None:
    tab.call("Page.addScriptToEvaluateOnNewDocument", source=RECORDERS)
    tab.goto(server.url)
    open_inbox(tab, server.url)
    ask(tab, "one")
    hint = "new BroadcastChannel('callboard').postMessage('requests')"
    tab.see(hint)
    tab.until("$$('.cards > li').length === 1")
    assert tab.see("[asked, shown.length, badges.at(-1)]") == [0, 0, 1], "never unasked"
    tab.push("Notify me")
    tab.until("$('#notify').ariaPressed === 'true' && asked === 1")
    tab.see("document.hasFocus = () => false")
    request = ask(tab, "two")
    tab.see(hint)
    tab.until("shown.length === 1 && badges.at(-1) === 2")
    assert tab.see("shown[0].tag") == request, "several tabs show it once"
    assert tab.see("shown[0].body") == "Send payment is waiting for your answer."
    tab.see("void newest.dispatchEvent(new Event('click'))")
    tab.until(f"new URLSearchParams(location.search).get('request') === {json.dumps(request)} && seen($('#message'))")
    open_inbox(tab, server.url)
    tab.push("Notifications are on")
    tab.until("$('#notify').ariaPressed === 'false'")
