"""Conversations on the page in a real browser: messages, and the cards of calls."""

import pytest

from callboard.testing.providers import Call, Gate, Text, Turn
from tests.server.browser.conftest import ScriptedServer
from tests.server.browser.tab import Tab

HOSTILE = "<img src=x onerror=\"document.title='lost'\"><script>document.title='lost'</script><b>bold</b>&lt;\u202eevil"
TRANSCRIPT = """fetch(`/api/messages?session_id=${localStorage["callboard.session"]}&limit=500`)
  .then((response) => response.json())
  .then(({ messages }) => messages.filter(({ text }) => text))
  .then((messages) => messages.map(({ role, text }) => [role === "user" ? "user" : "model", text]))"""
MARKUP = "$$('#timeline img, #timeline script, #timeline b').length"


def test_h2_text_is_shown_while_it_is_streamed(scripted: ScriptedServer, tab: Tab) -> None:
    gate = Gate()
    scripted.model.add(Turn(Text("One, ", "two, ", gate, "three.")))
    tab.open(scripted.url)
    tab.say("Count!")
    assert tab.until("last('.text[data-live]')?.textContent.length === 10 && last('.text').textContent") == "One, two, "
    assert tab.see("seen($('#stop'))")
    gate.open()
    assert tab.until_model_said("three.") == "One, two, three."
    shown = [["user", "Count!"], ["model", "One, two, three."]]
    assert tab.timeline() == shown
    tab.reload()
    tab.connected()
    assert tab.timeline() == shown


@pytest.mark.parametrize("way", ["the button", "a key"])
def test_h1_person_can_stop_the_model(scripted: ScriptedServer, tab: Tab, way: str) -> None:
    scripted.model.add(Turn(Text("I shall go on and ", Gate(), "on.")), "As you like.")
    tab.open(scripted.url)
    tab.say("Speak!")
    tab.until("last('.text[data-live]')?.textContent === 'I shall go on and '")
    if way == "a key":
        tab.press("Escape")
    else:
        tab.push("Stop")
    tab.until("last('#timeline > li').textContent === 'Stopped.' && !seen($('#stop')) && !$('[data-live]')")
    assert scripted.model.exchanges[-1].left
    tab.say("Enough.")
    tab.until_model_said("As you like.")
    assert [who for who, _ in tab.timeline()] == ["user", "model", "note", "user", "model"]


def test_h1_messages_are_shown_as_text(scripted: ScriptedServer, tab: Tab) -> None:
    short = HOSTILE[:100]
    scripted.model.add(
        Turn(HOSTILE, Call("build_report", {"subject": short, "chapters": 1})),
        "It runs.",
        "It is done.",
        Turn(Call("send_payment", {"to": short, "amount": "1", "purpose": HOSTILE})),
        "So be it.",
    )
    tab.open(scripted.url)
    tab.say(HOSTILE)
    tab.until_model_said("It is done.")
    assert tab.timeline()[:2] == [["user", HOSTILE], ["model", HOSTILE]]
    assert tab.see("$('.card .result dd').textContent") == f"All about {short}"
    tab.say("Pay!")
    tab.until("$$('.request').some(seen)")
    for _ in range(2):
        assert HOSTILE.replace("\u202e", "⟨U+202E⟩") in tab.see("last('.card').textContent")
        assert tab.see(MARKUP) == 0
        tab.reload()
        tab.connected()
    tab.push("Reject…")
    tab.write(HOSTILE)
    tab.push("Reject")
    tab.until_model_said("So be it.")
    assert HOSTILE in tab.see("last('.card .result').textContent")
    assert "evil" in scripted.model.bodies[-1]["messages"][-1]["content"]
    assert tab.see(MARKUP) == 0
    assert tab.see("document.title") == "Callboard"


def test_h2_card_of_a_retried_call_shows_its_errors_and_its_result(offline: str, tab: Tab) -> None:
    tab.open(offline)
    tab.click("$$('#suggestions button').find((each) => each.textContent === 'check the stock of lamps')")
    tab.until_status("check_stock", "retrying")
    assert "attempt 1 of 3" in tab.see("$('.card .status').textContent")
    assert tab.see("$('.retry-errors').innerText") == "transient: The warehouse did not answer."
    tab.until_status("check_stock", "succeeded")
    tab.until_model_said("There are 35 pieces of lamps in stock.")
    assert tab.see("$('.card .result').innerText").split() == ["Item", "lamps", "Pieces", "35"]
    assert tab.see("!seen($('.card progress')) && !seen($('.card button'))")
    before = tab.see("$('.card').innerText")
    assert "done (attempt 2 of 3) in" in before or "done (attempt 3 of 3) in" in before
    tab.reload()
    tab.connected()
    tab.until("seen($('.retry-errors'))")
    assert tab.see("$('.card').innerText") == before, "a reload keeps attempts, errors and times"


def test_h2_background_call_shows_its_progress_and_its_result_is_reported(offline: str, tab: Tab) -> None:
    tab.open(offline)
    tab.say("build a report on coffee with 2 chapters")
    first = tab.until("seen($('.card progress')) && $('.card .stage')?.textContent.includes('chapter 1 of 2')"
                      " && $('.card progress').value")  # fmt: skip
    tab.until_model_said("running in the background")
    tab.say("what is 12 * (3 + 4)")  # the conversation continues meanwhile
    tab.until_model_said("12 * (3 + 4) = 84.")
    assert tab.until("$('.card .stage')?.textContent.includes('chapter 2 of 2') && $('.card progress').value") > first
    tab.until("$$('.partials li').length === 2")
    assert tab.see("$('.card').dataset.status") == "executing"
    tab.until_model_said("A result came in from build_report: 'All about coffee' is ready: 16 pages in 2 chapters.")
    shown = tab.timeline()
    assert [who for who, _ in shown] == ["user", "build_report", "model", "user", "calculate", "model", "model"]
    assert [status for tool, status in shown if tool in ("build_report", "calculate")] == ["succeeded", "succeeded"]
    before = tab.see("$('.card').innerText")
    tab.reload()
    tab.connected()
    assert tab.timeline() == shown
    tab.until("$$('.partials li').length === 2")
    assert tab.see("$('.card').innerText") == before


def test_h1_background_call_can_be_cancelled_on_its_card(offline: str, tab: Tab) -> None:
    tab.open(offline)
    tab.say("build a report on tea with 6 chapters")
    tab.until("seen($('.card progress')) && $('.card progress').value > 0")
    tab.push("Cancel")
    tab.until_status("build_report", "cancelled")
    tab.until_model_said("build_report failed:")


def test_h1_new_conversation_starts_empty(offline: str, tab: Tab) -> None:
    tab.open(offline)
    tab.say("what is 1 + 1")
    tab.until_model_said("= 2.")
    tab.push("New conversation")
    tab.until("seen($('#welcome')) && !$('#timeline > li')")
    tab.say("what is 2 + 2")
    tab.until_model_said("= 4.")
    assert [text for who, text in tab.timeline() if who == "user"] == ["what is 2 + 2"]


def send_messages(tab: Tab, count: int) -> None:
    """Send messages in the session of a page, and wait until the model has answered."""
    tab.see(f"""(async () => {{
      const headers = {{ "content-type": "application/json" }};
      const session_id = localStorage["callboard.session"];
      for (let number = 0; number < {count}; number++) {{
        const body = JSON.stringify({{ session_id, message: `hello ${{number}}` }});
        await fetch("/api/chat", {{ method: "POST", headers, body }});
      }}
    }})()""")
    tab.until(f"$$('#timeline > li.user').length === {count + 1} && !seen($('#stop'))")


def show_all(tab: Tab) -> None:
    """Reload the page, and load all earlier messages."""
    tab.reload()
    tab.connected()
    tab.until("seen($('#earlier'))")
    while tab.see("seen($('#earlier'))"):
        count = tab.see("$$('#timeline > li').length")
        tab.push("Earlier messages")
        tab.until(f"$$('#timeline > li').length > {count} && !$('#earlier')?.disabled")


MESSAGES = """$$('#timeline > li:is(.user, .model)').map((each) =>
  [each.classList[0], each.querySelector('callboard-message')?.text ?? each.querySelector('.text').textContent])"""


def is_message(item: list[str]) -> bool:
    return item[0] in ("user", "model")


@pytest.mark.slow
def test_h1_earlier_messages_are_loaded_in_order_and_their_calls_are_shown_once(offline: str, tab: Tab) -> None:
    tab.open(offline)
    tab.say("pay 25 EUR to Ada for lunch")
    tab.until("seen($('.request .question'))")
    send_messages(tab, 120)
    show_all(tab)
    assert tab.see(MESSAGES) == tab.see(TRANSCRIPT)
    assert [each for each in tab.timeline() if not is_message(each)] == [["send_payment", "waiting"]]
    tab.push("Approve")
    tab.until_model_said("25.00 EUR went to Ada")
    show_all(tab)
    tab.until_status("send_payment", "succeeded")  # its result is in a later message than its call
    assert tab.see(MESSAGES) == tab.see(TRANSCRIPT)
    assert [each for each in tab.timeline() if not is_message(each)] == [["send_payment", "succeeded"]]
