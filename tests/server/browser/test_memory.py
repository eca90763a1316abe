"""The memory of the page stays flat, however many events it receives (W1), and an idle page costs little.

By default, 5,000 events of a real server. With `--slow`, 100,000 events made in the page on 50 cards.
"""

import json
import time
from collections.abc import Callable

import pytest

from tests.server.browser.gated_server import GatedServer
from tests.server.browser.tab import Tab
from tests.server.browser.test_performance import FAKE_STREAM

MB = 1 << 20
GROWTH = 3 * MB
"""Bytes by which the heap may grow after the first events, which fill caches and compile code."""
CARDS, EVENTS, WARM = 50, 100_000, 20_000
IDLE = 20.0
"""Seconds for which the idle page is measured."""

POST = """(async () => {
  for (let sent = FROM; sent < UNTIL;) {
    for (const end = Math.min(UNTIL, sent + 500); sent < end; sent++) {
      const n = sent % CARDS;
      const call = { execution_id: `x${n}`, call_id: `c${n}`, tool: `tool_${n}` };
      const kind = ["tool_progress", "tool_progress", "tool_partial", "tool_progress", "text"][sent % 5];
      const progress = { ...call, stage: "working", fraction: (sent % 1000) / 1000, message: `step ${sent}` };
      const data = { tool_progress: progress,
        tool_partial: { ...call, value: `part ${sent}` }, text: { turn_id: "t", delta: "" } }[kind];
      const seq = sent + 2;
      post(kind, { ...(kind === "text" ? {} : { seq }), kind, at: new Date().toISOString(), data },
        kind === "text" ? undefined : seq);
    }
    await new Promise((resolve) => requestAnimationFrame(resolve));
  }
})()"""


class Footprint:
    """The memory of a page after a garbage collection."""

    def __init__(self, tab: Tab) -> None:
        for _ in range(3):
            tab.call("HeapProfiler.collectGarbage")
        self.heap: int = tab.call("Runtime.getHeapUsage")["usedSize"]
        metrics = {each["name"]: each["value"] for each in tab.call("Performance.getMetrics")["metrics"]}
        self.nodes = int(metrics["Nodes"])
        self.listeners = int(metrics["JSEventListeners"])

    def __str__(self) -> str:
        return f"{self.heap / MB:.1f} MB, {self.nodes} nodes, {self.listeners} listeners"


def check_flat(before: Footprint, after: Footprint) -> None:
    assert after.heap - before.heap < GROWTH
    assert after.nodes - before.nodes < 200
    assert after.listeners - before.listeners < 50


def test_w1_memory_is_flat_while_a_server_reports_progress(gated: GatedServer, tabs: Callable[..., Tab]) -> None:
    tab = tabs()
    tab.call("Performance.enable")
    tab.call("HeapProfiler.enable")
    tab.open(gated.serving.url)
    tab.say(f"report {gated.new_label()}")
    tab.until_model_said("everything.")
    before = Footprint(tab)
    for _ in range(4):
        tab.say(f"report {gated.new_label()}")
        tab.until("$$('#stop').length === 0 && $$('.card').every((card) => card.dataset.status === 'succeeded')")
    tab.until_model_said("everything.")
    after = Footprint(tab)
    print(f"after 1,000 events {before}; after 5,000 {after}")  # noqa: T201
    assert after.heap - before.heap < GROWTH


@pytest.mark.slow
def test_w1_memory_is_flat_over_a_hundred_thousand_events(offline: str, tab: Tab) -> None:
    calls = [{"execution_id": f"x{n}", "call_id": f"c{n}", "tool": f"tool_{n}"} for n in range(CARDS)]
    executions = [{**call, "status": "executing", "arguments": {"n": 1}} for call in calls]
    snapshot = {"messages": [], "executions": executions, "last_seq": 1}
    tab.goto(offline)
    create = {"method": "POST", "headers": {"content-type": "application/json"}, "body": '{"session_id": "memory"}'}
    tab.see(f"fetch('/api/sessions', {json.dumps(create)}).then(() => null)")
    source = f"window.snapshot = {json.dumps(snapshot)}; {FAKE_STREAM}"
    tab.call("Page.addScriptToEvaluateOnNewDocument", source=source)
    tab.call("Performance.enable")
    tab.call("HeapProfiler.enable")
    tab.goto(f"{offline}/?session=memory")
    tab.until(f"$$('.card progress').length === {CARDS}")
    found: list[Footprint] = []
    for start, end in ((0, WARM), (WARM, EVENTS)):
        for begin in range(start, end, 5_000):
            parts = {"FROM": str(begin), "UNTIL": str(begin + 5_000), "CARDS": str(CARDS)}
            script = POST
            for name, value in parts.items():
                script = script.replace(name, value)
            tab.see(script)
        tab.until(f"$$('.card .stage').some((each) => each.textContent.endsWith('step {end - 2}'))")
        found.append(Footprint(tab))
    before, after = found
    print(f"after {WARM} events {before}; after {EVENTS} {after}")  # noqa: T201
    check_flat(before, after)


@pytest.mark.slow
def test_w1_idle_page_costs_little(gated: GatedServer, tabs: Callable[..., Tab]) -> None:
    tab = tabs()
    tab.call("Performance.enable")
    tab.open(gated.serving.url)
    tab.say(f"ponder {gated.new_label()}")
    tab.until_model_said("everything.")
    tab.see("""void (window.requests = [], new PerformanceObserver((list) => requests.push(...list.getEntries()))
      .observe({ type: "resource" }))""")

    def busy() -> float:
        metrics = {each["name"]: each["value"] for each in tab.call("Performance.getMetrics")["metrics"]}
        return float(metrics["TaskDuration"])

    before, since = busy(), time.monotonic()
    tab.see(f"new Promise((resolve) => setTimeout(resolve, {IDLE * 1000}))")
    passed = time.monotonic() - since
    rate = tab.see("requests.length") * 60 / passed
    share = (busy() - before) / passed
    print(f"an idle page: {rate:.0f} requests per minute, {share:.1%} of a processor")  # noqa: T201
    assert rate <= 40
    assert share < 0.1
