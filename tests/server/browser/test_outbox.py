"""Messages appear immediately and are never lost, whatever the connection does (H6, W4)."""

import base64
import json
import signal
from collections.abc import Callable
from pathlib import Path

from tests.server.browser.process import Serving
from tests.server.browser.tab import Tab

SUM = "what is 20 + 3"
UNSENT = "$$('#outbox > li').map((each) => [each.querySelector('.text').textContent, each.dataset.state])"
STORED = (
    "Object.keys(localStorage).filter((key) => key.startsWith('callboard.outbox.')).map((key) => localStorage[key])"
)


def inputs(tab: Tab) -> list[str]:
    return [text for who, text in tab.timeline() if who == "user"]


def test_h6_message_over_a_stalled_connection_is_shown_at_once_and_sent_once(
    tabs: Callable[..., Tab], tmp_path: Path
) -> None:
    tab = tabs()
    with Serving(tmp_path / "served") as server:
        tab.open(server.start())
        server.signal(signal.SIGSTOP)  # it accepts connections, and does not respond
        try:
            tab.say(SUM)
            tab.say("and what is 1 + 1")
            tab.until("$$('#outbox > li').length === 2")
            assert tab.see(UNSENT) == [[SUM, "sending"], ["and what is 1 + 1", "sending"]]
            assert tab.see("$('#outbox .sent').textContent") == "sending…"
            assert tab.see("$('#message').value") == ""
        finally:
            server.signal(signal.SIGCONT)
        tab.until_model_said("1 + 1 = 2.")
        tab.until("!$('#outbox > li')")
        assert inputs(tab) == [SUM, "and what is 1 + 1"], "in their order"
        tab.until(f"{STORED}.length === 0")


def test_h6_unsent_message_survives_a_reload(offline: str, tab: Tab) -> None:
    tab.open(offline)
    tab.hold("/api/chat")
    tab.say(SUM)
    first = json.loads(tab.held(1)["request"]["postData"])
    assert first["message"] == SUM
    tab.call("Page.reload")
    second = json.loads(tab.held(2)["request"]["postData"])
    assert second == first, "the same message with the same id"
    tab.until("$('#outbox > li')?.dataset.state === 'sending'")
    assert tab.see(UNSENT) == [[SUM, "sending"]]
    tab.release()
    tab.until_model_said("20 + 3 = 23.")
    tab.until("!$('#outbox > li')")
    assert inputs(tab) == [SUM]
    tab.until(f"{STORED}.length === 0")


def test_h6_message_whose_response_was_lost_is_repeated_and_accepted_once(offline: str, tab: Tab) -> None:
    tab.open(offline)
    tab.say("what is 1 + 1")
    tab.until_model_said("= 2.")
    tab.hold("/api/chat/stream*")  # so that the stream does not acknowledge it either
    tab.call("Page.reload")
    tab.held(1)
    tab.release()
    tab.connected()
    tab.hold("/api/chat", "Response")
    tab.say(SUM)
    lost = tab.held(2)
    assert lost["responseStatusCode"] == 202, "the server has accepted it"
    tab.call("Fetch.failRequest", requestId=lost["requestId"], errorReason="ConnectionReset")
    tab.release()
    tab.until_model_said("20 + 3 = 23.")
    tab.until("!$('#outbox > li')")
    assert inputs(tab) == ["what is 1 + 1", SUM]
    tab.reload()
    tab.connected()
    assert inputs(tab) == ["what is 1 + 1", SUM]
    assert len(tab.network) <= 1
    tab.network.clear()


def test_h6_refused_message_shows_the_reason_and_is_kept(offline: str, tab: Tab) -> None:
    tab.open(offline)
    tab.hold("/api/chat")
    tab.say(SUM)
    problem = {"type": "x", "title": "Too large", "status": 413, "code": "body_too_large", "detail": "It is too long."}
    tab.call(
        "Fetch.fulfillRequest",
        requestId=tab.held()["requestId"],
        responseCode=413,
        responseHeaders=[{"name": "content-type", "value": "application/problem+json"}],
        body=base64.b64encode(json.dumps(problem).encode()).decode(),
    )
    tab.until("$('#outbox > li')?.dataset.state === 'failed'")
    assert tab.see("$('#outbox .sent').textContent") == "not sent: It is too long."
    tab.release()
    tab.reload()
    tab.until_model_said("20 + 3 = 23.")  # it is stored, and the new page sends it again
    tab.say("what is 2 + 2")
    tab.until_model_said("2 + 2 = 4.")
    assert inputs(tab) == [SUM, "what is 2 + 2"]
    tab.network.clear()


def test_h6_refused_message_can_be_removed(offline: str, tab: Tab) -> None:
    tab.open(offline)
    tab.hold("/api/chat")
    tab.say(SUM)
    tab.call("Fetch.fulfillRequest", requestId=tab.held()["requestId"], responseCode=422)
    tab.until("$('#outbox > li')?.dataset.state === 'failed'")
    tab.release()
    tab.push("Remove")
    tab.until("!$('#outbox > li') && seen($('#welcome'))")
    tab.until(f"{STORED}.length === 0")
    tab.network.clear()


def test_h6_message_before_the_first_response_of_the_server_is_kept(offline: str, tab: Tab) -> None:
    tab.hold("/api/sessions")
    tab.goto(offline)
    tab.say(SUM)
    tab.held()
    tab.until("$('#outbox > li')?.dataset.state === 'sending'")
    tab.release()
    tab.until_model_said("20 + 3 = 23.")
    assert inputs(tab) == [SUM]
