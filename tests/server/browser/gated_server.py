"""A server behind a proxy, whose model and tools stop at named steps until the test lets them continue."""

import itertools
import json
import shutil
import signal
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

from callboard.testing.providers import Call, Gate, OpenAIChatDouble, Request, Text, Turn
from tests.server.browser import gated_tools
from tests.server.browser.chromium import DEADLINE
from tests.server.browser.process import Serving
from tests.server.browser.proxy import Proxy

PLAN, PLANNED = "I ask for ", "the transfer."
START, STARTED = "It starts ", "now."
PENDING = "It is under way."
FINAL, FINISHED = "That is ", "everything."
MORE: Mapping[str, Mapping[str, int]] = {"transfer": {"amount": 25}, "report": {"count": 1_000}}
"""The arguments of the tools, beside the label."""


class GatedModel:
    """A model that makes one call for each message, and stops at the steps that are held.

    A message is the name of a tool and a label. `begun` is before its first word, `streaming` in the middle of the
    first text; `acknowledged`, `reported` and `concluding` are the same of later texts.
    """

    def __init__(self) -> None:
        self.double = OpenAIChatDouble(self._answer)
        self._held: dict[str, Gate] = {}

    def hold(self, step: str) -> None:
        self._held[step] = Gate()

    def release(self) -> None:
        """Open all gates."""
        for gate in self._held.values():
            gate.open()
        self._held.clear()

    def _gate(self, step: str) -> Gate:
        gate = self._held.get(step)
        if gate is None:
            gate = Gate()
            gate.open()
        return gate

    def _answer(self, request: Request) -> Turn:
        last: dict[str, Any] = request.body["messages"][-1]
        if last["role"] == "user":
            tool, label = str(_text(last["content"])).split()
            given = {"label": label, **MORE.get(tool, {})}
            words = (START, STARTED) if tool == "gather" else (PLAN, PLANNED)
            text = Text(words[0], self._gate("streaming"), words[1])
            return Turn(self._gate("begun"), text, Call(tool, given))
        if '"status"' in str(last["content"]) and "execution_id" in str(last["content"]):
            return Turn(self._gate("acknowledged"), PENDING)
        return Turn(self._gate("reported"), Text(FINAL, self._gate("concluding"), FINISHED))


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


class GatedServer:
    """The server, its proxy and its model. Each test has its own label, so that the effects of its calls are known."""

    def __init__(self, serving: Serving, proxy: Proxy, model: GatedModel, folder: Path) -> None:
        self.serving = serving
        self.proxy = proxy
        self.model = model
        self._folder = folder
        self._labels = (f"run-{number}" for number in itertools.count(1))
        self.label = ""

    def new_label(self) -> str:
        self.label = next(self._labels)
        return self.label

    def hold_tool(self) -> None:
        (self._folder / "held" / self.label).touch()

    def release_tool(self) -> None:
        (self._folder / "held" / self.label).unlink(missing_ok=True)

    def effects(self) -> list[str]:
        path = self._folder / "effects" / self.label
        return path.read_text().splitlines() if path.exists() else []

    def kill(self) -> None:
        self.serving.stop(signal.SIGKILL)

    def get(self, path: str, **query: str | int) -> Any:
        """Read from the API, past the proxy."""
        with urlopen(f"{self.serving.url}{path}?{urlencode(query)}", timeout=DEADLINE) as response:
            return json.load(response)

    def until(self, condition: Callable[[], object]) -> None:
        """Wait until a condition outside of the page holds."""
        deadline = time.monotonic() + DEADLINE
        while not condition():
            assert time.monotonic() < deadline, "the condition never became true"
            time.sleep(0.01)


@contextmanager
def gated_server(folder: Path, **environment: str) -> Generator[GatedServer]:
    model = GatedModel()
    with model.double:
        given: Mapping[str, str] = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{model.double.url}/v1"}
        options = ("--model", "openai-chat:gpt-4.1", "--tools", "gated_tools:registry")
        with Serving(folder, *options, **given, **environment) as serving:
            shutil.copy(gated_tools.__file__, folder / "gated_tools.py")
            for name in ("held", "effects"):
                (folder / name).mkdir()
            port = int(serving.start().rpartition(":")[2])
            with Proxy(port) as proxy:
                yield GatedServer(serving, proxy, model, folder)
