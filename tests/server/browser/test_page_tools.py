"""Tools of the page: the model calls them through the server, and one tab of the browser executes them."""

import json
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.server.browser.chromium import Browser
from tests.server.browser.process import Serving
from tests.server.browser.tab import Tab

SLOW_TOOLS = """(async () => {
  if (!location.protocol.startsWith("http")) return;
  const { globalToolRegistry, z } = await import("/ag-ui-agent.js");
  const tool = (name, idempotent) => ({
    name,
    description: "Count its runs, and wait until it may finish.",
    schema: z.object({}),
    metadata: { idempotent },
    async handler(args, { signal }) {
      localStorage.setItem("ran", Number(localStorage.getItem("ran")) + 1);
      signal.addEventListener("abort", () => localStorage.setItem("aborted", "yes"));
      while (!localStorage.getItem("finish")) await new Promise((resolve) => setTimeout(resolve, 10));
      return `ran ${localStorage.getItem("ran")}`;
    },
  });
  globalToolRegistry.register(tool("slow_safe", true));
  globalToolRegistry.register(tool("slow_once", false));
  window.hasSlowTools = true;
})();"""
"""A script of the page that registers two tools, of which one may run twice."""
STRICT_CLIPBOARD = """(() => {
  let calls = 0;
  navigator.clipboard.writeText = async (text) => {
    if (calls++ === 0 || !navigator.userActivation.isActive) throw new DOMException("No click.", "NotAllowedError");
    window.copied = text;
  };
})();"""
"""The clipboard as some browsers have it: a page may use it only after a click for that purpose."""


def open_with_slow_tools(tab: Tab, url: str) -> None:
    tab.call("Page.addScriptToEvaluateOnNewDocument", source=SLOW_TOOLS)
    tab.open(url)
    tab.until("window.hasSlowTools")


def until_ran(tab: Tab, times: int) -> None:
    tab.until(f"localStorage.getItem('ran') === '{times}'")


def finish(tab: Tab) -> None:
    tab.see("localStorage.setItem('finish', 'yes')")


def two_tabs(tabs: Callable[..., Tab], url: str) -> tuple[Tab, Tab]:
    """Open two tabs of a conversation. The first is in front."""
    first = tabs()
    second = tabs(beside=first)
    open_with_slow_tools(first, url)
    first.say("hello")
    first.until_model_said("offline model")
    open_with_slow_tools(second, first.see("location.href"))
    second.until("$('#timeline > li')")
    first.call("Page.bringToFront")
    first.until("!document.hidden")
    return first, second


def allow(browser: Browser, tab: Tab, setting: str, *names: str) -> None:
    """Set permissions of the tab's profile: granted, denied, or prompt."""
    for name in names:
        browser.call("Browser.setPermission", permission={"name": name}, setting=setting, browserContextId=tab.context)


def test_w2_model_asks_the_browser_where_the_person_is(tab: Tab, offline: str) -> None:
    tab.open(offline)
    tab.say("where am I?")
    said = tab.until_model_said("You are at ", "in the time zone ")
    assert offline in said
    tab.until_status("where_am_i", "succeeded")
    assert tab.see("seen($('.card .place')) && $('.card .place').textContent") == "in your browser"
    assert not tab.see("$('callboard-decision') || $('.card .request')"), "no person was asked"
    tab.say("what time is it here")
    tab.until_model_said("Where you are it is ")
    tab.reload()
    tab.connected()
    tab.until("$$('.card .place').length === 2")
    assert [each for each in tab.timeline() if each[1] == "succeeded"] == [
        ["where_am_i", "succeeded"],
        ["local_time", "succeeded"],
    ]


def test_w2_model_copies_saves_and_notifies(browser: Browser, tab: Tab, offline: str, tmp_path: Path) -> None:
    allow(browser, tab, "granted", "clipboard-read", "clipboard-write", "notifications")
    behaviour = {"behavior": "allow", "downloadPath": str(tmp_path), "browserContextId": tab.context}
    browser.call("Browser.setDownloadBehavior", **behaviour)
    tab.open(offline)
    tab.call("Page.bringToFront")
    tab.say("copy 'hello you' to my clipboard")
    tab.until_model_said("It is in your clipboard.")
    assert tab.see("navigator.clipboard.readText()") == "hello you"
    tab.say("save hello as notes.bat")
    tab.until_model_said("Your browser has saved notes.bat.txt.")
    browser.wait(lambda: (tmp_path / "notes.bat.txt").exists())
    assert (tmp_path / "notes.bat.txt").read_text() == "hello"
    tab.say("notify me that the tea is ready")
    tab.until_model_said("I have notified you.")


@pytest.mark.slow
def test_w2_browser_that_wants_a_click_gets_it_on_the_card(tab: Tab, offline: str) -> None:
    tab.call("Page.addScriptToEvaluateOnNewDocument", source=STRICT_CLIPBOARD)
    tab.open(offline)
    tab.say("copy hello to my clipboard")
    tab.until_status("copy_to_clipboard", "waiting")
    assert tab.see("window.copied") is None
    tab.push("Copy")
    tab.until_model_said("It is in your clipboard.")
    assert tab.see("window.copied") == "hello"


@pytest.mark.slow
def test_w2_refused_permission_is_an_error_for_the_model(browser: Browser, tab: Tab, tmp_path: Path) -> None:
    with Serving(tmp_path / "served") as server:  # the title counts the requests of all conversations
        refuse_notifications(browser, tab, server.start())
        tab.goto("about:blank")  # before the server ends


def refuse_notifications(browser: Browser, tab: Tab, url: str) -> None:
    allow(browser, tab, "denied", "notifications")
    tab.open(url)
    tab.say("notify me")
    tab.until_model_said("show_notification failed: The user does not allow notifications of this page.")
    tab.until_status("show_notification", "failed")
    allow(browser, tab, "prompt", "notifications")
    tab.say("notify me")
    tab.until("document.title.startsWith('(1)')")
    tab.push("Don’t allow")
    tab.until_model_said("show_notification failed: The user refused this in the browser. Nothing was done.")
    tab.until("!document.title.startsWith('(')")


def test_w2_call_that_a_reload_interrupted_runs_again_if_that_is_safe(tab: Tab, offline: str) -> None:
    open_with_slow_tools(tab, offline)
    tab.say("slow_safe {}")
    until_ran(tab, 1)
    tab.until_status("slow_safe", "executing")
    tab.reload()
    until_ran(tab, 2)
    finish(tab)
    tab.until_model_said("slow_safe gives ran 2.")


@pytest.mark.parametrize("again", [True, False])
def test_w2_person_decides_about_a_call_that_must_not_run_twice(tab: Tab, offline: str, again: bool) -> None:
    open_with_slow_tools(tab, offline)
    tab.say("slow_once {}")
    until_ran(tab, 1)
    tab.reload()
    tab.until("seen($('.request .question')) && $('.request .question').textContent.includes('may already have run')")
    tab.until_status("slow_once", "waiting")
    assert tab.see("localStorage.getItem('ran')") == "1"
    finish(tab)
    if again:
        tab.push("Run again")
        tab.until_model_said("slow_once gives ran 2.")
    else:
        tab.push("Give up")
        tab.until_model_said("slow_once failed:", "It is not known whether it took effect.")
        tab.until_status("slow_once", "failed")


@pytest.mark.slow
def test_w2_result_that_was_not_sent_before_a_reload_is_sent_after_it(tab: Tab, offline: str) -> None:
    open_with_slow_tools(tab, offline)
    finish(tab)
    tab.hold("/answer")
    tab.say("slow_once {}")
    tab.held()
    tab.until("seen($$('.stage').find((each) => each.textContent.includes('The result is being sent')))")
    tab.release()
    tab.goto("about:blank")
    tab.open(offline)
    tab.until_model_said("slow_once gives ran 1.")
    assert tab.see("localStorage.getItem('ran')") == "1"


@pytest.mark.slow
def test_w2_one_of_several_tabs_executes_a_call(tabs: Callable[..., Tab], offline: str) -> None:
    first, second = two_tabs(tabs, offline)
    first.say("slow_once {} and slow_safe {}")
    until_ran(first, 2)
    second.until("$$('.stage').filter((each) => each.textContent.startsWith('Another tab')).length === 2")
    finish(first)
    first.until_model_said("slow_once gives ran 2.", "slow_safe gives ran 2.")
    second.until_model_said("slow_once gives ran 2.", "slow_safe gives ran 2.")
    assert first.see("localStorage.getItem('ran')") == "2"


@pytest.mark.parametrize("tool", ["slow_safe", pytest.param("slow_once", marks=pytest.mark.slow)])
@pytest.mark.slow
def test_w2_another_tab_takes_over_when_a_tab_is_closed(tabs: Callable[..., Tab], offline: str, tool: str) -> None:
    first, second = two_tabs(tabs, offline)
    first.say(f"{tool} {{}}")
    until_ran(first, 1)
    second.until_status(tool, "executing")
    first.goto("about:blank")
    if tool == "slow_once":
        second.until("seen($('.request .question'))")
        finish(second)
        second.push("Run again")
    else:
        until_ran(second, 2)
        finish(second)
    second.until_model_said(f"{tool} gives ran 2.")


@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_w2_call_survives_the_death_of_the_server(tabs: Callable[..., Tab], tmp_path: Path, number: int) -> None:
    with Serving(tmp_path / "served") as server:
        url = server.start()
        tab = tabs()
        open_with_slow_tools(tab, url)
        tab.say("slow_once {}")
        until_ran(tab, 1)
        server.stop(number)
        tab.until("$('#connection').dataset.state !== 'connected'")
        finish(tab)
        tab.until("$$('.stage').some((each) => each.textContent.includes('The result is being sent'))")
        server.start()
        tab.until_model_said("slow_once", "ran 1.")  # at once or, after the inline budget, late
        tab.say("where am I")
        tab.until_model_said("You are at ")
        assert tab.see("localStorage.getItem('ran')") == "1"


@pytest.mark.slow
def test_w2_cancelled_call_stops_in_the_browser(tab: Tab, offline: str) -> None:
    open_with_slow_tools(tab, offline)
    tab.say("slow_once {}")
    until_ran(tab, 1)
    tab.push("Cancel")
    tab.until_status("slow_once", "cancelled")
    tab.until("localStorage.getItem('aborted') === 'yes'")


@pytest.mark.slow
def test_w2_call_goes_on_while_another_conversation_is_open(tab: Tab, offline: str) -> None:
    open_with_slow_tools(tab, offline)
    tab.say("slow_once {}")
    until_ran(tab, 1)
    address = tab.see("location.href")
    tab.click("$('#new-session')")
    tab.until("seen($('#welcome'))")
    finish(tab)
    tab.until(f"Object.values(localStorage).some((each) => each.includes({json.dumps('ran 1')}))")
    tab.open(address)
    tab.until_model_said("slow_once gives ran 1.")
    assert tab.see("localStorage.getItem('ran')") == "1"


@pytest.mark.slow
def test_w2_embedding_page_chooses_the_tools(tab: Tab, offline: str) -> None:
    tab.open(offline)
    tab.see("""(async () => {
      const { ToolRegistry, z } = await import("/ag-ui-agent.js");
      const registry = new ToolRegistry();
      const name = "shop_name";
      registry.register({ name, description: "Name the shop.", schema: z.object({}), handler: () => "Lamps" });
      const chat = $("callboard-chat");
      chat.toolRegistry = registry;
      chat.setAttribute("without-page-tools", "");
      await chat.updateComplete;
    })()""")
    tab.say("where am I")
    said = tab.until_model_said("I see these tools: ")
    assert "shop_name" in said
    assert "where_am_i" not in said
    tab.say("shop_name")
    tab.until_model_said("shop_name gives Lamps.")


@pytest.mark.slow
def test_w2_tools_are_loaded_after_the_first_view(tab: Tab, offline: str) -> None:
    tab.open(offline)
    loaded = "performance.getEntriesByType('resource').map((each) => each.name).filter((each) => /\\/page-/.test(each))"
    tab.until(f"{loaded}.length === 1")
