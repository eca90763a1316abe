"""`<callboard-chat>` in a page of another origin, with one script tag and under a strict policy."""

import http.server
import runpy
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from tests.server.browser.chromium import Browser
from tests.server.browser.process import Serving
from tests.server.browser.tab import Tab

EXAMPLE = Path(__file__).parents[3] / "examples" / "embedded-chat" / "shop.py"


@contextmanager
def shop(server: str) -> Generator[http.server.ThreadingHTTPServer]:
    """Serve the example as a page of another origin, whose policy allows scripts and requests of one server only."""
    with runpy.run_path(str(EXAMPLE))["shop"](server) as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


def test_w2_chat_works_in_a_foreign_page(browser: Browser, tabs: Callable[..., Tab], tmp_path: Path) -> None:
    with Serving(tmp_path / "served") as first:
        url = first.start()
    with shop(url) as page:
        origin = f"http://127.0.0.1:{page.server_port}"
        with Serving(tmp_path / "again", CALLBOARD_ORIGINS=origin, port=url.rpartition(":")[2]) as server:
            server.start()
            tab = tabs()
            tab.goto(origin)
            tab.connected()
            assert tab.see("getComputedStyle($('#send')).backgroundColor") == "rgb(45, 106, 79)", "a colour of the page"
            assert tab.see("getComputedStyle($('main h1')).fontFamily").startswith("Georgia"), "the page is left alone"
            tab.say("pay 25 EUR to Ada for lunch")
            tab.until("seen($('.request .question'))")
            tab.push("Approve")
            tab.until_model_said("25.00 EUR went to Ada")
            assert tab.network == []
