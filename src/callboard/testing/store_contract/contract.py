"""The base of all contracts of a store."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import pytest

from ...storage.store import Store

OpenStore = Callable[..., AbstractAsyncContextManager[Store]]
"""Opens one more store on the same database. Takes the callback for writes of other processes, if there is one."""


class Contract:
    """Tests that a subclass inherits. They run on asyncio, with AnyIO's pytest plugin."""

    pytestmark = pytest.mark.anyio

    @pytest.fixture
    def anyio_backend(self) -> str:
        return "asyncio"
