"""Every store that there is, for the suites that hold over all of them."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest

from callboard.adapters.stores import open_store
from callboard.storage.store import Store


@asynccontextmanager
async def opened(url: str, woken: Callable[[str | None], None] = lambda session_id: None) -> AsyncGenerator[Store]:
    store = open_store(url)
    await store.open(woken)
    try:
        yield store
    finally:
        await store.close()


Opening = Callable[..., AbstractAsyncContextManager[Store]]


@pytest.fixture
def opening() -> Opening:
    """Opens a store, between `async with` and its end."""
    return opened


@pytest.fixture
async def store(store_url: str) -> AsyncGenerator[Store]:
    async with opened(store_url) as store:
        yield store


@pytest.fixture
async def shared_store(shared_url: str) -> AsyncGenerator[Store]:
    async with opened(shared_url) as store:
        yield store
