"""The catalogue of tools in a real browser: the list, the page of a tool, runs by hand, and plots."""

import json
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

from tests.server.browser.chromium import Browser
from tests.server.browser.process import Serving
from tests.server.browser.tab import Tab

TOOLS = Path(__file__).with_name("catalogue_tools.py")
MANY = 1_000
"""The tools of that registry which only add to its number."""
SCRIPT = "<img src=x onerror=alert(1)>"
"""A part of all texts of its hostile tool."""
AXE = Path(__file__).parents[3] / "web" / "node_modules" / "axe-core" / "axe.min.js"
CODE = "$('callboard-tool-schemas code').textContent"
LINKS = "$$('.tool-list a')"
NAMES = "$$('.tool-list .tool-name').map((each) => each.textContent)"
CARDS = "$$('.runs .card')"
SESSIONS = "fetch('/api/sessions?limit=1000').then((each) => each.json()).then((page) => page.sessions)"
PLOTS = "$$('callboard-plot').map((each) => each.shadowRoot)"
INK = """[...$$('callboard-plot')].map(({ shadowRoot }) => {
  const canvas = shadowRoot.querySelector("canvas");
  if (!canvas || !canvas.width) return 0;
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
  return data.filter((value, at) => at % 4 === 3 && value > 0).length;
})"""


@pytest.fixture(scope="module")
def many(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """Start a server with a thousand tools. Returns its address."""
    folder = tmp_path_factory.mktemp("catalogue") / "served"
    with Serving(folder, "--tools", "catalogue_tools:registry", CATALOGUE_GATE="1") as made:
        (folder / "catalogue_tools.py").write_text(TOOLS.read_text())
        yield made.start()


def resize(tab: Tab, width: int, height: int = 900) -> None:
    tab.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)


def show(tab: Tab, url: str, tool: str = "", width: int = 1280) -> None:
    """Open the catalogue, or the page of a tool."""
    resize(tab, width)
    tab.goto(f"{url}/?view=tools{f'&tool={tool}' if tool else ''}")
    tab.until(f"{LINKS}.length > 0")
    if tool:
        tab.until("$('.tool-facts dd') && $('#tool-panel').children.length")


def fill(tab: Tab, name: str, text: str) -> None:
    tab.click(f"$('.run-form [name={name}]')")
    tab.select_all()
    tab.write(text)


def until_run(tab: Tab, status: str, number: int = 0) -> None:
    """Wait until a run, counted from the newest, has a status."""
    tab.until(f"{CARDS}[{number}]?.dataset.status === {status!r}")


def axe(tab: Tab) -> list[Any]:
    """Return the violations that axe-core finds in the catalogue."""
    tab.call("Runtime.evaluate", expression=AXE.read_text())
    return tab.see("""(async () => {
      const view = { fromShadowDom: ["callboard-app", "callboard-catalogue-view"] };
      const { violations } = await axe.run(view, { resultTypes: ["violations"] });
      return violations.map(({ id, nodes }) => [id, ...nodes.map((each) => each.html.slice(0, 200))]);
    })()""")


def test_w1_tools_are_listed_searched_and_filtered(many: str, tab: Tab) -> None:
    show(tab, many)
    assert tab.see("$('.counted').textContent") == f"{MANY + 11} tools", "the built-in ones too"
    assert tab.see(f"{LINKS}.length") <= 300, "the rest on demand"
    tab.click("$('#tool-search')")
    tab.write("0777")
    tab.until(f"{LINKS}.length === 1")
    assert tab.see(NAMES) == ["tool_0777"]
    tab.select_all()
    tab.write("thing 99")
    tab.until("$('.counted').textContent.startsWith('19 of')")
    tab.press("Escape")
    tab.until(f"$('.counted').textContent === '{MANY + 11} tools'")
    tab.click("$('.facets summary')")
    choose = "(() => {{ const control = $('[data-facet={}]'); control.value = {!r};" \
             " control.dispatchEvent(new Event('change')); return true; }})()"  # fmt: skip
    for facet, value, names in [
        ("mode", "human", ["pay"]),
        ("tag", "long", ["work"]),
        ("group", "office", ["pay", "work"]),
        ("gate", "env:CATALOGUE_GATE", ["gated"]),
        ("namespace", "sample", ["flaky", "gated", "label", "pay", "work"]),
    ]:
        tab.see(choose.format(facet, value))
        tab.until(f"{NAMES}.join() === {','.join(names)!r}")
        tab.push("Clear")
    tab.click("$('#tool-search')")
    tab.write("no such tool")
    tab.until("$('.tool-list').innerText === 'No tool matches.'")


@pytest.mark.slow
def test_w1_a_thousand_tools_are_listed_without_long_tasks(many: str, tab: Tab) -> None:
    show(tab, many)
    tab.see("""(() => {
      window.longest = 0;
      new PerformanceObserver((list) => {
        for (const { duration } of list.getEntries()) window.longest = Math.max(window.longest, duration);
      }).observe({ type: "longtask" });
    })()""")
    tab.click("$('#tool-search')")
    for letter in "tool_05":
        tab.write(letter)
    tab.until("$('.counted').textContent.startsWith('100 of')")
    tab.press("Escape")
    while tab.see("!!$('.tool-list button')"):
        tab.push("Show 300 more" if tab.see(f"{LINKS}.length") < 900 else "Show 110 more")
    tab.until(f"{LINKS}.length === {MANY + 11}")
    assert tab.see("window.longest") < 1_000, "a bound for busy machines; it is about 100 ms on a free one"


@pytest.mark.slow
def test_w1_each_tool_has_an_address(many: str, tab: Tab) -> None:
    show(tab, many, "work")
    assert tab.see("$('#tool-title').textContent") == "work"
    facts = tab.see("Object.fromEntries($$('.tool-facts > div').map((each) => each.innerText.split('\\n')))")
    assert (facts["Mode"], facts["Namespace"], facts["Group"], facts["Tags"]) == (
        "background", "sample", "office", "long, work"
    )  # fmt: skip
    assert facts["Time limit of an attempt"] == "1:00:00 h"
    assert facts["Attempts"].startswith("up to 3, after")
    assert "only when the user asks" in tab.see("$('.tool-usage').textContent")
    assert tab.see("$('.tool-list a[aria-current]')?.textContent.includes('work') ?? 'beyond the first 300'")
    tab.click("$('#tool-search')")
    tab.write("pay")
    tab.press("Enter")
    tab.until("$('#tool-title')?.textContent === 'pay' && location.search === '?view=tools&tool=pay'")
    tab.see("history.back()")
    tab.until("$('#tool-title')?.textContent === 'work'")
    tab.see("history.forward()")
    tab.until("$('#tool-title')?.textContent === 'pay'")


def test_w1_schema_is_shown_and_copied_in_each_dialect(many: str, tab: Tab) -> None:
    show(tab, many, "pay")
    origin = tab.see("location.origin")
    tab._browser.call(
        "Browser.grantPermissions",
        origin=origin,
        browserContextId=tab.context,
        permissions=["clipboardReadWrite", "clipboardSanitizedWrite"],
    )
    tab.click("$('#tab-schemas')")
    names = tab.until("$$('.dialects button').map((each) => each.textContent.trim())")
    assert names == [
        "claude",
        "openai",
        "openai-responses",
        "openai-strict",
        "gemini",
        "mcp",
        "ag-ui",
        "input",
        "output",
    ]
    for name in names:
        tab.click(f"$$('.dialects button').find((each) => each.textContent.trim() === {name!r})")
        tab.until(f"$('.dialects [aria-pressed=true]').textContent.trim() === {name!r}")
        shown = json.loads(tab.see(f"$('callboard-tool-schemas callboard-code').updateComplete.then(() => {CODE})"))
        tab.push("Copy")
        assert json.loads(tab.until("navigator.clipboard.readText()")) == shown
    tab.click("$$('.dialects button').find((each) => each.textContent.trim() === 'openai')")
    tab.until("JSON.parse($('callboard-tool-schemas code').textContent).function.name === 'pay'")


@pytest.mark.slow
def test_w1_dialect_that_refuses_a_tool_says_why(many: str, tab: Tab) -> None:
    show(tab, many, "label")
    tab.click("$('#tab-schemas')")
    tab.click("$$('.dialects button').find((each) => each.textContent.trim() === 'openai-strict')")
    said = tab.until("$('callboard-tool-schemas .notice')?.textContent")
    assert said.startswith("This dialect cannot express the tool:")


def test_w1_run_by_hand_shows_progress_and_is_cancelled(many: str, tab: Tab) -> None:
    show(tab, many, "work")
    assert tab.see(f"{SESSIONS}.then((each) => each.length)") == 0, "only a run makes a session"
    tab.push("Example 1")
    tab.until("$('.run-form [name=subject]').value === 'tea'")
    fill(tab, "subject", "coffee")
    tab.push("Run")
    tab.until("$('.runs progress')?.value === 0.4 && $('.runs .partials')?.innerText.includes('chapter on coffee')")
    (session,) = tab.see(SESSIONS)
    assert session["title"] == "Tools run by hand"
    tab.reload()
    tab.until("$('.runs progress')?.value === 0.4 && $('.runs .partials')?.innerText.includes('chapter on coffee')")
    tab.push("Cancel")
    until_run(tab, "cancelled")
    assert not tab.see("$$('.runs button').some((each) => each.textContent === 'Run again')"), (
        "its secrets may be masked"
    )
    tab.push("Use these arguments")
    tab.until("$('.run-form [name=subject]').value === 'coffee'")
    assert tab.see("focused().name") == "subject"
    tab.push("Run")
    until_run(tab, "executing")
    assert tab.see(f"{SESSIONS}.then((each) => each.length)") == 1
    tab.push("Cancel")
    until_run(tab, "cancelled")
    tab.push("Run again")
    tab.until(f"{CARDS}.length === 3")
    until_run(tab, "executing")
    tab.push("Cancel")
    until_run(tab, "cancelled")
    tab.click("$('.runs a')")
    tab.until(f"location.search === '?session={session['session_id']}'")


@pytest.mark.slow
def test_w1_run_by_hand_asks_for_approval(many: str, tab: Tab) -> None:
    show(tab, many, "pay")
    tab.push("Run")
    assert tab.see("$('.run-form [name=amount]').validity.valueMissing"), "the form requires it"
    fill(tab, "amount", "25")
    tab.push("Run")
    tab.until("seen($('.runs .request .question'))")
    tab.push("Approve")
    until_run(tab, "succeeded")
    assert tab.see("$('.runs .result').innerText") == "paid 25 to bob"
    tab.push("As JSON")
    tab.until("$('.run-form textarea.code')")
    assert json.loads(tab.see("$('.run-form textarea.code').value")) == {"amount": 25, "to": "bob"}
    tab.click("$('.run-form textarea.code')")
    tab.select_all()
    tab.write("{")
    tab.push("Run")
    assert "not valid JSON" in tab.until("$('.run-form .notice').textContent")
    tab.select_all()
    tab.write('{"amount": 3, "to": "eve"}')
    tab.push("Run")
    tab.until("seen($('.runs .request .question'))")
    tab.push("Reject…")
    tab.push("Reject")
    until_run(tab, "rejected")
    until_run(tab, "succeeded", 1)
    tab.push("As a form")
    tab.until("$('.run-form [name=to]')?.value === 'eve'")


@pytest.mark.slow
def test_w1_failed_run_shows_its_attempts_and_the_breaker(many: str, tab: Tab) -> None:
    show(tab, many, "flaky")
    tab.push("Run")
    tab.until(f"{CARDS}[0]?.dataset.status === 'failed' && $('.retry-errors')")
    card = tab.see("$('.runs .card').innerText")
    assert "failed (attempt 2 of 3)" in card
    assert tab.see("$$('.retry-errors li').map((each) => each.innerText)") == [
        "transient: The warehouse did not answer.",
        "transient: The warehouse did not answer.",
    ]
    assert "is paused" in card, "the third attempt is refused"
    assert "Its breaker is open" in tab.until("$('.breaker')?.textContent")
    tab.click("$('#tab-statistics')")
    tab.until(f"{PLOTS}.length === 3 && {INK}.every((each) => each > 500)")
    assert tab.see("$$('.totals dd').map((each) => each.textContent).includes('open')")
    labels = tab.see(f"{PLOTS}[2].querySelector('.legend').innerText")
    assert "transient" in labels


@pytest.mark.slow
def test_w1_failed_request_is_sent_again_as_the_same_call(many: str, tabs: Callable[..., Tab]) -> None:
    tab = tabs()
    show(tab, many, "gated")
    assert "takes no arguments" in tab.see("$('.run-form').innerText")
    tab.hold("*/api/executions")
    tab.push("Run")
    held = tab.held()
    call_id = json.loads(held["request"]["postData"])["call_id"]
    tab.call("Fetch.failRequest", requestId=held["requestId"], errorReason="ConnectionReset")
    tab.until("$('.runs .notice.error')?.textContent.includes('Not sent')")
    tab.release()
    tab.push("Send again")
    until_run(tab, "succeeded")
    assert tab.see(f"{CARDS}.length") == 1
    assert tab.see("$('.runs li').dataset.run") == call_id
    assert "it answered" in tab.see("$('.runs .result').innerText")


def test_w1_plots_are_drawn_and_have_tables(many: str, tab: Tab) -> None:
    show(tab, many, "tool_0001")
    tab.click("$('#tab-statistics')")
    tab.until(
        f"{PLOTS}.length === 3 && {PLOTS}.every((each) => each.querySelector('.empty') || each.querySelector('canvas'))"
    )
    assert tab.see(f"{PLOTS}.at(-1).querySelector('.empty').textContent") == "Nothing to show yet."
    tab.click("$('#tab-run')")
    fill(tab, "value", "7")
    tab.push("Run")
    until_run(tab, "succeeded")
    tab.click("$('#tab-statistics')")
    tab.until(f"{INK}[0] > 500 && {PLOTS}[0].querySelector('.legend').innerText.includes('succeeded')")
    tab.click(f"{PLOTS}[0].querySelector('button')")
    rows = f"[...{PLOTS}[0].querySelectorAll('tbody tr')].map((each) => each.innerText.split('\\t').slice(1).join())"
    assert "1,0,0" in tab.until(f"{PLOTS}[0].querySelector('table') && {rows}")
    assert tab.see(f"{PLOTS}[0].querySelector('[role=region]').ariaLabel") == "Calls per minute"
    tab.click(f"{PLOTS}[0].querySelector('button')")
    tab.until(f"{INK}[0] > 500")


@pytest.mark.slow
def test_w3_plot_follows_the_theme_and_the_width(many: str, tab: Tab) -> None:
    tab.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "light"}])
    show(tab, many)
    canvas = "$('callboard-plot').shadowRoot.querySelector('canvas')"
    pixels = f"{canvas}.toDataURL()"
    tab.until(f"{INK}[0] > 500")
    light = tab.see(pixels)
    tab.push("Theme: system")
    tab.push("Theme: light")
    tab.until(f"{pixels} !== {light!r}")
    resize(tab, 1000)
    tab.until(f"{canvas}.getBoundingClientRect().right <= innerWidth")


@pytest.mark.slow
def test_w3_catalogue_can_be_used_with_the_keyboard(many: str, tab: Tab) -> None:
    show(tab, many)
    tab.see("document.body.focus()")
    tab.call("Input.dispatchKeyEvent", type="keyDown", key="/", code="Slash", text="/")
    tab.call("Input.dispatchKeyEvent", type="keyUp", key="/", code="Slash")
    tab.until("focused().id === 'tool-search'")
    tab.write("pay")
    tab.until(f"{LINKS}[0].textContent.includes('pay')")
    tab.press("ArrowDown")
    tab.until(f"focused() === {LINKS}[0]")
    tab.press("Enter")
    tab.until("$('#tool-title')?.textContent === 'pay'")
    tab.until("focused().id === 'tool-title'")
    while tab.see("focused().role !== 'tab'"):
        tab.press("Tab")
    right: dict[str, Any] = {"key": "ArrowRight", "code": "ArrowRight", "windowsVirtualKeyCode": 39}
    for kind in ("keyDown", "keyUp"):
        tab.call("Input.dispatchKeyEvent", type=kind, **right)
    tab.until("focused().id === 'tab-schemas' && $('.dialects')")
    assert tab.see("$$('.tool-list a').filter((each) => each.tabIndex === 0).length") == 1


@pytest.mark.parametrize(
    ("width", "scheme"),
    [
        (1280, "light"),
        pytest.param(375, "dark", marks=pytest.mark.slow),
        pytest.param(1280, "dark", marks=pytest.mark.slow),
        pytest.param(375, "light", marks=pytest.mark.slow),
    ],
)
@pytest.mark.slow
def test_w3_catalogue_has_no_violations_of_accessibility(many: str, tab: Tab, width: int, scheme: str) -> None:
    tab.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
    show(tab, many, width=width)
    assert axe(tab) == []
    show(tab, many, "work", width)
    assert axe(tab) == []
    for name in ("schemas", "statistics"):
        tab.click(f"$('#tab-{name}')")
        tab.until(f"$('#tab-{name}').ariaSelected === 'true'")
        assert axe(tab) == []
    hit = "$$('button, input:not([type=checkbox]), select, textarea, .tool-list a').filter(seen)"
    assert min(tab.see(f"{hit}.map((each) => each.offsetHeight)")) >= 32


@pytest.mark.slow
def test_w3_phone_shows_the_list_or_a_tool(many: str, tab: Tab) -> None:
    show(tab, many, width=375)
    assert tab.see("seen($('.tool-list')) && !seen($('.pane'))")
    tab.click("$('#tool-search')")
    tab.write("work")
    tab.until(f"{LINKS}[0].textContent.includes('work')")
    tab.click(f"{LINKS}[0]")
    tab.until("seen($('#tool-title')) && !seen($('.tool-list'))")
    wide = "$$('*').filter((each) => seen(each) && !each.closest('.hidden, .skip, pre'))"
    assert tab.see(f"{wide}.filter((each) => each.getBoundingClientRect().right > innerWidth + 0.5)"
                   ".map((each) => each.outerHTML.slice(0, 100))") == []  # fmt: skip
    tab.click("$('.back')")
    tab.until("seen($('.tool-list')) && !seen($('.pane'))")
    assert tab.see("$('#tool-search').value") == "work", "the search is kept"


def test_h5_hostile_tool_neither_injects_nor_freezes_the_page(many: str, tab: Tab) -> None:
    show(tab, many, "hostile")
    assert tab.see("$$('.pane img, .tool-list img').length") == 0
    assert SCRIPT in tab.see("$('.tool-description').textContent")
    assert tab.see("$$('.run-form .field').length") == 3
    assert tab.see("$$('.run-form option').length") == 0, "a list of 20,000 choices is a text field"
    fill(tab, "choice", "choice 7")
    tab.push("Run")
    until_run(tab, "succeeded")
    assert SCRIPT in tab.see("$('.runs .result').textContent")
    assert tab.see("$$('.runs img').length") == 0
    tab.click("$('#tab-schemas')")
    assert SCRIPT in tab.until("$('callboard-tool-schemas .notice')?.textContent"), "Claude refuses such a name"
    assert tab.see("$$('.pane img').length") == 0
    tab.click("$$('.dialects button').find((each) => each.textContent.trim() === 'openai')")
    tab.until("$('.cut')?.textContent.length === 40000")


def test_h5_form_shows_and_sends_properties_and_choices_of_any_name_and_type(many: str, tab: Tab) -> None:
    show(tab, many, "odd_names")
    labels = tab.see("$$('.run-form label').map((each) => each.textContent.trim())")
    assert labels == ["Constructor", "proto", "Two words", "⟨U+202E⟩eman"]
    assert tab.see("$('.run-form [name=constructor]').value") == "", "not what every object inherits"
    options = tab.see("$$('.run-form option').map((each) => each.textContent.trim())")
    assert options[1:4] == ['{"size":1}', '{"size":2}', '["a"]']
    assert SCRIPT in options[4]
    described = tab.see("""$$('.run-form [aria-describedby]').map((each) =>
      each.getRootNode().getElementById(each.getAttribute('aria-describedby'))?.textContent)""")
    assert described[:3] == ["Every object of JavaScript has one", "Its prototype", "A name ⟨U+202E⟩with a space"]
    fill(tab, "constructor", "a text")
    fill(tab, "__proto__", '{"kept": true}')
    tab.see("$('.run-form select').selectedIndex = 2")
    tab.push("Run")
    until_run(tab, "succeeded")
    result = tab.see("$('.runs .result').textContent")
    for part in ("a text", "kept", "size", "2"):
        assert part in result


@pytest.mark.slow
def test_w1_unknown_tool_is_reported(many: str, tabs: Callable[..., Tab]) -> None:
    tab = tabs()
    tab.goto(f"{many}/?view=tools&tool=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E")
    tab.until("$('.pane')?.innerText.includes('There is no tool')")
