"""Turns on the page in a real browser: retried after a failure, and messages that are copied or edited."""

from callboard.testing.providers import Break, Failure, Text, Turn
from tests.server.browser.conftest import ScriptedServer
from tests.server.browser.tab import Tab

CLIPBOARD = "void (navigator.clipboard.writeText = async (text) => { window.copied = text; })"


def test_w1_failed_turn_is_retried_without_a_second_message(scripted: ScriptedServer, tab: Tab) -> None:
    scripted.model.add(Failure(400, "No."), Failure(400, "Still no."), "Now.")
    tab.open(scripted.url)
    tab.say("Are you there?")
    tab.until("seen($('.note.error .retry'))")
    tab.push("Try again")
    tab.until("$$('.note.error').length === 2 && !seen($('#stop'))")
    assert tab.see("$$('.retry').length") == 1, "only the newest failure can be retried"
    tab.reload()
    tab.connected()
    tab.until("seen($('.note.error .retry'))")
    tab.push("Try again")
    tab.until_model_said("Now.")
    assert [text for who, text in tab.timeline() if who == "user"] == ["Are you there?"]
    assert tab.see("$$('.retry').length") == 0
    asked = [each for each in scripted.model.bodies[-1]["messages"] if each["role"] == "user"]
    assert [each["content"] for each in asked] == ["Are you there?"]
    tab.reload()
    tab.connected()
    assert tab.timeline() == [["user", "Are you there?"], ["model", "Now."]]


def test_w1_answer_that_broke_off_is_asked_for_again(scripted: ScriptedServer, tab: Tab) -> None:
    scripted.model.add(Turn(Text("Half of ", Break())), "All of it.")
    asked = len(scripted.model.bodies)
    tab.open(scripted.url)
    tab.say("Tell me!")
    tab.until("seen($('.note.error .retry'))")
    tab.push("Try again")
    tab.until_model_said("All of it.")
    users = [text for who, text in tab.timeline() if who == "user"]
    assert users == ["Tell me!"], "the message is not sent again"
    assert len(scripted.model.bodies) == asked + 2
    assert "Half of" not in str(scripted.model.bodies[-1])


def test_w1_message_is_edited_and_sent_again(scripted: ScriptedServer, tab: Tab) -> None:
    scripted.model.add("Five.", "Six.")
    tab.open(scripted.url)
    tab.say("What is 2 + 3?")
    tab.until_model_said("Five.")
    tab.click("$('#message')")
    tab.write("A draft.")
    tab.push("Edit")
    assert tab.see("focused().id === 'message' && focused().value") == "A draft.\n\nWhat is 2 + 3?", "nothing is lost"
    tab.select_all()
    tab.write("What is 2 + 4?")
    tab.press("Enter")
    tab.until_model_said("Six.")
    assert [text for who, text in tab.timeline() if who == "user"] == ["What is 2 + 3?", "What is 2 + 4?"]


def test_w1_messages_of_both_sides_can_be_copied(scripted: ScriptedServer, tab: Tab) -> None:
    scripted.model.add("It is **five**.")
    tab.open(scripted.url)
    tab.say("What is 2 + 3?")
    tab.until_model_said("five")
    tab.see(CLIPBOARD)
    for who, text in (("user", "What is 2 + 3?"), ("model", "It is **five**.")):
        tab.click(f"$('#timeline > .{who} [aria-label=\"Copy this message\"]')")
        tab.until(f"window.copied === {text!r}")
        tab.until(f"$('#timeline > .{who}').innerText.includes('Copied')")
