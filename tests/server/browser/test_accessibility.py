"""The page for everybody: checked with axe-core in every view, with screen readers, keys, and from right to left."""

import json
from collections.abc import Generator
from typing import Any

import pytest

from scripts import assets
from tests.conftest import without
from tests.server.browser.chromium import Browser
from tests.server.browser.process import Serving
from tests.server.browser.tab import Tab
from tests.servers import Unavailable

VIEWS = ("inbox", "timeline", "tools", "operations", "api")
SCREENS = [(width, scheme) for width in (375, 1280) for scheme in ("light", "dark")]
ADDRESSES = ("/", "/?session=cards", "/?session=asks", *(f"/?view={view}&session=asks" for view in VIEWS))
ARGUMENTS = {"amount": "25", "to": "Ada", "purpose": "שלום lunch"}
CHECKED = """axe.run(document, { resultTypes: ["violations"] }).then(({ violations }) => violations.map((each) =>
  `${each.id}: ${each.help} at ${each.nodes.map(({ target }) => target.flat().join(" ")).slice(0, 3).join(" | ")}`))"""

FRAMES = "new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))"
OUTSIDE = """$$('*').filter((each) => seen(each) && !each.matches('html, head'))
  .filter((each) => !each.closest('head, .hidden, .skip, .scrolled, svg, canvas, pre, table'))
  .filter((each) => {
    const { left, right } = each.getBoundingClientRect();
    return left < -0.5 || right > innerWidth + 0.5;
  })
  .map((each) => each.outerHTML.slice(0, 120))"""


@pytest.fixture(scope="session")
def axe() -> str:
    """Return the source of axe-core. The policy of the page forbids a script tag, so the tests evaluate it."""
    try:
        assets.prepared_node()
    except assets.BuildError as error:
        without("Node", Unavailable(str(error)))
    return (assets.WEB / "node_modules" / "axe-core" / "axe.min.js").read_text()


@pytest.fixture(scope="module")
def filled(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """Start a server whose user has conversations: one with cards, and one that waits."""
    with Serving(tmp_path_factory.mktemp("accessibility") / "served") as server:
        url = server.start()
        context = browser.call("Target.createBrowserContext")["browserContextId"]
        tab = Tab(browser, context)
        tab.goto(url)
        for session in ("cards", "asks"):
            post(tab, "/api/sessions", {"session_id": session})
        tab.open(f"{url}/?session=cards")
        tab.say("what is 1 + 1 and check the stock of lamps and what time is it in Tokyo")
        tab.until("$$('.card').length >= 3 && !seen($('#stop'))")
        tab.say("build a report on tea with 1 chapters")
        tab.until_model_said("is ready")
        post(tab, "/api/executions", {"session_id": "asks", "tool": "send_payment", "arguments": ARGUMENTS})
        browser.call("Target.disposeBrowserContext", browserContextId=context)
        yield url


def post(tab: Tab, path: str, body: dict[str, Any]) -> None:
    options = {"method": "POST", "headers": {"content-type": "application/json"}, "body": json.dumps(body)}
    tab.see(f"fetch({json.dumps(path)}, {json.dumps(options)}).then(() => null)")


def screen(tab: Tab, width: int, scheme: str = "light") -> None:
    tab.call("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=width < 500)
    features = [("prefers-color-scheme", scheme), ("prefers-reduced-motion", "reduce")]
    tab.call("Emulation.setEmulatedMedia", features=[{"name": name, "value": value} for name, value in features])


def visit(tab: Tab, url: str, address: str) -> None:
    """Open an address, and wait until its view is drawn."""
    tab.goto(url + address)
    if address == "/":
        tab.until("seen($('#welcome'))")
    elif "view=" not in address:
        tab.until("$$('.card').length && $('#connection').dataset.state === 'connected'")
    else:
        tab.until("$('#connection').dataset.state === 'connected' && $$('h1').some(seen) && $$('main').some(seen)")
    tab.until("$$('nav li').length >= 2")
    tab.see(FRAMES)


def check(tab: Tab, axe: str) -> None:
    """Check what is shown with axe-core, on small and large screens, in light and dark."""
    tab.call("Runtime.evaluate", expression=axe)
    for width, scheme in SCREENS:
        screen(tab, width, scheme)
        tab.until(f"innerWidth === {width}")
        tab.see(FRAMES)
        assert (width, scheme, tab.see(CHECKED)) == (width, scheme, [])


@pytest.mark.parametrize("address", ADDRESSES)
def test_w3_axe_finds_no_violation(filled: str, axe: str, tab: Tab, address: str) -> None:
    visit(tab, filled, address)
    check(tab, axe)


def test_w3_axe_finds_no_violation_in_forms_and_dialogs(filled: str, axe: str, tab: Tab) -> None:
    visit(tab, filled, "/?session=asks")
    tab.push("Edit…")
    tab.until("$('.request input')")
    check(tab, axe)
    tab.push("Back")
    tab.push("Reject…")
    check(tab, axe)
    tab.press("Escape")
    tab.see("$('callboard-shortcuts').open()")
    tab.until("$('#shortcuts').open")
    check(tab, axe)
    tab.press("Escape")
    tab.see("void $('callboard-token-dialog').ask(true)")
    tab.until("$('#token-dialog').open")
    check(tab, axe)
    tab.see("$('callboard-token-dialog').close()")
    screen(tab, 375)
    tab.click("$('#menu')")
    tab.until("seen($('.new'))")
    tab.see("void $('callboard-confirm').ask('Delete it?', 'Delete')")
    tab.until("$('#confirm').open")
    check(tab, axe)


@pytest.mark.slow
def test_w3_page_can_be_translated(filled: str, tab: Tab) -> None:
    visit(tab, filled, "/?session=asks")
    german = {"send": "Senden", "language": "de", "direction": "ltr"}
    given = f"{json.dumps(german)}, {json.dumps({'inbox': {'title': 'Post'}})}"
    tab.see(f"import('/chat.js').then(({{ translate }}) => translate({given}))")
    tab.see("$('callboard-composer').requestUpdate()")
    tab.until("$('#send').textContent === 'Senden'")
    tab.see("$('a[data-view=inbox]').click()")
    tab.until("$('callboard-inbox-view')?.shadowRoot.querySelector('h1')?.textContent === 'Post'")


def test_w3_screen_readers_hear_whole_messages_and_not_pieces(filled: str, tab: Tab) -> None:
    tab.open(filled)
    live = "$$('[aria-live], [role=status], [role=alert], [role=log]')"
    assert tab.see(f"{live}.filter((each) => each.closest('#timeline') || each.querySelector('#timeline')).length") == 0
    tab.see("""void (window.heard = [], new MutationObserver(() => heard.push($('#announcer').textContent))
      .observe($('#announcer'), { childList: true, characterData: true, subtree: true }))""")
    tab.say("what is 20 + 22")
    tab.until_model_said("= 42.")
    tab.until("heard.length > 0")
    assert tab.see("heard") == [tab.see("last('.model .text').textContent")], "once, when it is complete"
    tab.say("pay 3 EUR to Ada")
    tab.until("heard.at(-1) === 'send_payment is waiting for your answer.'")
    assert tab.see("$('#timeline').getAttribute('role') ?? 'list'") == "list"


@pytest.mark.parametrize("view", ["chat", *(pytest.param(view, marks=pytest.mark.slow) for view in VIEWS)])
def test_w3_views_are_reached_with_keys_and_have_the_focus(filled: str, tab: Tab, view: str) -> None:
    screen(tab, 1280)
    visit(tab, filled, "/?session=asks")
    keys = {"inbox": "i", "tools": "t", "operations": "o", "api": "a"}
    if view in keys:
        tab.see("$('h1').focus()")
        for key in ("g", keys[view]):
            tab.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=key)
    elif view == "timeline":
        tab.click("$('#timeline-link')")
    else:
        tab.click("$$('nav li a').find((each) => each.dataset.id === 'cards')")
    shown = "seen($('#message'))" if view == "chat" else "focused().getRootNode().host?.localName.endsWith('-view')"
    tab.until(f"focused().matches('h1') && seen(focused()) && {shown}")
    tab.see("$('.skip').focus()")
    tab.press("Enter")
    tab.until("focused().matches('main')" if view != "chat" else "focused() === $('#message')")
    if view != "chat":
        for key in ("g", "c"):
            tab.call("Input.dispatchKeyEvent", type="keyDown", key=key, text=key)
        tab.until("focused() === $('#message')")
    tab.see("$('h1').focus()")
    tab.call("Input.dispatchKeyEvent", type="keyDown", key="?", text="?")
    tab.until("$('#shortcuts').open")
    assert "G then I" in tab.see("$('#shortcuts').innerText")
    tab.press("Escape")
    tab.until("!$('#shortcuts').open")


@pytest.mark.slow
def test_w3_menu_of_a_phone_opens_and_closes_with_the_keyboard(filled: str, tab: Tab) -> None:
    screen(tab, 375)
    visit(tab, filled, "/?session=asks")
    tab.see("$('#menu').focus()")
    tab.press("Enter")
    tab.until("seen($('.new')) && focused().matches('.new')")
    tab.press("Escape")
    tab.until("!seen($('.new')) && focused().id === 'menu'")
    tab.press("Enter")
    tab.until("focused().matches('.new')")
    for _ in range(20):
        if not tab.see("seen($('.new'))"):
            break
        tab.press("Tab")
    assert tab.see("!seen($('.new'))"), "it closes when the focus leaves it"


@pytest.mark.parametrize(
    ("address", "width"),
    [
        pytest.param(address, width, marks=() if (address, width) == (ADDRESSES[1], 375) else pytest.mark.slow)
        for address in ADDRESSES[1:]
        for width in (375, 1280)
    ],
)
def test_w3_page_from_right_to_left_has_its_parts_mirrored(filled: str, tab: Tab, address: str, width: int) -> None:
    screen(tab, width)
    turn = "document.addEventListener('DOMContentLoaded', () => { document.documentElement.dir = 'rtl'; })"
    tab.call("Page.addScriptToEvaluateOnNewDocument", source=turn)
    visit(tab, filled, address)
    page = "document.documentElement"
    assert tab.see(f"{page}.scrollWidth <= {page}.clientWidth && {page}.scrollHeight <= {page}.clientHeight")
    assert tab.see(OUTSIDE) == []
    if width == 1280:
        assert tab.see("$('callboard-sidebar').getBoundingClientRect().right === innerWidth")
    assert tab.see("$$('nav .name').every((each) => each.dir === 'auto')")
    if "view=" not in address:
        assert tab.see(
            "$$('.card .facts:not(.times) dd').every((each) => each.dir === 'auto') && $('#message').dir === 'auto'"
        )
        assert tab.see("$$('.card').find(seen).getBoundingClientRect().right") > width / 2
