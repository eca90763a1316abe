"""The sidebar: conversations and their addresses, the theme, and the keyboard."""

from collections.abc import Callable

from tests.server.browser.tab import Tab

SESSIONS = "fetch('/api/sessions?limit=1000').then((each) => each.json()).then((page) => page.sessions.length)"
LINKS = "$$('nav li > a')"


def wide(tab: Tab) -> None:
    tab.call("Emulation.setDeviceMetricsOverride", width=1280, height=800, deviceScaleFactor=1, mobile=False)


def test_w1_opening_the_page_makes_no_session(offline: str, tab: Tab) -> None:
    tab.open(offline)
    before = tab.see(SESSIONS)
    tab.push("New conversation")
    tab.reload()
    tab.connected()
    assert tab.see(SESSIONS) == before
    tab.say("what is 1 + 1")
    tab.until_model_said("= 2.")
    assert tab.see(SESSIONS) == before + 1


def test_w1_each_conversation_has_an_address(offline: str, tabs: Callable[..., Tab]) -> None:
    tab = tabs()
    wide(tab)
    tab.open(offline)
    assert "session=" not in tab.see("location.href")
    tab.say("what is 1 + 1")
    tab.until_model_said("= 2.")
    first = tab.see("location.href")
    tab.push("New conversation")
    tab.until("seen($('#welcome'))")
    tab.say("what is 2 + 2")
    tab.until_model_said("= 4.")
    assert tab.see("location.href") != first
    tab.until(f"{LINKS}.some((each) => each.href === {first!r})")
    tab.click(f"{LINKS}.find((each) => each.href === {first!r})")
    tab.until("$('#timeline .text')?.textContent === 'what is 1 + 1'")
    assert tab.see("location.href") == first
    tab.until(f"{LINKS}.find((each) => each.ariaCurrent === 'page')?.href === {first!r}")
    tab.see("history.back()")
    tab.until(f"location.href !== {first!r}")
    other = tabs()
    other.open(first)
    assert other.timeline()[0] == ["user", "what is 1 + 1"]


def test_w3_theme_can_be_chosen_and_is_kept(offline: str, tab: Tab) -> None:
    wide(tab)
    tab.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "light"}])
    tab.open(offline)
    paper = "getComputedStyle($('callboard-chat')).backgroundColor"
    light = tab.see(paper)
    tab.push("Theme: system")
    tab.push("Theme: light")
    tab.until("$('#theme').textContent === 'Theme: dark'")
    dark = tab.see(paper)
    assert dark != light
    tab.reload()
    tab.connected()
    assert tab.see(paper) == dark


def test_w3_shortcuts_are_listed_and_work(offline: str, tab: Tab) -> None:
    tab.open(offline)
    question = {"key": "?", "code": "Slash", "text": "?"}
    tab.call("Input.dispatchKeyEvent", type="keyDown", **question)
    tab.until("$('#shortcuts').open")
    tab.push("Close")
    tab.until("!$('#shortcuts').open")
    tab.call("Input.dispatchKeyEvent", type="keyDown", key="/", code="Slash")
    tab.until("focused() === $('#message')")


def test_w3_draft_survives_a_reload(offline: str, tab: Tab) -> None:
    tab.open(offline)
    tab.click("$('#message')")
    tab.write("not finished")
    tab.reload()
    tab.connected()
    assert tab.see("$('#message').value") == "not finished"
