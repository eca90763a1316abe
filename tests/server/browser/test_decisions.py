"""Decisions of people on the page in a real browser: forms, differences, expiry, and two deciders at once."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from callboard.testing.providers import Call, Turn
from tests.server.browser.conftest import ScriptedServer
from tests.server.browser.tab import Tab

PRIMARY = "$$('.card :is(button.yes, button.send)').filter(seen).map((each) => each.textContent)"
CHANGES = "$$('.preview dd').map((each) => each.textContent)"
PROBLEM = "seen($('.card .notice.error')) && $('.card .notice.error').textContent"
DECISION = "$('.card .decision')?.innerText"


def ask(tab: Tab, server: ScriptedServer, *calls: Call, end: str = "Done.") -> None:
    """Let the model make calls that wait for a person."""
    server.model.add(Turn(*calls or [Call("pay", {"amount": 5})]), end)
    tab.say("Pay!")
    tab.until("seen($('.request'))")


def enter(tab: Tab, name: str, text: str) -> None:
    """Replace the text of a field."""
    tab.click(f"$('.request [name={name}]')")
    tab.select_all()
    tab.write(text)


def held_answer(tab: Tab) -> dict[str, Any]:
    return json.loads(tab.held()["request"]["postData"])["answer"]


def test_w1_arguments_are_edited_in_a_typed_form_and_the_difference_is_shown_before(
    carded: ScriptedServer, tab: Tab
) -> None:
    tab.open(carded.url)
    ask(tab, carded, Call("pay", {"amount": 5, "note": None}))
    tab.push("Edit…")
    types = "$$('.request [name]').map((each) => [each.name, each.type])"
    assert tab.see(types)[:4] == [["amount", "number"], ["to", "text"], ["note", "text"], ["urgent", "checkbox"]]
    assert tab.see("$('.request [name=amount]').min") == "1"
    assert tab.see("$('.request').innerText.includes('You have changed nothing yet.')")
    enter(tab, "amount", "7")
    assert tab.see(CHANGES) == ["was 5 → is 7"]
    tab.click("$('.request [name=urgent]')")
    assert tab.see(CHANGES) == ["was 5 → is 7", "was false → is true"]
    enter(tab, "amount", "5")
    assert tab.see(CHANGES) == ["was false → is true"]
    tab.hold("*/answer")
    tab.push("Approve with these")
    assert held_answer(tab) == {"approved": True, "arguments": {"amount": 5, "to": "Bob", "urgent": True}}
    tab.release()
    tab.until_model_said("Done.")
    assert tab.see("$('.card .result').innerText") == "paid 5 to Bob now"
    assert tab.see("$$('.decision dd').map((each) => each.textContent)") == ["was false → is true"]


@pytest.mark.slow
def test_w1_form_without_a_change_approves_the_arguments_as_they_are(carded: ScriptedServer, tab: Tab) -> None:
    tab.open(carded.url)
    ask(tab, carded)
    tab.push("Edit…")
    tab.hold("*/answer")
    tab.push("Approve with these")
    assert held_answer(tab) == {"approved": True}
    tab.release()
    tab.until_model_said("Done.")


@pytest.mark.slow
def test_w1_edits_are_kept_between_the_form_and_json(carded: ScriptedServer, tab: Tab) -> None:
    tab.open(carded.url)
    ask(tab, carded)
    tab.push("Edit…")
    enter(tab, "to", "Ada")
    tab.push("As JSON")
    tab.until("focused().matches('textarea.code')")
    given = json.loads(tab.see("focused().value"))
    assert (given["amount"], given["to"]) == (5, "Ada")
    tab.select_all()
    tab.write(json.dumps({**given, "amount": 7, "limits": {"day": 3}}))
    assert tab.see(CHANGES) == ["was 5 → is 7", "was Bob → is Ada", 'was — → is {"day":3}']
    tab.push("As a form")
    tab.until("$('.request [name=amount]')")
    fields = "Object.fromEntries($$('.request [name]').map((each) => [each.name, each.value]))"
    found = tab.see(fields)
    assert (found["amount"], found["to"], json.loads(found["limits"])) == ("7", "Ada", {"day": 3})
    assert tab.see(CHANGES) == ["was 5 → is 7", "was Bob → is Ada", 'was — → is {"day":3}']
    tab.push("As JSON")
    tab.until("focused().matches('textarea.code')")
    for text, said in (
        ('{"amount": 7, "to": "Ad', "not valid JSON"),
        ('{"amount": 7, "other": 1}', "The form cannot show “Other”"),
        ('{"amount": "seven"}', "The form cannot show “Amount”"),
        ("[1]", "an object with fields only"),
    ):
        tab.select_all()
        tab.write(text)
        tab.push("As a form")
        assert said in tab.until(PROBLEM)
        assert tab.see("$('.request textarea.code').value") == text, "nothing is lost"
        tab.see("$('.request textarea.code').focus()")
    tab.select_all()
    tab.write('{"amount": 7')
    assert tab.see(CHANGES) == []
    assert "not valid JSON yet" in tab.see("$('.request').innerText")
    tab.push("Approve with these")
    assert "not valid JSON" in tab.until(PROBLEM)
    tab.select_all()
    tab.write('{"amount": 7}')
    tab.push("Approve with these")
    tab.until_model_said("Done.")
    assert tab.see("$('.card .result').innerText") == "paid 7 to Bob"


def test_w1_there_is_one_primary_button_and_it_sends_what_is_visible(carded: ScriptedServer, tab: Tab) -> None:
    tab.open(carded.url)
    ask(tab, carded)
    assert tab.see(PRIMARY) == ["Approve"]
    tab.push("Edit…")
    assert tab.see(PRIMARY) == ["Approve with these"], "the old arguments cannot be approved while the form is open"
    enter(tab, "amount", "7")
    tab.push("As JSON")
    assert tab.see(PRIMARY) == ["Approve with these"]
    tab.push("Back")
    assert tab.see(PRIMARY) == ["Approve"]
    tab.push("Reject…")
    assert tab.see(PRIMARY) == [], "a rejection is no primary action"
    tab.push("Back")
    tab.push("Edit…")
    assert tab.see("$('.request [name=amount]').value") == "5", "discarded edits are forgotten"
    enter(tab, "amount", "8")
    tab.press("Enter")
    tab.until_model_said("Done.")
    assert tab.see("$('.card .result').innerText") == "paid 8 to Bob"


def test_w1_edits_survive_a_reload(carded: ScriptedServer, tab: Tab) -> None:
    tab.open(carded.url)
    ask(tab, carded)
    tab.push("Edit…")
    enter(tab, "to", "Ada")
    tab.reload()
    tab.connected()
    tab.until("$('.request [name=to]')?.value === 'Ada'")
    tab.until(f"JSON.stringify({CHANGES}) === '[\"was Bob → is Ada\"]'")
    assert tab.see(PRIMARY) == ["Approve with these"]
    tab.push("As JSON")
    tab.until("focused().matches('textarea.code')")
    tab.select_all()
    tab.write('{"amount": 7, "to": "Gr')
    tab.reload()
    tab.connected()
    tab.until('$(\'.request textarea.code\')?.value === \'{"amount": 7, "to": "Gr\'')
    tab.push("Back")
    tab.push("Approve")
    tab.until_model_said("Done.")
    assert tab.see("Object.keys(sessionStorage).filter((each) => each.startsWith('callboard.answer.'))") == []


@pytest.mark.slow
def test_w1_rejection_has_a_reason(carded: ScriptedServer, tab: Tab) -> None:
    tab.open(carded.url)
    ask(tab, carded)
    tab.push("Reject…")
    tab.write("Not today.")
    tab.push("Reject")
    tab.until_status("pay", "rejected")
    tab.until_model_said("Done.")
    assert "Not today." in json.dumps(carded.model.bodies[-1]["messages"])
    assert tab.see(DECISION).startswith("Rejected after ")
    assert "Not today." in tab.see("$('.card .result').innerText")


def test_w1_large_integers_are_shown_and_edited_with_all_their_digits(carded: ScriptedServer, tab: Tab) -> None:
    amount = 2**53 + 1
    tab.open(carded.url)
    ask(tab, carded, Call("pay", {"amount": amount, "limits": {"a": amount + 2}}))
    assert tab.see("$('.card .facts').innerText").split() == ["Amount", str(amount), "Limits", f'{{"a":{amount + 2}}}']
    tab.push("Edit…")
    assert tab.see("$('.request [name=amount]').value") == str(amount)
    enter(tab, "to", "Eve")
    assert tab.see(CHANGES) == ["was Bob → is Eve"]
    tab.reload()
    tab.connected()
    tab.until("seen($('.request [name=to]'))")
    assert tab.see(CHANGES) == ["was Bob → is Eve"]
    tab.hold("*/answer")
    tab.push("Approve with these")
    limits = {"a": amount + 2}
    assert held_answer(tab)["arguments"] == {"amount": amount, "to": "Eve", "urgent": False, "limits": limits}
    tab.release()
    tab.until_model_said("Done.")
    assert tab.see("$('.card .result').innerText") == f"paid {amount} to Eve"


def test_w1_long_request_is_shown_whole_and_approved_after_a_reload(carded: ScriptedServer, tab: Tab) -> None:
    tab.open(carded.url)
    ask(tab, carded, Call("pay", {"amount": 5, "note": "a" * 20_000}))
    tab.hold("*/api/requests/*")
    tab.reload()
    tab.held()
    assert tab.until("$('.request').innerText").startswith("Loading the whole request")
    assert tab.see("$$('.request button').every((each) => each.disabled)")
    tab.release()
    tab.until("!$('.request button.yes').disabled")
    assert tab.see("$('.card .facts').innerText.includes('aaaa')")
    tab.push("Approve")
    tab.until_model_said("Done.")


def test_w1_request_counts_down_and_expires(carded: ScriptedServer, tab: Tab) -> None:
    tab.open(carded.url)
    ask(tab, carded)
    first = tab.see("$('.countdown').innerText")
    assert first.startswith("Expires in ")
    tab.until(f"$('.countdown').innerText !== {json.dumps(first)}")
    assert tab.see("$('.countdown').getAttribute('role')") == "timer"
    tab.push("Approve")
    tab.until_model_said("Done.")
    carded.model.add(Turn(Call("hurry", {"amount": 1})), "Too late.")
    tab.say("Hurry!")
    tab.until("$('.countdown')")
    tab.until_status("hurry", "expired")
    tab.until_model_said("Too late.")
    assert tab.see("last('.card .status').textContent") == "not answered in time"
    assert tab.see("$$('.request, .countdown').length") == 0


@pytest.mark.slow
def test_w1_decision_stays_on_the_card(carded: ScriptedServer, tab: Tab) -> None:
    tab.open(carded.url)
    ask(tab, carded, Call("choose", {"question": "Which?"}))
    enter(tab, "colour", "red")
    enter(tab, "amount", "3")
    tab.push("Answer")
    tab.until_model_said("Done.")
    for _ in range(2):
        first, *given = tab.until(DECISION).split("\n")
        what, who, when = first.split(" · ")
        assert what.startswith("Answered after ")
        assert (who, bool(when)) == ("by you", True)
        assert [each for each in given if each] == ["Colour", "red", "Amount", "3"]
        assert tab.see("!isNaN(Date.parse($('.decision time').dateTime))")
        tab.reload()
        tab.connected()


@pytest.mark.slow
def test_w1_decision_on_the_command_line_is_shown_as_one_from_elsewhere(carded: ScriptedServer, tab: Tab) -> None:
    tab.open(carded.url)
    ask(tab, carded)
    tab.push("Edit…")
    session = tab.see("localStorage['callboard.session']")
    listed = f"fetch('/api/requests?session_id={session}').then((response) => response.json())"
    [request] = tab.see(listed)["requests"]
    carded.process.run("requests", "answer", request["request_id"], "--approve", "--store", "sqlite:///callboard.db")
    tab.until_model_said("Done.")
    assert tab.see(DECISION).split(" · ")[:2][1] == "elsewhere"
    assert not tab.see("seen($('.request'))")


def test_w1_second_of_two_deciders_is_told_what_was_decided(carded: ScriptedServer, tabs: Callable[..., Tab]) -> None:
    one = tabs()
    one.open(carded.url)
    ask(one, carded)
    one.push("Edit…")
    enter(one, "amount", "9")
    two = tabs()  # another browser
    two.open(one.see("location.href"))
    two.hold("*/chat/stream*")  # it does not hear of the decision
    two.until("seen($('.request'))")
    two.reload()
    two.release()
    two.connected()
    two.until("seen($('.request'))")
    one.hold("*/answer")
    two.hold("*/answer")
    one.push("Approve with these")
    one.held()
    two.push("Approve")
    two.held()
    one.release()
    one.until_model_said("Done.")
    two.release()
    said = two.until("seen($('.card .late-answer')) && $('.card .late-answer').innerText")
    assert said.startswith("Your answer was not used: this request was already approved elsewhere at ")
    two.until_model_said("Done.")
    decided = two.until(DECISION)
    assert decided.startswith("Approved with changes after ")
    assert " · elsewhere · " in decided
    assert two.see("$$('.decision dd').map((each) => each.textContent)") == ["was 5 → is 9"]
    assert " · by you · " in one.see(DECISION)
    assert two.see("$('.card .result').innerText") == "paid 9 to Bob"
    assert [each for each in two.network if "409" not in each] == []
