"""Real AG-UI clients, each installed for the first test that uses it."""

from pathlib import Path

import pytest

from tests.conftest import without
from tests.server.agui.real_client import installed
from tests.servers import Unavailable


def folder(name: str) -> Path:
    try:
        return installed(name)
    except Unavailable as why:
        without("An AG-UI client", why)


@pytest.fixture(scope="session", params=["client", "client_0_0_59"])
def client_folder(request: pytest.FixtureRequest) -> Path:
    """Install `@ag-ui/client` 1.0, or the last version before it."""
    return folder(request.param)


@pytest.fixture(scope="session")
def assistant_ui_folder() -> Path:
    return folder("assistant_ui")


@pytest.fixture(scope="session")
def copilotkit_folder() -> Path:
    return folder("copilotkit")
