"""One browser and its servers for all tests, and tabs that fail a test if the browser reports an error."""

from collections.abc import Callable, Generator
from contextlib import ExitStack
from pathlib import Path

import pytest

from callboard.testing.providers import OpenAIChatDouble
from tests.conftest import without
from tests.server.browser import card_tools
from tests.server.browser.chromium import Browser, browsing
from tests.server.browser.gated_server import GatedServer, gated_server
from tests.server.browser.process import Serving
from tests.server.browser.tab import Tab
from tests.servers import Unavailable


@pytest.fixture(scope="session")
def browser() -> Generator[Browser]:
    with ExitStack() as stack:
        try:
            made = stack.enter_context(browsing())
        except Unavailable as why:
            without("Chromium", why)
        yield made


@pytest.fixture(scope="session")
def offline(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Generator[str]:
    """Start a server with the offline model and the demonstration's tools. Returns its address."""
    with Serving(tmp_path_factory.mktemp("page") / "offline") as made:
        yield made.start()


class ScriptedServer:
    """A server whose model responds as the test scripts it."""

    def __init__(self, url: str, model: OpenAIChatDouble, process: Serving) -> None:
        self.url = url
        self.model = model
        self.process = process


@pytest.fixture(scope="session")
def scripted(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Generator[ScriptedServer]:
    folder = tmp_path_factory.mktemp("page") / "talking"
    with OpenAIChatDouble() as model:
        environment = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{model.url}/v1"}
        with Serving(folder, "--model", "openai-chat:gpt-4.1", **environment) as made:
            yield ScriptedServer(made.start(), model, made)


@pytest.fixture(scope="session")
def carded(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Generator[ScriptedServer]:
    """Start a scripted server with the tools of `card_tools`."""
    folder = tmp_path_factory.mktemp("page") / "cards"
    with OpenAIChatDouble() as model:
        environment = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{model.url}/v1"}
        with Serving(folder, "--model", "openai-chat:gpt-4.1", "--tools", "card_tools:registry", **environment) as made:
            (folder / "card_tools.py").write_text(Path(card_tools.__file__).read_text())
            yield ScriptedServer(made.start(), model, made)


@pytest.fixture(scope="session")
def gated(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Generator[GatedServer]:
    """Start a server behind a proxy, whose model and tools stop where a test holds them."""
    with gated_server(tmp_path_factory.mktemp("page") / "gated") as made:
        yield made


@pytest.fixture
def tabs(browser: Browser) -> Generator[Callable[..., Tab]]:
    """Create tabs, each with an empty profile or that of another tab. The browser may report no error in any."""
    made: list[Tab] = []

    def new(beside: Tab | None = None) -> Tab:
        context = beside.context if beside else browser.call("Target.createBrowserContext")["browserContextId"]
        made.append(Tab(browser, context))
        return made[-1]

    yield new
    for tab in made:
        tab.see("1")  # all earlier events have been received
    errors = [each for tab in made for each in tab.errors]
    for context in {tab.context for tab in made}:
        browser.call("Target.disposeBrowserContext", browserContextId=context)
    assert errors == []


@pytest.fixture
def tab(tabs: Callable[..., Tab]) -> Generator[Tab]:
    """Create a tab in which, in addition, no request may fail."""
    made = tabs()
    yield made
    made.see("1")
    assert made.network == []
