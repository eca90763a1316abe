"""Layout and accessibility of the page: small screens, light and dark, keyboard."""

import json
import re
from typing import Any

import pytest

from tests.server.browser.tab import SHIFT, Tab

_COLOURS = """
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const light = (colour) => {
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const parts = [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map((each) => each / 255);
    const [r, g, b] = parts.map((each) => (each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let each = element; each; each = each.parentElement ?? each.getRootNode().host) {
      const colour = getComputedStyle(each).backgroundColor;
      if (!/, 0\\)$|\\/ 0\\)$|transparent/.test(colour)) return colour;
    }
    return "white";
  };
  const contrast = (colour, element) => {
    const [one, other] = [light(colour), light(behind(element))].sort((a, b) => b - a);
    return Math.round(((one + 0.05) / (other + 0.05)) * 100) / 100;
  };
"""
CONTRAST = f"""(() => {{
  {_COLOURS}
  return $$(".text, .card strong, .status, .card dt, .card dd, .question, button, .connection span, label")
    .filter((each) => seen(each) && each.innerText.trim())
    .map((each) => [each.innerText.trim(), contrast(getComputedStyle(each).color, each)]);
}})()"""
FOCUS = f"""(() => {{
  {_COLOURS}
  const composer = getComputedStyle($("#composer")).borderTopColor;
  return [composer, contrast(composer, $("#composer")), contrast(composer, document.body)];
}})()"""


def fill_page(tab: Tab, url: str) -> None:
    """Fill a page with messages, cards, a form and an editor."""
    tab.open(url)
    tab.say(f"what is {'1 + ' * 40}1 and convert {'x' * 400} to UTC and deliver the {'lamp' * 20} and pay 5 EUR to Ada")
    tab.until("$$('.request').filter(seen).length === 2 && !seen($('#stop'))")
    tab.push("Edit…")


def prefer(tab: Tab, scheme: str) -> None:
    tab.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_h1_text_has_enough_contrast_in_light_and_dark(offline: str, tab: Tab, scheme: str) -> None:
    prefer(tab, scheme)
    fill_page(tab, offline)
    red, *_ = tab.see("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
    assert red < 60 if scheme == "dark" else red > 200
    tab.until("within(document).every((root) => root.getAnimations().length === 0)")
    found: list[list[Any]] = tab.see(CONTRAST)
    assert len(found) > 15
    assert [each for each in found if each[1] < 4.5] == []


@pytest.mark.parametrize("width", [375, 1280])
def test_h1_no_element_is_wider_than_the_window(offline: str, tab: Tab, width: int) -> None:
    tab.call("Emulation.setDeviceMetricsOverride", width=width, height=700, deviceScaleFactor=2, mobile=width < 500)
    fill_page(tab, offline)
    assert tab.see("innerWidth") == width
    assert tab.see("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    wide = "$$('body *, :not(:is(html, head, head *))').filter((each) => seen(each) && !each.closest('.hidden, .skip'))"
    assert tab.see(f"{wide}.filter((each) => each.getBoundingClientRect().right > innerWidth + 0.5)"
                   ".map((each) => each.outerHTML.slice(0, 100))") == []  # fmt: skip
    assert tab.see("$('h1').getBoundingClientRect().width") > 60  # the text is drawn
    hit = "$$('button, input:not([type=checkbox]), select, textarea, .check label').filter(seen)"
    assert min(tab.see(f"{hit}.map((each) => each.offsetHeight)")) >= 32


def test_h1_page_can_be_used_with_the_keyboard(offline: str, tab: Tab) -> None:
    tab.open(offline)
    tab.press("Tab")
    assert tab.see("focused().className") == "skip"
    tab.press("Enter")
    tab.until("focused() === $('#message') || location.hash === '#message'")
    while tab.see("focused() !== $('#message')"):
        tab.press("Tab")
    tab.write("pay 5 EUR to Ada")
    tab.press("Enter")
    tab.until("seen($('.request .question'))")
    label = "focused().textContent.trim()"
    for _ in range(20):
        if tab.see(label) == "Approve":
            break
        tab.press("Tab", SHIFT)
    assert tab.see(label) == "Approve"
    assert tab.see("getComputedStyle(focused()).outlineStyle") == "solid"
    tab.press("Space")
    tab.until_model_said("5.00 EUR went to Ada")
    assert tab.see("focused().id") == "message"  # ready for the next message
    tab.write("what is 2 + 2")
    tab.press("Enter")
    tab.until_model_said("2 + 2 = 4.")
    assert "2 + 2 = 4." in tab.until("$('#announcer').textContent")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_h1_focus_does_not_look_like_an_error(offline: str, tab: Tab, scheme: str) -> None:
    prefer(tab, scheme)
    tab.open(offline)
    tab.click("$('#message')")
    colour, inside, outside = tab.see(FOCUS)
    red, _, blue = map(int, re.findall(r"\d+", colour)[:3])
    assert blue > red, colour
    assert min(inside, outside) >= 3


def resize(tab: Tab, width: int, height: int) -> None:
    """Change the size of the window, and wait until the page has handled it."""
    tab.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=2, mobile=True)
    tab.until(f"innerWidth === {width}")
    tab.see("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))")


@pytest.mark.slow
def test_h1_page_stays_at_its_end_when_the_window_is_resized(offline: str, tab: Tab) -> None:
    below = "$('#scroller').scrollHeight - $('#scroller').clientHeight - Math.ceil($('#scroller').scrollTop)"
    fill_page(tab, offline)
    tab.push("Back")
    resize(tab, 800, 375)
    tab.see("$('#scroller').scrollTo(0, $('#scroller').scrollHeight)")
    tab.until(f"{below} <= 1")
    resize(tab, 375, 800)
    assert tab.see(below) <= 1
    resize(tab, 800, 375)
    assert tab.see(below) <= 1
    tab.see("$('#scroller').scrollTo(0, 0)")
    tab.until("$('#scroller').scrollTop === 0 && seen($('#jump'))")
    resize(tab, 375, 800)
    assert tab.see("$('#scroller').scrollTop") == 0


@pytest.mark.slow
def test_h1_button_points_at_a_question_outside_the_window(offline: str, tab: Tab) -> None:
    tab.open(offline)
    resize(tab, 375, 450)
    tab.say("pay 5 EUR to Ada and deliver the lamp")
    tab.until("$$('.request').filter(seen).length === 2 && !seen($('#stop'))")
    tab.see("$('#scroller').scrollTo(0, $('#scroller').scrollHeight)")
    tab.until("$('#waiting')?.innerText.endsWith('2 questions are waiting for you ↑')")
    tab.push("Approve")
    tab.until_status("send_payment", "succeeded")
    tab.see("$('#scroller').scrollTo(0, 0)")
    tab.until("$('#waiting')?.innerText === 'A question is waiting for you ↓'")
    resize(tab, 375, 1600)
    assert not tab.see("seen($('#waiting'))"), "it is visible now"
    resize(tab, 375, 400)
    tab.see("$('#scroller').scrollTo(0, 0)")
    tab.until("seen($('#waiting'))")
    tab.see("$('#waiting').click()")  # a real click would scroll first
    tab.until("focused().matches('.request select') && !seen($('#waiting'))")


def test_h1_cards_format_names_and_durations(offline: str, tab: Tab) -> None:
    tab.open(offline)
    at = "2026-01-01T00:00:00Z"
    history = {
        "startedAt": at,
        "endedAt": at,
        "attempts": [{"number": 1, "maximum": 1, "at": at}],
        "errors": [],
        "partials": [],
        "partialCount": 0,
        "asked": [],
        "answered": [],
    }
    call = {
        "key": "x",
        "tool": "look_up",
        "executionId": None,
        "status": "failed",
        "arguments": {"url": "x", "utc_offset": "+01:00", "urls_of_ids": 2},
        "attempt": 1,
        "maximum": 1,
        "error": {"message": "one\ntwo"},
        "previousErrors": [],
        "request": None,
        "history": history,
    }
    card = f"Object.assign(document.createElement('callboard-call'), {{ call: {json.dumps(call)} }})"
    tab.see(f"void $('#timeline').append({card})")
    tab.until("$('.card .status')")
    assert tab.see("$('.card .status').innerText") == "failed in under 1 ms"
    names = tab.see("$$('.card .facts:not(.times) dt').map((each) => each.innerText)")
    assert names == ["URL", "UTC offset", "Urls of ids"]
    assert tab.see("$('.card .failure').innerText") == "one\ntwo"
