"""A tab of a browser, and what a person does and sees in it. Keys and clicks are real ones: they go where they hit."""

import json
from typing import Any

from tests.server.browser.chromium import DEADLINE, Browser

KEYS = {
    "Enter": {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": "\r"},
    "Tab": {"key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9},
    "ArrowDown": {"key": "ArrowDown", "code": "ArrowDown", "windowsVirtualKeyCode": 40},
    "Escape": {"key": "Escape", "code": "Escape", "windowsVirtualKeyCode": 27},
    "Space": {"key": " ", "code": "Space", "windowsVirtualKeyCode": 32, "text": " "},
}
CONTROL, SHIFT = 2, 8

_HELPERS = """
  const $ = (selector) => document.querySelector(selector);
  const $$ = (selector) => [...document.querySelectorAll(selector)];
  const seen = (element) => Boolean(element?.checkVisibility({ visibilityProperty: true }));
  const last = (selector) => $$(selector).at(-1);
"""
_TIMELINE = """$$("#timeline > li").map((each) => {
  const card = each.querySelector(".card");
  if (card) return [card.querySelector("strong").textContent, card.dataset.status];
  return [each.classList[0], each.querySelector(".text").textContent];
})"""
_PLACE = """(() => {
  const found = (() => { return %s; })();
  if (!seen(found) || found.disabled) return null;
  found.scrollIntoView({ block: "center", behavior: "instant" });
  const { x, y, width, height } = found.getBoundingClientRect();
  const place = { x: x + width / 2, y: y + height / 2 };
  if (!found.contains(document.elementFromPoint(place.x, place.y))) return null;
  const before = window.aimed;
  window.aimed = { found, ...place };
  if (before?.found !== found || before.x !== place.x || before.y !== place.y) return null; // it still moves
  window.hit = false;
  found.addEventListener("click", () => { window.hit = true; }, { capture: true, once: true });
  return place;
})()"""


class Tab:
    """One tab. Expressions are JavaScript, with `$`, `$$`, `last` and `seen` to look for elements."""

    def __init__(self, browser: Browser, context: str) -> None:
        self._browser = browser
        self.context = context
        target = browser.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        self._id: str = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._loaded = 0
        self.complaints: list[str] = []
        """What the browser complained of: errors, exceptions, whatever its policies stopped, dialogs."""
        self.network: list[str] = []
        """Requests that failed or were refused, which it complains of too."""
        self.paused: list[dict[str, Any]] = []
        """Requests that are held up, in the order in which they were made; see `hold`."""
        browser.hearing(self._id, self._heard)
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self._browser.call(method, self._id, **params)

    # Going somewhere

    def goto(self, url: str) -> None:
        before = self._loaded
        self.call("Page.navigate", url=url)
        self._browser.wait(lambda: self._loaded > before)

    def reload(self) -> None:
        before = self._loaded
        self.call("Page.reload")
        self._browser.wait(lambda: self._loaded > before)

    def open(self, url: str) -> None:
        """Open the page, and wait until it is connected."""
        self.goto(url)
        self.connected()

    def connected(self) -> None:
        self.until("$('#connection').dataset.state === 'connected' && (seen($('#welcome')) || $('#timeline > li'))")

    def hold(self, path: str, stage: str = "Request") -> None:
        """Hold requests to a path up, before they are sent or (`Response`) before their answers arrive."""
        self.call("Fetch.enable", patterns=[{"urlPattern": f"*{path}", "requestStage": stage}])

    def held(self, number: int = 1) -> dict[str, Any]:
        """Wait until so many requests were held up. Returns the newest."""
        self._browser.wait(lambda: len(self.paused) >= number)
        return self.paused[-1]

    def release(self) -> None:
        """Let everything through again."""
        self.call("Fetch.disable")

    # Looking

    def see(self, expression: str) -> Any:
        """The value of an expression."""
        said = self.call(
            "Runtime.evaluate",
            expression=f"(() => {{ {_HELPERS} return {expression}; }})()",
            awaitPromise=True,
            returnByValue=True,
        )
        assert "exceptionDetails" not in said, said["exceptionDetails"]
        return said["result"].get("value")

    def until(self, condition: str) -> Any:
        """Wait until an expression holds. Returns its value."""
        found = self.see(f"""(async () => {{
          for (const end = performance.now() + {DEADLINE * 1000}; performance.now() < end;) {{
            const found = (() => {{ return {condition}; }})();
            if (found) return found instanceof Node ? true : found;
            await new Promise((resolve) => setTimeout(resolve, 10));
          }}
          return null;
        }})()""")
        assert found, f"{condition} never held; the page says: {self.see('document.body.innerText')}"
        return found

    def timeline(self) -> list[list[str]]:
        """What is shown, in order: who said what, and each tool with its status."""
        return self.see(_TIMELINE)

    def until_said(self, *parts: str) -> str:
        """Wait until the model has said something with these parts to its end, last of all."""
        return self.until(f"""(() => {{
          const text = last("#timeline > li.model .text");
          if (!text || text.hasAttribute("data-live") || seen($("#stop"))) return null;
          return {json.dumps(parts)}.every((part) => text.textContent.includes(part)) ? text.textContent : null;
        }})()""")

    def until_status(self, tool: str, status: str) -> None:
        """Wait until the newest call of a tool has come so far."""
        self.until(f"$$('.card').findLast((card) => card.querySelector('strong').textContent === {json.dumps(tool)})"
                   f"?.dataset.status === {json.dumps(status)}")  # fmt: skip

    # Doing

    def say(self, text: str) -> None:
        """Write a message and send it."""
        self.click("$('#message')")
        self.write(text)
        self.press("Enter")

    def click(self, expression: str) -> None:
        """Click on an element, as soon as it can be hit; again where the page moved under the mouse."""
        for _ in range(5):
            place = self.until(_PLACE % expression)
            for kind in ("mousePressed", "mouseReleased"):
                self.call("Input.dispatchMouseEvent", type=kind, **place, button="left", clickCount=1)
            if self.see("window.hit ?? true"):  # a new page knows nothing of it
                return
        raise AssertionError(f"{expression} could not be hit; the page says: {self.see('document.body.innerText')}")

    def push(self, label: str) -> None:
        """Click on the newest button that says this."""
        self.click(f"$$('button').findLast((each) => seen(each) && each.textContent.trim() === {json.dumps(label)})")

    def write(self, text: str) -> None:
        """Put a text where the focus is."""
        self.call("Input.insertText", text=text)

    def press(self, key: str, modifiers: int = 0) -> None:
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, modifiers=modifiers, **KEYS[key])

    def select_all(self) -> None:
        a: dict[str, Any] = {"key": "a", "code": "KeyA", "windowsVirtualKeyCode": 65, "modifiers": CONTROL}
        self.call("Input.dispatchKeyEvent", type="keyDown", commands=["selectAll"], **a)
        self.call("Input.dispatchKeyEvent", type="keyUp", **a)

    # What the browser tells

    def _heard(self, name: str, fields: dict[str, Any]) -> None:
        match name:
            case "Page.loadEventFired":
                self._loaded += 1
            case "Fetch.requestPaused":
                self.paused.append(fields)
            case "Page.javascriptDialogOpening":
                self.complaints.append(f"a dialog: {fields['message']}")
            case "Runtime.exceptionThrown":
                self.complaints.append(json.dumps(fields["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if fields["type"] in ("error", "warning", "assert"):
                self.complaints.append(json.dumps(fields["args"]))
            case "Log.entryAdded" if fields["entry"]["level"] in ("error", "warning"):
                entry = fields["entry"]
                kept = self.network if entry["source"] == "network" else self.complaints
                kept.append(f"{entry['text']} {entry.get('url', '')}")
            case _:
                pass
