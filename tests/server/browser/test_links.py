"""Links to calls and requests: their cards are found, shown and focused."""

import json
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.server.browser.chromium import Browser
from tests.server.browser.process import Serving
from tests.server.browser.tab import Tab

VISIBLE = """(() => {
  const [frame, place] = [$('#scroller'), $('.card[data-execution="%s"]')].map((each) => each?.getBoundingClientRect());
  return place && place.top >= frame.top && place.top < frame.bottom;
})()"""


@pytest.fixture
def server(browser: Browser, tmp_path: Path) -> Generator[Serving]:
    with Serving(tmp_path / "served") as made:
        made.start()
        yield made


def parts(tab: Tab) -> tuple[str, str, str]:
    """Return the conversation, the execution of its first card, and its first open request."""
    session = tab.see("new URLSearchParams(location.search).get('session')")
    requests = f"fetch('/api/requests?session_id={session}').then((each) => each.json())"
    request = tab.see(f"{requests}.then((page) => page.requests[0]?.request_id ?? '')")
    return session, tab.see("$('.card').dataset.execution"), request


def test_w1_link_to_a_call_or_a_request_shows_its_card(server: Serving, tab: Tab) -> None:
    tab.open(server.url)
    tab.say("pay 5 EUR to Ada")
    tab.until("seen($('.request .question'))")
    session, execution, request = parts(tab)
    for number in range(12):
        tab.say(f"what is {number} + 1")
        tab.until_model_said(f"{number} + 1 = {number + 1}.")
    tab.goto(f"{server.url}/?session={session}&request={request}")
    tab.until("focused().textContent === 'Approve'")
    tab.until(VISIBLE % execution)
    tab.goto(f"{server.url}/?session={session}&call={execution}")
    tab.until(f"{VISIBLE % execution} && $('.card.shown')?.dataset.execution === {json.dumps(execution)}")
    assert tab.see("!$('#link-notice')")
    tab.push("Approve")
    tab.until_model_said("5.00 EUR went to Ada")
    tab.goto(f"{server.url}/?session={session}&request={request}")
    tab.until("$('#link-notice')?.textContent.includes('already closed')")
    tab.until(VISIBLE % execution)


@pytest.mark.slow
def test_w1_link_to_a_call_of_long_ago_loads_earlier_messages(server: Serving, tab: Tab) -> None:
    tab.open(server.url)
    tab.say("what is 100 + 1")
    tab.until_model_said("= 101.")
    session, execution, _ = parts(tab)
    posted = """(async () => {
      for (let number = 0; number < 40; number++) {
        await fetch('/api/chat', { method: 'POST', headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ session_id: '%s', message: `what is ${number} + 7`, message_id: `m${number}` }) });
      }
    })()"""
    tab.see(posted % session)
    tab.until("$$('#timeline .text').some((each) => each.textContent.endsWith('39 + 7 = 46.'))")
    tab.goto(f"{server.url}/?session={session}")
    tab.connected()
    assert tab.see(f"$('.card[data-execution=\"{execution}\"]')") is None, "it is on an earlier page"
    tab.goto(f"{server.url}/?session={session}&call={execution}")
    tab.until("$('.card') && $('.card.shown') === $('.card')")
    shown = tab.see(
        "(({ top }) => top > $('#scroller').getBoundingClientRect().top)($('.card').getBoundingClientRect())"
    )
    assert shown, "the first card is visible"


@pytest.mark.slow
def test_w1_link_to_nothing_has_a_short_notice(server: Serving, tab: Tab) -> None:
    tab.open(server.url)
    tab.say("what is 1 + 1")
    tab.until_model_said("= 2.")
    session, _, _ = parts(tab)
    for name, what in (("call", "call"), ("request", "request")):
        tab.goto(f"{server.url}/?session={session}&{name}=unknown-{name}")
        tab.until(f"$('#link-notice')?.textContent.includes('The {what} of this link does not exist')")
        tab.click("$('#link-notice button')")
        tab.until("!$('#link-notice')")
    assert [each for each in tab.network if "404" not in each] == []
    tab.network.clear()


def test_w1_card_offers_its_link_and_the_header_its_timeline(server: Serving, browser: Browser, tab: Tab) -> None:
    allowed = ["clipboardReadWrite", "clipboardSanitizedWrite"]
    browser.call("Browser.grantPermissions", permissions=allowed, browserContextId=tab.context)
    tab.open(server.url)
    assert tab.see("$('h1').textContent") == "New conversation"
    assert tab.see("!$('#timeline-link')")
    tab.say("what is 1 + 1")
    tab.until_model_said("= 2.")
    session, execution, _ = parts(tab)
    tab.until("$('h1').textContent === 'what is 1 + 1'")
    tab.click("$('.card .copy-link')")
    tab.until("$('.copy-link').innerText.includes('Copied') && $('#announcer').textContent === 'Link copied'")
    link = f"{server.url}/?session={session}&call={execution}"
    assert tab.see("navigator.clipboard.readText()") == link
    assert tab.see("$('#timeline-link').getAttribute('href')") == f"?view=timeline&session={session}"
    tab.click("$('#timeline-link')")
    tab.until("$('callboard-board-view') && !seen($('#message'))")
    tab.see("history.back()")
    tab.until("seen($('#message')) && $('h1').textContent === 'what is 1 + 1'")
