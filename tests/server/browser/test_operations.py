"""The operations view: live numbers, plots, conversations with their usage, and what a plain user does not see."""

from collections.abc import Callable
from pathlib import Path

import pytest

from callboard.testing.providers import Turn, Usage
from tests.server.browser.chromium import Browser
from tests.server.browser.conftest import ScriptedServer
from tests.server.browser.process import Serving
from tests.server.browser.tab import Tab

FIGURE = "$('#{}')?.querySelector('.figure').textContent.trim()"
REPORTS = "performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('/api/operations')).length"


def figure(name: str) -> str:
    return FIGURE.format(name)


def drawn(plot: str) -> str:
    """Whether a plot has pixels, beside those of its axes."""
    return f"""(() => {{
      const canvas = $('#{plot}')?.shadowRoot?.querySelector('canvas');
      if (!canvas?.width) return false;
      const {{ data }} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      const colours = new Set();
      for (let at = 0; at < data.length; at += 4) {{
        if (data[at + 3] === 255) colours.add(data.slice(at, at + 3).join());
      }}
      return [...colours].some((each) => Math.max(...each.split(',')) - Math.min(...each.split(',')) > 40);
    }})()"""


def wide(tab: Tab) -> None:
    tab.call("Emulation.setDeviceMetricsOverride", width=1280, height=800, deviceScaleFactor=1, mobile=False)


def call_tool(tab: Tab, session: str, tool: str, arguments: str) -> None:
    """Call a tool by hand, from the page."""
    body = f"JSON.stringify({{ session_id: '{session}', tool: '{tool}', arguments: {arguments} }})"
    tab.see(f"fetch('/api/executions', {{ method: 'POST', headers: {{ 'content-type': 'application/json' }}, "
            f"body: {body} }}).then((each) => each.status)")  # fmt: skip


def create(tab: Tab, session: str) -> None:
    tab.see(f"fetch('/api/sessions', {{ method: 'POST', headers: {{ 'content-type': 'application/json' }}, "
            f"body: JSON.stringify({{ session_id: '{session}' }}) }}).then((each) => each.status)")  # fmt: skip


@pytest.mark.slow
def test_w1_operations_are_live_and_plotted(offline: str, tab: Tab) -> None:
    tab.goto(f"{offline}/?view=operations")
    tab.until(f"{figure('open-calls')} !== undefined")
    create(tab, "busy")
    before = int(tab.see("$('#call-rate .note').textContent").split()[0])
    for number in range(5):
        call_tool(tab, "busy", "calculate", f"{{ expression: '1 + {number}' }}")
    call_tool(tab, "busy", "calculate", "{ nothing: 1 }")
    call_tool(tab, "busy", "send_payment", "{ amount: '5', currency: 'EUR', to: 'Ada', purpose: 'tea' }")
    tab.until(f"parseInt($('#call-rate .note').textContent) >= {before + 6}")
    tab.until(f"{figure('open-calls')} !== '0' && {figure('your-waiting')} !== '0'")
    assert tab.see("$('#failures').dataset.tone") == "bad"
    tab.until(drawn("open-live"))
    tab.until(drawn("calls-hour"))
    tab.until(drawn("failures-hour"))
    assert tab.see("$('#calls-live').shadowRoot.textContent").count("/s") == 2
    tab.until("$('tr[data-session=busy]')?.dataset.status === 'waiting'")
    assert tab.see("$('tr[data-session=busy]').cells[3].textContent.trim()") == "7"
    assert "SQLite" in tab.see("$('.about').textContent")


WATCH_TIMERS = """
  window.timers = new Set();
  const [set, clear] = [window.setInterval, window.clearInterval];
  window.setInterval = (action, delay) => {
    const id = set(action, delay);
    if (delay === 3000) window.timers.add(id);
    return id;
  };
  window.clearInterval = (id) => {
    window.timers.delete(id);
    clear(id);
  };
"""
"""Records the timers of reports, so that a test need not wait for what does not happen."""


@pytest.mark.slow
def test_w1_operations_rest_while_the_page_is_hidden(offline: str, tab: Tab) -> None:
    wide(tab)
    tab.call("Page.addScriptToEvaluateOnNewDocument", source=WATCH_TIMERS)
    tab.goto(f"{offline}/?view=operations")
    tab.until(f"{REPORTS} >= 2")
    tab.see("""(() => {
      Object.defineProperty(document, 'hidden', { configurable: true, get: () => true });
      document.dispatchEvent(new Event('visibilitychange'));
    })()""")
    tab.until("$('.live').dataset.live === 'false'")
    assert tab.see("timers.size") == 0
    before = tab.see(REPORTS)
    tab.see("(() => { delete document.hidden; document.dispatchEvent(new Event('visibilitychange')); })()")
    tab.until(f"$('.live').dataset.live === 'true' && {REPORTS} > {before} && timers.size === 1")
    tab.click("$('[data-view=tools]')")
    tab.until("!$('callboard-operations-view')")
    assert tab.see("timers.size") == 0, "a view that is left asks for nothing"


def test_w1_conversations_show_their_usage_and_cost(scripted: ScriptedServer, tab: Tab) -> None:
    scripted.model.add(Turn("Hello.", usage=Usage(1_000, 100)), Turn("Again.", usage=Usage(2_000, 200)))
    wide(tab)
    tab.open(scripted.url)
    tab.say("Hello?")
    tab.until_model_said("Hello.")
    session = tab.see("new URLSearchParams(location.search).get('session')")
    tab.click("$('[data-view=operations]')")
    row = f"$('tr[data-session=\"{session}\"]')"
    tab.until(f"{row}?.cells[5].textContent.trim() === '≈ $0.0028'")
    assert tab.see(f"{row}.cells[4].textContent.trim()") == "1.1K"
    tab.click(f"{row}.querySelector('.more')")
    tab.until("$('.usage-details')?.textContent.includes('1,000')")
    tab.click(f"{row}.querySelector('a')")
    tab.until("seen($('#message'))")
    tab.say("And again?")
    tab.until_model_said("Again.")
    tab.see("history.back()")
    tab.until(f"{row}?.cells[5].textContent.trim() === '≈ $0.0084'")


@pytest.mark.slow
def test_w1_conversations_are_sorted_and_paged(offline: str, tab: Tab) -> None:
    tab.goto(f"{offline}/?view=operations")
    tab.see("""(async () => {
      for (let number = 0; number < 60; number++) {
        const body = JSON.stringify({ session_id: `many-${String(number).padStart(2, "0")}` });
        await fetch("/api/sessions", { method: "POST", headers: { "content-type": "application/json" }, body });
      }
    })()""")
    tab.reload()
    tab.until("$$('tr[data-session]').length >= 50")
    tab.click("$('#more')")
    tab.until("$$('tr[data-session]').length >= 60")
    create(tab, "caller")
    call_tool(tab, "caller", "calculate", "{ expression: '1 + 1' }")
    tab.until("$('tr[data-session=caller]')?.cells[3].textContent.trim() === '1'")
    tab.click("$('th[data-column=calls] button')")
    tab.until("$('th[data-column=calls]').ariaSort === 'descending'")
    calls = "$$('tr[data-session]').map(({ cells }) => Number(cells[3].textContent))"
    found = tab.see(calls)
    assert found == sorted(found, reverse=True)
    assert found[0] >= 1
    tab.click("$('th[data-column=calls] button')")
    tab.until("$('th[data-column=calls]').ariaSort === 'ascending'")
    assert tab.see(calls) == found[::-1]


def test_h5_plain_user_sees_only_own_conversations(browser: Browser, tmp_path: Path, tabs: Callable[..., Tab]) -> None:
    with Serving(tmp_path / "keys", CALLBOARD_OPERATORS="ann") as server:
        keys = {user: server.run("keys", "create", "--user", user) for user in ("ann", "bob")}
        url = server.start()
        for user, key in keys.items():
            tab = tabs()
            tab.goto(url)
            tab.see(f"sessionStorage.setItem('callboard.token', {key!r})")
            headers = f"{{ 'content-type': 'application/json', authorization: 'Bearer {key}' }}"
            tab.see(f"fetch('/api/sessions', {{ method: 'POST', headers: {headers}, "
                    f"body: JSON.stringify({{ session_id: 'of-{user}' }}) }}).then((each) => each.status)")  # fmt: skip
            tab.goto(f"{url}/?view=operations")
            tab.until(f"{figure('your-running')} !== undefined")
            tab.until("$('tr[data-session]')")
            assert tab.see("$$('tr[data-session]').map((each) => each.dataset.session)") == [f"of-{user}"]
            assert bool(tab.see("Boolean($('#call-rate'))")) == (user == "ann"), "the process is for operators"
            assert bool(tab.see("Boolean($('.about'))")) == (user == "ann")


@pytest.mark.slow
def test_h5_operations_of_a_person_who_is_not_signed_in_say_so(
    browser: Browser, tmp_path: Path, tabs: Callable[..., Tab]
) -> None:
    with Serving(tmp_path / "closed") as server:
        server.run("keys", "create", "--user", "ann")
        tab = tabs()
        tab.goto(f"{server.start()}/?view=operations")
        tab.until("$('callboard-operations-view')?.shadowRoot.querySelector('[role=alert]')?.textContent"
                  ".includes('did not accept your token')")  # fmt: skip
        assert tab.see("$('.live').dataset.live") == "false"
