"""The time until the first view can be used, from a warm server. It runs with `--slow`: it needs a free processor."""

import statistics
from collections.abc import Callable

import pytest

from tests.server.browser.tab import Tab

pytestmark = pytest.mark.slow

INTERACTIVE = 1_500
"""Milliseconds from the start of the navigation."""
LOADS = 5
WATCH = """
  const watch = () => {
    const chat = document.querySelector("callboard-app")?.shadowRoot?.querySelector("callboard-chat")?.shadowRoot;
    const field = chat?.querySelector("#message");
    const isConnected = chat?.querySelector("#connection")?.dataset.state === "connected";
    if (!field || !isConnected) return setTimeout(watch, 1);
    field.focus();
    if (chat.activeElement === field) window.interactive = performance.now();
  };
  watch();
"""


def test_w1_first_view_can_be_used_soon(offline: str, tabs: Callable[..., Tab]) -> None:
    times: list[float] = []
    for _ in range(LOADS):
        tab = tabs()  # with an empty cache
        tab.call("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
        tab.goto(offline)
        times.append(tab.until("window.interactive"))
    median = statistics.median(times)
    print(f"first view interactive after {median:.0f} ms, of {[round(each) for each in times]}")  # noqa: T201
    assert median < INTERACTIVE
