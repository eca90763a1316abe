"""Requests to people on the page in a real browser: approved, edited, rejected, answered in a form."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.cli import sample_server
from tests.server.browser.chromium import Browser
from tests.server.browser.process import Serving
from tests.server.browser.tab import Tab

PAY = "pay 25 EUR to Ada for lunch"


RED = """(() => {
  $('#error').hidden = false;
  const red = getComputedStyle($('#error')).color;
  $('#error').hidden = true;
  return red;
})()"""
COLOURS = """[$('.card'), ...$$('.card *')].filter(seen)
  .map((each) => getComputedStyle(each))
  .flatMap((style) => [style.color, style.borderLeftColor])"""
APPROVALS = """$$('button').filter((each) => seen(each) && /approve/i.test(each.textContent))
  .map((each) => each.textContent)"""


def ask(tab: Tab, url: str, text: str = PAY) -> None:
    tab.open(url)
    tab.say(text)
    tab.until("seen($('.request .question'))")


def edit(tab: Tab) -> dict[str, Any]:
    """Open the arguments as JSON. Returns them."""
    tab.push("Edit…")
    tab.push("As JSON")
    tab.until("focused().matches('textarea.code')")
    return json.loads(tab.see("focused().value"))


def post(tab: Tab, path: str, body: dict[str, Any]) -> None:
    """Send a request from the page."""
    options = {"method": "POST", "headers": {"content-type": "application/json"}, "body": json.dumps(body)}
    tab.see(f"fetch({json.dumps(path)}, {json.dumps(options)}).then(() => null)")


def test_h1_approval_survives_a_reload(browser: Browser, tab: Tab, tmp_path: Path) -> None:
    with Serving(tmp_path / "served") as server:  # the title counts the requests of all conversations
        approve_after_a_reload(tab, server.start())
        tab.goto("about:blank")  # before the server ends


def approve_after_a_reload(tab: Tab, url: str) -> None:
    ask(tab, url)
    assert tab.see("document.title") == "(1) Callboard"
    tab.reload()
    tab.connected()
    assert "25" in tab.see("$('.card .facts').innerText")
    tab.push("Approve")
    tab.until_status("send_payment", "succeeded")
    tab.until_model_said("25.00 EUR went to Ada")
    assert tab.see("document.title") == "Callboard"
    assert not tab.see("seen($('.request'))")


def test_h1_reason_of_a_rejection_reaches_the_model(offline: str, tab: Tab) -> None:
    ask(tab, offline)
    tab.push("Reject…")
    assert tab.see("focused().labels[0].textContent") == "Reason"
    tab.write("Too dear for a lunch.")
    tab.push("Reject")
    tab.until_status("send_payment", "rejected")
    tab.until_model_said("Too dear for a lunch.")
    assert "went to Ada" not in tab.see("$('#timeline').innerText")
    for _ in range(2):
        assert tab.see("$('.card .status').textContent") == "rejected", "without the time that the person took"
        assert tab.see(RED) not in tab.see(COLOURS), "a decision is no failure"
        tab.until("$('.card .decision')?.textContent.startsWith('Rejected after')")
        assert "Too dear for a lunch." in tab.see("$('.card .result').textContent")
        tab.reload()
        tab.connected()


def test_h1_arguments_can_be_edited_before_the_approval(offline: str, tab: Tab) -> None:
    ask(tab, offline)
    given = edit(tab)
    assert given["amount"] == "25"
    tab.select_all()
    tab.write("{ this is no JSON")
    tab.push("Approve with these")
    tab.until("seen($('.card .notice.error')) && $('.card .notice.error').textContent.includes('not valid JSON')")
    tab.select_all()
    tab.write(json.dumps({**given, "amount": "12.50", "to": "Grace"}))
    tab.push("Approve with these")
    tab.until_model_said("12.50 EUR went to Grace")


def test_m3_approval_always_sends_the_visible_arguments(offline: str, tab: Tab) -> None:
    ask(tab, offline)
    assert tab.see(APPROVALS) == ["Approve"]
    given = edit(tab)
    assert tab.see(APPROVALS) == ["Approve with these"], "the old arguments cannot be approved while they are edited"
    tab.select_all()
    tab.write(json.dumps({**given, "amount": "1"}))
    tab.press("Escape")
    assert tab.see(APPROVALS) == ["Approve"]
    assert tab.see("focused().textContent") == "Edit…"
    tab.push("Reject…")
    assert tab.see(APPROVALS) == []
    tab.push("Back")
    assert edit(tab) == given, "discarded edits are forgotten"
    tab.select_all()
    tab.write(json.dumps({**given, "amount": "12.50"}))
    tab.hold("*/answer")
    tab.push("Approve with these")
    sent = json.loads(tab.held()["request"]["postData"])
    assert sent["answer"] == {"approved": True, "arguments": {**given, "amount": "12.50"}}
    assert len(sent["arguments_hash"]) == 64, "the answer is bound to the arguments"
    tab.release()
    tab.until_model_said("12.50 EUR went to Ada")


def test_m3_card_shows_the_decision_and_its_changes_after_a_reload(offline: str, tab: Tab) -> None:
    ask(tab, offline)
    given = edit(tab)
    tab.select_all()
    tab.write(json.dumps({**given, "amount": "12.50", "to": "Grace"}))
    tab.push("Approve with these")
    tab.until_model_said("12.50 EUR went to Grace")
    before = tab.see("$('.card').innerText")
    assert "Approved with changes after" in before
    assert tab.see("$$('.decision dt').map((each) => each.innerText)") == ["Amount", "To"]
    assert tab.see("$$('.decision dd').map((each) => each.textContent)") == ["was 25 → is 12.50", "was Ada → is Grace"]
    tab.reload()
    tab.connected()
    tab.until("seen($('.card .decision'))")
    assert tab.see("$('.card').innerText") == before


def test_b2_form_of_a_wallet_request_has_no_preselected_status(
    browser: Browser, tabs: Callable[..., Tab], tmp_path: Path
) -> None:
    with Serving(tmp_path / "served", "--tools", "sample_server:registry") as server:
        (tmp_path / "served" / "sample_server.py").write_text(Path(sample_server.__file__).read_text())
        tab = tabs()
        tab.open(server.start())
        post(tab, "/api/sessions", {"session_id": "s1"})
        tab.open(f"{server.url}/?session=s1")
        post(tab, "/api/executions", {"session_id": "s1", "tool": "send", "arguments": sample_server.ARGUMENTS["send"]})
        tab.until("seen($('.request select'))")
        assert tab.see("$('.request select').selectedOptions[0].textContent") == "Choose…"
        assert tab.see("[...$('.request select').options].map((each) => each.textContent)") == [
            "Choose…",
            "confirmed",
            "rejected",
            "failed",
        ]
        tab.push("Answer")
        assert tab.see("$('.request select').validity.valueMissing && seen($('.request form'))"), "a choice is required"
        tab.see("$('.request select').focus()")
        for _ in range(2):
            tab.press("ArrowDown")
        tab.push("Answer")
        tab.until_status("send", "succeeded")
        assert tab.see("$('.card .decision').innerText").startswith("Rejected after")
        assert tab.network == []


def test_h1_refused_answer_can_be_corrected(offline: str, tab: Tab) -> None:
    ask(tab, offline)
    given = edit(tab)
    tab.select_all()
    tab.write(json.dumps({**given, "amount": "-1"}))
    tab.push("Approve with these")
    said = tab.until("seen($('.card .notice.error')) && $('.card .notice.error').textContent")
    assert "amount" in said
    tab.push("Back")
    assert not tab.see("seen($('.card .notice.error'))")
    tab.push("Approve")
    tab.until_model_said("25.00 EUR went to Ada")
    assert len(tab.network) == 1
    assert "422" in tab.network.pop()


def test_h1_a_question_is_answered_in_a_form(offline: str, tab: Tab) -> None:
    ask(tab, offline, "deliver the lamp")
    tab.see("$('.request select').focus()")
    tab.press("ArrowDown")  # the open list is not part of the page
    tab.press("ArrowDown")  # nothing is selected in advance
    tab.click("$('.request input[type=checkbox]')")
    tab.click("$('.request input[type=text], .request textarea')")
    tab.write("Beware of the <dog>.")
    tab.push("Answer")
    tab.until_model_said("The parcel goes to a neighbour, without ringing and the note 'Beware of the <dog>.'")


def test_h1_answer_in_one_tab_closes_the_request_in_others(offline: str, tabs: Callable[..., Tab]) -> None:
    one = tabs()
    ask(one, offline)
    other = tabs(one)
    other.open(offline)
    assert other.timeline() == one.timeline()
    other.push("Approve")
    for tab in (other, one):
        tab.call("Page.bringToFront")
        tab.until_model_said("25.00 EUR went to Ada")
        assert not tab.see("seen($('.request'))")
    assert other.timeline() == one.timeline()
