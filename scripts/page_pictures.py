"""Takes the pictures of the page in `docs/images`: the real page, server and tools, with the offline model.

Run it as `./scripts/screenshots`, or with a folder. It uses the fonts of the system; Inter and Caladea (Debian's
`fonts-inter` and `fonts-crosextra-caladea`) look like what most people see.
"""

import base64
import os
import sys
import tempfile
from pathlib import Path

from scripts.png import with_palette
from tests import forked
from tests.server.browser.chromium import Browser, browsing
from tests.server.browser.process import Serving
from tests.server.browser.tab import Tab

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "images"
WIDTH, HEIGHT, SCALE = 1440, 900, 16 / 9
"""The size of the window, and pixels per unit: pictures of 2560 x 1600 pixels."""
SCHEMES = ("light", "dark")
MOUSE = "--blink-settings=primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4"
"""The flag for a machine with a mouse; the page shows more buttons where there is none."""
FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <include ignore_missing="yes">/etc/fonts/fonts.conf</include>
  <alias binding="strong"><family>system-ui</family><prefer><family>Inter</family></prefer></alias>
  <alias binding="strong"><family>sans</family><prefer><family>Inter</family></prefer></alias>
  <alias binding="strong"><family>sans-serif</family><prefer><family>Inter</family></prefer></alias>
  <alias binding="strong"><family>Georgia</family><prefer><family>Caladea</family></prefer></alias>
</fontconfig>
"""
EARLIER = (
    "Convert 09:00 from Europe/Oslo to Asia/Tokyo",
    "How much is 12 * (3 + 4)",
    "Build a report on tidal power",
)
"""The first messages, and so the titles, of other conversations in the sidebar."""


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    forked.fresh = True  # a real process of the server
    with tempfile.TemporaryDirectory(prefix="callboard-pictures-") as home:
        fonts = Path(home, "fonts.conf")
        fonts.write_text(FONTS)
        os.environ["FONTCONFIG_FILE"] = str(fonts)
        with browsing(MOUSE) as browser, Serving(Path(home, "server")) as server:
            for scheme, picture in take_pictures(browser, server.start()).items():
                path = folder / f"page-{scheme}.png"
                path.write_bytes(with_palette(picture))
                print(f"{path}: {path.stat().st_size // 1000} kB")


def take_pictures(browser: Browser, url: str) -> dict[str, bytes]:
    """Return a picture of the page for each colour scheme."""
    tab = Tab(browser, browser.call("Target.createBrowserContext")["browserContextId"])
    tab.call("Emulation.setDeviceMetricsOverride", width=WIDTH, height=HEIGHT, deviceScaleFactor=SCALE, mobile=False)
    tab.call("Emulation.setScrollbarsHidden", hidden=True)
    tab.open(url)
    converse(tab)
    return {scheme: take_picture(tab, scheme) for scheme in SCHEMES}


def converse(tab: Tab) -> None:
    """Fill the page: earlier conversations, a result, background work with progress, and an approval."""
    for message in EARLIER:
        tab.say(message)
        tab.until("last('#timeline > li')?.matches('.model') && !seen($('#stop')) && !$('[data-live]')")
        tab.push("New conversation")
        tab.until("seen($('#welcome'))")
    tab.until("!pageText().join().includes('working')")
    tab.say("Check the stock of lamps and index the archive with 60 pages and pay 25 EUR to Ada")
    tab.until("$$('.request').filter(seen).length === 1 && !seen($('#stop'))")
    tab.click("$$('.card').find((each) => each.dataset.tool === 'index_archive').querySelector('summary')")
    tab.until("$$('.card').some((each) => each.innerText.includes('page 22 '))")
    tab.click("$('#message')")


def take_picture(tab: Tab, scheme: str) -> bytes:
    """Return a picture without moving parts."""
    features = {"prefers-color-scheme": scheme, "prefers-reduced-motion": "reduce"}
    tab.call("Emulation.setEmulatedMedia", features=[{"name": name, "value": features[name]} for name in features])
    tab.see("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))")
    return base64.b64decode(tab.call("Page.captureScreenshot", format="png")["data"])


if __name__ == "__main__":
    main()
