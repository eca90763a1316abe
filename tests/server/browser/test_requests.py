"""What people are asked, on the page in a real browser: approved, changed, rejected, answered in a form."""

import json
from collections.abc import Callable
from typing import Any

from tests.server.browser.tab import Tab

PAY = "pay 25 EUR to Ada for lunch"


def asked(tab: Tab, url: str, text: str = PAY) -> None:
    tab.open(url)
    tab.say(text)
    tab.until("seen($('.asked .question'))")


def test_h1_an_approval_survives_a_reload_and_is_given(offline: str, tab: Tab) -> None:
    asked(tab, offline)
    assert tab.see("document.title") == "(1) Callboard"
    tab.reload()
    tab.connected()
    assert "25" in tab.see("$('.card .facts').innerText")
    tab.push("Approve")
    tab.until_status("send_payment", "succeeded")
    tab.until_said("25.00 EUR went to Ada")
    assert tab.see("document.title") == "Callboard"
    assert not tab.see("seen($('.asked'))")


def test_h1_a_rejection_tells_the_model_why(offline: str, tab: Tab) -> None:
    asked(tab, offline)
    tab.push("Reject…")
    assert tab.see("document.activeElement.labels[0].textContent") == "Reason"
    tab.write("Too dear for a lunch.")
    tab.push("Reject")
    tab.until_status("send_payment", "failed")
    tab.until_said("Too dear for a lunch.")
    assert "went to Ada" not in tab.see("$('#timeline').innerText")


def test_h1_what_is_approved_can_be_changed_first(offline: str, tab: Tab) -> None:
    asked(tab, offline)
    tab.push("Edit…")
    given: dict[str, Any] = json.loads(tab.see("document.activeElement.value"))
    assert given["amount"] == "25"
    tab.select_all()
    tab.write("{ this is no JSON")
    tab.push("Approve with these")
    tab.until("seen($('.card .notice.error')) && $('.card .notice.error').textContent.includes('not JSON')")
    tab.select_all()
    tab.write(json.dumps({**given, "amount": "12.50", "to": "Grace"}))
    tab.push("Approve with these")
    tab.until_said("12.50 EUR went to Grace")


def test_h1_an_answer_that_the_server_refuses_can_be_given_again(offline: str, tab: Tab) -> None:
    asked(tab, offline)
    tab.push("Edit…")
    given: dict[str, Any] = json.loads(tab.see("document.activeElement.value"))
    tab.select_all()
    tab.write(json.dumps({**given, "amount": "-1"}))
    tab.push("Approve with these")
    said = tab.until("seen($('.card .notice.error')) && $('.card .notice.error').textContent")
    assert "amount" in said
    tab.push("Approve")
    tab.until_said("25.00 EUR went to Ada")
    assert len(tab.network) == 1
    assert "422" in tab.network.pop()


def test_h1_a_question_is_answered_in_a_form(offline: str, tab: Tab) -> None:
    asked(tab, offline, "deliver the lamp")
    tab.see("$('.asked select').focus()")
    tab.press("ArrowDown")  # the list itself is no part of the page
    tab.click("$('.asked input[type=checkbox]')")
    tab.click("$('.asked input[type=text], .asked textarea')")
    tab.write("Beware of the <dog>.")
    tab.push("Answer")
    tab.until_said("The parcel goes to a neighbour, without ringing and the note 'Beware of the <dog>.'")


def test_h1_what_one_tab_answers_is_answered_in_the_other(offline: str, tabs: Callable[..., Tab]) -> None:
    one = tabs()
    asked(one, offline)
    other = tabs(one)
    other.open(offline)
    assert other.timeline() == one.timeline()
    other.push("Approve")
    for tab in (other, one):
        tab.call("Page.bringToFront")
        tab.until_said("25.00 EUR went to Ada")
        assert not tab.see("seen($('.asked'))")
    assert other.timeline() == one.timeline()
