"""A browser for all tests, servers that live as long, and tabs in which nothing may go wrong unnoticed."""

from collections.abc import Callable, Generator
from contextlib import ExitStack

import pytest

from callboard.testing.providers import OpenAIChatDouble
from tests.conftest import without
from tests.server.browser.chromium import Browser, browsing
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
    """The address of a server with the offline model and the tools of the demonstration."""
    with Serving(tmp_path_factory.mktemp("page") / "offline") as made:
        yield made.start()


class Talking:
    """A server whose model says what the test wants it to say."""

    def __init__(self, url: str, model: OpenAIChatDouble) -> None:
        self.url = url
        self.model = model


@pytest.fixture(scope="session")
def talking(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Generator[Talking]:
    folder = tmp_path_factory.mktemp("page") / "talking"
    with OpenAIChatDouble() as model:
        environment = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{model.url}/v1"}
        with Serving(folder, "--model", "openai-chat:gpt-4.1", **environment) as made:
            yield Talking(made.start(), model)


@pytest.fixture
def tabs(browser: Browser) -> Generator[Callable[..., Tab]]:
    """Makes tabs, each of a browser that was never used, or beside another. None of them may complain of anything."""
    made: list[Tab] = []

    def new(beside: Tab | None = None) -> Tab:
        context = beside.context if beside else browser.call("Target.createBrowserContext")["browserContextId"]
        made.append(Tab(browser, context))
        return made[-1]

    yield new
    for tab in made:
        tab.see("1")  # what was said before that has been heard
    complaints = [each for tab in made for each in tab.complaints]
    for context in {tab.context for tab in made}:
        browser.call("Target.disposeBrowserContext", browserContextId=context)
    assert complaints == []


@pytest.fixture
def tab(tabs: Callable[..., Tab]) -> Generator[Tab]:
    """A tab in which no request may fail either."""
    made = tabs()
    yield made
    made.see("1")
    assert made.network == []
