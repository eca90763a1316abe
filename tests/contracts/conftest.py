"""Fixtures that open the built-in stores."""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial

import pytest

from callboard.adapters import stores
from callboard.storage.store import Store, Woken


@asynccontextmanager
async def opened(url: str, woken: Woken = lambda *_: None) -> AsyncGenerator[Store]:
    store = stores.open_store(url)
    await store.open(woken)
    try:
        yield store
    finally:
        await store.close()


Opening = Callable[..., AbstractAsyncContextManager[Store]]


@pytest.fixture
def opening() -> Opening:
    """A function that opens a store at an address: `async with opening(url) as store`."""
    return opened


@pytest.fixture
async def store(store_url: str) -> AsyncGenerator[Store]:
    async with opened(store_url) as store:
        yield store


@pytest.fixture
async def shared_store(shared_url: str) -> AsyncGenerator[Store]:
    async with opened(shared_url) as store:
        yield store


@pytest.fixture
def open_store(shared_url: str) -> Opening:
    """A function that opens one more store on the database of the test."""
    return partial(opened, shared_url)
