"""The timeline with 50,000 events, and with 1,000 new ones per second: the page stays responsive.

The processor must be free for it, so it runs with `--slow`. Of several measurements the best counts, because other
programs may take the processor during one.
"""

from collections.abc import Generator

import pytest

from tests.server.browser.filled_board import fill_board
from tests.server.browser.process import Serving
from tests.server.browser.tab import Tab

pytestmark = pytest.mark.slow

LONG_TASK = 100
"""Milliseconds for which the page may be busy at a time."""
FIRST_DRAW = 2_000
"""Milliseconds until the newest events are drawn, from a warm server."""
EVENTS, RATE, SECONDS, ROUNDS = 50_000, 1_000, 3, 3
MEMORY = 80
"""Megabytes of the page's JavaScript with all events."""

ROWS = "$$('callboard-board-list .row')"
COUNT = "$('#board-count')?.textContent ?? ''"
FRAMES = "new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))"
OBSERVE = """
  window.tasks = [];
  new PerformanceObserver((list) => window.tasks.push(...list.getEntries())).observe({ entryTypes: ["longtask"] });
  window.mark = () => { window.since = performance.now(); };
  const recent = () => window.tasks.filter((each) => each.startTime >= since);
  window.longest = () => Math.max(0, ...recent().map((each) => each.duration));
  const drawn = () => {
    const view = document.querySelector("callboard-app")?.shadowRoot?.querySelector("callboard-board-view");
    const isDrawn = view?.shadowRoot?.querySelector(".row") && view.shadowRoot.querySelector("canvas[data-from]");
    if (isDrawn) window.drawnAt = performance.now();
    else requestAnimationFrame(drawn);
  };
  drawn();
"""
STREAM = """
  const writers = [];
  const real = window.fetch;
  const encoder = new TextEncoder();
  window.post = (kind, data, seq) => {
    const line = encoder.encode(`id: ${seq}\\nevent: ${kind}\\ndata: ${JSON.stringify(data)}\\n\\n`);
    for (const writer of writers) writer.enqueue(line);
  };
  window.fetch = (url, init) => {
    if (!String(url).includes("/api/chat/stream")) return real(url, init);
    return Promise.resolve(new Response(new ReadableStream({ start(made) {
      writers.push(made);
      const isWhole = !String(url).includes("after=");
      if (isWhole) made.enqueue(encoder.encode('id: 1\\nevent: snapshot\\ndata: {"last_seq": 1}\\n\\n'));
    } })));
  };
"""
USES = {
    "zooming": f"""(async () => {{
      mark();
      for (let step = 0; step < 40; step++) {{
        const zoom = {{ deltaY: step < 20 ? -100 : 100, ctrlKey: true }};
        const wheel = step % 2 === 0 ? zoom : {{ deltaX: 40 }};
        $("#lane-canvas").dispatchEvent(new WheelEvent("wheel", {{ ...wheel, bubbles: true, cancelable: true }}));
        await {FRAMES};
      }}
      return longest();
    }})()""",
    "scrolling": f"""(async () => {{
      mark();
      for (let step = 0; step < 40; step++) {{
        $("#events").scrollBy(0, step < 20 ? -900 : -30000);
        await {FRAMES};
      }}
      return longest();
    }})()""",
    "filtering": f"""(async () => {{
      mark();
      for (const text of ["w", "ware", "warehouse 12", "nothing like this", ""]) {{
        $("#board-search").value = text;
        $("#board-search").dispatchEvent(new Event("input", {{ bubbles: true }}));
        for (let frame = 0; frame < 8; frame++) await {FRAMES};
      }}
      return longest();
    }})()""",
}
LIVE = f"""(async () => {{
  const start = performance.now();
  let sent = 0;
  mark();
  for (let now = 0; now < {SECONDS * 1000}; now = performance.now() - start) {{
    while (sent < now * {RATE / 1000}) {{
      const seq = FIRST + sent++;
      const call = Math.floor(seq / 20);
      const kind = ["tool_started", "tool_executing", ...Array(17).fill("tool_progress"), "tool_result"][seq % 20];
      const data = {{ execution_id: `live${{call}}`, call_id: `c${{call}}`, tool: "lamp", attempt: 1, maximum: 1,
        arguments: {{}}, stage: "working", fraction: 0.5, message: `step ${{seq}}`, status: "succeeded", value: seq }};
      post(kind, {{ seq, kind, at: new Date().toISOString(), data }}, seq);
    }}
    await new Promise((resolve) => setTimeout(resolve, 1));
  }}
  return sent;
}})()"""


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    folder = tmp_path_factory.mktemp("timeline") / "store"
    with Serving(folder) as made:
        fill_board(folder, "many", EVENTS)
        yield made.start()


def open_board(tab: Tab, url: str, *scripts: str) -> None:
    tab.call("Emulation.setDeviceMetricsOverride", width=1280, height=800, deviceScaleFactor=1, mobile=False)
    tab.goto(url)  # the server is warm after it
    for script in scripts:
        tab.call("Page.addScriptToEvaluateOnNewDocument", source=f"{{ {script} }}")
    tab.goto(f"{url}/?view=timeline&session=many")
    loaded(tab)


def loaded(tab: Tab) -> None:
    for part in (0.25, 0.5, 0.75, 1):  # each may take as long as any other condition
        tab.until(f"{ROWS}.length > 0 && Number(/[\\d,]+/.exec({COUNT})[0].replaceAll(',', '')) >= {part * EVENTS}")
    tab.until(f"!({COUNT}).startsWith('Loading')")


def test_w1_fifty_thousand_events_are_drawn_zoomed_scrolled_and_filtered(many: str, tab: Tab) -> None:
    open_board(tab, many, OBSERVE)
    assert tab.see(COUNT) == "50,000 events"
    drawn = tab.see("drawnAt")
    longest = dict.fromkeys(USES, float("inf"))
    for _ in range(ROUNDS):
        for name, use in USES.items():
            if longest[name] > LONG_TASK:
                longest[name] = min(longest[name], tab.see(use))
    tab.call("HeapProfiler.collectGarbage")
    memory = tab.call("Runtime.getHeapUsage")["usedSize"] / 1e6
    for _ in range(ROUNDS):
        if drawn <= FIRST_DRAW:
            break
        tab.reload()
        drawn = min(drawn, tab.until("window.drawnAt"))
    print(f"first draw {drawn:.0f} ms; longest tasks in ms {longest}; {memory:.0f} MB")  # noqa: T201
    assert drawn <= FIRST_DRAW
    assert max(longest.values()) <= LONG_TASK
    assert memory <= MEMORY


def test_w1_a_thousand_new_events_per_second_on_a_timeline(many: str, tab: Tab) -> None:
    open_board(tab, many, OBSERVE, STREAM)
    sent, longest = 0, float("inf")
    first = EVENTS + 1
    for _ in range(ROUNDS):
        if longest <= LONG_TASK:
            break
        sent = tab.see(LIVE.replace("FIRST", str(first)))
        first += sent
        tab.until(f"Number(({COUNT}).split(' ')[0].replaceAll(',', '')) === {first - 1}")
        longest = min(longest, tab.see("longest()"))
    print(f"{sent} events in {SECONDS} s beside {EVENTS}: longest task {longest} ms")  # noqa: T201
    assert sent >= RATE * SECONDS * 0.95
    assert longest <= LONG_TASK
