"""The page's connection to its server: lost and restored, and authentication."""

import signal
from collections.abc import Callable
from pathlib import Path

from tests.server.browser.chromium import Browser
from tests.server.browser.process import Serving
from tests.server.browser.tab import Tab

PAY = "pay 25 EUR to Ada"
REPORT = "build a report on tea with 2 chapters"


def test_h2_page_reconnects_without_lost_or_repeated_items(
    browser: Browser, tabs: Callable[..., Tab], tmp_path: Path
) -> None:
    tab = tabs()
    with Serving(tmp_path / "served") as server:
        tab.open(server.start())
        tab.say("what is 1 + 1")
        tab.until_model_said("= 2.")
        tab.say(PAY)
        tab.until("$$('.request').some(seen)")

        server.stop()  # while a request to the person is open
        tab.until("$('#connection').dataset.state !== 'connected'")
        tab.say("what is 3 + 3")
        tab.until("$('#outbox > li .text')?.textContent === 'what is 3 + 3'")  # it is shown, and will be sent
        server.start()
        tab.until("$('#connection').dataset.state === 'connected'")
        tab.until_model_said("3 + 3 = 6.")
        tab.push("Approve")
        tab.until_model_said("25.00 EUR went to Ada")

        tab.say(REPORT)
        tab.until("$$('.partials li').length === 1")
        server.stop(signal.SIGKILL)  # while the call runs
        server.start()
        tab.see("seen($('#reconnect')) && $('#reconnect').click()")  # instead of waiting
        tab.until_model_said("'All about tea' is ready")
        shown = tab.timeline()
        report = "$$('.card').findLast((card) => card.dataset.tool === 'build_report')"
        card = tab.see(f"{report}.innerText")
        assert tab.see(f"[...{report}.querySelectorAll('.partials li')].length") == 2, "no partial result is repeated"
        assert "attempt 2 of" in card
        assert "interrupted: The system stopped while the tool ran." in card
        tab.reload()
        tab.connected()
        assert tab.timeline() == shown
        tab.until(f"{report}.querySelectorAll('.partials li').length")
        assert tab.see(f"{report}.innerText") == card
    assert [text for who, text in shown if who == "user"] == ["what is 1 + 1", PAY, "what is 3 + 3", REPORT]
    calls = [(tool, status) for tool, status in shown if tool not in ("user", "model")]
    assert calls == [(tool, "succeeded") for tool in ("calculate", "send_payment", "calculate", "build_report")]
    everything = " ".join(text for who, text in shown if who == "model")
    for once in ("1 + 1 = 2.", "3 + 3 = 6.", "25.00 EUR went to Ada", "in the background", "'All about tea' is ready"):
        assert everything.count(once) == 1, once


def test_h1_page_asks_for_a_key_and_keeps_it_for_the_tab_only(
    browser: Browser, tabs: Callable[..., Tab], tmp_path: Path
) -> None:
    with Serving(tmp_path / "served") as server:
        server.run("migrate")
        key = server.run("keys", "create", "--user", "ada")
        url = server.start()
        tab = tabs()
        tab.goto(url)
        tab.until("$('#token-dialog').open && focused() === $('#token')")
        assert not tab.see("seen($('#token-error'))")
        tab.press("Escape")  # the dialog opens again
        tab.until("$('#token-dialog').open && focused() === $('#token')")
        tab.write("cb_wrong")
        tab.press("Enter")
        tab.until("$('#token-dialog').open && seen($('#token-error'))")
        tab.write(key)
        tab.press("Enter")
        tab.connected()
        tab.say("what is 1 + 1")
        tab.until_model_said("= 2.")
        tab.reload()
        tab.connected()
        assert key not in tab.see("JSON.stringify(localStorage) + location.href + document.cookie")
        assert key not in tab.see("$$('*').map((each) => each.outerHTML).join()")
        other = tabs(tab)
        other.goto(url)
        other.until("$('#token-dialog').open")
        assert len(tab.network) == 2
        assert all("401" in each for each in tab.network + other.network)
