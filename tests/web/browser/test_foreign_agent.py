"""`<ag-ui-agent>` on a static page with one script under a strict policy, with an agent that is not Callboard's."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event as Signal
from typing import Any

import pytest

from tests.server.browser.tab import Tab
from tests.web.browser.foreign_site import FINISHED, ForeignSite, calls, says

SOURCES = Path(__file__).parents[3] / "web" / "src"
PAGE = """
import { AgUiToolRegisterEvent, z } from "/ag-ui-agent.js";

const told = (window.told = []);
for (const kind of ["run-started", "run-finished", "run-error", "interrupt", "tool-call-start", "tool-call-args",
  "tool-call-end", "tool-call-error", "tool-call-pending", "tool-status-changed", "state-changed"]) {
  document.addEventListener(`ag-ui-${kind}`, ({ detail }) => told.push([kind, detail]));
}
document.dispatchEvent(new AgUiToolRegisterEvent({ tool: {
  name: "count",
  description: "Count the letters of a word.",
  schema: z.object({ word: z.string().describe("The word") }),
  handler: ({ word }) => String(word.length),
} }));
window.agent = document.querySelector("ag-ui-agent");
"""
ELEMENT = '<ag-ui-agent url="/agent" thread-id="thread-1"></ag-ui-agent>'
HOSTILE = "<img src=x onerror=\"document.title='lost'\"><script>document.title='lost'</script>"


@pytest.fixture
def page(site: ForeignSite, tab: Tab) -> Tab:
    """A tab on the site: `agent`, its events in `told`."""
    site.add_page(PAGE, ELEMENT)
    tab.goto(site.url)
    assert tab.see("agent.threadId") == "thread-1"
    return tab


def kinds(tab: Tab) -> list[str]:
    return tab.see("told.map(([kind]) => kind)")


def test_w2_tool_of_a_static_page_is_called_by_a_foreign_agent(site: ForeignSite, page: Tab) -> None:
    site.answer(lambda run: [*calls("c1", "count", '{"word":"lamp"}'), FINISHED], lambda run: says("Four."))
    assert page.see("agent.run('How long is lamp?', { forwardedProps: { a: 1 } })") == {"outcome": "success"}
    first, second = site.runs
    [tool] = first["tools"]
    assert tool["parameters"] == {
        "type": "object",
        "properties": {"word": {"type": "string", "description": "The word"}},
        "required": ["word"],
    }
    assert (first["threadId"], first["forwardedProps"]) == ("thread-1", {"a": 1})
    assert [message["role"] for message in second["messages"]] == ["user", "assistant", "tool"]
    result = second["messages"][-1]
    assert (result["toolCallId"], result["content"]) == ("c1", "4")
    assert kinds(page) == [
        *("run-started", "tool-call-start", "tool-call-args", "run-finished"),
        *["tool-status-changed"] * 4,
        *("tool-call-end", "run-started", "run-finished"),
    ]
    assert page.see("agent.messages.at(-1).content") == "Four."


def test_w2_interrupt_of_a_foreign_agent_is_resumed(site: ForeignSite, page: Tab) -> None:
    interrupts = [{"id": "i1", "reason": "confirmation"}, {"id": "i2", "reason": "input_required"}]
    site.answer(
        lambda run: [{**FINISHED, "outcome": {"type": "interrupt", "interrupts": interrupts}}],
        lambda run: [{"type": "STATE_SNAPSHOT", "snapshot": {"sent": True}}, *says("Sent.")],
    )
    assert page.see("agent.run('Send it')") == {"outcome": "interrupt", "interrupts": interrupts}
    assert page.see("agent.interrupts.length") == 2
    answers = {"i1": {"status": "resolved", "payload": {"approved": True}}, "i2": {"status": "cancelled"}}
    assert page.see(f"agent.resume({json.dumps(answers)})") == {"outcome": "success"}
    assert site.runs[1]["resume"] == [
        {"interruptId": "i1", "status": "resolved", "payload": {"approved": True}},
        {"interruptId": "i2", "status": "cancelled"},
    ]
    assert page.see("[agent.state, agent.interrupts.length]") == [{"sent": True}, 0]


def test_w2_abort_leaves_a_history_that_a_foreign_agent_accepts(site: ForeignSite, page: Tab) -> None:
    ended = Signal()

    def endless(run: dict[str, Any]) -> Iterator[dict[str, Any]]:
        yield from calls("c1", "count", '{"word":"lamp"}')
        yield {"type": "TOOL_CALL_START", "toolCallId": "c2", "toolCallName": "count"}
        yield {"type": "TOOL_CALL_ARGS", "toolCallId": "c2", "delta": '{"wor'}
        ended.wait(30)

    site.answer(endless, lambda run: says("All right."))
    page.see("void (window.run = agent.run('Count'))")
    page.until("told.some(([kind, detail]) => kind === 'tool-call-args' && detail.toolCallId === 'c2')")
    page.see("agent.abort()")
    assert page.see("run") == {"outcome": "aborted"}
    ended.set()
    assert page.see("agent.run('Never mind')") == {"outcome": "success"}
    user, assistant, result, again = site.runs[1]["messages"]
    assert [call["id"] for call in assistant["toolCalls"]] == ["c1"]
    assert (result["toolCallId"], json.loads(result["content"])["category"]) == ("c1", "cancelled")
    assert (user["content"], again["content"]) == ("Count", "Never mind")


def test_w2_errors_of_a_foreign_agent_are_told_once(site: ForeignSite, tabs: Callable[..., Tab]) -> None:
    site.add_page(PAGE, ELEMENT)
    site.answer(
        lambda run: [{"type": "RUN_ERROR", "message": "no quota", "code": "quota"}],
        lambda run: [{"type": "TEXT_MESSAGE_CONTENT", "messageId": "never opened", "delta": "x"}],
        lambda run: [],
    )
    tab = tabs()
    tab.goto(site.url)
    run = "agent.run('Hi').then(({ outcome, error }) => [outcome, error.message, error.code ?? null])"
    assert tab.see(run) == ["error", "no quota", "quota"]
    assert tab.see(run)[0] == "error"  # it breaks the protocol
    assert tab.see(run)[0] == "error"  # it does not end the run
    assert kinds(tab).count("run-error") == 3
    tab.see("1")
    tab.errors.clear()  # the client logs what breaks the protocol


def test_w2_what_an_agent_sends_never_becomes_markup(site: ForeignSite, page: Tab) -> None:
    script = json.dumps({"word": HOSTILE})
    site.answer(
        lambda run: [*calls(HOSTILE, HOSTILE, script), *calls("c2", "count", script), FINISHED],
    )
    run = page.see("agent.run('<b>Hi</b>')")
    assert [call["toolCallName"] for call in run["pendingToolCalls"]] == [HOSTILE]
    assert page.see("[document.title, agent.childNodes.length, agent.shadowRoot, $$('img, b').length]") == [
        *("site", 0, None, 0)
    ]


def test_w2_sources_turn_no_data_into_markup_or_code() -> None:
    words = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "srcdoc")
    for file in SOURCES.rglob("*.ts"):
        text = re.sub(r"/\*.*?\*/|//.*", "", file.read_text(), flags=re.DOTALL)
        assert [word for word in words if word in text] == [], file.name
