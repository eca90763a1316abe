"""A tab of a browser: the actions of a person, and the content of the page. Keys and clicks are real input events."""

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
  const hosts = ["app", "chat", "sidebar", "inbox-view", "board-view", "catalogue-view", "operations-view",
    "api-explorer-view"].map((name) => `callboard-${name}`).join();
  const within = (root) => [root, ...[...root.querySelectorAll(hosts)]
    .flatMap((host) => (host.shadowRoot ? within(host.shadowRoot) : []))];
  const $$ = (selector) => within(document).flatMap((root) => [...root.querySelectorAll(selector)]);
  const $ = (selector) => $$(selector)[0] ?? null;
  const deepest = (root, find) => {
    const found = find(root);
    return found?.shadowRoot ? (deepest(found.shadowRoot, find) ?? found) : found;
  };
  const focused = () => deepest(document, (root) => root.activeElement);
  const at = (x, y) => deepest(document, (root) => root.elementFromPoint(x, y));
  const pageText = () => within(document).map((root) => [...root.children].map((each) => each.innerText).join("\\n"));
  const seen = (element) => Boolean(element?.checkVisibility({ visibilityProperty: true }));
  const last = (selector) => $$(selector).at(-1);
"""
_TIMELINE = """$$("#timeline > li").flatMap((each) => {
  const cards = [...each.querySelectorAll(".card")];
  if (cards.length > 0) return cards.map((card) => [card.dataset.tool, card.dataset.status]);
  return [[each.classList[0], each.querySelector(".text").textContent]];
})"""
_PLACE = """(() => {
  const found = (() => { return %s; })();
  if (!seen(found) || found.disabled) return null;
  found.scrollIntoView({ block: "center", behavior: "instant" });
  const { x, y, width, height } = found.getBoundingClientRect();
  const place = { x: x + width / 2, y: y + height / 2 };
  if (!found.contains(at(place.x, place.y))) return null;
  const before = window.aimed;
  window.aimed = { found, ...place };
  if (before?.found !== found || before.x !== place.x || before.y !== place.y) return null; // it is still moving
  window.hit = false;
  found.addEventListener("click", () => { window.hit = true; }, { capture: true, once: true });
  return place;
})()"""


class Tab:
    """A tab. Expressions are JavaScript, with `$`, `$$`, `last`, `seen` and `focused` to look up elements.

    They look into the shadow roots of the page too.
    """

    def __init__(self, browser: Browser, context: str) -> None:
        self._browser = browser
        self.context = context
        target = browser.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        self._id: str = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._loaded = 0
        self.errors: list[str] = []
        """Errors that the browser reported: exceptions, console errors, policy violations, dialogs."""
        self.network: list[str] = []
        """Requests that failed or were refused, as the browser reports them."""
        self.paused: list[dict[str, Any]] = []
        """Held requests in their order; see `hold`."""
        browser.subscribe(self._id, self._on_event)
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        return self._browser.call(method, self._id, **params)

    # Navigation

    def goto(self, url: str) -> None:
        before = self._loaded
        self.call("Page.navigate", url=url)
        self._browser.wait(lambda: self._loaded > before)
        self._drawn()

    def reload(self) -> None:
        before = self._loaded
        self.call("Page.reload")
        self._browser.wait(lambda: self._loaded > before)
        self._drawn()

    def _drawn(self) -> None:
        """Wait until the elements of the page are drawn."""
        self.until("!$('callboard-app') || $('#composer')")

    def open(self, url: str) -> None:
        """Open the page, and wait until it is connected."""
        self.goto(url)
        self.connected()

    def connected(self) -> None:
        self.until("$('#connection').dataset.state === 'connected' && (seen($('#welcome')) || $('#timeline > li'))")

    def hold(self, path: str, stage: str = "Request") -> None:
        """Hold requests to a path, before they are sent or (`Response`) before their responses arrive."""
        self.call("Fetch.enable", patterns=[{"urlPattern": f"*{path}", "requestStage": stage}])

    def held(self, number: int = 1) -> dict[str, Any]:
        """Wait until so many requests have been held. Returns the newest."""
        self._browser.wait(lambda: len(self.paused) >= number)
        return self.paused[-1]

    def release(self) -> None:
        """Continue held requests, and hold no more."""
        self.call("Fetch.disable")

    # The content of the page

    def see(self, expression: str) -> Any:
        """Return the value of an expression."""
        response = self.call(
            "Runtime.evaluate",
            expression=f"(() => {{ {_HELPERS} return {expression}; }})()",
            awaitPromise=True,
            returnByValue=True,
        )
        assert "exceptionDetails" not in response, response["exceptionDetails"]
        return response["result"].get("value")

    def until(self, condition: str) -> Any:
        """Wait until an expression is true. Returns its value."""
        found = self.see(f"""(async () => {{
          for (const end = performance.now() + {DEADLINE * 1000}; performance.now() < end;) {{
            const found = (() => {{ return {condition}; }})();
            if (found) return found instanceof Node ? true : found;
            await new Promise((resolve) => setTimeout(resolve, 10));
          }}
          return null;
        }})()""")
        assert found, f"{condition} never became true; the page shows: {self.see('pageText()')}"
        return found

    def timeline(self) -> list[list[str]]:
        """Return the items on the page in order: messages with their roles, and tools with their statuses.

        The calls of a folded group are included.
        """
        return self.see(_TIMELINE)

    def until_model_said(self, *parts: str) -> str:
        """Wait until the model's newest message is complete and contains these parts. Returns its text."""
        return self.until(f"""(() => {{
          const text = last("#timeline > li.model .text");
          if (!text || text.hasAttribute("data-live") || seen($("#stop"))) return null;
          return {json.dumps(parts)}.every((part) => text.textContent.includes(part)) ? text.textContent : null;
        }})()""")

    def until_status(self, tool: str, status: str) -> None:
        """Wait until the newest call of a tool has a status."""
        self.until(f"$$('.card').findLast((card) => card.dataset.tool === {json.dumps(tool)})"
                   f"?.dataset.status === {json.dumps(status)}")  # fmt: skip

    # Actions

    def say(self, text: str) -> None:
        """Write a message and send it."""
        self.click("$('#message')")
        self.write(text)
        self.press("Enter")

    def click(self, expression: str) -> None:
        """Click on an element as soon as it can be hit, and again if the page moved meanwhile."""
        for _ in range(5):
            place = self.until(_PLACE % expression)
            for kind in ("mousePressed", "mouseReleased"):
                self.call("Input.dispatchMouseEvent", type=kind, **place, button="left", clickCount=1)
            if self.see("window.hit ?? true"):  # the click may have loaded a new page
                return
        raise AssertionError(f"{expression} could not be hit; the page shows: {self.see('pageText()')}")

    def push(self, label: str) -> None:
        """Click on the newest button with this label."""
        self.click(f"$$('button').findLast((each) => seen(each) && each.textContent.trim() === {json.dumps(label)})")

    def write(self, text: str) -> None:
        """Insert a text at the focus."""
        self.call("Input.insertText", text=text)

    def press(self, key: str, modifiers: int = 0) -> None:
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, modifiers=modifiers, **KEYS[key])

    def select_all(self) -> None:
        a: dict[str, Any] = {"key": "a", "code": "KeyA", "windowsVirtualKeyCode": 65, "modifiers": CONTROL}
        self.call("Input.dispatchKeyEvent", type="keyDown", commands=["selectAll"], **a)
        self.call("Input.dispatchKeyEvent", type="keyUp", **a)

    # Events of the browser

    def _on_event(self, name: str, fields: dict[str, Any]) -> None:
        match name:
            case "Page.loadEventFired":
                self._loaded += 1
            case "Fetch.requestPaused":
                self.paused.append(fields)
            case "Page.javascriptDialogOpening":
                self.errors.append(f"a dialog: {fields['message']}")
            case "Runtime.exceptionThrown":
                self.errors.append(json.dumps(fields["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if fields["type"] in ("error", "warning", "assert"):
                self.errors.append(json.dumps(fields["args"]))
            case "Log.entryAdded" if fields["entry"]["level"] in ("error", "warning"):
                entry = fields["entry"]
                kept = self.network if entry["source"] == "network" else self.errors
                kept.append(f"{entry['text']} {entry.get('url', '')}")
            case _:
                pass
