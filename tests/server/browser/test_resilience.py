"""Nothing is lost or doubled on the screen (W4): the connection is cut, stalled or lost, and the server killed, at
every step of an approval and of a background call.

Each run is compared with an undisturbed one, with the server's transcript, and with the page after a reload. By default
a part of the combinations runs, and all with `--slow`.
"""

from collections.abc import Callable, Iterator

import pytest

from tests.server.browser.gated_server import (
    FINAL,
    FINISHED,
    PENDING,
    PLAN,
    PLANNED,
    START,
    STARTED,
    GatedServer,
)
from tests.server.browser.tab import Tab

APPROVAL = (
    "sending",  # the message cannot be sent
    "accepted",  # the server has it, and its response is lost
    "begun",  # the model was asked, and has not responded
    "streaming",  # half of its text is on the screen
    "asked",  # the request is on the screen
    "answering",  # the answer cannot be sent
    "answered",  # the server has it, and its response is lost
    "working",  # the tool has had its effect, and has not ended
    "reported",  # the model has the result
    "concluding",  # half of the last text is on the screen
    "done",
)
BACKGROUND = (
    "sending",
    "accepted",
    "begun",
    "streaming",
    "acknowledged",  # the tool runs, and the model has been told
    "working",  # the turn has ended, and the tool runs
    "reported",  # the late result has woken the model
    "concluding",
    "done",
)
DISTURBANCES = ("offline", "cut", "stall", "lost", "kill", "reload")
DEFAULT = {
    ("approval", "streaming", "cut"),
    ("approval", "answering", "cut"),
    ("approval", "working", "kill"),
    ("background", "working", "cut"),
    ("background", "reported", "kill"),
}
"""The combinations that run without `--slow`."""

ALL = [
    pytest.param(flow, step, kind, marks=() if (flow, step, kind) in DEFAULT else pytest.mark.slow)
    for flow, steps in (("approval", APPROVAL), ("background", BACKGROUND))
    for step in steps
    for kind in DISTURBANCES
]

CARD = """$$('.card').map((card) => [...card.querySelectorAll('.facts:not(.times), .partials, .decision, .result')]
  .map((each) => each.textContent.replace(/\\s+/g, ' ')).join('|'))"""
CONNECTED = "$('#connection').dataset.state === 'connected'"
RECORD = """void (window.texts = new Set(), setInterval(() => {
  for (const each of $$('#timeline > li.model .text')) texts.add(each.textContent.trim());
}, 5))"""
"""Collects all texts of the model that are ever shown."""
SETTLED = f"{CONNECTED} && !$('#outbox > li') && !seen($('#stop')) && !$('[data-live]')"


class Run:
    """One conversation, disturbed at one step."""

    def __init__(self, server: GatedServer, tab: Tab, step: str, kind: str) -> None:
        self.server = server
        self.tab = tab
        self.step = step
        self.kind = kind
        self.label = server.new_label()
        if step in ("begun", "streaming", "acknowledged", "reported", "concluding"):
            server.model.hold(step)

    @property
    def session(self) -> str:
        return str(self.tab.see("new URLSearchParams(location.search).get('session')"))

    def down(self) -> None:
        """Begin the disturbance."""
        match self.kind:
            case "offline":
                self._emulate(offline=True)
            case "cut":
                self.server.proxy.cut()
            case "stall":
                self.server.proxy.stall()
            case "lost":
                self.server.proxy.lose_streams()
            case "kill":
                self.server.kill()
            case _:
                pass
        if self.kind in ("offline", "cut", "kill", "stall") and self.step != "sending":
            self.tab.until(f"!({CONNECTED})")

    def up(self) -> None:
        """End the disturbance."""
        match self.kind:
            case "offline":
                self._emulate(offline=False)
            case "cut" | "stall":
                self.server.proxy.resume()
            case "kill":
                self.server.serving.start()
            case "reload":
                self.tab.reload()
            case _:
                pass
        self.tab.see("seen($('#reconnect')) && $('#reconnect').click()")  # instead of waiting

    def disturb(self) -> None:
        """Disturb the present step, and let the model and the tools continue meanwhile."""
        self.down()
        self.server.model.release()
        if self.step == "working":
            self.server.release_tool()
        self.up()

    def at(self, step: str, shown: str) -> None:
        """Disturb a step once the page shows it."""
        if step == self.step:
            self.tab.until(shown)
            self.disturb()

    def act(self, before: str, after: str, path: str, action: Callable[[], None], done: str) -> None:
        """Do something that sends a request: undisturbed, disturbed before it is sent, or before it is answered."""
        if self.step == before:
            self.down()
            if self.kind != "reload":
                action()
            self.up()
            if self.kind == "reload":
                action()
        elif self.step == after:
            self.tab.hold(path, "Response")
            action()
            held = self.tab.held()
            assert held["responseStatusCode"] == 202, "the server has accepted it"
            self.down()
            if self.kind != "reload":
                self.tab.call("Fetch.failRequest", requestId=held["requestId"], errorReason="ConnectionReset")
            self.tab.release()
            self.up()
        else:
            action()
        self.tab.until(done)

    def _emulate(self, *, offline: bool) -> None:
        rates = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        self.tab.call("Network.emulateNetworkConditions", offline=offline, **rates)

    def say(self, tool: str) -> None:
        text = f"{tool} {self.label}"
        sent = f"$$('li.user .text').filter((each) => each.textContent === '{text}').length > 0"
        self.act("sending", "accepted", "/api/chat", lambda: self.tab.say(text), sent)

    # The flows

    def approval(self) -> None:
        if self.step == "working":
            self.server.hold_tool()
        self.say("transfer")
        self.at("begun", "seen($('#stop'))")
        self.at("streaming", f"last('li.model .text')?.textContent.startsWith('{PLAN.strip()}')")
        self.at("asked", "seen($('.request'))")
        self.tab.until("seen($('.request'))")
        self.act("answering", "answered", "*/answer", self._approve, "!$('.request')")
        self.at("working", "$('.card')?.dataset.status === 'executing'")
        self.at("reported", "$('.card')?.dataset.status === 'succeeded'")
        self.at("concluding", f"last('li.model .text')?.textContent.startsWith('{FINAL.strip()}')")
        self.end(FINAL + FINISHED)

    def background(self) -> None:
        self.server.hold_tool()  # until the model has said that it runs
        self.say("gather")
        self.at("begun", "seen($('#stop'))")
        self.at("streaming", f"last('li.model .text')?.textContent.startsWith('{START.strip()}')")
        self.at("acknowledged", "$('.card')?.dataset.status === 'executing' && seen($('#stop'))")
        self.tab.until_model_said(PENDING)
        self.at("working", "$('.card .partials li')")
        self.server.release_tool()
        self.at("reported", "$('.card')?.dataset.status === 'succeeded' && seen($('#stop'))")
        self.at("concluding", f"last('li.model .text')?.textContent.startsWith('{FINAL.strip()}')")
        self.end(FINAL + FINISHED)

    def end(self, text: str) -> None:
        self.tab.until_model_said(text)
        if self.step == "done":
            self.disturb()
        self.tab.until(SETTLED)

    def _approve(self) -> None:
        self.tab.push("Approve")


def messages(server: GatedServer, session: str) -> Iterator[tuple[str, str]]:
    """The transcript of the server, as the page should show it."""
    for message in server.get("/api/messages", session_id=session)["messages"]:
        if message["role"] == "user":
            yield "user", message["text"]
        elif message["role"] == "assistant" and message.get("text"):
            yield "model", message["text"]


def expected(flow: str, label: str, *, interrupted: bool = False) -> list[list[str]]:
    """The items of an undisturbed run."""
    if flow == "approval":
        status = "failed" if interrupted else "succeeded"
        return [
            ["user", f"transfer {label}"],
            ["model", PLAN + PLANNED],
            ["transfer", status],
            ["model", FINAL + FINISHED],
        ]
    return [
        ["user", f"gather {label}"],
        ["model", START + STARTED],
        ["gather", "succeeded"],
        ["model", PENDING],
        ["model", FINAL + FINISHED],
    ]


@pytest.mark.parametrize(("flow", "step", "kind"), ALL)
def test_w4_nothing_is_lost_or_doubled(
    gated: GatedServer, tabs: Callable[..., Tab], flow: str, step: str, kind: str
) -> None:
    tab = tabs()
    tab.call("Network.enable")
    tab.open(gated.proxy.url)
    run = Run(gated, tab, step, kind)
    tab.see(RECORD)
    run.approval() if flow == "approval" else run.background()

    # the process of a call that is not idempotent was killed while it ran: it is not repeated
    interrupted = (flow, step, kind) == ("approval", "working", "kill")
    shown = tab.timeline()
    assert shown == expected(flow, run.label, interrupted=interrupted)
    assert [tuple(item) for item in shown if item[0] in ("user", "model")] == list(messages(gated, run.session))
    assert len(set(gated.effects())) == 1, "one effect"
    if kind != "reload":
        parts = {"", *(each.strip() for each in (PLAN, START, FINAL, PLAN + PLANNED, START + STARTED, PENDING))}
        assert set(tab.see("[...texts]")) <= parts | {FINAL + FINISHED}, "no wrong text, not even for a moment"
    if flow == "approval":
        assert len(gated.effects()) == 1, "it was carried out once"
        answers = [each for each in events(gated, run.session) if each == "human_answer"]
        assert len(answers) == 1, "one decision"
        assert tab.see("$$('.card .decision').length") == 1
    assert not tab.see("seen($('#error'))")
    tab.until("$('.card .decision, .card .partials li')")  # the history of the card is loaded
    card = tab.see(CARD)
    tab.reload()
    tab.until(SETTLED)
    tab.until(f"$$('#timeline > li').length === {len(shown)}")
    assert tab.timeline() == shown
    tab.until("$('.card .decision, .card .partials li')")
    assert tab.see(CARD) == card
    assert tab.see("Object.keys(localStorage).filter((key) => key.includes('outbox'))") == []


def events(server: GatedServer, session: str) -> list[str]:
    return [event["kind"] for event in server.get("/api/events", session_id=session, limit=500)["events"]]
