"""The browser and the servers of the page's tests, and a foreign agent with its own site."""

from collections.abc import Generator

import pytest

from scripts import assets
from tests.conftest import without
from tests.server.browser.chromium import Browser
from tests.server.browser.conftest import browser, offline, tab, tabs
from tests.servers import Unavailable
from tests.web.browser.foreign_site import ForeignSite

__all__ = ["browser", "offline", "tab", "tabs"]


@pytest.fixture(scope="session", autouse=True)
def built_assets() -> None:
    """Build the assets, if they are stale."""
    try:
        if assets.is_stale():
            assets.build()
    except assets.BuildError as error:
        without("Node", Unavailable(str(error)))


@pytest.fixture
def site(browser: Browser) -> Generator[ForeignSite]:
    with ForeignSite() as made:
        yield made
