"""The real client, installed when the first test asks for it."""

from pathlib import Path

import pytest

from tests.conftest import without
from tests.server.agui.real_client import installed
from tests.servers import Unavailable


@pytest.fixture(scope="session")
def client_folder() -> Path:
    try:
        return installed()
    except Unavailable as why:
        without("The AG-UI client", why)
